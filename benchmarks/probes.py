"""Probes against the dense eigendecomposition and their own products; the product against others and the machine."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from graphs import load
from reference import eigendecomposition
from rows import Row, Size, against, amount, compare, duration, limit_row, measure, measured, row, seconds
from torch import Tensor

from llpe import Graph, ProbeLLPE
from llpe.data import sbm
from llpe.laplacian import normalised_adjacency
from llpe.measuring import Work
from llpe.spmm import multiply, torch_csr

ORDER, PROBES, COLUMNS, TERMS = 64, 64, 32, 16
MOST = 2.2  # of the time of its products
GRAPHS = {
    "full": (("cora", 20), ("computers", 300)),
    "quick": (("cora", 20),),
    "tiny": (("sbm:n=300,homophily=0.8", 20),),
}
NODES = {"full": 1_000_000, "quick": 100_000, "tiny": 1000}
GROWING = {
    "full": (10_000, 31_623, 100_000, 316_228, 1_000_000),
    "quick": (10_000, 100_000),
    "tiny": (500, 1000),
}
SLOPE, SHARE = 1.1, 1.5
PER_ROW = 10
DENSE_LIMIT = 400.0  # seconds
STREAM = {"full": 2**28, "quick": 2**26, "tiny": 2**16}  # numbers that are read and copied to measure the bandwidth


def prepare(size: Size) -> Iterator[Row]:
    """`prepare` with order 64 and 64 probes against the dense eigendecomposition of the same graph, from edges on.

    What takes longer than the limit is ended: the ratio is then a lower bound, and the row says so.
    """
    for name, target in GRAPHS[size]:
        ours = measured("probes", "with_probes", name=name)["seconds"]
        dense = measure("probes", "dense", limit=DENSE_LIMIT, name=name)
        if "failed" in dense and "after" not in dense:
            raise RuntimeError(f"dense eigendecomposition of {name}: {dense['failed']}")
        seconds = dense.get("seconds", dense.get("after"))
        words = against(ours, seconds) + (", when it was ended" if "after" in dense else "")
        yield row("prepare with probes", load(name)[1], "dense eigendecomposition", seconds / ours, target, words)


def with_probes(name: str) -> Work:
    encoding = ProbeLLPE(PROBES, order=ORDER, probes=PROBES)
    encoding.prepare(sbm(200), cache=False)
    data = load(name)[0].data
    return Work(lambda: encoding.prepare(data, cache=False))


def dense(name: str) -> Work:
    eigendecomposition(Graph.from_data(sbm(200)))
    data = load(name)[0].data
    return Work(lambda: eigendecomposition(Graph.from_data(data)))


def product(size: Size) -> Iterator[Row]:
    """Sparse × 32 columns in float32, ten entries a row at random places.

    The limit counts what must be moved: for each stored entry its value, its index and one row of the block, and each
    row of the result once, at the rate at which memory can be read or copied in this run.
    """
    n = NODES[size]
    matrix = random_matrix(n)
    block = torch.randn(n, COLUMNS)
    csr, array = torch_csr(matrix), block.numpy()
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    ours = seconds(lambda: multiply(csr, block))
    theirs = {"torch": seconds(lambda: csr @ block), "scipy": seconds(lambda: matrix @ array)}
    better = min(theirs, key=lambda name: theirs[name])
    at = f"{n} nodes, {matrix.nnz} entries, {COLUMNS} columns"
    words = f"{against(ours, theirs[better])} of {better}"
    yield row("sparse × block product", at, "better of scipy and torch", theirs[better] / ours, 1.5, words)
    moved = matrix.nnz * (4 + 4 + 4 * COLUMNS) + n * 4 * COLUMNS
    rate = bandwidth(STREAM[size])
    words = f"{duration(ours)} against {duration(moved / rate)} at {rate / 1e9:.1f} GB/s"
    yield row("sparse × block product, share", at, "bandwidth limit", moved / rate / ours, 0.6, words)


def whole(size: Size) -> Iterator[Row]:
    """`prepare` of a block model of degree 10, from edges on, against its sparse products alone, with 32 probes."""
    data = sbm(NODES[size], blocks=10, degree=10, homophily=0.8)
    encoding = ProbeLLPE(2 * COLUMNS, order=TERMS, probes=COLUMNS)
    operator, block = torch_csr(normalised_adjacency(Graph.from_data(data))), torch.randn(NODES[size], COLUMNS)

    def products() -> None:
        for _ in range(TERMS - 1):
            multiply(operator, block)

    ratio, words = compare(products, lambda: encoding.prepare(data, cache=False))
    at = f"{NODES[size]} nodes, {data.num_edges} entries, {COLUMNS} probes, order {TERMS}"
    yield limit_row("prepare with probes over its products", at, MOST, ratio, f"{ratio:.2f}: products {words}")


def growth(size: Size) -> Iterator[Row]:
    """How `prepare` grows on block models of degree 10, with 2 kB a node: each size in a process of its own.

    The slope in log–log, and the peak of memory over that of graph and output together, where it is largest.
    """
    points = [{"n": n, **measured("probes", "grown", n=n)} for n in GROWING[size]]
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


def grown(n: int) -> Work:
    encoding = ProbeLLPE(2 * COLUMNS, order=TERMS, probes=COLUMNS)
    encoding.prepare(sbm(200), cache=False)
    data = sbm(n, blocks=10, degree=10, homophily=0.8)
    name = encoding.attribute("basis")

    def facts(done: Any) -> dict[str, Any]:
        return {"graph": data.edge_index.nbytes, "output": done[name].nbytes}

    return Work(lambda: encoding.prepare(data, cache=False), facts, short=60.0)  # all sizes are done equally often


def random_matrix(n: int) -> sp.csr_array:
    rng = np.random.default_rng(0)
    place = rng.integers(0, n, PER_ROW * n), rng.integers(0, n, PER_ROW * n)
    return sp.csr_array(sp.coo_array((np.ones(PER_ROW * n, dtype=np.float32), place), shape=(n, n)))


def bandwidth(count: int) -> float:
    """Bytes a second between memory and cores: the better of reading and copying ``count`` numbers."""
    source: Tensor = torch.ones(count)
    target = torch.empty_like(source)
    read = 4 * count / seconds(lambda: source.sum())
    copied = 8 * count / seconds(lambda: target.copy_(source))
    return max(read, copied)
