"""What a valid graph is: checked input, its undirected view, components, homophily, tiny named graphs.

Every spectral quantity of the library is defined on a simple weighted undirected graph with adjacency
A = Aᵀ ≥ 0 and zero diagonal. :class:`Graph` is that view of a PyG ``Data``; it refuses bad input and says
what it changed.
"""

from __future__ import annotations

import copy
import hashlib
import math
import sys
import warnings
from collections.abc import Callable
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np
import scipy.sparse as sp
import torch
from scipy.sparse.csgraph import connected_components
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.utils import to_edge_index

if TYPE_CHECKING:
    import networkx

# Nodes up to which a graph is worked on as dense arrays, which take no time to set up, and nothing of it is kept on
# disk. Its whole spectrum takes 0.2 ms at 32 nodes, 1.5 ms at 128 and 10 ms at 256; reading it back 0.2, 0.3 and
# 0.5 ms, and a new file takes another millisecond.
SMALL = 128


class GraphWarning(UserWarning):
    """Says how the undirected view of a graph differs from the edges that were given."""


class Graph:
    """The simple undirected view of a graph.

    Args:
        adjacency: symmetric, positive entries, zero diagonal; a ``csr_array`` with sorted indices or, for small graphs,
            an array, in float64.
        changes: one sentence for each thing that was changed on the way here.
        features: the node features as they were given, if any; no part of the fingerprint.

    Example:
        >>> graph = Graph.from_data(tiny("path"))
        >>> graph.num_nodes, graph.num_edges, graph.changes
        (5, 4, ())
    """

    def __init__(
        self, adjacency: sp.csr_array | np.ndarray, changes: tuple[str, ...] = (), features: Tensor | None = None
    ) -> None:
        self._given = adjacency
        self.changes, self.features = changes, features

    @classmethod
    def from_data(cls, data: GraphLike, *, warn: bool = True) -> Graph:
        """Checks ``data``, any graph that :func:`as_data` takes, and takes its undirected, self-loop-free,
        duplicate-free view; a ``Graph`` is that already.

        Weights come from ``data.edge_weight``. Parallel edges add their weights (without weights they count
        once); where both directions of an edge are given, the weight is their mean. Changes are recorded in
        ``changes`` and, unless ``warn=False``, said as a :class:`GraphWarning`.
        """
        if isinstance(data, Graph):
            return data
        data = as_data(data)
        num_nodes = check_data(data)
        source, target = data.edge_index.cpu().numpy()
        given = data.edge_weight
        weight = None if given is None else given.detach().cpu().double().numpy().reshape(-1)

        changes = []
        drop = source == target
        if drop.any():
            changes.append(f"dropped {int(drop.sum())} self-loops")
        if weight is not None and not weight.all():
            changes.append(f"dropped {int((weight == 0).sum())} edges of weight 0")
            drop |= weight == 0
        if changes:
            source, target, weight = source[~drop], target[~drop], None if weight is None else weight[~drop]
        merge = _merge_dense if num_nodes <= SMALL else _merge_sparse
        adjacency, duplicates, one_way, unequal = merge(source, target, weight, num_nodes)
        if duplicates:
            how = "counted once" if given is None else "their weights added"
            changes.append(f"merged {duplicates} duplicate edges ({how})")
        if one_way:
            changes.append(f"made {one_way} one-way edges undirected")
        if unequal:
            changes.append(f"took the mean weight of {unequal} edges whose two directions differ")

        if changes and warn:
            warnings.warn(f"undirected view of the graph: {'; '.join(changes)}.", GraphWarning, stacklevel=3)
        return cls(adjacency, tuple(changes), data.x if isinstance(data.x, Tensor) else None)

    @cached_property
    def adjacency(self) -> sp.csr_array:
        """The weights as a symmetric ``csr_array`` (float64, sorted indices, zero diagonal, positive entries)."""
        return sp.csr_array(self._given) if isinstance(self._given, np.ndarray) else self._given

    @cached_property
    def dense(self) -> np.ndarray:
        """The same as an array, shape (num_nodes, num_nodes): for small graphs."""
        return self._given if isinstance(self._given, np.ndarray) else self._given.toarray()

    @property
    def num_nodes(self) -> int:
        return int(self._given.shape[0])

    @property
    def num_edges(self) -> int:
        """Undirected edges, each counted once."""
        return int(self.adjacency.nnz) // 2

    @cached_property
    def degree(self) -> np.ndarray:
        """Weighted degrees, shape (num_nodes,)."""
        return self.dense.sum(axis=1) if self.num_nodes <= SMALL else np.asarray(self.adjacency.sum(axis=1)).reshape(-1)

    @property
    def components(self) -> np.ndarray:
        """The connected component of each node, numbered 0, 1, … by first node, shape (num_nodes,)."""
        return self._parts[0]

    @property
    def sides(self) -> np.ndarray:
        """±1 such that every edge joins opposite signs, 0 in components that are not bipartite, shape (num_nodes,)."""
        return self._parts[1]

    @cached_property
    def _parts(self) -> tuple[np.ndarray, np.ndarray]:
        """``components`` and ``sides``."""
        if self.num_nodes <= SMALL:
            rows, columns = self.dense.nonzero()
            return _search(rows.searchsorted(np.arange(self.num_nodes + 1)).tolist(), columns.tolist())
        cover = sp.block_array([[None, self.adjacency], [self.adjacency, None]], format="csr")  # each node twice
        labels = connected_components(cover, directed=False)[1].reshape(2, -1)
        sides = np.sign(labels[1] - labels[0])  # where a walk of odd length leads back, both are in one part
        _, first, inverse = np.unique(labels.min(axis=0), return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[inverse], sides

    @cached_property
    def component_nodes(self) -> list[np.ndarray]:
        """The nodes of each connected component, ascending."""
        if not self.components.any():
            return [np.arange(self.num_nodes)]
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


def _merge_dense(
    source: np.ndarray, target: np.ndarray, weight: np.ndarray | None, num_nodes: int
) -> tuple[np.ndarray, int, int, int]:
    """The undirected adjacency, and how many edges were duplicate, one-way, and unequal in their two directions."""
    shape, place = (num_nodes, num_nodes), source * num_nodes + target
    present = np.bincount(place, minlength=num_nodes**2).reshape(shape) > 0
    duplicates = int(place.size - np.count_nonzero(present))
    one_way = int(np.count_nonzero(present != present.T)) // 2
    if weight is None:
        return (present | present.T).astype(np.float64), duplicates, one_way, 0
    given = np.bincount(place, weight, num_nodes**2).reshape(shape)
    both = present & present.T
    unequal = int(np.count_nonzero(both & (given != given.T))) // 2
    return (given + given.T) / np.where(both, 2, 1), duplicates, one_way, unequal


def _merge_sparse(
    source: np.ndarray, target: np.ndarray, weight: np.ndarray | None, num_nodes: int
) -> tuple[sp.csr_array, int, int, int]:
    """The same without anything of size n×n."""
    weights = np.ones(source.size) if weight is None else weight
    merged = sp.coo_array((weights, (source, target)), shape=(num_nodes, num_nodes)).tocsr()
    merged.sum_duplicates()
    if weight is None:
        merged.data[:] = 1.0
    present = merged.copy()
    present.data = np.ones_like(merged.data)
    ways = present + present.T
    adjacency = sp.csr_array(merged + merged.T)
    ways.sort_indices()
    adjacency.sort_indices()
    adjacency.data /= ways.data
    unequal = 0 if weight is None else abs(merged - merged.T).multiply(ways == 2).count_nonzero() // 2
    return adjacency, source.size - merged.nnz, int((ways.data == 1).sum()) // 2, unequal


def _search(starts: list[int], neighbours: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """The component and the side of each node, from the rows of the adjacency, one node after another."""
    component, side = [-1] * (len(starts) - 1), [0] * (len(starts) - 1)
    number = 0
    for first, known in enumerate(component):
        if known >= 0:
            continue
        component[first], side[first] = number, 1
        nodes, bipartite = [first], True
        for node in nodes:  # grows while it is gone through
            for other in neighbours[starts[node] : starts[node + 1]]:
                if component[other] < 0:
                    component[other], side[other] = number, -side[node]
                    nodes.append(other)
                elif side[other] == side[node]:
                    bipartite = False
        if not bipartite:
            for node in nodes:
                side[node] = 0
        number += 1
    return np.array(component), np.array(side)


GraphLike: TypeAlias = Union[Graph, Data, tuple[Tensor, int], sp.sparray, sp.spmatrix, "networkx.Graph"]


def as_data(data: GraphLike) -> Data:
    """One graph, in any of the forms people have it in, as a PyG ``Data`` with ``edge_index``.

    Args:
        data: a ``Data``, with ``edge_index`` or with ``adj_t`` as PyG's ``ToSparseTensor`` leaves it; a tuple
            ``(edge_index, num_nodes)``; a SciPy sparse adjacency, whose entries are weights; a networkx graph, whose
            weights are the edge attribute ``weight`` (nodes are numbered in its order, other attributes are not
            used); or a :class:`Graph`. A matrix with no entry but 1 has no weights.

    Example:
        >>> as_data((torch.tensor([[0, 1], [1, 2]]), 3))
        Data(edge_index=[2, 2], num_nodes=3)
        >>> as_data(sp.csr_array([[0.0, 0.5], [0.5, 0.0]])).edge_weight.tolist()
        [0.5, 0.5]
    """
    if isinstance(data, Data):
        return _with_edge_index(data) if data.edge_index is None and "adj_t" in data else data
    if isinstance(data, Graph):
        out = as_data(data.adjacency)
        out.x = data.features
        return out
    if isinstance(data, tuple):
        return _from_pair(data)
    if sp.issparse(data):
        return _from_scipy(data)
    networkx = sys.modules.get("networkx")  # whoever has a networkx graph has imported it
    if networkx is not None and isinstance(data, networkx.Graph):
        return _from_networkx(data)
    raise ValueError(
        "`data` must be a torch_geometric.data.Data, (edge_index, num_nodes), a SciPy sparse matrix or a networkx "
        f"graph, got {type(data).__name__}. Convert it, e.g. with HeteroData.to_homogeneous()."
    )


def _with_edge_index(data: Data) -> Data:
    """A shallow copy with the edges of ``adj_t``, a sparse tensor of torch or of torch_sparse."""
    adjacency = data.adj_t
    _check_square("data.adj_t", adjacency.size(0), adjacency.size(1))
    if hasattr(adjacency, "coo"):  # torch_sparse
        target, source, weight = adjacency.coo()
    else:
        (target, source), weight = to_edge_index(adjacency.coalesce() if adjacency.is_sparse else adjacency)
    out = copy.copy(data)
    out.edge_index, out.edge_weight = torch.stack([source, target]), _unless_ones(weight)
    return out


def _from_pair(data: tuple[Any, ...]) -> Data:
    kinds = [type(part).__name__ for part in data]
    if len(data) != 2 or not isinstance(data[0], Tensor) or not isinstance(data[1], int):
        raise ValueError(
            f"`data` must be (edge_index, num_nodes) where it is a tuple, a tensor and an integer, "
            f"got ({', '.join(kinds)}). Use Data(edge_index=…, edge_weight=…, num_nodes=…) for weights."
        )
    return Data(edge_index=data[0], num_nodes=data[1])


def _from_scipy(matrix: Any) -> Data:
    _check_square("data", *matrix.shape)
    if matrix.dtype.kind not in "biuf":
        raise ValueError(f"`data` must have real entries, got {matrix.dtype}. Convert it, e.g. with abs(data).")
    summed = sp.csr_array(matrix, dtype=np.float64, copy=True)
    summed.sum_duplicates()
    entries = summed.tocoo()
    edge_index = torch.from_numpy(np.stack(entries.coords).astype(np.int64))
    weight = _unless_ones(torch.from_numpy(entries.data))
    return _plain(edge_index, weight, summed.shape[0])


def _from_networkx(graph: networkx.Graph) -> Data:
    number = {node: i for i, node in enumerate(graph)}
    edges = list(graph.to_directed(as_view=True).edges(data="weight"))
    ends = torch.tensor([(number[source], number[target]) for source, target, _ in edges], dtype=torch.int64)
    given = [weight for *_, weight in edges]
    if all(weight is None for weight in given):
        return _plain(ends.reshape(-1, 2).t().contiguous(), None, len(number))
    wrong = [weight for weight in given if not isinstance(weight, Real)]
    if wrong:
        raise ValueError(
            f"the edge attribute `weight` must be a number for every edge, got {wrong[0]!r}. Set it, or remove it."
        )
    weight = torch.tensor(given, dtype=torch.float64)
    return _plain(ends.t().contiguous(), weight, len(number))


def _plain(edge_index: Tensor, weight: Tensor | None, num_nodes: int) -> Data:
    weights = {} if weight is None else {"edge_weight": weight}
    return Data(edge_index=edge_index, num_nodes=num_nodes, **weights)


def _unless_ones(weight: Tensor | None) -> Tensor | None:
    return None if weight is None or bool((weight == 1).all()) else weight


def _check_square(name: str, *shape: int) -> None:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(
            f"`{name}` must be square, a row and a column for each node, got shape {list(shape)}. "
            "Give the adjacency of one graph."
        )


def check_data(data: Data) -> int:
    """Refuses, in words, what is not one homogeneous graph with finite features and usable edges; returns its size."""
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
    return num_nodes


def count_nodes(data: Data) -> int:
    """The number of nodes, 0 if nothing tells it."""
    if isinstance(data.x, Tensor):
        return int(data.num_nodes or 0)
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
        low, high = map(int, edge_index.aminmax())
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
    if math.isfinite(values.sum()):  # far faster than looking at every entry
        return
    if count := int((~torch.isfinite(values)).sum()):  # or the sum was too large a number
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
