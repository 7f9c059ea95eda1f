"""Time and memory, measured in a process of its own: ``python -m llpe.measuring MODULE FUNCTION ARGUMENTS``.

FUNCTION of the module MODULE, called with ARGUMENTS (JSON), makes the :class:`Work`; what it does before it returns is
not measured. The process prints a line when it is ready, and then one of JSON: ``seconds``, the least of up to three
where it is short, ``bytes``, the peak of its memory beyond what it held before the work, and what the work says about
its result.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from llpe.storage import forget_peak, peak_memory

READY = "ready"
REPEATS, SHORT = 3, 5.0  # what is short is done three times, and the least counts: other programs only add


class Work(NamedTuple):
    """What is measured, and what is then said about its result (not measured)."""

    action: Callable[[], Any]
    describe: Callable[[Any], dict[str, Any]] = lambda _: {}
    short: float = SHORT  # seconds below which it is done again


def measure(
    module: str, function: str, *, limit: float | None = None, folder: str | Path = "", **arguments: Any
) -> dict[str, Any]:
    """Measures in a new process, which is stopped ``limit`` seconds after it is ready.

    ``failed`` in the result says why there is nothing else; ``after``, the seconds, is there only if it was stopped: a
    lower bound of its time. ``folder`` is where the module is, if it is not installed.
    """
    command = [sys.executable, "-m", "llpe.measuring", module, function, json.dumps(arguments)]
    paths = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    env = os.environ | {"PYTHONPATH": paths}
    pipe = subprocess.PIPE  # without a buffer, in which what comes after a line would be lost to `communicate`
    with subprocess.Popen(command, bufsize=0, stdout=pipe, stderr=pipe, env=env) as process:
        assert process.stdout is not None
        try:
            while process.stdout.readline().strip() not in (READY.encode(), b""):
                pass
            out, err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            process.kill()
            return {"failed": f"took more than {limit:g} s", "after": limit}
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        lines = err.decode(errors="replace").strip().splitlines()
        return {"failed": f"failed: {lines[-1]}" if lines else f"failed with exit code {process.returncode}"}
    result: dict[str, Any] = json.loads(out.splitlines()[-1])
    return result


def main(module: str, function: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The same in this process, which should not have done anything big before."""
    work: Work = getattr(import_module(module), function)(**arguments)
    forget_peak()
    print(READY, flush=True)
    before = peak_memory()
    seconds, result = _timed(work)
    times, most = [seconds], peak_memory() - before
    said = work.describe(result)
    del result
    while len(times) < REPEATS and sum(times) < work.short:
        times.append(_timed(work)[0])
    return {"seconds": min(times), "bytes": max(most, 1), **said}


def _timed(work: Work) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work.action()
    return time.perf_counter() - start, result


def processor() -> str:
    """The name of the processor, or of its kind where the system does not tell."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))))
