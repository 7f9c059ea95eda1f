"""One measurement of time and memory, in a process of its own: ``python -m llpe.paper.measuring FILE METHOD K``.

FILE is the adjacency of a graph, METHOD is ``first`` (K eigenpairs), ``both`` (K from each end) or ``probes``. The
process prints a line when it is ready, and then one of JSON: ``seconds``, the least of up to three, and ``bytes``, the
peak of its memory beyond what it held when all was imported, the graph was read and a small graph had been solved.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import time
from pathlib import Path

import scipy.sparse as sp

from llpe.data import sbm
from llpe.graph import Graph
from llpe.probes import probe_features
from llpe.spectrum import end_spectrum
from llpe.storage import forget_peak, peak_memory, replacing

METHODS = ("first", "both", "probes")
ORDER, PROBES = 64, 32
READY = "ready"
REPEATS, SHORT = 3, 5.0  # what is short is done three times, and the least counts: other programs only add


def solve(graph: Graph, method: str, k: int) -> None:
    """The work that is measured, from the graph to eigenvectors or features; nothing comes from the cache."""
    if method == "probes":
        probe_features(graph, order=ORDER, probes=PROBES)
    else:
        end_spectrum(graph, first=k, last=k if method == "both" else 0, cache=False)


def measure(file: Path, method: str, k: int) -> dict[str, float]:
    """Seconds and bytes of :func:`solve` in this process, which should not have done anything big before."""
    solve(Graph.from_data(sbm(1000)), method, 2)  # libraries load and threads start now
    graph = Graph(sp.csr_array(sp.load_npz(file)))
    forget_peak()
    print(READY, flush=True)
    before = peak_memory()
    seconds = [_seconds(graph, method, k)]
    most = peak_memory() - before
    while len(seconds) < REPEATS and sum(seconds) < SHORT:
        seconds.append(_seconds(graph, method, k))
    return {"seconds": min(seconds), "bytes": most}


def _seconds(graph: Graph, method: str, k: int) -> float:
    fresh = Graph(graph.adjacency)  # knows nothing of itself from the time before
    start = time.perf_counter()
    solve(fresh, method, k)
    return time.perf_counter() - start


def measure_apart(file: Path, method: str, k: int, *, limit: float) -> dict[str, float] | str:
    """The same in a new process, or in words why there is nothing: it took more than ``limit`` seconds, or it failed.

    The seconds begin when the process is ready to solve.
    """
    command = [sys.executable, "-m", "llpe.paper.measuring", str(file), method, str(k)]
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


def write_graph(path: Path, n: int, seed: int) -> None:
    """Keeps the adjacency of a block model, so that the measuring process need not make it."""
    graph = Graph.from_data(sbm(n, degree=10, homophily=0.8, seed=seed))
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as partial, partial.open("wb") as file:
        sp.save_npz(file, graph.adjacency, compressed=False)


def processor() -> str:
    """The name of the processor, or of its kind where the system does not tell."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))))
