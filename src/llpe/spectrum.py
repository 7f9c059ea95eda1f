"""Laplacian → eigenpairs, all of them or from the ends, in an order, sign and basis that do not depend on the solver.

Conventions, the same for every solver:

* values ascend; eigenvalues that agree to 1e-8 form one *eigenspace*;
* inside an eigenspace E the basis is Gram–Schmidt of P_E g_1, P_E g_2, … for seeded Gaussian probes g (so a simple
  eigenvector has the sign that makes u·g_1 > 0), except that
* the first vector of the null space is the trivial one (√d, or 1 for the combinatorial Laplacian).

The problem is solved component by component and merged: small components densely, large ones (when only the ends are
wanted) by sparse iteration, isolated nodes not at all. So the eigenvalues that repeat across components are all found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from llpe.cache import Cache, Result, fetch
from llpe.graph import Graph
from llpe.laplacian import Kind, centre, check_kind, inverse_sqrt, known_pairs, laplacian, trivial_vector
from llpe.memory import SpectrumError, require_memory
from llpe.probes import draw
from llpe.solvers import DENSE_BELOW, REPEATED, Pairs, dense_pairs, end_pairs

GUARD = 8  # pairs beyond the wanted ones, to see where the last eigenspace ends; grows until it does
MOST_GUARD = 1000


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenpairs of a graph Laplacian.

    Attributes:
        values: ascending eigenvalues, shape (K,), float64.
        vectors: their eigenvectors as columns, shape (num_nodes, K), float64; orthonormal for ``sym`` and ``comb``,
            D-orthonormal for ``rw``.
        residuals: ‖L u − λ u‖ for each pair, shape (K,).
        spaces: the eigenspace of each pair, numbered 0, 1, …, shape (K,).
        first: how many of the pairs come from the low end (K if all).
        trivial: whether column 0 is the trivial vector.
        solver: what solved it: ``lapack``, ``arpack``, or ``lapack+arpack`` for different components.
        made: the arguments it was made with.
        cut: one sentence for each eigenspace of which only a part is kept.
    """

    values: Tensor
    vectors: Tensor
    residuals: Tensor
    spaces: Tensor
    first: int
    trivial: bool
    solver: str
    made: dict[str, Any]
    cut: tuple[str, ...] = ()

    def __repr__(self) -> str:
        worst = float(self.residuals.max()) if self.residuals.numel() else 0.0
        made = ", ".join(f"{name}={value!r}" for name, value in self.made.items())
        return (
            f"Spectrum({self.values.numel()} pairs of {self.vectors.size(0)} nodes, {made}, "
            f"solver={self.solver!r}, worst residual {worst:.1e})"
        )


def full_spectrum(
    data: Data | Graph, *, laplacian: Kind = "sym", seed: int = 0, cache: bool | Cache = True
) -> Spectrum:
    """All eigenpairs, by LAPACK. Needs about 32·n² bytes and refuses when they are not there.

    Example:
        >>> from llpe.graph import tiny
        >>> full_spectrum(tiny("star"), cache=False).values.round(decimals=12).tolist()
        [0.0, 1.0, 1.0, 1.0, 1.0, 2.0]
    """
    graph = data if isinstance(data, Graph) else Graph.from_data(data)
    return _spectrum(graph, laplacian, None, None, seed, cache)


def end_spectrum(
    data: Data | Graph,
    *,
    first: int = 0,
    last: int = 0,
    laplacian: Kind = "sym",
    seed: int = 0,
    cache: bool | Cache = True,
) -> Spectrum:
    """The ``first`` smallest and ``last`` largest eigenpairs; all of them where first + last ≥ num_nodes.

    Example:
        >>> from llpe.graph import tiny
        >>> end_spectrum(tiny("ring"), first=1, last=1, cache=False).values.tolist()
        [0.0, 2.0]
    """
    for name, count in (("first", first), ("last", last)):
        if not isinstance(count, int) or count < 0:
            raise ValueError(f"`{name}` must be an integer of at least 0, got {count!r}.")
    if first + last < 1:
        raise ValueError("`first` + `last` must be at least 1, got 0. Ask for pairs from one end or both.")
    graph = data if isinstance(data, Graph) else Graph.from_data(data)
    return _spectrum(graph, laplacian, first, last, seed, cache)


def _spectrum(
    graph: Graph, kind: Kind, first: int | None, last: int | None, seed: int, cache: bool | Cache
) -> Spectrum:
    check_kind(kind)
    n = graph.num_nodes
    made: dict[str, Any] = {"laplacian": kind, "seed": seed}
    if first is not None and last is not None:
        made |= {"first": first, "last": last}
        last = min(last, n)
        first = min(first, n - last) if first + last > n and first < n else min(first, n)
        last = n - first if first + last > n else last
    key = {"graph": graph.fingerprint, **made}
    result = fetch("spectrum", key, lambda: _compute(graph, kind, first, last, seed), cache=cache)
    facts = result.facts
    return Spectrum(
        **result.tensors,
        first=facts["first"],
        trivial=facts["trivial"],
        solver=facts["solver"],
        made=made,
        cut=tuple(facts["cut"]),
    )


def _compute(graph: Graph, kind: Kind, first: int | None, last: int | None, seed: int) -> Result:
    n = graph.num_nodes
    if first is None or last is None or first + last >= n:
        low, high = (n, 0) if first is None or last is None else (first, n - first)
        parts, _ = _solve(graph, kind, None, None, seed)
    else:
        low, high = first, last
        parts = _solve_ends(graph, kind, low, high, seed)
    pool = _Pool(parts, n, REPEATED * centre(graph, kind))
    chosen, cut = pool.choose(low, high)
    trivial = trivial_vector(graph, kind)
    vectors = pool.vectors(chosen, trivial, seed)
    values = pool.values[chosen]
    if kind == "rw":
        scale = inverse_sqrt(graph.degree)
        vectors *= np.where(scale > 0, scale, 1.0)[:, None]
    tensors = {
        "values": torch.from_numpy(values),
        "vectors": torch.from_numpy(np.ascontiguousarray(vectors)),  # as read from the cache: the same bits follow
        "residuals": torch.from_numpy(_residuals(laplacian(graph, kind), values, vectors)),
        "spaces": torch.from_numpy(np.unique(pool.spaces[chosen], return_inverse=True)[1]),
    }
    has_trivial = trivial is not None and low > 0
    solver = "+".join(sorted({part.solver for _, part in parts}, reverse=True)) or "lapack"
    return Result(tensors, {"first": low, "trivial": has_trivial, "solver": solver, "cut": cut})


def _solve_ends(graph: Graph, kind: Kind, first: int, last: int, seed: int) -> list[tuple[np.ndarray, Pairs]]:
    """Solves with a growing guard, until every eigenspace that the selection touches is known completely."""
    guard = GUARD
    while True:
        parts, iterated = _solve(graph, kind, first + guard if first else 0, last + guard if last else 0, seed)
        pool = _Pool(parts, graph.num_nodes, REPEATED * centre(graph, kind))
        if not iterated or pool.covers(first, last, iterated):
            return parts
        guard *= 4
        if guard > MOST_GUARD:
            raise SpectrumError(
                f"an eigenvalue at the end of the spectrum is repeated more than {guard // 4} times, and "
                f"first={first}, last={last} cut through it. Ask for fewer pairs, or use source='probes'."
            )


def _solve(
    graph: Graph, kind: Kind, low: int | None, high: int | None, seed: int
) -> tuple[list[tuple[np.ndarray, Pairs]], list[int]]:
    """(nodes, pairs) of every component, and which of them were iterated; ``low`` None means all pairs."""
    matrix = laplacian(graph, "comb" if kind == "comb" else "sym")
    groups = graph.component_nodes
    largest = max(len(nodes) for nodes in groups)
    if low is None:
        _require_dense(8 * (3 * largest**2 + graph.num_nodes**2), graph.num_nodes)
    middle = centre(graph, kind)
    parts, iterated = [], []
    for nodes in groups:
        size = len(nodes)
        if size == 1:
            alone = np.array([0.0 if kind == "comb" else 1.0])
            parts.append((nodes, Pairs(alone, np.ones((1, 1)), 1, 0, True, "lapack")))
            continue
        local = matrix[nodes][:, nodes] if len(groups) > 1 else matrix
        known = known_pairs(graph.adjacency[nodes][:, nodes], graph.degree[nodes], kind)
        if low is None or high is None or size <= DENSE_BELOW or 3 * (low + high) >= size:
            if low is not None:
                _require_dense(32 * size**2, size)
            parts.append((nodes, dense_pairs(local, known)))
        else:
            iterated.append(len(parts))
            pairs = end_pairs(local, known, low=low, high=high, centre=middle, seed=seed)
            parts.append((nodes, pairs))
    return parts, iterated


def _require_dense(needed: int, size: int) -> None:
    require_memory(
        needed,
        f"the dense eigendecomposition of {size} nodes",
        "Use source='ends' (first and last k eigenpairs) or source='probes' (the whole spectrum, no eigenvectors).",
    )


class _Pool:
    """The eigenpairs of all components together, sorted and grouped into eigenspaces."""

    def __init__(self, parts: list[tuple[np.ndarray, Pairs]], num_nodes: int, tolerance: float) -> None:
        self.parts, self.num_nodes = parts, num_nodes
        values = np.concatenate([pairs.values for _, pairs in parts])
        part = np.concatenate([np.full(pairs.values.size, i) for i, (_, pairs) in enumerate(parts)])
        column = np.concatenate([np.arange(pairs.values.size) for _, pairs in parts])
        order = np.argsort(values, kind="stable")
        self.values, self.part, self.column = values[order], part[order], column[order]
        self.spaces = np.concatenate([[0], np.cumsum(np.diff(self.values) > tolerance)])
        self.tolerance = tolerance

    def choose(self, low: int, high: int) -> tuple[np.ndarray, list[str]]:
        """Positions of the wanted pairs, and what was cut."""
        total = self.values.size
        chosen = np.concatenate([np.arange(low), np.arange(total - high, total)])
        cut = []
        for space in np.unique(self.spaces[chosen]):
            kept, all_of_it = int((self.spaces[chosen] == space).sum()), int((self.spaces == space).sum())
            if kept < all_of_it:
                value = self.values[self.spaces == space][0]
                cut.append(f"the eigenspace of {value:.6g} has dimension {all_of_it}, of which {kept} are kept")
        return chosen, cut

    def covers(self, low: int, high: int, iterated: list[int]) -> bool:
        """Whether the eigenspaces at the two cuts end inside what every iterated component has delivered."""
        for index in iterated:
            pairs = self.parts[index][1]
            if low and pairs.values[pairs.low - 1] <= self._end_of_space(low - 1, -1) + self.tolerance:
                return False
            if high and pairs.values[pairs.low] >= self._end_of_space(self.values.size - high, 0) - self.tolerance:
                return False
        return True

    def _end_of_space(self, position: int, end: int) -> float:
        return float(self.values[self.spaces == self.spaces[position]][end])

    def vectors(self, chosen: np.ndarray, trivial: np.ndarray | None, seed: int) -> np.ndarray:
        """The chosen eigenvectors in the convention of this module, shape (num_nodes, len(chosen))."""
        sizes = np.bincount(self.spaces)
        single = np.flatnonzero(sizes[self.spaces[chosen]] == 1)
        out = self._simple(chosen, single, draw(self.num_nodes, 1, seed)[:, 0].astype(np.float64))
        for where, members in self._repeated(chosen, sizes):
            basis = self._sparse(members)
            probes = draw(self.num_nodes, where.size, seed).astype(np.float64)
            if trivial is not None and abs(self.values[members[0]]) <= self.tolerance:
                probes = np.column_stack([trivial, probes[:, :-1]])
            rotation, upper = np.linalg.qr(basis.T @ probes)
            signs = np.where(np.diag(upper) < 0, -1.0, 1.0)
            out[:, where] = basis @ (rotation * signs)
        if trivial is not None and chosen.size and chosen[0] == 0 and sizes[0] == 1:
            out[:, 0] = trivial
        return out

    def _simple(self, chosen: np.ndarray, single: np.ndarray, probe: np.ndarray) -> np.ndarray:
        """The eigenvectors of simple eigenvalues, signed; zero columns elsewhere."""
        positions = chosen[single]
        whole = self.parts[0][1].vectors if len(self.parts) == 1 else None
        if whole is not None and single.size == whole.shape[1] == chosen.size:
            out = whole[:, self.column[positions]]
        else:
            out = np.zeros((self.num_nodes, chosen.size))
            for index in np.unique(self.part[positions]):
                nodes, pairs = self.parts[index]
                mine = self.part[positions] == index
                out[np.ix_(nodes, single[mine])] = pairs.vectors[:, self.column[positions[mine]]]
        out *= np.where(probe @ out < 0, -1.0, 1.0)
        return out

    def _repeated(self, chosen: np.ndarray, sizes: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """(columns of the output, positions in the pool) of each eigenspace of dimension two and more."""
        spaces = self.spaces[chosen]
        for space in np.unique(spaces[sizes[spaces] > 1]):
            yield np.flatnonzero(spaces == space), np.flatnonzero(self.spaces == space)

    def _sparse(self, positions: np.ndarray) -> sp.csc_array:
        """The eigenvectors at these positions as a sparse matrix: each lives on one component only."""
        rows, columns, entries = [], [], []
        for out_column, position in enumerate(positions):
            nodes, pairs = self.parts[self.part[position]]
            rows.append(nodes)
            columns.append(np.full(nodes.size, out_column))
            entries.append(pairs.vectors[:, self.column[position]])
        triple = (np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns)))
        return sp.csc_array(triple, shape=(self.num_nodes, positions.size))


def directions(spectrum: Spectrum, probe: Tensor) -> Tensor:
    """Weights w such that U·w = Σ_E √dim(E) · P_E g / ‖P_E g‖ for the probe g: one direction per eigenspace E.

    P_E g does not depend on the basis of E, nor, so, U·w; every eigenvalue carries energy equal to its multiplicity.

    Args:
        spectrum: eigenpairs of the symmetric normalised Laplacian.
        probe: g, shape (num_nodes,).

    Returns:
        w, shape (K,), float64. For a simple eigenvalue it is the sign of u·g.
    """
    projection = spectrum.vectors.T @ probe.double()
    count = int(spectrum.spaces.max()) + 1
    power = torch.zeros(count, dtype=torch.float64).index_add_(0, spectrum.spaces, projection**2)
    size = torch.bincount(spectrum.spaces, minlength=count)
    return projection * (size / power).sqrt()[spectrum.spaces]


def _residuals(matrix: sp.csr_array, values: np.ndarray, vectors: np.ndarray, block: int = 256) -> np.ndarray:
    out = np.empty(values.size)
    for begin in range(0, values.size, block):
        part = slice(begin, begin + block)
        out[part] = np.linalg.norm(matrix @ vectors[:, part] - vectors[:, part] * values[part], axis=0)
    return out
