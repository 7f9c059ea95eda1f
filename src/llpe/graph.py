"""The undirected view of a graph, its components, and tiny named graphs.

Every spectral quantity of the library is defined on a simple weighted undirected graph with adjacency A = Aᵀ ≥ 0 and
zero diagonal. :class:`Graph` is that view of a graph in any form (:mod:`llpe.inputs`). It says what it changed.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from functools import cached_property

import numpy as np
import scipy.sparse as sp
import torch
from scipy.sparse.csgraph import connected_components
from torch import Tensor
from torch_geometric.data import Data

from llpe.checks import refusal
from llpe.device import CPU
from llpe.inputs import GraphLike, as_data, check_data

# Up to this many nodes a graph is handled as dense arrays, and nothing of it is cached: at 32, 128 and 256 nodes the
# whole spectrum takes 0.2, 1.5 and 10 ms, reading it from disk 0.2, 0.3 and 0.5 ms, and writing it another millisecond.
SMALL = 128
UNSCALED = 2.0**500  # weights between its inverse and this keep their unit
FAINTEST = 2.0**-1000  # smallest weight where the largest is about 1, so that inverse degrees are finite


class GraphWarning(UserWarning):
    """The undirected view of a graph differs from the edges that were given."""


class Graph:
    """The simple undirected view of a graph.

    Args:
        adjacency: symmetric, positive entries, zero diagonal; a ``csr_array`` with sorted indices or, for small graphs,
            an array, in float64.
        changes: one sentence for each difference from the edges that were given.
        features: the node features as they were given, if any; not a part of the fingerprint.
        exponent: the unit of the weights is 2 to this, an even number, which is 0 unless weights are extreme. Only
            ``comb`` and what is made from it depend on the unit.

    Attributes:
        device: where encodings that can compute the products with it; the graph itself is on the CPU.

    Example:
        >>> graph = Graph.from_data(tiny("path"))
        >>> graph.num_nodes, graph.num_edges, graph.changes
        (5, 4, ())
    """

    def __init__(
        self,
        adjacency: sp.csr_array | np.ndarray,
        changes: tuple[str, ...] = (),
        features: Tensor | None = None,
        exponent: int = 0,
    ) -> None:
        self._given = adjacency
        self.device = CPU
        self.changes, self.features, self.exponent = changes, features, exponent

    @classmethod
    def from_data(cls, data: GraphLike, *, warn: bool = True) -> Graph:
        """The view of ``data``, any graph that :func:`~llpe.inputs.as_data` takes: undirected, without self-loops and
        duplicates. A ``Graph`` is returned as it is.

        Weights come from ``data.edge_weight``. Parallel edges add their weights (without weights they count once);
        where both directions of an edge are given, the weight is their mean. Changes are recorded in ``changes`` and,
        unless ``warn=False``, reported as a :class:`GraphWarning`.
        """
        if isinstance(data, Graph):
            return data
        data = as_data(data)
        num_nodes = check_data(data)
        source, target, weight, exponent = edges_of(data)
        loops = source == target
        zeros = np.zeros_like(loops) if weight is None else weight == 0
        dropped = [int(np.count_nonzero(each)) for each in (loops, zeros)]
        if any(dropped):
            keep = ~(loops | zeros)
            source, target, weight = source[keep], target[keep], None if weight is None else weight[keep]
        merge = _merge_dense if num_nodes <= SMALL else _merge_sparse
        adjacency, *merged = merge(source, target, weight, num_nodes)
        changes = describe_changes(*dropped, *merged, weighted=weight is not None)
        if changes and warn:
            warnings.warn(f"undirected view of the graph: {'; '.join(changes)}.", GraphWarning, stacklevel=3)
        return cls(adjacency, changes, data.x if isinstance(data.x, Tensor) else None, exponent)

    def to_data(self) -> Data:
        """The view as a PyG ``Data``, with the features."""
        out = as_data(self.adjacency)
        if self.exponent:
            out.edge_weight = torch.from_numpy(np.ldexp(self.adjacency.data, self.exponent))
        out.x = self.features
        return out

    @cached_property
    def adjacency(self) -> sp.csr_array:
        """The weights as a symmetric ``csr_array`` (float64, sorted indices, zero diagonal, positive entries)."""
        return sp.csr_array(self._given) if isinstance(self._given, np.ndarray) else self._given

    @cached_property
    def dense(self) -> np.ndarray:
        """The weights as an array, shape (num_nodes, num_nodes): for small graphs."""
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
        sides = np.sign(labels[1] - labels[0])  # 0 where a walk of odd length leads back: both copies are in one part
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
        digest = hashlib.sha256(f"graph {self.num_nodes}{f' {self.exponent}' * bool(self.exponent)}".encode())
        matrix = self.adjacency
        for array in (matrix.indptr.astype("<i8"), matrix.indices.astype("<i8"), matrix.data.astype("<f8")):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def __repr__(self) -> str:
        return f"Graph(num_nodes={self.num_nodes}, num_edges={self.num_edges}, changes={list(self.changes)})"


def describe_changes(*counts: int, weighted: bool) -> tuple[str, ...]:
    """What the undirected view changes, given how many edges are self-loops, have weight 0, are duplicate, one-way, and
    unequal in their two directions."""
    sentences = (
        "dropped {} self-loops",
        "dropped {} edges of weight 0",
        f"merged {{}} duplicate edges ({'their weights added' if weighted else 'counted once'})",
        "made {} one-way edges undirected",
        "took the mean weight of {} edges whose two directions differ",
    )
    return tuple(text.format(count) for text, count in zip(sentences, counts, strict=True) if count)


def edges_of(data: Data) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, int]:
    """The sources, targets and weights (float64, None without any) of the edges as they are given, and the ``exponent``
    of the weights' unit (see :class:`Graph`)."""
    source, target = data.edge_index.cpu().numpy()
    if data.edge_weight is None:
        return source, target, None, 0
    weight = data.edge_weight.detach().cpu().double().numpy().reshape(-1)
    least, largest = weight.min(where=weight > 0, initial=np.inf), weight.max(initial=0.0)
    if largest <= UNSCALED and least >= 1 / UNSCALED:
        return source, target, weight, 0
    exponent = int(np.frexp(largest)[1]) // 2 * 2  # even, so that square roots of weights keep their bits too
    if np.ldexp(least, -exponent) < FAINTEST:
        rule = "have no weight below 1e-300 times the largest"
        raise refusal("data.edge_weight", rule, f"{least:g} and {largest:g}", "Drop edges of negligible weight.")
    return source, target, np.ldexp(weight, -exponent), exponent


def _merge_dense(
    source: np.ndarray, target: np.ndarray, weight: np.ndarray | None, num_nodes: int
) -> tuple[np.ndarray, int, int, int]:
    """The undirected adjacency, and how many edges are duplicate, one-way, and unequal in their two directions."""
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
    """The same for large graphs."""
    shape = (num_nodes, num_nodes)
    given = np.ones(source.size, dtype=bool) if weight is None else weight
    index = np.int32 if max(num_nodes, source.size) < 2**31 else np.int64  # scipy keeps what it is given
    merged = sp.csr_array(sp.coo_array((given, (source.astype(index), target.astype(index))), shape=shape))
    merged.sum_duplicates()
    duplicates = source.size - merged.nnz
    turned = merged.tocsc()  # column by column, which is row by row of the transpose
    if np.array_equal(merged.indptr, turned.indptr) and np.array_equal(merged.indices, turned.indices):
        unequal = int(np.count_nonzero(merged.data != turned.data)) // 2
        merged.data = (merged.data + turned.data) / 2 if unequal else merged.data.astype(np.float64, copy=False)
        return merged, duplicates, 0, unequal
    back = sp.csr_array((turned.data, turned.indices, turned.indptr), shape=shape)
    ways = merged.astype(bool).astype(np.int8) + back.astype(bool).astype(np.int8)
    ways.sort_indices()
    one_way = int(np.count_nonzero(ways.data == 1)) // 2
    if weight is None:
        return ways.astype(bool).astype(np.float64), duplicates, one_way, 0
    adjacency = merged + back
    adjacency.sort_indices()
    adjacency.data /= ways.data
    unequal = abs(merged - back).multiply(ways == 2).count_nonzero() // 2
    return adjacency, duplicates, one_way, unequal


def _search(starts: list[int], neighbours: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """The component and the side of each node, from the rows of the adjacency, one node after another."""
    component, side = [-1] * (len(starts) - 1), [0] * (len(starts) - 1)
    number = 0
    for first, known in enumerate(component):
        if known >= 0:
            continue
        component[first], side[first] = number, 1
        nodes, bipartite = [first], True
        for node in nodes:  # which grows in this loop
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


def _make(edges: list[tuple[int, int]], num_nodes: int, *, both: bool = True) -> Data:
    """A graph of these edges, in both directions or only as they are."""
    edges = [pair for u, v in edges for pair in ((u, v), (v, u))] if both else edges
    return Data(edge_index=torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).t().contiguous(), num_nodes=num_nodes)


_TRIANGLE = [(0, 1), (1, 2), (2, 0)]
_GRID = [(4 * i + j, 4 * i + j + 1) for i in range(3) for j in range(3)] + [(i, i + 4) for i in range(8)]
TINY: dict[str, Callable[[], Data]] = {
    "path": lambda: _make([(0, 1), (1, 2), (2, 3), (3, 4)], 5),
    "star": lambda: _make([(0, i) for i in range(1, 6)], 6),
    "grid": lambda: _make(_GRID, 12),
    "ring": lambda: _make([(i, (i + 1) % 8) for i in range(8)], 8),
    "complete": lambda: _make([(i, j) for i in range(6) for j in range(i)], 6),
    "bipartite": lambda: _make([(i, 3 + j) for i in range(3) for j in range(4)], 7),
    "two-triangles": lambda: _make([*_TRIANGLE, (3, 4), (4, 5), (5, 3)], 6),
    "isolated-node": lambda: _make(_TRIANGLE, 4),
    "single-node": lambda: _make([], 1),
    "no-edges": lambda: _make([], 4),
    "self-loops": lambda: _make([(0, 1), (1, 0), (1, 2), (2, 1), (0, 0), (2, 2)], 3, both=False),
    "duplicate-edges": lambda: _make([(0, 1), (1, 0), (0, 1), (1, 0), (1, 2), (2, 1)], 3, both=False),
    "directed": lambda: _make([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)], 4, both=False),
}


def tiny(name: str) -> Data:
    """A tiny named graph, each there for one reason: see ``llpe.graph.TINY`` for the names.

    Example:
        >>> tiny("ring")
        Data(edge_index=[2, 16], num_nodes=8)
    """
    if not isinstance(name, str) or name not in TINY:
        raise refusal("name", f"be one of {', '.join(TINY)}", repr(name))
    return TINY[name]()
