"""What a valid graph is: checked input, its undirected view, components, homophily, tiny named graphs.

Every spectral quantity of the library is defined on a simple weighted undirected graph with adjacency
A = Aᵀ ≥ 0 and zero diagonal. :class:`Graph` is that view of a PyG ``Data``; it refuses bad input and says
what it changed.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
import torch
from scipy.sparse.csgraph import connected_components
from torch import Tensor
from torch_geometric.data import Batch, Data


class GraphWarning(UserWarning):
    """Says how the undirected view of a graph differs from the edges that were given."""


@dataclass(frozen=True, eq=False)
class Graph:
    """The simple undirected view of a graph.

    Attributes:
        adjacency: symmetric ``csr_array`` (float64, sorted indices, zero diagonal, positive entries).
        changes: one sentence for each thing that was changed on the way here.
        features: the node features as they were given, if any; no part of the fingerprint.

    Example:
        >>> graph = Graph.from_data(tiny("path"))
        >>> graph.num_nodes, graph.num_edges, graph.changes
        (5, 4, ())
    """

    adjacency: sp.csr_array
    changes: tuple[str, ...] = ()
    features: Tensor | None = None

    @classmethod
    def from_data(cls, data: Data, *, warn: bool = True) -> Graph:
        """Checks ``data`` and takes its undirected, self-loop-free, duplicate-free view.

        Weights come from ``data.edge_weight``. Parallel edges add their weights (without weights they count
        once); where both directions of an edge are given, the weight is their mean. Changes are recorded in
        ``changes`` and, unless ``warn=False``, said as a :class:`GraphWarning`.
        """
        check_data(data)
        num_nodes = count_nodes(data)
        source, target = data.edge_index.cpu().numpy()
        given = data.edge_weight
        weight = np.ones(source.size) if given is None else given.detach().cpu().double().numpy().reshape(-1)

        changes = []
        loops = source == target
        zero = weight == 0
        if loops.any():
            changes.append(f"dropped {int(loops.sum())} self-loops")
        if zero.any():
            changes.append(f"dropped {int(zero.sum())} edges of weight 0")
        keep = ~(loops | zero)
        directed = sp.coo_array((weight[keep], (source[keep], target[keep])), shape=(num_nodes, num_nodes))
        merged = directed.tocsr()
        merged.sum_duplicates()
        if merged.nnz < directed.nnz:
            how = "counted once" if given is None else "their weights added"
            changes.append(f"merged {directed.nnz - merged.nnz} duplicate edges ({how})")
        if given is None:
            merged.data[:] = 1.0

        present = merged.copy()
        present.data = np.ones_like(merged.data)
        both_ways = present + present.T
        one_way = int((both_ways.data == 1).sum()) // 2
        if one_way:
            changes.append(f"made {one_way} one-way edges undirected")
        adjacency = sp.csr_array(merged + merged.T)
        both_ways.sort_indices()
        adjacency.sort_indices()
        adjacency.data /= both_ways.data
        unequal = abs(merged - merged.T).multiply(both_ways == 2).count_nonzero() // 2
        if unequal:
            changes.append(f"took the mean weight of {unequal} edges whose two directions differ")

        if changes and warn:
            warnings.warn(f"undirected view of the graph: {'; '.join(changes)}.", GraphWarning, stacklevel=3)
        return cls(adjacency, tuple(changes), data.x if isinstance(data.x, Tensor) else None)

    @property
    def num_nodes(self) -> int:
        return int(self.adjacency.shape[0])

    @property
    def num_edges(self) -> int:
        """Undirected edges, each counted once."""
        return int(self.adjacency.nnz) // 2

    @cached_property
    def degree(self) -> np.ndarray:
        """Weighted degrees, shape (num_nodes,)."""
        return np.asarray(self.adjacency.sum(axis=1)).reshape(-1)

    @cached_property
    def components(self) -> np.ndarray:
        """The connected component of each node, numbered 0, 1, … by first node, shape (num_nodes,)."""
        _, labels = connected_components(self.adjacency, directed=False)
        _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[inverse]

    @cached_property
    def component_nodes(self) -> list[np.ndarray]:
        """The nodes of each connected component, ascending."""
        order = np.argsort(self.components, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(self.components[order])) + 1)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the view's content: the same for any order of the same edges."""
        digest = hashlib.sha256(f"graph {self.num_nodes}".encode())
        for array in (
            self.adjacency.indptr.astype("<i8"),
            self.adjacency.indices.astype("<i8"),
            self.adjacency.data.astype("<f8"),
        ):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def __repr__(self) -> str:
        return f"Graph(num_nodes={self.num_nodes}, num_edges={self.num_edges}, changes={list(self.changes)})"


def check_data(data: Data) -> None:
    """Refuses, in words, what is not one homogeneous graph with finite features and usable edges."""
    if not isinstance(data, Data):
        raise ValueError(
            f"`data` must be a torch_geometric.data.Data, got {type(data).__name__}. "
            "Convert it, e.g. with HeteroData.to_homogeneous()."
        )
    if isinstance(data, Batch):
        raise ValueError(
            "`data` must be a single graph, got a Batch. Prepare each graph before batching, "
            "e.g. with `pre_transform=Prepare(encoding)`."
        )
    edge_index = data.edge_index
    if edge_index is None:
        raise ValueError(
            "`data.edge_index` must be a [2, num_edges] tensor, got None. "
            "Set it, or undo ToSparseTensor; a graph without edges has an empty one."
        )
    _check_pairs("data.edge_index", edge_index)
    num_nodes = count_nodes(data)
    if num_nodes < 1:
        raise ValueError("`data` must have at least one node, got 0. Remove empty graphs first.")
    _check_range("data.edge_index", edge_index, num_nodes, "Set data.num_nodes, or remove the edge.")
    _check_weights(data.edge_weight, edge_index.size(1))
    if isinstance(data.x, Tensor):
        _check_finite("data.x", data.x)


def count_nodes(data: Data) -> int:
    """The number of nodes, 0 if nothing tells it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyG warns when it infers the number from the edges; that is fine here
        return int(data.num_nodes or 0)


def _check_pairs(name: str, edge_index: Tensor) -> None:
    if edge_index.dtype != torch.int64:
        raise ValueError(
            f"`{name}` must have dtype torch.int64, got {edge_index.dtype}. Convert it with edge_index.long()."
        )
    if edge_index.dim() != 2 or edge_index.size(0) != 2:
        raise ValueError(
            f"`{name}` must have shape [2, num_edges], got {list(edge_index.shape)}. "
            "Transpose an edge list of shape [num_edges, 2]."
        )


def _check_range(name: str, edge_index: Tensor, num_nodes: int, instead: str) -> None:
    if edge_index.numel():
        low, high = int(edge_index.min()), int(edge_index.max())
        if low < 0 or high >= num_nodes:
            missing = low if low < 0 else high
            raise ValueError(f"`{name}` must name nodes 0 … {num_nodes - 1}, got an edge to node {missing}. {instead}")


def _check_weights(weight: Tensor | None, num_edges: int) -> None:
    if weight is None:
        return
    weight = weight.detach()
    if not weight.is_floating_point() and weight.dtype not in (torch.int64, torch.int32):
        raise ValueError(f"`data.edge_weight` must be real numbers, got {weight.dtype}. Convert it to float.")
    if weight.numel() != num_edges:
        raise ValueError(
            f"`data.edge_weight` must have one weight for each of {num_edges} edges, got {weight.numel()}. "
            "Remove it, or give one weight per column of edge_index."
        )
    _check_finite("data.edge_weight", weight)
    if weight.numel() and float(weight.min()) < 0:
        raise ValueError(
            f"`data.edge_weight` must not be negative, got {float(weight.min()):g}. "
            "The Laplacian of a signed graph has no spectrum in [0, 2]; take absolute values or shift."
        )


def _check_finite(name: str, tensor: Tensor) -> None:
    values = tensor.values() if tensor.layout in (torch.sparse_csr, torch.sparse_csc) else tensor
    values = values.coalesce().values() if values.layout == torch.sparse_coo else values
    if not values.is_floating_point() or not values.numel():
        return
    low, high = torch.aminmax(values)  # NaN passes through; far faster than looking at every entry
    if not bool(torch.isfinite(low) & torch.isfinite(high)):
        count = int((~torch.isfinite(values)).sum())
        raise ValueError(
            f"`{name}` must be finite, got {count} NaN or infinite entries. Clean or impute them before encoding."
        )


def class_homophily(edge_index: Tensor, y: Tensor) -> float:
    r"""Class homophily of Lim et al. (2021): ĥ = 1/(C−1) Σ_k max(0, H_kk − |C_k|/N).

    H[k, l] is the share of edges with a source of class k whose target has class l. Self-loops are dropped and
    only edges whose two ends are labelled (y ≥ 0) count; N is the number of labelled nodes.

    Example:
        >>> data = tiny("two-triangles")
        >>> class_homophily(data.edge_index, torch.tensor([0, 0, 0, 1, 1, 1]))
        1.0
    """
    labels = _labels(y)
    source, target = _labelled_edges(edge_index, labels)
    counts = np.bincount(labels[labels >= 0])
    classes = np.flatnonzero(counts)
    if classes.size < 2:
        raise ValueError(
            f"class homophily must have at least 2 classes, got {classes.size}. It is undefined for one class."
        )
    total = 0.0
    for c in classes:
        from_c = labels[source] == c
        share = float((labels[target][from_c] == c).mean()) if from_c.any() else 0.0
        total += max(0.0, share - counts[c] / counts.sum())
    return float(total / (classes.size - 1))


def edge_homophily(edge_index: Tensor, y: Tensor) -> float:
    """The share of edges whose two ends have the same label (no self-loops, both ends labelled).

    Returns NaN when there is no such edge.

    Example:
        >>> edge_homophily(tiny("path").edge_index, torch.tensor([0, 0, 0, 1, 1]))
        0.75
    """
    labels = _labels(y)
    source, target = _labelled_edges(edge_index, labels)
    return float((labels[source] == labels[target]).mean()) if source.size else float("nan")


def local_homophily(edge_index: Tensor, y: Tensor) -> Tensor:
    """For each node the share of its neighbours with the same label; NaN where it has none, shape (num_nodes,).

    Example:
        >>> local_homophily(tiny("path").edge_index, torch.tensor([0, 0, 0, 1, 1])).tolist()
        [1.0, 1.0, 0.5, 0.5, 1.0]
    """
    labels = _labels(y)
    source, target = _labelled_edges(edge_index, labels)
    degree = np.bincount(source, minlength=labels.size)
    same = np.bincount(source, weights=labels[source] == labels[target], minlength=labels.size)
    share = np.full(labels.size, np.nan)
    np.divide(same, degree, out=share, where=degree > 0)
    return torch.from_numpy(share)


def node_homophily(edge_index: Tensor, y: Tensor) -> float:
    """The mean of :func:`local_homophily` over the nodes that have a neighbour.

    Example:
        >>> node_homophily(tiny("path").edge_index, torch.tensor([0, 0, 0, 1, 1]))
        0.8
    """
    share = local_homophily(edge_index, y)
    return float(share[~share.isnan()].mean())


def _labels(y: Tensor) -> np.ndarray:
    if y.dim() > 1 and y.numel() != y.size(0):
        raise ValueError(f"`y` must hold one class per node, got shape {list(y.shape)}. Pick one task first.")
    if y.is_floating_point():
        raise ValueError(f"`y` must hold integer classes, got {y.dtype}. Homophily is defined for classes only.")
    return y.detach().cpu().long().reshape(-1).numpy()


def _labelled_edges(edge_index: Tensor, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    _check_pairs("edge_index", edge_index)
    _check_range("edge_index", edge_index, labels.size, "Give a label for every node, −1 where there is none.")
    source, target = edge_index.cpu().numpy()
    keep = (source != target) & (labels[source] >= 0) & (labels[target] >= 0)
    return source[keep], target[keep]


def _undirected(edges: list[tuple[int, int]], num_nodes: int) -> Data:
    both = [pair for u, v in edges for pair in ((u, v), (v, u))]
    return _directed(both, num_nodes)


def _directed(edges: list[tuple[int, int]], num_nodes: int) -> Data:
    edge_index = torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).t().contiguous()
    return Data(edge_index=edge_index, num_nodes=num_nodes)


def _grid(height: int, width: int) -> Data:
    across = [(i * width + j, i * width + j + 1) for i in range(height) for j in range(width - 1)]
    down = [(i * width + j, (i + 1) * width + j) for i in range(height - 1) for j in range(width)]
    return _undirected(across + down, height * width)


TINY: dict[str, Callable[[], Data]] = {
    "path": lambda: _undirected([(0, 1), (1, 2), (2, 3), (3, 4)], 5),
    "star": lambda: _undirected([(0, i) for i in range(1, 6)], 6),
    "grid": lambda: _grid(3, 4),
    "ring": lambda: _undirected([(i, (i + 1) % 8) for i in range(8)], 8),
    "complete": lambda: _undirected([(i, j) for i in range(6) for j in range(i)], 6),
    "bipartite": lambda: _undirected([(i, 3 + j) for i in range(3) for j in range(4)], 7),
    "two-triangles": lambda: _undirected([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)], 6),
    "isolated-node": lambda: _undirected([(0, 1), (1, 2), (2, 0)], 4),
    "single-node": lambda: _undirected([], 1),
    "no-edges": lambda: _undirected([], 4),
    "self-loops": lambda: _directed([(0, 1), (1, 0), (1, 2), (2, 1), (0, 0), (2, 2)], 3),
    "duplicate-edges": lambda: _directed([(0, 1), (1, 0), (0, 1), (1, 0), (1, 2), (2, 1)], 3),
    "directed": lambda: _directed([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)], 4),
}


def tiny(name: str) -> Data:
    """A tiny named graph, each there for one reason: see ``llpe.graph.TINY`` for the names.

    Example:
        >>> tiny("ring")
        Data(edge_index=[2, 16], num_nodes=8)
    """
    if name not in TINY:
        raise ValueError(f"`name` must be one of {', '.join(TINY)}, got {name!r}.")
    return TINY[name]()
