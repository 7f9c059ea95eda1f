"""Many small graphs, one after another, as a ``pre_transform`` meets them: against PyG's transforms, and LLPE alone.

Random trees of 9 to 37 nodes with up to four edges that close a ring, about as many edges as molecules have. Nothing is
kept on disk, by anyone. Ours and PyG's take turns, a few hundred graphs each.
"""

from collections.abc import Callable, Iterator
from statistics import median

import numpy as np
import torch
from rows import Row, Size, against, limit_row, once, row
from torch_geometric.data import Data
from torch_geometric.transforms import AddLaplacianEigenvectorPE as PygAddLaplacianEigenvectorPE
from torch_geometric.transforms import AddRandomWalkPE as PygAddRandomWalkPE

from llpe import LLPE, AddLaplacianEigenvectorPE, AddRandomWalkPE, Prepare

COUNT = {"full": 10_000, "quick": 1000, "tiny": 20}
TURN = 250  # graphs of one turn
K, STEPS, DIM = 8, 16, 16
LIMIT = 2.0  # ms of a graph
CLOSE = 1e-6

Transform = Callable[[Data], Data]


def small_graphs(size: Size) -> Iterator[Row]:
    graphs = molecules(COUNT[size])
    at = f"{len(graphs)} graphs of 9 to 37 nodes"
    lap, walks = AddLaplacianEigenvectorPE(K), AddRandomWalkPE(STEPS)
    pyg_lap, pyg_walks = PygAddLaplacianEigenvectorPE(K, is_undirected=True), PygAddRandomWalkPE(STEPS)
    what = f"first {K} eigenvectors"
    yield _row(what, at, "PyG, is_undirected=True", lap, pyg_lap, graphs, sound=_span_alike(graphs[:20], lap))
    apart = max(float((walks(g).random_walk_pe - pyg_walks(g).random_walk_pe).abs().max()) for g in graphs[:20])
    yield _row(f"RWSE, {STEPS} steps", at, "PyG", walks, pyg_walks, graphs, sound=apart < CLOSE)
    prepare = Prepare(LLPE(DIM))
    (times,) = _turns(graphs, prepare)
    yield limit_row("LLPE prepare, ms a graph", at, LIMIT, median(times) * 1e3, f"{median(times) * 1e3:.3g} ms a graph")


def molecules(count: int, seed: int = 0) -> list[Data]:
    """Connected graphs of 9 to 37 nodes and an average degree of about 2.1.

    Example:
        >>> [graph.num_nodes for graph in molecules(3)]
        [33, 34, 24]
    """
    rng = np.random.default_rng(seed)
    graphs = []
    for _ in range(count):
        n = int(rng.integers(9, 38))
        tree = {(int(rng.integers(max(0, node - 4), node)), node) for node in range(1, n)}
        rings = {(int(first), int(first) + 5) for first in rng.integers(0, n - 5, size=rng.integers(0, 5))}
        half = torch.tensor(sorted(tree | rings)).t()
        graphs.append(Data(x=torch.ones(n, 9), edge_index=torch.cat([half, half.flip(0)], dim=1)))
    return graphs


def _row(
    name: str, at: str, baseline: str, ours: Transform, theirs: Transform, graphs: list[Data], *, sound: bool
) -> Row:
    fast, slow = _turns(graphs, ours, theirs)
    ratio = median(b / a for a, b in zip(fast, slow, strict=True))
    return row(name, at, baseline, ratio, 1, f"{against(median(fast), median(slow))} a graph", sound=sound)


def _turns(graphs: list[Data], *transforms: Transform) -> list[list[float]]:
    """Seconds of a graph in each turn, for each transform."""
    for transform in transforms:
        transform(graphs[0])
    times: list[list[float]] = [[] for _ in transforms]
    for start in range(0, len(graphs), TURN):
        part = graphs[start : start + TURN]
        for transform, taken in zip(transforms, times, strict=True):
            taken.append(once(lambda: [transform(graph) for graph in part]) / len(part))  # noqa: B023
    return times


def _span_alike(graphs: list[Data], transform: Transform) -> bool:
    """Whether the vectors are orthonormal eigenvectors of the K smallest nontrivial eigenvalues, by a naive formula."""
    for graph in graphs:
        n = graph.x.size(0)
        adjacency = torch.zeros(n, n, dtype=torch.float64)
        adjacency[tuple(graph.edge_index)] = 1.0
        scale = adjacency.sum(dim=1).rsqrt()
        operator = torch.eye(n) - scale[:, None] * adjacency * scale
        values = torch.linalg.eigvalsh(operator)[1 : K + 1]
        vectors = transform(graph).laplacian_eigenvector_pe.double()[:, : values.numel()]
        gram = vectors.T @ vectors - torch.eye(values.numel())
        if max((operator @ vectors - vectors * values).abs().max(), gram.abs().max()) > CLOSE:
            return False
    return True
