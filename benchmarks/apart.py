"""A measurement in a process of its own: ``python benchmarks/apart.py MODULE FUNCTION ARGUMENTS``.

FUNCTION of the module MODULE, called with ARGUMENTS (JSON), makes the :class:`Work`. What it does before it returns
(loading graphs, calling everything once on something small) is not measured. The process then prints one line of JSON:
``seconds``, the least of up to three where it is short, ``bytes``, the peak of its memory beyond what it held before
the work, and what the work says of its result.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from rows import once

READY = "ready"
REPEATS, SHORT = 3, 5.0  # what is short is done three times, and the least counts: other programs only add


class Work(NamedTuple):
    """What is measured, and what is then to be said of its result (not measured)."""

    action: Callable[[], Any]
    describe: Callable[[Any], dict[str, Any]] = lambda _: {}
    short: float = SHORT  # seconds below which it is done again


def measure(module: str, function: str, *, limit: float | None = None, **arguments: Any) -> dict[str, Any]:
    """Measures in a new process. ``failed`` in the result says in words why there is nothing else; ``after``, the
    seconds, is there only if it was ended for taking longer: a lower bound of what it would have taken.

    Args:
        module, function: what makes the work.
        limit: seconds after which it is ended, from when it is ready to begin.
        arguments: of the function.
    """
    command = [sys.executable, str(Path(__file__)), module, function, json.dumps(arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            while process.stdout.readline().strip() not in (READY, ""):
                pass
            out, err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            process.kill()
            return {"failed": f"took more than {limit:g} s", "after": limit}
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        lines = err.strip().splitlines()
        return {"failed": f"failed: {lines[-1]}" if lines else f"ended with code {process.returncode}"}
    result: dict[str, Any] = json.loads(out.splitlines()[-1])
    return result


def measured(module: str, function: str, **arguments: Any) -> dict[str, Any]:
    """The same, for what must not fail."""
    result = measure(module, function, **arguments)
    if "failed" in result:
        raise RuntimeError(f"{module}.{function}({arguments}): {result['failed']}")
    return result


def main(module: str, function: str, arguments: dict[str, Any]) -> dict[str, Any]:
    work: Work = getattr(import_module(module), function)(**arguments)
    from llpe.storage import forget_peak, peak_memory

    forget_peak()
    print(READY, flush=True)
    before = peak_memory()
    results: list[Any] = []
    times = [once(lambda: results.append(work.action()))]
    most = peak_memory() - before
    said = work.describe(results.pop())
    while len(times) < REPEATS and sum(times) < work.short:
        times.append(once(work.action))
    return {"seconds": min(times), "bytes": max(most, 1), **said}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))))
