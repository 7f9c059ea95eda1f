"""What the numbers were measured on, in one sentence."""

import os
import platform
from importlib.metadata import version

from llpe.measuring import processor


def machine() -> str:
    """Cores, processor, memory and versions.

    Example:
        >>> "cores" in machine() and "torch" in machine()
        True
    """
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "torch_geometric", "numpy", "scipy"))
    return (
        f"{len(os.sched_getaffinity(0))} cores of {processor()}, {memory:.0f} GiB of memory, "
        f"{platform.system()}, Python {platform.python_version()}, {versions}"
    )
