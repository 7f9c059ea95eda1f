"""Results on disk: found again, keyed by everything, whole or replaced, computed once, within the limit."""

import errno
import os
from unittest.mock import Mock

import pytest
import scipy.sparse as sp
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from llpe import Graph, tiny
from llpe import cache as cache_module
from llpe.cache import Cache, CacheWarning, Result, default_cache, fetch
from llpe.encodings import ENCODINGS, make_encoding
from llpe.graph import SMALL
from llpe.sealed import read_json

LARGE = Graph(sp.csr_array((SMALL + 1, SMALL + 1)))
NO_COMPUTE = Mock(side_effect=AssertionError("must not compute"))
FULL = OSError(errno.ENOSPC, "No space left on device")
DENIED = PermissionError(errno.EACCES, "Permission denied")


def computing(size=100, fill=1.0):
    """A computation that counts its calls."""
    return Mock(return_value=Result({"a": torch.full((size,), fill)}, {"fact": 1}))


def files(folder):
    return sorted(folder.glob("*.safetensors"))


def names(cache):
    return [key["name"] for _, key, _ in cache.entries()]


def add(cache, *aged):
    """Adds entries: names, and how many seconds ago they were last used."""
    for name, age in aged:
        before = set(files(cache.folder))
        cache.fetch("kind", {"name": name}, computing())
        (path,) = set(files(cache.folder)) - before
        os.utime(path, (path.stat().st_atime, path.stat().st_mtime - age))


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "cache")


@pytest.fixture
def entry_size(tmp_path):
    """Bytes of one entry of ``computing()``."""
    trial = Cache(tmp_path / "trial")
    add(trial, ("a", 0))
    return files(trial.folder)[0].stat().st_size


def test_a_second_fetch_does_not_compute_and_tensors_of_every_kind_come_back_as_they_were(cache):
    tensors = {
        "float64": torch.randn(3, 4, dtype=torch.float64),
        "float16": torch.randn(5).half(),
        "transposed": torch.arange(6.0).reshape(2, 3).t(),
        "int64": torch.tensor([-1, 2**40]),
        "bool": torch.tensor([[True, False]]),
        "scalar": torch.tensor(3.5),
        "empty": torch.empty(4, 0),
        "nan": torch.tensor([float("nan"), -0.0, float("inf")]),
    }
    facts = {"solver": "lapack", "cut": ["one", "two"], "first": 3, "trivial": True}
    cache.fetch("kind", {"a": 1, "b": 2}, lambda: Result(tensors, facts))
    for _ in range(2):
        found = Cache(cache.folder).fetch("kind", {"b": 2, "a": 1}, NO_COMPUTE)
        assert found.facts == facts
        assert set(found.tensors) == set(tensors)
        for name, tensor in tensors.items():
            assert (found.tensors[name].dtype, found.tensors[name].shape) == (tensor.dtype, tensor.shape)
            assert found.tensors[name].numpy().tobytes() == tensor.contiguous().numpy().tobytes()
            found.tensors[name].zero_()  # what is on disk stays


def test_any_changed_key_and_another_format_compute(cache, monkeypatch):
    key = {"k": 1, "l": None}
    others = [key | {"k": 2}, key | {"k": "1"}, key | {"k": True}, key | {"l": 0}, {"k": 1}, key | {"m": None}]
    for number, (kind, each) in enumerate([("kind", key), ("other", key), *(("kind", other) for other in others)]):
        assert cache.fetch(kind, each, computing(fill=number)).tensors["a"][0] == number
    assert len(files(cache.folder)) == 8
    monkeypatch.setattr(cache_module, "FORMAT", cache_module.FORMAT + 1)
    assert cache.fetch("kind", key, computing(fill=9.0)).tensors["a"][0] == 9


def test_the_environment_sets_folder_and_limit_and_without_a_home_nothing_is_an_error(tmp_path, monkeypatch):
    monkeypatch.delenv("LLPE_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert default_cache().folder == tmp_path / "home" / ".cache" / "llpe"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert (default_cache().folder, default_cache().limit) == (tmp_path / "xdg" / "llpe", 10 * 10**9)
    monkeypatch.setenv("LLPE_CACHE", "~/here")
    monkeypatch.setenv("LLPE_CACHE_GB", "0.5")
    assert repr(default_cache()) == f"Cache(folder={str(tmp_path / 'home' / 'here')!r}, limit=500000000)"
    for _ in range(2):
        fetch("kind", LARGE, {}, computing())
    assert len(files(tmp_path / "home" / "here")) == 1
    for text in ("ten", "nan", "inf", "-1", ""):
        monkeypatch.setenv("LLPE_CACHE_GB", text)
        with pytest.raises(ValueError, match=rf"`LLPE_CACHE_GB` must be a number of gigabytes, .*got '{text}'"):
            fetch("kind", LARGE, {}, NO_COMPUTE)
    monkeypatch.delenv("LLPE_CACHE_GB")
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # neither HOME nor an entry in passwd
    monkeypatch.setenv("LLPE_CACHE", str(tmp_path))
    assert default_cache().folder == tmp_path
    monkeypatch.delenv("LLPE_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME")
    with pytest.warns(CacheWarning, match=r"nothing is cached: .*home directory.* Set LLPE_CACHE to a folder"):
        assert fetch("kind", LARGE, {}, computing()).facts == {"fact": 1}


def test_the_argument_chooses_the_cache_and_nothing_of_a_small_graph_is_kept(cache, tmp_path, monkeypatch):
    monkeypatch.setenv("LLPE_CACHE", str(tmp_path / "default"))
    compute, small = computing(), Graph(sp.csr_array((SMALL, SMALL)))
    for graph, given in ((LARGE, False), (LARGE, False), (small, True), (small, cache)):
        fetch("kind", graph, {}, compute, cache=given)
    for name in ENCODINGS:
        make_encoding(name, dim=4).prepare(tiny("grid"))
    assert (compute.call_count, list(tmp_path.iterdir())) == (4, [])
    fetch("kind", LARGE, {}, compute, cache=cache)
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]
    for wrong in ("folder", None, 1):
        with pytest.raises(ValueError, match=r"`cache` must be True, False or an llpe\.Cache, got .*Pass Cache\(folde"):
            fetch("kind", LARGE, {}, NO_COMPUTE, cache=wrong)


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077])
def test_an_entry_may_be_read_by_whom_the_umask_lets_and_used_by_them(cache, umask, monkeypatch):
    before = os.umask(umask)
    try:
        cache.fetch("kind", {}, computing())
    finally:
        os.umask(before)
    assert files(cache.folder)[0].stat().st_mode & 0o777 == 0o666 & ~umask
    monkeypatch.setattr(os, "utime", Mock(side_effect=DENIED))  # others may not write when it was used
    cache.fetch("kind", {}, NO_COMPUTE)


def test_many_entries_share_few_lock_files(cache, monkeypatch):
    monkeypatch.setattr(cache_module, "LOCKS", 2)
    for number in range(20):
        cache.fetch("kind", {"n": number}, lambda n=number: cache.fetch("inner", {"n": n}, computing()))
    assert len(files(cache.folder)) == 40
    locks = {f"{kind}-{i}.lock" for kind in ("kind", "inner") for i in range(2)}
    assert {path.name for path in (cache.folder / "locks").glob("*-*")} == locks


def flip(after, offset):
    """Changes one bit of the file, ``offset`` bytes behind the first place of ``after``."""

    def damage(path):
        content = bytearray(path.read_bytes())
        content[content.index(after) + offset if after else offset] ^= 1
        path.write_bytes(content)

    return damage


def half_a_header(path):
    with safe_open(path, framework="pt") as file:
        save_file({"a": torch.ones(100)}, path, metadata={"key": file.metadata()["key"]})


def another_key(path):
    other = Cache(path.parent / "other")
    add(other, ("b", 0))
    path.write_bytes(files(other.folder)[0].read_bytes())


DAMAGE = {
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-7]),
    "tensor": flip(b"", -50),
    "checksum": flip(b"checksum", 15),
    "fact": flip(b'fact\\": 1', len(b'fact\\": ')),  # 1 becomes 0
    "foreign": lambda path: path.write_bytes(b"<html>404 not found</html>" * 10),
    "empty": lambda path: path.write_bytes(b""),
    "no header": lambda path: save_file({"a": torch.zeros(100)}, path),
    "half a header": half_a_header,
    "another key": another_key,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_entry_is_replaced_and_said_once(cache, damage):
    compute = computing()
    cache.fetch("kind", {"n": 1}, compute)
    damage(files(cache.folder)[0])
    with pytest.warns(CacheWarning, match=r"cache entry .* is damaged \(.+\); computing it again") as said:
        found = cache.fetch("kind", {"n": 1}, compute)
    assert (len(said), compute.call_count, found.tensors["a"].sum()) == (1, 2, 100)
    assert cache.fetch("kind", {"n": 1}, NO_COMPUTE).tensors["a"].sum() == 100


def test_an_unwritable_folder_still_gives_the_result(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.warns(CacheWarning, match=r"could not keep .*the result is used anyway\. Set LLPE_CACHE") as said:
        assert Cache(tmp_path / "file" / "cache").fetch("kind", {}, computing()).facts == {"fact": 1}
    assert len(said) == 1


@pytest.mark.parametrize(
    ("where", "error"),
    [
        ("llpe.cache.save_file", FULL),
        ("llpe.cache.save_file", SafetensorError(f"Error while serializing: I/O error: {FULL.strerror}")),
        ("llpe.cache.save_file", KeyboardInterrupt()),
        ("os.replace", DENIED),
    ],
)
def test_a_failed_or_interrupted_write_leaves_nothing_behind(cache, where, error, monkeypatch):
    kept = pytest.warns(CacheWarning, match=r"could not keep .*(No space left on device|Permission denied)")
    said = pytest.raises(KeyboardInterrupt) if isinstance(error, KeyboardInterrupt) else kept
    with monkeypatch.context() as patch:
        patch.setattr(where, Mock(side_effect=error))
        with said:
            assert cache.fetch("kind", {}, computing()).facts == {"fact": 1}
    assert [path.name for path in cache.folder.iterdir()] == ["locks"]
    cache.fetch("kind", {}, computing())
    assert len(files(cache.folder)) == 1


def test_a_failed_computation_does_not_keep_the_lock(cache):
    with pytest.raises(RuntimeError, match="no convergence") as kept:  # its traceback keeps every local alive
        cache.fetch("kind", {}, Mock(side_effect=RuntimeError("no convergence")))
    assert kept.value.__traceback__ is not None
    assert cache.fetch("kind", {}, computing()).tensors["a"].sum() == 100


def test_the_least_recently_used_entry_leaves_first_and_one_that_cannot_loses_no_result(cache, entry_size, monkeypatch):
    cache.limit = 3 * entry_size
    add(cache, ("a", 300), ("b", 200), ("c", 100))
    assert names(cache) == ["c", "b", "a"]
    cache.fetch("kind", {"name": "a"}, NO_COMPUTE)  # now b was not used for longest
    cache.fetch("kind", {"name": "d"}, computing())  # four are too many, and nine tenths of three are two
    assert set(names(cache)) == {"a", "d"}
    cache.fetch("kind", {"name": "e"}, computing())
    assert set(names(cache)) == {"a", "d", "e"}
    monkeypatch.setattr(Cache, "_evict", Mock(side_effect=DENIED))
    with pytest.warns(CacheWarning, match=r"could not tidy .*Permission denied.*may be above its limit"):
        assert cache.fetch("kind", {"name": "f"}, computing()).facts == {"fact": 1}


def test_there_is_never_more_than_the_limit_and_the_folder_is_seldom_read(cache, entry_size, monkeypatch):
    reads = Mock(side_effect=Cache._evict)
    monkeypatch.setattr(Cache, "_evict", lambda self, keep: reads(self, keep))
    sizes = torch.randint(1, 200, (60,), generator=torch.Generator().manual_seed(0)).tolist()
    for number, size in enumerate(sizes):  # one after another in caches of their own, as in other processes
        limited = Cache(cache.folder, 20 * entry_size + 19)
        limited.fetch("kind", {"name": number}, computing(size))
        limited.fetch("kind", {"name": number}, NO_COMPUTE)  # the newest one stays
        assert sum(path.stat().st_size for path in cache.folder.iterdir() if path.is_file()) <= limited.limit
    assert 2 < reads.call_count < 24


@pytest.mark.parametrize("content", [None, "", "many", '{"bytes": 0}'])
def test_a_lost_or_wrong_sum_of_bytes_is_corrected(cache, entry_size, content):
    cache.limit = 3 * entry_size
    add(cache, ("a", 0), ("b", 0))
    count = cache.folder / "locks" / "bytes.json"
    assert read_json(count) == {"bytes": 2 * entry_size}
    count.unlink() if content is None else count.write_text(content)
    add(cache, ("c", 0))
    assert (set(names(cache)), read_json(count)) == ({"a", "b", "c"}, {"bytes": 3 * entry_size})


@pytest.mark.parametrize("share", [1, 2], ids=["with-its-header", "by-far"])
def test_a_result_above_the_limit_is_not_kept_and_says_so(cache, entry_size, share):
    cache.limit = entry_size
    add(cache, ("a", 0))
    large = computing(share * entry_size // 4)  # floats of 4 bytes
    for calls in (1, 2):
        with pytest.warns(CacheWarning, match=r"could not keep .*are above the limit of .*LLPE_CACHE_GB") as said:
            cache.fetch("large", {"name": "b"}, large)
        assert (len(said), large.call_count) == (1, calls)
    assert (names(cache), list(cache.folder.glob(".*"))) == (["a"], [])


def test_entries_are_listed_and_cleared(cache):
    assert (cache.entries(), cache.clear()) == ([], 0)
    add(cache, ("a", 200), ("b", 100))
    cache.fetch("kind", {"name": "a"}, NO_COMPUTE)
    (cache.folder / "foreign.safetensors").write_bytes(b"<html>404 not found</html>")
    save_file({"a": torch.zeros(100)}, cache.folder / "headless.safetensors")
    entries = cache.entries()
    keys = [{"format": cache_module.FORMAT, "kind": "kind", "name": name} for name in ("a", "b")]
    assert [key for _, key, _ in entries] == keys
    assert all(path.stat().st_size == size for path, _, size in entries)
    assert cache.clear() == 4
    assert cache.fetch("kind", {"name": "a"}, computing(fill=2.0)).tensors["a"][0] == 2
