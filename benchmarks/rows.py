"""One row of the table: a ratio against a baseline in the same run; how times are taken, and on what machine."""

import os
import platform
import statistics
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from llpe.measuring import measure as measure_module
from llpe.measuring import processor

Row = dict[str, Any]
Size = Literal["full", "quick", "tiny"]  # everything; the small sizes; only to see that it works
Action = Callable[[], object]

measure = partial(measure_module, folder=Path(__file__).parent)  # in a process of its own, see llpe.measuring


def row(name: str, at: str, baseline: str, ratio: float, target: float, measured: str, *, sound: bool = True) -> Row:
    """A row. Larger ratios are better; ``sound`` says whether the result also passed the checks of its benchmark.

    Example:
        >>> row("a step", "10 nodes", "a slow step", 2.3456, 2, "1 ms against 2 ms")["ratio"]
        2.35
    """
    ratio = rounded(ratio)  # as it is shown, so that no row says 0.6 of 0.6 and missed
    return {
        "name": name,
        "at": at,
        "baseline": baseline,
        "ratio": ratio,
        "target": target,
        "met": bool(sound and ratio >= target),
        "measured": measured,
    }


def limit_row(name: str, at: str, limit: float, value: float, measured: str) -> Row:
    """A row for what must stay below a limit: its ratio is limit / value, and 1 is enough."""
    return row(name, at, f"limit {limit:g}", limit / value, 1, measured)


def rounded(value: float) -> float:
    """Three digits that count."""
    return float(f"{value:.3g}")


def once(action: Action) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def seconds(action: Action, repeat: int = 3) -> float:
    """The median time of an action, after one call to warm up."""
    action()
    return statistics.median(once(action) for _ in range(repeat))


def compare(ours: Action, baseline: Action, *, pairs: int = 5, calls: int = 1) -> tuple[float, str]:
    """The ratio of two actions, and their times in words; ``calls`` of ours stand against one of the baseline.

    Both are called in turn, and the ratio is the median over the pairs: a slow spell of the machine spoils a pair, not
    the result.
    """
    ours()
    baseline()
    slow, fast = [], []
    for _ in range(pairs):
        slow.append(once(baseline))
        fast.append(once(lambda: [ours() for _ in range(calls)]) / calls)
    ratio = statistics.median(b / a for a, b in zip(fast, slow, strict=True))
    return ratio, against(statistics.median(fast), statistics.median(slow))


def against(ours: float, baseline: float) -> str:
    return f"{duration(ours)} against {duration(baseline)}"


def duration(value: float) -> str:
    """Seconds in words.

    Example:
        >>> duration(0.00123), duration(0.5), duration(271.2)
        ('1.23 ms', '500 ms', '271 s')
    """
    return f"{value * 1e3:.3g} ms" if value < 1 else f"{value:.3g} s"


def amount(value: float) -> str:
    """Bytes in words; 1 MB = 10⁶ bytes."""
    return f"{value / 1e9:.3g} GB" if value >= 1e9 else f"{value / 1e6:.3g} MB"


def measured(module: str, function: str, **arguments: Any) -> dict[str, Any]:
    """What :func:`measure` finds, where it must not fail."""
    result = measure(module, function, **arguments)
    if "failed" in result:
        raise RuntimeError(f"{module}.{function}({arguments}): {result['failed']}")
    return result


def machine() -> str:
    """What the numbers were measured on: cores, processor, memory and versions.

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
