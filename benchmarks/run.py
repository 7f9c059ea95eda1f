"""Every claim of speed or memory as a ratio against a baseline in the same run.

python benchmarks/run.py            # all; prints a table and writes benchmarks/latest.json
python benchmarks/run.py --quick    # the smallest size of each
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch
from reference import eigendecomposition, random_orthogonal, step
from splits import ten_splits
from torch_geometric.data import Data

from llpe import LLPE, Graph
from llpe.data.synthetic import sbm
from llpe.encodings.llpe import penalty_parts
from llpe.sparse import multiply, torch_csr

Row = dict[str, object]


def seconds(action: Callable[[], object], repeat: int = 3) -> float:
    """The median time of an action, after one call to warm up."""
    action()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def row(name: str, at: str, baseline: str, ratio: float, target: float) -> Row:
    return {
        "name": name,
        "at": at,
        "baseline": baseline,
        "ratio": round(ratio, 1),
        "target": target,
        "met": ratio >= target,
    }


def training_step(quick: bool) -> Iterator[Row]:
    """Forward, backward and penalty, dim 128, order 64, against the reference formulation (float32 both)."""
    for n, target in ((2708, 50), (7650, 100), (13752, 200))[: 1 if quick else 3]:
        encoding = LLPE(128, order=64, l1=1e-3, l2=1e-3)
        data = Data(num_nodes=n)
        data[encoding.attribute("basis")] = torch.randn(n, 64)
        values, vectors = random_orthogonal(n)
        for part, tensor in penalty_parts(values.double().numpy(), np.ones(n), 64).items():
            data[encoding.attribute(part)] = tensor.float()

        def ours(encoding: LLPE = encoding, data: Data = data) -> None:
            encoding.zero_grad()
            (encoding(data).sum() + encoding.penalty(data)).backward()

        def reference(values: torch.Tensor = values, vectors: torch.Tensor = vectors) -> None:
            theta = torch.randn(64, 128, requires_grad=True)
            step(values, vectors, theta, 1e-3).backward()

        ratio = seconds(reference) / seconds(ours, repeat=20)
        yield row("LLPE step", f"{n} nodes", "reference formulation", ratio, target)


def prepare_with_probes(quick: bool) -> Iterator[Row]:
    """`prepare` with order 64 and 64 probes against the dense eigendecomposition of the same graph."""
    for n, target in ((2708, 20), (7650, 100))[: 1 if quick else 2]:
        data = sbm(n=n, degree=10, homophily=0.2)
        graph = Graph.from_data(data)
        encoding = LLPE(64, order=64, source="probes", probes=64)
        ours = seconds(lambda e=encoding, d=data: e.prepare(d, cache=False))
        start = time.perf_counter()
        eigendecomposition(graph)
        dense = time.perf_counter() - start
        yield row("prepare with probes", f"SBM, {n} nodes", "dense eigendecomposition", dense / ours, target)


def sparse_product(quick: bool) -> Iterator[Row]:
    """Sparse × 32 columns in float32, ten entries a row, against the better of scipy's and torch's CSR product."""
    n = 100_000 if quick else 1_000_000
    rng = np.random.default_rng(0)
    entries = (np.ones(10 * n, dtype=np.float32), (rng.integers(0, n, 10 * n), rng.integers(0, n, 10 * n)))
    matrix = sp.csr_array(sp.coo_array(entries, shape=(n, n)))
    block = torch.randn(n, 32)
    csr, array = torch_csr(matrix), block.numpy()
    ours = seconds(lambda: multiply(csr, block))
    better = min(seconds(lambda: csr @ block), seconds(lambda: matrix @ array))
    yield row("sparse × block product", f"{n} nodes", "better of scipy and torch", better / ours, 1.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="only the smallest size of each")
    quick = parser.parse_args().quick
    rows = []
    print(f"{'what':24}{'at':20}{'against':28}{'ratio':>9}{'target':>9}")
    for benchmark in (training_step, prepare_with_probes, sparse_product, ten_splits):
        for result in benchmark(quick):
            rows.append(result)
            verdict = "met" if result["met"] else "MISSED"
            print(
                f"{result['name']:24}{result['at']:20}{result['baseline']:28}"
                f"{result['ratio']:>8}x{result['target']:>8}x  {verdict}",
                flush=True,
            )
    Path(__file__).with_name("latest.json").write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
