"""Results on disk: keyed by every input, checksummed, safe for many processes, limited in size.

An entry is one safetensors file. Its name is the hash of its key, so that a changed argument or graph is another
entry; its header carries the key, a few facts about the result, and the checksum of all three. Writing is atomic, and
a lock lets one process compute while the others wait for it. Nothing is kept for graphs of up to ``SMALL`` nodes:
computing takes about as long as reading, and less than writing.

``LLPE_CACHE`` moves the folder (default: ``llpe`` in the user's cache folder); ``LLPE_CACHE_GB`` is its size limit
(default 10). Above it, the least recently used entries are deleted, down to nine tenths of the limit.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from filelock import AcquireReturnProxy, FileLock
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from llpe.checks import checked, refusal
from llpe.graph import SMALL, Graph
from llpe.sealed import read_json, write_json
from llpe.storage import replacing

# What reading a damaged or foreign file raises; torch raises RuntimeError for one that is deleted while it is opened.
UNREADABLE = (SafetensorError, OSError, KeyError, TypeError, ValueError, RuntimeError)
FORMAT = 3  # raise when the meaning of stored results changes: older entries are then no longer found
LOCKS = 64  # files for each kind of result, shared by its entries, however many there are
ROOM = 0.9  # share of the limit that stays filled after an eviction, so that not every write evicts


class CacheWarning(UserWarning):
    """An entry was damaged and replaced, or a result could not be kept."""


@dataclass(frozen=True)
class Result:
    """Named tensors and a few JSON-able facts about how they were made."""

    tensors: dict[str, Tensor]
    facts: dict[str, Any]


class Cache:
    """A folder of computed results.

    Args:
        folder: where to keep them.
        limit: size limit in bytes; a result larger than the limit is not kept.

    Example:
        >>> import tempfile
        >>> cache = Cache(tempfile.mkdtemp())
        >>> compute = lambda: Result({"a": torch.ones(2)}, {})
        >>> cache.fetch("example", {"n": 2}, compute).tensors["a"]
        tensor([1., 1.])
        >>> cache.fetch("example", {"n": 2}, lambda: 1 / 0).tensors["a"]  # not computed again
        tensor([1., 1.])
    """

    @checked
    def __init__(self, folder: str | Path, limit: int = 10 * 10**9) -> None:
        self.folder = Path(folder).expanduser()
        self.limit = limit

    def __repr__(self) -> str:
        return f"Cache(folder={str(self.folder)!r}, limit={self.limit})"

    def fetch(self, kind: str, key: dict[str, Any], compute: Callable[[], Result]) -> Result:
        """The stored result for ``key``, computed and stored first if it is not there."""
        text = json.dumps({"format": FORMAT, "kind": kind, **key}, sort_keys=True)
        path = self.folder / f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:32]}.safetensors"
        if found := self._read(path, text, warn=False):  # damage is reported once, under the lock
            return found
        try:
            lock = self._lock(kind, path.stem)
        except OSError as error:
            self._complain(path, error)
            return compute()
        with lock:
            if found := self._read(path, text):  # another process may have finished it while we waited
                return found
            result = compute()
            size = self._write(path, text, result)
        try:
            if size:
                self._account(size, keep=path)
        except OSError as error:
            message = f"could not tidy {self.folder} ({error}); it may be above its limit of {self.limit / 1e9:g} GB."
            warnings.warn(message, CacheWarning, stacklevel=2)
        return result

    def entries(self) -> list[tuple[Path, dict[str, Any], int]]:
        """(file, key, bytes) of every entry, the most recently used first; unreadable files are left out."""
        found = []
        for path in self.folder.glob("*.safetensors"):
            try:
                status = path.stat()
                with safe_open(path, framework="pt") as file:
                    found.append((status.st_mtime, path, json.loads(file.metadata()["key"]), status.st_size))
            except UNREADABLE:
                continue
        return [(path, key, size) for _, path, key, size in sorted(found, key=lambda entry: -entry[0])]

    def clear(self) -> int:
        """Deletes every entry and returns how many there were."""
        paths = list(self.folder.glob("*.safetensors"))
        for path in paths:
            path.unlink(missing_ok=True)
        return len(paths)

    def _lock(self, kind: str, name: str) -> AcquireReturnProxy:
        """Holds one of the ``LOCKS`` files of this kind.

        They stay: a lock file that is removed can be held by two at once. Entries that share one wait for each other.
        So a result may only ask for results of another kind (an encoding for a spectrum): there is no deadlock.
        """
        folder = self.folder / "locks"
        folder.mkdir(parents=True, exist_ok=True)
        return FileLock(folder / f"{kind}-{int(name[-8:], 16) % LOCKS}.lock").acquire()

    def _read(self, path: Path, text: str, *, warn: bool = True) -> Result | None:
        try:
            with safe_open(path, framework="pt") as file:
                header = file.metadata()
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            if header["key"] != text:
                raise ValueError("its key is another one")
            if header["checksum"] != _checksum(text, header["facts"], tensors):
                raise ValueError("its checksum does not match")
            with contextlib.suppress(OSError):  # a folder that others own, or another process has just deleted it
                os.utime(path)
            return Result(tensors, json.loads(header["facts"]))
        except FileNotFoundError:
            return None
        except UNREADABLE as error:
            if warn and path.exists():  # or it was evicted while we read it
                message = f"cache entry {path} is damaged ({error}); computing it again."
                warnings.warn(message, CacheWarning, stacklevel=3)
            return None

    def _write(self, path: Path, text: str, result: Result) -> int:
        """Writes the entry and returns its bytes, 0 if it could not be kept."""
        tensors = {name: tensor.contiguous() for name, tensor in result.tensors.items()}
        size = sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
        try:
            self._check_size(size)
            facts = json.dumps(result.facts)
            header = {"key": text, "facts": facts, "checksum": _checksum(text, facts, tensors)}
            with replacing(path, sync=False) as partial:  # what a loss of power damages is computed again
                save_file(tensors, partial, metadata=header)
                size = partial.stat().st_size  # the header counts too
                self._check_size(size)
            return size
        except (OSError, SafetensorError) as error:
            self._complain(path, error)
            return 0

    def _check_size(self, size: int) -> None:
        if size > self.limit:
            raise OSError(f"its {size / 1e9:.2g} GB are above the limit of {self.limit / 1e9:g} GB")

    def _account(self, size: int, keep: Path) -> None:
        """Counts a written entry, and makes room where the limit is passed.

        A file that every process adds to holds the bytes of all entries. The folder is read only when that sum is above
        the limit or lost, which also corrects it.
        """
        count = self.folder / "locks" / "bytes.json"
        with FileLock(count.with_suffix(".lock")):
            try:
                total = int(read_json(count)["bytes"]) + size
            except (OSError, ValueError):
                total = self.limit + 1
            if total > self.limit:
                total = self._evict(keep)
            write_json(count, {"bytes": total})

    def _evict(self, keep: Path) -> int:
        """Deletes the least recently used entries if they exceed the limit; returns the bytes that remain."""
        used = []
        for path in self.folder.glob("*.safetensors"):
            with contextlib.suppress(FileNotFoundError):
                status = path.stat()
                used.append((path != keep, -status.st_mtime, path, status.st_size))
        total = sum(size for *_, size in used)
        most = ROOM * self.limit if total > self.limit else self.limit
        for kept, _, path, size in sorted(used, reverse=True):
            if total > most and kept:
                path.unlink(missing_ok=True)
                total -= size
        return total

    def _complain(self, path: Path, reason: object) -> None:
        warnings.warn(
            f"could not keep {path} ({reason}); the result is used anyway. "
            "Set LLPE_CACHE to a writable folder or LLPE_CACHE_GB to a larger limit, or pass cache=False.",
            CacheWarning,
            stacklevel=3,
        )


def default_cache() -> Cache:
    """The cache that ``LLPE_CACHE`` and ``LLPE_CACHE_GB`` describe."""
    gigabytes = os.environ.get("LLPE_CACHE_GB", "10")
    try:
        limit = int(float(gigabytes) * 10**9)
    except (ValueError, OverflowError):
        limit = -1
    if limit < 0:
        raise refusal("LLPE_CACHE_GB", "be a number of gigabytes, at least 0", repr(gigabytes))
    folder = os.environ.get("LLPE_CACHE")
    return Cache(folder or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "llpe", limit)


def fetch(
    kind: str, graph: Graph, arguments: dict[str, Any], compute: Callable[[], Result], *, cache: bool | Cache = True
) -> Result:
    """The result for a graph and arguments, from the given cache, the default one (``True``), or none (``False``)."""
    if not isinstance(cache, bool | Cache):
        raise refusal("cache", "be True, False or an llpe.Cache", repr(cache), "Pass Cache(folder).")
    if cache is False or graph.num_nodes <= SMALL:
        return compute()
    try:
        store = default_cache() if cache is True else cache
    except RuntimeError as error:  # there is no home folder
        warnings.warn(f"nothing is cached: {error} Set LLPE_CACHE to a folder.", CacheWarning, stacklevel=2)
        return compute()
    return store.fetch(kind, {"graph": graph.fingerprint, **arguments}, compute)


def _checksum(key: str, facts: str, tensors: dict[str, Tensor]) -> str:
    digest = hashlib.sha256(json.dumps([key, facts]).encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)} ".encode())
        digest.update(tensor.detach().contiguous().view(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
