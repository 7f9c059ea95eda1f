"""Files that are written whole or not at all, how a graph file is named in results, and limits of memory."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

GIANT = "giant:"  # before the name of a graph: its largest connected component
GRAPH_FILES = (".npz", ".pt", ".graphml", ".csv")  # the endings of graph files that llpe.data reads
PARTIAL = ".partial"  # the ending of folders in which files are being written
SMALL_WORK = 10**7  # bytes that are assumed to be free: asking the system takes longer than such work


class SpectrumError(RuntimeError):
    """An eigenvalue computation that cannot be done or did not succeed."""


@contextmanager
def replacing(path: Path, *, sync: bool = True) -> Iterator[Path]:
    """A file to write into. At the end it becomes ``path``, whole; after an error it is deleted.

    It has the mode that the umask gives. With ``sync`` it is on the disk, so that it survives a loss of power.
    """
    with scratch_folder(path.parent) as folder:
        partial = folder / path.name
        partial.touch()
        mode = partial.stat().st_mode
        yield partial
        partial.chmod(mode)  # some libraries write for the owner alone
        if sync:
            _sync(partial)
        os.replace(partial, path)
        if sync:
            _sync(path.parent)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder to write into. At the end it becomes ``path``, whole; after an error it is deleted."""
    with scratch_folder(path.parent) as folder:
        yield folder
        os.umask(mask := os.umask(0))
        folder.chmod(0o777 & ~mask)
        folder.rename(path)
        _sync(path.parent)


def sweep(folder: Path) -> None:
    """Removes what killed writers have left in a folder. Writers that still work hold a lock, and theirs stays."""
    for left in folder.glob(f".*{PARTIAL}"):
        with contextlib.suppress(OSError):
            held = os.open(left, os.O_RDONLY)
            try:
                _lock(held, wait=False)
                shutil.rmtree(left)
            finally:
                os.close(held)


@contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """A new folder, locked while it is used and then removed; first removes what killed writers have left beside it."""
    sweep(parent)
    while True:
        folder = Path(tempfile.mkdtemp(PARTIAL, ".", parent))
        with contextlib.suppress(FileNotFoundError):  # swept before it was locked
            held = os.open(folder, os.O_RDONLY)
            with contextlib.suppress(OSError):  # some network file systems lock no folders; nothing is swept there
                _lock(held, wait=True)
            if folder.exists():
                break
            os.close(held)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


def _lock(descriptor: int, *, wait: bool) -> None:
    import fcntl  # not on every system

    fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def graph_name(spec: str) -> str:
    """The name of a graph in tables, pages and folders: for a file, its name without folder and ending.

    Example:
        >>> [graph_name(spec) for spec in ("cora", "sbm:n=50,homophily=0.5", "/data/mine.npz", "giant:../a/mine.pt")]
        ['cora', 'sbm:n=50,homophily=0.5', 'mine', 'giant:mine']
        >>> graph_name("people/edges.csv"), graph_name("data/v1.2/")
        ('people', 'v1.2')
    """
    if spec.startswith(GIANT):
        return GIANT + graph_name(spec.removeprefix(GIANT))
    path = Path(spec)
    if path.name == "edges.csv" and path.parent.name:
        return path.parent.name
    return path.stem if path.suffix.lower() in GRAPH_FILES else path.name or spec


def inert(cell: Any) -> Any:
    """A cell of a CSV file that no spreadsheet takes for a formula: such a text gets an apostrophe in front.

    Example:
        >>> [inert(cell) for cell in ("=HYPERLINK(A1)", "@home", "-1.5", "a=b", -2)]
        ["'=HYPERLINK(A1)", "'@home", '-1.5', 'a=b', -2]
    """
    if not isinstance(cell, str) or not cell.startswith(("=", "+", "-", "@", "\t", "\r")):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def available_memory() -> int:
    """Bytes of memory that are free without swapping; the limit of a container counts."""
    try:
        free = _kilobytes("/proc/meminfo", "MemAvailable") * 1024
    except (OSError, StopIteration):
        free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with contextlib.suppress(OSError, ValueError):  # no such file, or "max": no limit
        limit, used = (int(Path(f"/sys/fs/cgroup/memory.{name}").read_text()) for name in ("max", "current"))
        free = min(free, limit - used)
    return free


def peak_memory() -> int:
    """The most memory that this process has held, in bytes."""
    try:  # unlike the count of the resource limits, this one starts at 0 with every program
        return _kilobytes("/proc/self/status", "VmHWM") * 1024
    except (OSError, StopIteration):
        import resource  # not on every system

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def forget_peak() -> None:
    """Returns free memory to the system and lets the peak start from what is held now.

    Where the system cannot do that, later peaks are counted from the earlier one: a lower bound of what is used.
    """
    gc.collect()
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def require_memory(needed: int, what: str, instead: str) -> None:
    """Refuses work that would not fit in memory, before it starts."""
    if needed > SMALL_WORK and needed > (free := available_memory()):
        raise SpectrumError(
            f"{what} needs about {needed / 1e9:.1f} GB of memory, and {free / 1e9:.1f} GB are free. {instead}"
        )


def _kilobytes(file: str, name: str) -> int:
    return next(int(line.split()[1]) for line in Path(file).read_text().splitlines() if line.startswith(name))
