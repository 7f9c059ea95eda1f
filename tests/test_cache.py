"""Results on disk: found again, keyed by everything, whole or replaced, computed once, within the limit."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import scipy.sparse as sp
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor
from torch_geometric.data import Data

from llpe import Graph, tiny
from llpe import cache as cache_module
from llpe.cache import Cache, CacheWarning, Result, default_cache, fetch
from llpe.encodings import ENCODINGS, LLPE, Encoding, make_encoding
from llpe.graph import SMALL

LARGE = Graph(sp.csr_array((SMALL + 1, SMALL + 1)))


class Compute:
    """Returns a result and counts how often it was asked to."""

    def __init__(self, *shape: int, fill: float = 1.0) -> None:
        self.result = Result({"a": torch.full(shape or (100,), fill)}, {"fact": 1})
        self.calls = 0

    def __call__(self) -> Result:
        self.calls += 1
        return self.result


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty default cache that keeps what small graphs need too."""
    monkeypatch.setenv("LLPE_CACHE", str(tmp_path / "own"))
    monkeypatch.setattr(cache_module, "SMALL", 0)
    return tmp_path / "own"


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.safetensors"))


def no_compute() -> Result:
    raise AssertionError("must not compute")


# --- found again -----------------------------------------------------------------------------------------------------


def test_a_second_fetch_does_not_compute(cache: Cache) -> None:
    compute = Compute()
    first = cache.fetch("kind", {"n": 1}, compute)
    second = Cache(cache.folder).fetch("kind", {"n": 1}, compute)
    assert compute.calls == 1
    assert torch.equal(first.tensors["a"], second.tensors["a"])
    assert first.facts == second.facts == {"fact": 1}


def test_tensors_of_every_kind_come_back_as_they_were(cache: Cache) -> None:
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


def test_changing_a_fetched_tensor_in_place_does_not_change_the_entry(cache: Cache) -> None:
    cache.fetch("kind", {}, Compute()).tensors["a"].zero_()
    found = cache.fetch("kind", {}, no_compute).tensors["a"]
    assert found.sum() == 100
    found.zero_()
    assert cache.fetch("kind", {}, no_compute).tensors["a"].sum() == 100


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("other", {"graph": "abc", "k": 1, "l": None}),
        ("kind", {"graph": "abd", "k": 1, "l": None}),
        ("kind", {"graph": "abc", "k": 2, "l": None}),
        ("kind", {"graph": "abc", "k": "1", "l": None}),
        ("kind", {"graph": "abc", "k": True, "l": None}),
        ("kind", {"graph": "abc", "k": 1, "l": 0}),
        ("kind", {"graph": "abc", "k": 1}),
        ("kind", {"graph": "abc", "k": 1, "l": None, "m": None}),
    ],
)
def test_any_changed_key_computes(cache: Cache, kind: str, key: dict) -> None:
    cache.fetch("kind", {"graph": "abc", "k": 1, "l": None}, Compute())
    compute = Compute(fill=2.0)
    assert cache.fetch(kind, key, compute).tensors["a"][0] == 2
    assert compute.calls == 1
    assert len(files(cache.folder)) == 2


def test_the_order_of_the_key_does_not_matter(cache: Cache) -> None:
    cache.fetch("kind", {"a": 1, "b": 2}, Compute())
    cache.fetch("kind", {"b": 2, "a": 1}, no_compute)


def test_another_format_computes(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.fetch("kind", {}, Compute())
    monkeypatch.setattr(cache_module, "FORMAT", cache_module.FORMAT + 1)
    compute = Compute()
    cache.fetch("kind", {}, compute)
    assert compute.calls == 1


# --- where, and whether ----------------------------------------------------------------------------------------------


def test_llpe_cache_moves_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        monkeypatch.setenv("LLPE_CACHE", str(tmp_path / name))
        compute = Compute()
        fetch("kind", LARGE, {}, compute)
        fetch("kind", LARGE, {}, compute)
        assert compute.calls == 1
        assert len(files(tmp_path / name)) == 1


def test_without_llpe_cache_the_folder_is_in_the_users_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LLPE_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert default_cache().folder == tmp_path / "home" / ".cache" / "llpe"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_cache().folder == tmp_path / "xdg" / "llpe"
    monkeypatch.setenv("LLPE_CACHE", "~/here")
    assert default_cache().folder == tmp_path / "home" / "here"


def test_llpe_cache_gb_sets_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert default_cache().limit == 10 * 10**9
    monkeypatch.setenv("LLPE_CACHE_GB", "0.5")
    assert default_cache().limit == 500_000_000
    assert repr(default_cache()) == f"Cache(folder={os.environ['LLPE_CACHE']!r}, limit=500000000)"


@pytest.mark.parametrize("text", ["ten", "nan", "inf", "-1", ""])
def test_a_limit_that_is_no_number_of_gigabytes_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLPE_CACHE_GB", text)
    with pytest.raises(ValueError, match=rf"`LLPE_CACHE_GB` must be a number of gigabytes, .*got '{text}'"):
        fetch("kind", LARGE, {}, no_compute)


def test_cache_false_computes_every_time_and_writes_nothing(own_cache: Path) -> None:
    compute = Compute()
    fetch("kind", LARGE, {}, compute, cache=False)
    fetch("kind", LARGE, {}, compute, cache=False)
    assert compute.calls == 2
    assert not own_cache.exists()


def test_a_given_cache_is_used_instead_of_the_default_one(own_cache: Path, cache: Cache) -> None:
    fetch("kind", LARGE, {}, Compute(), cache=cache)
    assert len(files(cache.folder)) == 1
    assert not own_cache.exists()


@pytest.mark.parametrize("wrong", ["folder", None, 1])
def test_a_cache_that_is_none_is_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"`cache` must be True, False or an llpe\.Cache, got .*Pass Cache\(folder\)"):
        fetch("kind", LARGE, {}, no_compute, cache=wrong)  # type: ignore[arg-type]


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600)])
def test_an_entry_may_be_read_by_whom_the_umask_lets(cache: Cache, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        cache.fetch("kind", {}, Compute())
    finally:
        os.umask(before)
    assert files(cache.folder)[0].stat().st_mode & 0o777 == mode


def test_many_entries_leave_few_lock_files(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "LOCKS", 4)
    for number in range(40):
        cache.fetch("kind", {"n": number}, Compute())
    assert len(files(cache.folder)) == 40
    assert sorted(path.name for path in (cache.folder / "locks").glob("kind-*")) == [f"kind-{i}.lock" for i in range(4)]


def test_a_result_that_needs_others_does_not_wait_for_itself(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "LOCKS", 1)
    inner = Compute()
    cache.fetch("encoding", {}, lambda: cache.fetch("spectrum", {}, inner))
    assert inner.calls == 1
    assert len(files(cache.folder)) == 2


def test_nothing_of_a_small_graph_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLPE_CACHE", str(tmp_path / "cache"))
    small = Graph(sp.csr_array((SMALL, SMALL)))
    compute = Compute()
    for given in (True, Cache(tmp_path / "cache")):
        fetch("kind", small, {}, compute, cache=given)
    for encoding in (LLPE(4, order=8), make_encoding("rwse", dim=4), make_encoding("lpe-fk", dim=4)):
        encoding.prepare(tiny("grid"))
    assert compute.calls == 2
    assert not (tmp_path / "cache").exists()
    fetch("kind", LARGE, {}, compute)
    assert len(files(tmp_path / "cache")) == 1


# --- damage ----------------------------------------------------------------------------------------------------------


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def flip_a_byte_of_the_tensor(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-50] ^= 1
    path.write_bytes(content)


def flip_a_byte_of_the_header(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[content.index(b"checksum") + 15] ^= 1
    path.write_bytes(content)


def flip_a_byte_of_a_fact(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[content.index(b'fact\\": 1') + len(b'fact\\": ')] ^= 1  # 1 becomes 0
    path.write_bytes(content)


def write_something_else(path: Path) -> None:
    path.write_bytes(b"<html>404 not found</html>" * 10)


def write_nothing(path: Path) -> None:
    path.write_bytes(b"")


def write_tensors_without_a_header(path: Path) -> None:
    save_file({"a": torch.zeros(100)}, path)


def write_tensors_with_half_a_header(path: Path) -> None:
    with safe_open(path, framework="pt") as file:
        save_file({"a": torch.ones(100)}, path, metadata={"key": file.metadata()["key"]})


def write_the_entry_of_another_key(path: Path) -> None:
    other = Cache(path.parent / "other")
    other.fetch("kind", {"n": 2}, Compute(fill=5.0))
    path.write_bytes(files(other.folder)[0].read_bytes())


@pytest.mark.parametrize(
    "damage",
    [
        truncate,
        flip_a_byte_of_the_tensor,
        flip_a_byte_of_the_header,
        flip_a_byte_of_a_fact,
        write_something_else,
        write_nothing,
        write_tensors_without_a_header,
        write_tensors_with_half_a_header,
        write_the_entry_of_another_key,
    ],
)
def test_a_damaged_entry_is_replaced_and_said_once(cache: Cache, damage: Callable[[Path], None]) -> None:
    compute = Compute()
    cache.fetch("kind", {"n": 1}, compute)
    (path,) = files(cache.folder)
    damage(path)
    with pytest.warns(CacheWarning, match=r"cache entry .* is damaged \(.+\); computing it again") as said:
        found = cache.fetch("kind", {"n": 1}, compute)
    assert len(said) == 1
    assert compute.calls == 2
    assert found.tensors["a"].sum() == 100
    assert cache.fetch("kind", {"n": 1}, no_compute).tensors["a"].sum() == 100


def test_a_damaged_spectrum_is_replaced_on_the_next_prepare(own_cache: Path) -> None:
    encoding = make_encoding("lpe-fk", dim=2, k=2)
    before = encoding.prepare(tiny("path"))
    (path,) = files(own_cache)
    flip_a_byte_of_the_tensor(path)
    with pytest.warns(CacheWarning, match=r"its checksum does not match"):
        after = encoding.prepare(tiny("path"))
    assert torch.equal(before[encoding.attribute("vectors")], after[encoding.attribute("vectors")])
    encoding.prepare(tiny("path"))


# --- trouble with the folder -----------------------------------------------------------------------------------------


def test_an_unwritable_folder_still_gives_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("LLPE_CACHE", str(tmp_path / "file" / "cache"))
    compute = Compute()
    with pytest.warns(CacheWarning, match=r"could not keep .*the result is used all the same\. Set LLPE_CACHE") as said:
        assert fetch("kind", LARGE, {}, compute) is compute.result
    assert len(said) == 1
    monkeypatch.setattr(cache_module, "SMALL", 0)
    encoding = make_encoding("rwse", dim=2, steps=3)
    with pytest.warns(CacheWarning, match="could not keep"):
        assert encoding(encoding.prepare(tiny("path"))).shape == (5, 2)


def disk_full(tensors: dict[str, Tensor], path: Path, metadata: dict[str, str]) -> None:
    Path(path).write_bytes(b"the beginning of")
    raise OSError(errno.ENOSPC, "No space left on device")


def disk_full_as_safetensors_says_it(tensors: dict[str, Tensor], path: Path, metadata: dict[str, str]) -> None:
    Path(path).write_bytes(b"the beginning of")
    raise SafetensorError("Error while serializing: I/O error: No space left on device")


@pytest.mark.parametrize("failure", [disk_full, disk_full_as_safetensors_says_it])
def test_a_failed_write_leaves_nothing_behind(
    cache: Cache, failure: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    compute = Compute()
    with monkeypatch.context() as patch:
        patch.setattr(cache_module, "save_file", failure)
        with pytest.warns(CacheWarning, match=r"could not keep .*No space left on device"):
            assert cache.fetch("kind", {}, compute) is compute.result
    assert [path.name for path in cache.folder.iterdir()] == ["locks"]
    cache.fetch("kind", {}, compute)
    assert compute.calls == 2
    assert len(files(cache.folder)) == 1


def test_a_write_that_cannot_be_finished_leaves_nothing_behind(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: Path, target: Path) -> None:
        assert Path(source).stat().st_size > 400
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        with pytest.warns(CacheWarning, match=r"could not keep .*Permission denied"):
            assert cache.fetch("kind", {}, Compute()).tensors["a"].sum() == 100
    assert [path.name for path in cache.folder.iterdir()] == ["locks"]


def test_an_interrupted_write_leaves_nothing_behind(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(tensors: dict[str, Tensor], path: Path, metadata: dict[str, str]) -> None:
        Path(path).write_bytes(b"the beginning of")
        raise KeyboardInterrupt

    monkeypatch.setattr(cache_module, "save_file", interrupt)
    with pytest.raises(KeyboardInterrupt):
        cache.fetch("kind", {}, Compute())
    assert [path.name for path in cache.folder.iterdir()] == ["locks"]


def test_entries_of_a_folder_that_others_own_are_used(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.fetch("kind", {}, Compute())

    def refuse(path: Path) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "utime", refuse)
    assert cache.fetch("kind", {}, no_compute).tensors["a"].sum() == 100


def test_a_failed_computation_does_not_keep_the_lock(cache: Cache) -> None:
    def fail() -> Result:
        raise RuntimeError("no convergence")

    with pytest.raises(RuntimeError, match="no convergence") as kept:  # its traceback keeps every local alive
        cache.fetch("kind", {}, fail)
    assert kept.value.__traceback__ is not None
    assert cache.fetch("kind", {}, Compute()).tensors["a"].sum() == 100


# --- the limit -------------------------------------------------------------------------------------------------------


@pytest.fixture
def entry_size(tmp_path: Path) -> int:
    """Bytes of one entry of ``Compute()``."""
    trial = Cache(tmp_path / "trial")
    trial.fetch("kind", {"name": "a"}, Compute())
    return files(trial.folder)[0].stat().st_size


def names(cache: Cache) -> set[str]:
    return {key["name"] for _, key, _ in cache.entries()}


def test_the_least_recently_used_entry_leaves_first(cache: Cache, entry_size: int) -> None:
    cache.limit = 3 * entry_size
    for age, name in ((300, "a"), (200, "b"), (100, "c")):
        before = set(files(cache.folder))
        cache.fetch("kind", {"name": name}, Compute())
        (path,) = set(files(cache.folder)) - before
        os.utime(path, (path.stat().st_atime, path.stat().st_mtime - age))
    assert names(cache) == {"a", "b", "c"}
    cache.fetch("kind", {"name": "a"}, no_compute)  # now b was not used for longest
    cache.fetch("kind", {"name": "d"}, Compute())  # four are too many, and nine tenths of three are two
    assert names(cache) == {"a", "d"}
    cache.fetch("kind", {"name": "e"}, Compute())
    assert names(cache) == {"a", "d", "e"}


def test_the_folder_is_looked_through_only_where_the_limit_may_be_passed(
    cache: Cache, entry_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []
    evict = Cache._evict
    monkeypatch.setattr(Cache, "_evict", lambda self, keep: looks.append(keep) or evict(self, keep))
    limit = 20 * entry_size + 19
    for number in range(60):  # one after another in caches of their own, as in other processes
        Cache(cache.folder, limit).fetch("kind", {"name": number}, Compute())
        assert sum(path.stat().st_size for path in files(cache.folder)) <= limit
    assert 2 < len(looks) < 24


@pytest.mark.parametrize("content", [None, "", "many", "99999999"])
def test_a_lost_or_wrong_sum_of_bytes_is_set_right(cache: Cache, entry_size: int, content: str | None) -> None:
    cache.limit = 3 * entry_size
    for name in ("a", "b"):
        cache.fetch("kind", {"name": name}, Compute())
    count = cache.folder / "locks" / "bytes"
    assert int(count.read_text()) == 2 * entry_size
    count.unlink() if content is None else count.write_text(content)
    cache.fetch("kind", {"name": "c"}, Compute())
    assert names(cache) == {"a", "b", "c"}
    assert int(count.read_text()) == 3 * entry_size


def test_there_is_never_more_than_the_limit(cache: Cache, entry_size: int) -> None:
    cache.limit = 4 * entry_size
    generator = torch.Generator().manual_seed(0)
    counts = set()
    for number in range(40):
        size = int(torch.randint(1, 300, (), generator=generator))
        cache.fetch("kind", {"name": number}, Compute(size))
        cache.fetch("kind", {"name": number}, no_compute)  # the newest one stays
        total = sum(path.stat().st_size for path in cache.folder.iterdir() if path.is_file())
        assert total <= cache.limit
        counts.add(len(files(cache.folder)))
    assert max(counts) > 2


@pytest.mark.parametrize("share", [1, 2], ids=["with-its-header", "by-far"])
def test_a_result_above_the_limit_is_not_kept_and_says_so(cache: Cache, entry_size: int, share: int) -> None:
    cache.limit = entry_size
    cache.fetch("kind", {"name": "a"}, Compute())
    large = Compute(share * entry_size // 4)  # floats of 4 bytes
    for calls in (1, 2):
        with pytest.warns(CacheWarning, match=r"could not keep .*are above the limit of .*LLPE_CACHE_GB") as said:
            assert cache.fetch("large", {"name": "b"}, large) is large.result
        assert len(said) == 1
        assert large.calls == calls
    assert names(cache) == {"a"}
    assert not list(cache.folder.glob("*.partial"))


def test_an_entry_that_cannot_be_deleted_does_not_lose_the_result(
    cache: Cache, entry_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.limit = entry_size
    cache.fetch("kind", {"name": "a"}, Compute())
    unlink = Path.unlink

    def refuse(path: Path, missing_ok: bool = False) -> None:
        if path.suffix == ".safetensors":
            raise PermissionError(errno.EACCES, "Permission denied")
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.warns(CacheWarning, match=r"could not tidy .*Permission denied.*may be above its limit"):
        assert cache.fetch("kind", {"name": "b"}, Compute()).tensors["a"].sum() == 100


# --- looking inside --------------------------------------------------------------------------------------------------


def test_entries_lists_the_most_recently_used_first(cache: Cache) -> None:
    assert cache.entries() == []
    for age, name in ((200, "a"), (100, "b")):
        before = set(files(cache.folder))
        cache.fetch("kind", {"name": name}, Compute())
        (path,) = set(files(cache.folder)) - before
        os.utime(path, (path.stat().st_atime, path.stat().st_mtime - age))
    cache.fetch("kind", {"name": "a"}, no_compute)
    write_something_else(cache.folder / "foreign.safetensors")
    write_tensors_without_a_header(cache.folder / "headless.safetensors")
    entries = cache.entries()
    assert [key for _, key, _ in entries] == [
        {"format": cache_module.FORMAT, "kind": "kind", "name": name} for name in ("a", "b")
    ]
    assert all(path.stat().st_size == size for path, _, size in entries)


def test_clear_deletes_every_entry_and_says_how_many(cache: Cache) -> None:
    assert cache.clear() == 0
    for number in range(3):
        cache.fetch("kind", {"n": number}, Compute())
    assert cache.clear() == 3
    assert cache.entries() == []
    compute = Compute()
    cache.fetch("kind", {"n": 0}, compute)
    assert compute.calls == 1


# --- prepare ---------------------------------------------------------------------------------------------------------

OPTIONS = {
    "none": {},
    "lpe-fk": {"dim": 4, "k": 3},
    "lpe-lk": {"dim": 4, "k": 3},
    "lpe-flk": {"dim": 4, "k": 3},
    "lpe-full": {"dim": 4},
    "elastic": {"dim": 4},
    "signnet": {"dim": 4, "k": 3},
    "san": {"dim": 4, "k": 3},
    "rwse": {"dim": 4, "steps": 5},
    "llpe": {"dim": 4, "order": 8, "l1": 0.1},
    "llpe-ends": {"dim": 4, "order": 8, "k": 3},
    "llpe-minmax": {"dim": 4, "order": 8},
    "llpe-probes": {"dim": 4, "order": 8, "probes": 2, "l2": 0.1},
    "llpe-invariant": {"dim": 4, "order": 8, "filters": 2},
}


def test_every_encoding_is_among_those_tested_here() -> None:
    assert {name.split()[0] for name in OPTIONS} == set(ENCODINGS)


def build(name: str, **changes: object) -> Encoding:
    return make_encoding(name.split()[0], **{**OPTIONS[name], **changes})


def fixed_part(before: Data, after: Data) -> dict[str, bytes]:
    return {name: after[name].numpy().tobytes() for name in after.keys() if name not in before}  # noqa: SIM118


@pytest.mark.parametrize("name", OPTIONS)
def test_prepare_from_the_cache_gives_the_computed_bytes(name: str, own_cache: Path) -> None:
    data = tiny("grid")
    without = fixed_part(data, build(name).prepare(data, cache=False))
    assert not own_cache.exists()
    first = fixed_part(data, build(name).prepare(data))
    assert len(files(own_cache)) == {"none": 0, "llpe": 2, "llpe-ends": 2, "llpe-minmax": 2}.get(name, 1)
    assert fixed_part(data, build(name).prepare(data)) == first == without


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("lpe-fk", {"k": 4}),
        ("lpe-fk", {"seed": 1}),
        ("lpe-lk", {"k": 4}),
        ("lpe-flk", {"k": 4}),
        ("lpe-full", {"seed": 1}),
        ("elastic", {"width": 20}),
        ("signnet", {"seed": 1}),
        ("san", {"k": 4}),
        ("rwse", {"steps": 6}),
        ("llpe", {"order": 9}),
        ("llpe", {"seed": 1}),
        ("llpe-ends", {"k": 4}),
        ("llpe-ends", {"scaling": "minmax"}),
        ("llpe-probes", {"probes": 1}),
        ("llpe-probes", {"seed": 1}),
        ("llpe-invariant", {"order": 9}),
        ("llpe-invariant", {"filters": 4}),
        ("llpe-invariant", {"seed": 1}),
    ],
)
def test_a_changed_argument_of_an_encoding_is_another_entry(name: str, change: dict, own_cache: Path) -> None:
    build(name).prepare(tiny("grid"))
    before = set(files(own_cache))
    changed = build(name, **change)
    assert fixed_part(tiny("grid"), changed.prepare(tiny("grid"))) == fixed_part(
        tiny("grid"), changed.prepare(tiny("grid"), cache=False)
    )
    assert set(files(own_cache)) > before


def test_every_form_of_llpe_has_its_own_entry(own_cache: Path) -> None:
    names = ("llpe", "llpe-ends", "llpe-minmax", "llpe-probes")
    parts = [fixed_part(tiny("grid"), build(name, l1=0.0, l2=0.0).prepare(tiny("grid"))) for name in names]
    assert len({name for part in parts for name in part}) == len(names)
    assert len({value for part in parts for value in part.values()}) == len(names)


@pytest.mark.parametrize("name", [name for name in OPTIONS if name != "none"])
def test_a_changed_graph_is_another_entry(name: str, own_cache: Path) -> None:
    data = tiny("grid")
    build(name).prepare(data)
    before = set(files(own_cache))
    data.edge_weight = torch.ones(data.num_edges)
    if name != "llpe-invariant":  # the one that sees features
        data.x = torch.ones(12, 1)
    build(name).prepare(data)  # the same graph: weights of 1, and features that it does not see
    assert set(files(own_cache)) == before
    heavy = (data.edge_index[0] + data.edge_index[1] == 1).float()
    data.edge_weight = 1 + heavy  # the edge between 0 and 1, both ways
    build(name).prepare(data)
    assert set(files(own_cache)) > before


def test_an_argument_that_the_fixed_part_does_not_see_is_the_same_entry(own_cache: Path) -> None:
    LLPE(4, order=8, directions=2).prepare(tiny("grid"))
    before = set(files(own_cache))
    LLPE(6, order=8, directions=2, start="uniform", size=2.0, l1=0.5).prepare(tiny("grid"))
    assert set(files(own_cache)) == before


# --- other processes -------------------------------------------------------------------------------------------------


# Two components, one of them too large for the dense solver, an isolated node, and a repeated eigenvalue.
SETUP = f"""
import hashlib, json
import torch
from torch_geometric.data import Data
from llpe import make_encoding

OPTIONS = {OPTIONS!r}
ring = torch.arange(650)
chords = torch.randint(650, (2, 900), generator=torch.Generator().manual_seed(0))
half = torch.cat([torch.stack([ring, (ring + 1) % 650]), chords[:, chords[0] != chords[1]],
                  torch.tensor([[650, 651, 652], [651, 652, 650]])], dim=1)
data = Data(edge_index=torch.cat([half, half.flip(0)], dim=1).unique(dim=1), num_nodes=654)
small = ("lpe-full", "elastic", "llpe", "llpe-minmax")  # these take all eigenvectors: keep it short


def digest(name, cache):
    graph = data.subgraph(torch.arange(500, 654)) if name in small else data
    out = make_encoding(name.split()[0], **OPTIONS[name]).prepare(graph, cache=cache)
    new = sorted(key for key in out.keys() if key not in graph)
    return {{key: hashlib.sha256(out[key].numpy().tobytes()).hexdigest() for key in new}}
"""

FIRST = (
    SETUP
    + """
off = {name: digest(name, False) for name in OPTIONS}
print(json.dumps({"off": off, "on": {name: digest(name, True) for name in OPTIONS}}))
"""
)

SECOND = (
    SETUP
    + """
from unittest import mock


def forbid(*args, **options):
    raise RuntimeError("spectral work")


def works(name):
    try:
        return bool(digest(name, False))
    except RuntimeError:
        return False


solvers = ("llpe.eigensolvers.eigsh", "llpe.eigensolvers.dsyevd", "llpe.spectrum.dgeqrf")
others = ("scipy.linalg.lapack.dpotrf", "torch.sparse_csr_tensor")
patches = [mock.patch(name, forbid) for name in (*solvers, *others)]
for patch in patches:
    patch.start()
on = {name: digest(name, True) for name in OPTIONS}
needless = [name for name in OPTIONS if works(name)]
for patch in patches:
    patch.stop()
off = {name: digest(name, False) for name in OPTIONS}
print(json.dumps({"off": off, "on": on, "needless": needless}))
"""
)


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    """Digests of what two processes prepare, one after the other, without the cache and with it."""
    folder = tmp_path_factory.mktemp("two-processes")
    answers = []
    for number, code in enumerate((FIRST, SECOND)):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={
                **os.environ,
                "OMP_NUM_THREADS": "1",
                "PYTHONHASHSEED": str(number),
                "PYTHONWARNINGS": "ignore",
                "LLPE_CACHE": str(folder),
            },
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        answers.append(json.loads(done.stdout))
    return answers


def test_a_second_prepare_does_no_spectral_work(two_processes: list[dict]) -> None:
    first, second = two_processes  # the second one cannot solve, factorise or multiply sparse matrices
    assert second["on"] == first["on"]
    assert second["needless"] == ["none"]


def test_prepare_in_two_processes_gives_identical_bytes(two_processes: list[dict]) -> None:
    first, second = two_processes
    assert all(first["off"][name] for name in OPTIONS)
    assert [name for name in OPTIONS if first["off"][name] != second["off"][name]] == []
    assert [name for name in OPTIONS if first["off"][name] != first["on"][name]] == []


AT_ONCE = """
import json, multiprocessing, os, sys, time
from pathlib import Path
import torch
from llpe.cache import Cache, Result

folder, log = Path(sys.argv[1]), Path(sys.argv[2])


def compute():
    with log.open("a") as file:
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


@pytest.fixture(scope="module")
def at_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    folder = tmp_path_factory.mktemp("at-once")
    (folder / "script.py").write_text(AT_ONCE)
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", folder / "script.py", folder, folder / "log"],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout)


def test_processes_that_ask_at_once_compute_once(at_once: tuple[Path, dict]) -> None:
    folder, answers = at_once
    computed = (folder / "log").read_text().split()
    assert len(computed) == 1
    assert answers["asked"] == [float(computed[0])] * 4


def test_processes_that_evict_each_others_entries_do_not_trip(at_once: tuple[Path, dict]) -> None:
    folder, answers = at_once
    assert answers["churned"] == ["fine"] * 3
    kept = [path for path in (folder / "few").iterdir() if path.is_file()]
    assert 0 < sum(path.stat().st_size for path in kept) <= 6000
    assert all(path.suffix == ".safetensors" for path in kept)
