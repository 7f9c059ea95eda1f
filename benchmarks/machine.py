"""What the numbers were measured on, in one sentence."""

import os
import platform
from importlib.metadata import version
from pathlib import Path


def machine() -> str:
    """Cores, processor, memory and versions.

    Example:
        >>> "cores" in machine() and "torch" in machine()
        True
    """
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "torch_geometric", "numpy", "scipy"))
    return (
        f"{len(os.sched_getaffinity(0))} cores of {_processor()}, {memory:.0f} GiB of memory, "
        f"{platform.system()}, Python {platform.python_version()}, {versions}"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
