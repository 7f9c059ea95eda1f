"""How long it takes until something happens: ``llpe --help``, and all public names of ``llpe`` beyond torch and PyG."""

import statistics
import subprocess
import sys
from collections.abc import Iterator
from functools import partial

from rows import Row, Size, duration, limit_row, once

HELP, IMPORT = 0.3, 0.5
REPEATS = {"full": 9, "quick": 5, "tiny": 1}
NAMES = """
import time, torch, torch_geometric
start = time.perf_counter()
import llpe
for name in llpe.__all__:
    getattr(llpe, name)
print(time.perf_counter() - start)
"""


def starting(size: Size) -> Iterator[Row]:
    """Each in a new process, after one to fill the system's file cache; the median counts."""
    repeats = REPEATS[size]
    shown = [sys.executable, "-m", "llpe.cli", "--help"]
    show = partial(subprocess.run, shown, check=True, stdout=subprocess.DEVNULL)
    show()
    value = statistics.median([once(show) for _ in range(repeats)])
    yield limit_row("llpe --help, in s", "a new process", HELP, value, duration(value))
    value = statistics.median([_import() for _ in range(repeats)])
    yield limit_row("import llpe, in s", "beyond torch and PyG", IMPORT, value, duration(value))


def _import() -> float:
    """``import llpe`` alone loads nothing; so every public name is asked for."""
    done = subprocess.run([sys.executable, "-c", NAMES], check=True, capture_output=True, text=True)
    return float(done.stdout)
