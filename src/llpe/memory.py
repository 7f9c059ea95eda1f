"""How much memory there is, how much was used, and refusing what would not fit before it starts."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import sys
from pathlib import Path

ALWAYS = 10**7  # bytes that are taken to be there: asking the system takes longer than small work does


class SpectrumError(RuntimeError):
    """An eigenvalue computation that cannot be done or did not succeed."""


def available_memory() -> int:
    """Bytes of memory that can be had without swapping (a limit of the container counts)."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        limit, used = (int(Path(f"/sys/fs/cgroup/memory.{name}").read_text()) for name in ("max", "current"))
        free = min(free, limit - used)
    except (OSError, ValueError):  # no such file, or "max": no limit
        pass
    return free


def peak_memory() -> int:
    """The most memory this process has held, in bytes."""
    try:  # unlike the resource limits' count, this one starts anew with every program
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        import resource  # not on every system

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def forget_peak() -> None:
    """Gives back what is free and lets the peak begin at what is held now.

    Where the system cannot do that, bytes are counted from the peak until now: a lower bound.
    """
    gc.collect()
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def require_memory(needed: int, what: str, instead: str) -> None:
    """Refuses work that would not fit in memory, before it starts."""
    if needed > ALWAYS and needed > (free := available_memory()):
        raise SpectrumError(
            f"{what} needs about {needed / 1e9:.1f} GB of memory, and {free / 1e9:.1f} GB are free. {instead}"
        )
