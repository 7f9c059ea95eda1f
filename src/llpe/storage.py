"""Files that are written whole or not at all, how a graph file is named in results, and limits of memory."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

GIANT = "giant:"  # before the name of a graph: its largest connected component
GRAPH_FILES = (".npz", ".pt", ".graphml", ".csv")  # the endings of graph files that llpe.data reads
SMALL_WORK = 10**7  # bytes that are assumed to be free: asking the system takes longer than such work


class SpectrumError(RuntimeError):
    """An eigenvalue computation that cannot be done or did not succeed."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file beside ``path`` to write into. It replaces ``path`` at the end, or is deleted after an error."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


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
