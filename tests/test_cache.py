"""Results on disk: found again, keyed by everything, whole or replaced, computed once, within the limit."""

import errno
import json
import os

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


class Compute:
    """Returns a result and counts how often it was asked to."""

    def __init__(self, *shape, fill=1.0):
        self.result = Result({"a": torch.full(shape or (100,), fill)}, {"fact": 1})
        self.calls = 0

    def __call__(self):
        self.calls += 1
        return self.result


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "cache")


@pytest.fixture
def entry_size(tmp_path):
    """Bytes of one entry of ``Compute()``."""
    trial = Cache(tmp_path / "trial")
    trial.fetch("kind", {"name": "a"}, Compute())
    return files(trial.folder)[0].stat().st_size


def files(folder):
    return sorted(folder.glob("*.safetensors"))


def names(cache):
    return [key["name"] for _, key, _ in cache.entries()]


def no_compute():
    raise AssertionError("must not compute")


def raising(error):
    def fail(*_, **__):
        raise error

    return fail


def fetch_aged(cache, name, age):
    """Adds an entry that was last used ``age`` seconds ago."""
    before = set(files(cache.folder))
    cache.fetch("kind", {"name": name}, Compute())
    (path,) = set(files(cache.folder)) - before
    os.utime(path, (path.stat().st_atime, path.stat().st_mtime - age))


def test_a_second_fetch_does_not_compute_and_its_tensors_are_its_own(cache):
    compute = Compute()
    first = cache.fetch("kind", {"a": 1, "b": 2}, compute)
    first.tensors["a"].zero_()
    for _ in range(2):
        found = Cache(cache.folder).fetch("kind", {"b": 2, "a": 1}, no_compute)
        assert (found.tensors["a"].sum(), found.facts) == (100, {"fact": 1})
        found.tensors["a"].zero_()
    assert compute.calls == 1


def test_tensors_of_every_kind_come_back_as_they_were(cache):
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
    cache.fetch("kind", {}, lambda: Result(tensors, facts))
    found = cache.fetch("kind", {}, no_compute)
    assert found.facts == facts
    assert set(found.tensors) == set(tensors)
    for name, tensor in tensors.items():
        assert (found.tensors[name].dtype, found.tensors[name].shape) == (tensor.dtype, tensor.shape)
        assert found.tensors[name].numpy().tobytes() == tensor.contiguous().numpy().tobytes()


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("other", {"k": 1, "l": None}),
        ("kind", {"k": 2, "l": None}),
        ("kind", {"k": "1", "l": None}),
        ("kind", {"k": True, "l": None}),
        ("kind", {"k": 1, "l": 0}),
        ("kind", {"k": 1}),
        ("kind", {"k": 1, "l": None, "m": None}),
    ],
)
def test_any_changed_key_computes(cache, kind, key):
    cache.fetch("kind", {"k": 1, "l": None}, Compute())
    assert cache.fetch(kind, key, Compute(fill=2.0)).tensors["a"][0] == 2
    assert len(files(cache.folder)) == 2


def test_another_format_computes(cache, monkeypatch):
    cache.fetch("kind", {}, Compute())
    monkeypatch.setattr(cache_module, "FORMAT", cache_module.FORMAT + 1)
    assert cache.fetch("kind", {}, Compute(fill=2.0)).tensors["a"][0] == 2


def test_the_environment_sets_folder_and_limit(tmp_path, monkeypatch):
    monkeypatch.delenv("LLPE_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert default_cache().folder == tmp_path / "home" / ".cache" / "llpe"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_cache().folder == tmp_path / "xdg" / "llpe"
    assert default_cache().limit == 10 * 10**9
    monkeypatch.setenv("LLPE_CACHE", "~/here")
    monkeypatch.setenv("LLPE_CACHE_GB", "0.5")
    assert repr(default_cache()) == f"Cache(folder={str(tmp_path / 'home' / 'here')!r}, limit=500000000)"
    for _ in range(2):
        fetch("kind", LARGE, {}, Compute())
    assert len(files(tmp_path / "home" / "here")) == 1


@pytest.mark.parametrize("text", ["ten", "nan", "inf", "-1", ""])
def test_a_limit_that_is_no_number_of_gigabytes_is_refused(text, monkeypatch):
    monkeypatch.setenv("LLPE_CACHE_GB", text)
    with pytest.raises(ValueError, match=rf"`LLPE_CACHE_GB` must be a number of gigabytes, .*got '{text}'"):
        fetch("kind", LARGE, {}, no_compute)


def test_without_a_home_the_environment_is_enough_and_nothing_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # neither HOME nor an entry in passwd
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("LLPE_CACHE", str(tmp_path))
    assert default_cache().folder == tmp_path
    monkeypatch.delenv("LLPE_CACHE")
    with pytest.warns(CacheWarning, match=r"nothing is cached: .*home directory.* Set LLPE_CACHE to a folder"):
        assert fetch("kind", LARGE, {}, Compute()).tensors["a"].sum() == 100


def test_the_argument_chooses_the_cache(cache, tmp_path, monkeypatch):
    monkeypatch.setenv("LLPE_CACHE", str(tmp_path / "default"))
    compute = Compute()
    for _ in range(2):
        fetch("kind", LARGE, {}, compute, cache=False)
    fetch("kind", LARGE, {}, Compute(), cache=cache)
    assert (compute.calls, len(files(cache.folder)), (tmp_path / "default").exists()) == (2, 1, False)
    for wrong in ("folder", None, 1):
        with pytest.raises(ValueError, match=r"`cache` must be True, False or an llpe\.Cache, got .*Pass Cache\(folde"):
            fetch("kind", LARGE, {}, no_compute, cache=wrong)


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600)])
def test_an_entry_may_be_read_by_whom_the_umask_lets(cache, umask, mode):
    before = os.umask(umask)
    try:
        cache.fetch("kind", {}, Compute())
    finally:
        os.umask(before)
    assert files(cache.folder)[0].stat().st_mode & 0o777 == mode


def test_many_entries_share_few_lock_files(cache, monkeypatch):
    monkeypatch.setattr(cache_module, "LOCKS", 2)
    for number in range(20):
        cache.fetch("kind", {"n": number}, lambda n=number: cache.fetch("inner", {"n": n}, Compute()))
    assert len(files(cache.folder)) == 40
    locks = {f"{kind}-{i}.lock" for kind in ("kind", "inner") for i in range(2)}
    assert {path.name for path in (cache.folder / "locks").glob("*-*")} == locks


def test_nothing_of_a_small_graph_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("LLPE_CACHE", str(tmp_path / "cache"))
    compute = Compute()
    for given in (True, Cache(tmp_path / "cache")):
        fetch("kind", Graph(sp.csr_array((SMALL, SMALL))), {}, compute, cache=given)
    for name in ENCODINGS:
        make_encoding(name, dim=4).prepare(tiny("grid"))
    assert (compute.calls, (tmp_path / "cache").exists()) == (2, False)


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
    other.fetch("kind", {"n": 2}, Compute(fill=5.0))
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
    compute = Compute()
    cache.fetch("kind", {"n": 1}, compute)
    damage(files(cache.folder)[0])
    with pytest.warns(CacheWarning, match=r"cache entry .* is damaged \(.+\); computing it again") as said:
        found = cache.fetch("kind", {"n": 1}, compute)
    assert (len(said), compute.calls, found.tensors["a"].sum()) == (1, 2, 100)
    assert cache.fetch("kind", {"n": 1}, no_compute).tensors["a"].sum() == 100


def test_an_unwritable_folder_still_gives_the_result(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("LLPE_CACHE", str(tmp_path / "file" / "cache"))
    compute = Compute()
    with pytest.warns(CacheWarning, match=r"could not keep .*the result is used anyway\. Set LLPE_CACHE") as said:
        assert fetch("kind", LARGE, {}, compute) is compute.result
    assert len(said) == 1


FULL = OSError(errno.ENOSPC, "No space left on device")
DENIED = PermissionError(errno.EACCES, "Permission denied")


@pytest.mark.parametrize(
    ("where", "error"),
    [
        ("llpe.cache.save_file", FULL),
        ("llpe.cache.save_file", SafetensorError(f"Error while serializing: I/O error: {FULL.strerror}")),
        ("os.replace", DENIED),
    ],
)
def test_a_failed_write_leaves_nothing_behind(cache, where, error, monkeypatch):
    compute = Compute()
    with monkeypatch.context() as patch:
        patch.setattr(where, raising(error))
        with pytest.warns(CacheWarning, match=r"could not keep .*(No space left on device|Permission denied)"):
            assert cache.fetch("kind", {}, compute) is compute.result
    assert [path.name for path in cache.folder.iterdir()] == ["locks"]
    cache.fetch("kind", {}, compute)
    assert (compute.calls, len(files(cache.folder))) == (2, 1)


def test_an_interrupted_write_leaves_nothing_behind(cache, monkeypatch):
    monkeypatch.setattr(cache_module, "save_file", raising(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        cache.fetch("kind", {}, Compute())
    assert [path.name for path in cache.folder.iterdir()] == ["locks"]


def test_entries_of_a_folder_that_others_own_are_used(cache, monkeypatch):
    cache.fetch("kind", {}, Compute())
    monkeypatch.setattr(os, "utime", raising(DENIED))
    assert cache.fetch("kind", {}, no_compute).tensors["a"].sum() == 100


def test_a_failed_computation_does_not_keep_the_lock(cache):
    with pytest.raises(RuntimeError, match="no convergence") as kept:  # its traceback keeps every local alive
        cache.fetch("kind", {}, raising(RuntimeError("no convergence")))
    assert kept.value.__traceback__ is not None
    assert cache.fetch("kind", {}, Compute()).tensors["a"].sum() == 100


def test_the_least_recently_used_entry_leaves_first(cache, entry_size):
    cache.limit = 3 * entry_size
    for name, age in (("a", 300), ("b", 200), ("c", 100)):
        fetch_aged(cache, name, age)
    assert names(cache) == ["c", "b", "a"]
    cache.fetch("kind", {"name": "a"}, no_compute)  # now b was not used for longest
    cache.fetch("kind", {"name": "d"}, Compute())  # four are too many, and nine tenths of three are two
    assert set(names(cache)) == {"a", "d"}
    cache.fetch("kind", {"name": "e"}, Compute())
    assert set(names(cache)) == {"a", "d", "e"}


def test_there_is_never_more_than_the_limit_and_the_folder_is_seldom_read(cache, entry_size, monkeypatch):
    reads = []
    evict = Cache._evict
    monkeypatch.setattr(Cache, "_evict", lambda self, keep: reads.append(keep) or evict(self, keep))
    sizes = torch.randint(1, 200, (60,), generator=torch.Generator().manual_seed(0)).tolist()
    for number, size in enumerate(sizes):  # one after another in caches of their own, as in other processes
        limited = Cache(cache.folder, 20 * entry_size + 19)
        limited.fetch("kind", {"name": number}, Compute(size))
        limited.fetch("kind", {"name": number}, no_compute)  # the newest one stays
        assert sum(path.stat().st_size for path in cache.folder.iterdir() if path.is_file()) <= limited.limit
    assert 2 < len(reads) < 24


@pytest.mark.parametrize("content", [None, "", "many", '{"bytes": 0}'])
def test_a_lost_or_wrong_sum_of_bytes_is_corrected(cache, entry_size, content):
    cache.limit = 3 * entry_size
    for name in ("a", "b"):
        cache.fetch("kind", {"name": name}, Compute())
    count = cache.folder / "locks" / "bytes.json"
    assert read_json(count) == {"bytes": 2 * entry_size}
    count.unlink() if content is None else count.write_text(content)
    cache.fetch("kind", {"name": "c"}, Compute())
    assert set(names(cache)) == {"a", "b", "c"}
    assert read_json(count) == {"bytes": 3 * entry_size}


@pytest.mark.parametrize("share", [1, 2], ids=["with-its-header", "by-far"])
def test_a_result_above_the_limit_is_not_kept_and_says_so(cache, entry_size, share):
    cache.limit = entry_size
    cache.fetch("kind", {"name": "a"}, Compute())
    large = Compute(share * entry_size // 4)  # floats of 4 bytes
    for calls in (1, 2):
        with pytest.warns(CacheWarning, match=r"could not keep .*are above the limit of .*LLPE_CACHE_GB") as said:
            assert cache.fetch("large", {"name": "b"}, large) is large.result
        assert (len(said), large.calls) == (1, calls)
    assert names(cache) == ["a"]
    assert not list(cache.folder.glob("*.partial"))


def test_an_entry_that_cannot_be_deleted_does_not_lose_the_result(cache, entry_size, monkeypatch):
    cache.limit = entry_size
    cache.fetch("kind", {"name": "a"}, Compute())
    monkeypatch.setattr(Cache, "_evict", raising(DENIED))
    with pytest.warns(CacheWarning, match=r"could not tidy .*Permission denied.*may be above its limit"):
        assert cache.fetch("kind", {"name": "b"}, Compute()).tensors["a"].sum() == 100


def test_entries_are_listed_and_cleared(cache):
    assert (cache.entries(), cache.clear()) == ([], 0)
    fetch_aged(cache, "a", 200)
    fetch_aged(cache, "b", 100)
    cache.fetch("kind", {"name": "a"}, no_compute)
    (cache.folder / "foreign.safetensors").write_bytes(b"<html>404 not found</html>")
    save_file({"a": torch.zeros(100)}, cache.folder / "headless.safetensors")
    entries = cache.entries()
    keys = [{"format": cache_module.FORMAT, "kind": "kind", "name": name} for name in ("a", "b")]
    assert [key for _, key, _ in entries] == keys
    assert all(path.stat().st_size == size for path, _, size in entries)
    assert cache.clear() == 4
    assert cache.fetch("kind", {"name": "a"}, Compute(fill=2.0)).tensors["a"][0] == 2


AT_ONCE = """
import json, multiprocessing, os, sys, time
from pathlib import Path
import torch
from llpe.cache import Cache, Result

folder = Path(sys.argv[1])


def compute():
    with (folder / "log").open("a") as file:
        file.write(f"{os.getpid()}\\n")
    time.sleep(0.5)
    return Result({"a": torch.full((10,), float(os.getpid()))}, {})


def ask(barrier, answers):
    barrier.wait()
    answers.put(Cache(folder / "one").fetch("kind", {}, compute).tensors["a"][0].item())


def churn(number, answers):
    # entries come, go and are read by all at once, in a cache that holds a few of them
    cache = Cache(folder / "few", limit=6000)
    try:
        for step in range(60):
            name = (7 * step + 3 * number) % 11
            found = cache.fetch("kind", {"n": name}, lambda: Result({"a": torch.full((200,), float(name))}, {}))
            assert (found.tensors["a"] == name).all()
            cache.entries()
        answers.put("fine")
    except BaseException as error:
        answers.put(repr(error))


if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    answers, barrier = context.Queue(), context.Barrier(4)
    groups = {}
    jobs = {"asked": [(ask, barrier)] * 4, "churned": [(churn, number) for number in range(3)]}
    for name, job in jobs.items():
        workers = [context.Process(target=work, args=(argument, answers)) for work, argument in job]
        for worker in workers:
            worker.start()
        groups[name] = [answers.get(timeout=60) for _ in workers]
        for worker in workers:
            worker.join()
    print(json.dumps(groups))
"""


def test_processes_at_once_compute_once_and_survive_each_others_evictions(tmp_path, run_python):
    answers = json.loads(run_python(AT_ONCE, tmp_path, PYTHONWARNINGS="error::UserWarning"))
    computed = (tmp_path / "log").read_text().split()
    assert len(computed) == 1
    assert answers["asked"] == [float(computed[0])] * 4
    assert answers["churned"] == ["fine"] * 3
    kept = [path for path in (tmp_path / "few").iterdir() if path.is_file()]
    assert 0 < sum(path.stat().st_size for path in kept) <= 6000
    assert all(path.suffix == ".safetensors" for path in kept)
