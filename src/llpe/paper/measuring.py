"""One measurement of time and memory, in a process of its own: ``python -m llpe.paper.measuring FILE WORK``.

FILE is the adjacency of a graph. WORK is JSON: the options of ``end_spectrum``, e.g. ``{"first": 8}``, or those of
``probe_features``, e.g. ``{"probes": 32, "order": 64}``. The process prints a line when it is ready, and then one of
JSON: ``seconds``, the least of up to three, and ``bytes``, its peak memory beyond what it held when everything was
imported, the graph was read and a small graph had been solved.
"""

from __future__ import annotations

import io
import json
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from llpe.data import sbm
from llpe.graph import Graph
from llpe.probes import probe_features
from llpe.sealed import write_zip
from llpe.spectrum import end_spectrum
from llpe.storage import forget_peak, peak_memory

READY = "ready"
REPEATS, SHORT = 3, 5.0  # what is short is done three times, and the least counts: other programs only add
Work = dict[str, Any]


def solve(graph: Graph, work: Work) -> None:
    """The work that is measured, from the graph to eigenvectors or features; nothing comes from the cache."""
    if "probes" in work:
        probe_features(graph, **work)
    else:
        end_spectrum(graph, **work, cache=False)


def measure(file: Path, work: Work) -> dict[str, float]:
    """Seconds and bytes of :func:`solve` in this process, which should not have done anything big before."""
    small = work if "probes" in work else dict.fromkeys(work, 2)
    solve(Graph.from_data(sbm(1000)), small)  # libraries load and threads start now
    graph = Graph(sp.csr_array(sp.load_npz(file)))
    forget_peak()
    print(READY, flush=True)
    before = peak_memory()
    seconds = [_seconds(graph, work)]
    most = peak_memory() - before
    while len(seconds) < REPEATS and sum(seconds) < SHORT:
        seconds.append(_seconds(graph, work))
    return {"seconds": min(seconds), "bytes": most}


def _seconds(graph: Graph, work: Work) -> float:
    fresh = Graph(graph.adjacency)  # has nothing stored from the time before
    start = time.perf_counter()
    solve(fresh, work)
    return time.perf_counter() - start


def measure_apart(file: Path, work: Work, *, limit: float) -> dict[str, float] | str:
    """The same in a new process, or in words why there is no result: it took more than ``limit`` seconds, or failed.

    The seconds count from when the process is ready to solve.
    """
    command = [sys.executable, "-m", "llpe.paper.measuring", str(file), json.dumps(work)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            process.stdout.readline()
            out, err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            process.kill()
            return f"took more than {limit:g} s"
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        lines = err.strip().splitlines()
        return f"failed: {lines[-1]}" if lines else f"failed with exit code {process.returncode}"
    result: dict[str, float] = json.loads(out)
    return result


def write_graph(path: Path, n: int, *, degree: float, homophily: float, seed: int) -> None:
    """Keeps the adjacency of a block model, so that the measuring process need not make it."""
    graph = Graph.from_data(sbm(n, degree=degree, homophily=homophily, seed=seed))
    path.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    sp.save_npz(buffer, graph.adjacency, compressed=False)
    write_zip(path, buffer)


def processor() -> str:
    """The name of the processor, or of its kind where the system does not tell."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]), json.loads(sys.argv[2]))))
