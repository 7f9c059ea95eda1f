"""How `prepare` with probes grows: seconds and peak memory from ten thousand to a million nodes.

Block models of degree 10; order 16 and 32 probes, 2 kB a node. Each size in a process of its own.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from apart import Work, measured
from rows import Row, Size, amount, duration, limit_row

from llpe import ProbeLLPE
from llpe.data import sbm

ORDER, PROBES = 16, 32
NODES = {
    "full": (10_000, 31_623, 100_000, 316_228, 1_000_000),
    "quick": (10_000, 100_000),
    "tiny": (500, 1000),
}
SLOPE, SHARE = 1.1, 1.5


def growth(size: Size) -> Iterator[Row]:
    """The slope in log–log, and the peak of memory over that of graph and output together, where it is largest."""
    points = [{"n": n, **measured("growth", "prepare", n=n)} for n in NODES[size]]
    slope = np.polyfit(*np.log([[point["n"], point["seconds"]] for point in points]).T, 1)[0]
    last = points[-1]
    at = f"{points[0]['n']} … {last['n']} nodes"
    words = f"slope {slope:.2f}, {duration(last['seconds'])} for the largest"
    yield limit_row("growth of prepare with probes", at, SLOPE, slope, words) | {"points": points}
    worst = max(points, key=_share)
    share, held = _share(worst), worst["graph"] + worst["output"]
    words = f"{share:.2f} at {worst['n']} nodes: {amount(share * held)}, of which graph and output are {amount(held)}"
    yield limit_row("memory of prepare over graph + output", at, SHARE, share, words)


def _share(point: Row) -> float:
    """Peak memory, the graph included, over graph and output."""
    return (point["graph"] + point["bytes"]) / (point["graph"] + point["output"])


def prepare(n: int) -> Work:
    encoding = ProbeLLPE(2 * PROBES, order=ORDER, probes=PROBES)
    encoding.prepare(sbm(200), cache=False)
    data = sbm(n, blocks=10, degree=10, homophily=0.8)
    name = encoding.attribute("basis")

    def facts(done: Any) -> dict[str, Any]:
        return {"graph": data.edge_index.nbytes, "output": done[name].nbytes}

    return Work(lambda: encoding.prepare(data, cache=False), facts, short=60.0)  # all sizes are done equally often
