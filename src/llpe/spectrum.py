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

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from llpe.cache import Cache, Result, fetch
from llpe.eigenspaces import Pool, numbered
from llpe.graph import SMALL, Graph, GraphLike
from llpe.laplacian import (
    Kind,
    centre,
    check_kind,
    dense_laplacian,
    inverse_sqrt,
    known_pairs,
    laplacian,
    trivial_vector,
)
from llpe.memory import SpectrumError, require_memory
from llpe.solvers import DENSE_BELOW, REPEATED, Pairs, dense_pairs, end_pairs

GUARD = 8  # pairs beyond the wanted ones, to see where the last eigenspace ends; grows until it does
MOST_GUARD = 1000
Matrix: TypeAlias = np.ndarray | sp.csr_array  # an array for small graphs


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
        solver: what solved it: ``lapack``, ``arpack``, ``filter``, or several, joined by +, for different components.
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


def full_spectrum(data: GraphLike, *, laplacian: Kind = "sym", seed: int = 0, cache: bool | Cache = True) -> Spectrum:
    """All eigenpairs, by LAPACK. Needs about 32·n² bytes and refuses when they are not there.

    Example:
        >>> from llpe.graph import tiny
        >>> full_spectrum(tiny("star"), cache=False).values.round(decimals=12).tolist()
        [0.0, 1.0, 1.0, 1.0, 1.0, 2.0]
    """
    graph = Graph.from_data(data)
    return _spectrum(graph, laplacian, None, None, seed, cache)


def end_spectrum(
    data: GraphLike,
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
    graph = Graph.from_data(data)
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
    result = fetch("spectrum", graph, made, lambda: _compute(graph, kind, first, last, seed), cache=cache)
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
    matrix = _matrix(graph, "comb" if kind == "comb" else "sym")
    if first is None or last is None or first + last >= n:
        low, high = (n, 0) if first is None or last is None else (first, n - first)
        parts, _ = _solve(graph, matrix, kind, None, None, seed)
    else:
        low, high = first, last
        parts = _solve_ends(graph, matrix, kind, low, high, seed)
    pool = Pool(parts, n, REPEATED * centre(graph, kind))
    chosen, cut = pool.choose(low, high)
    trivial = trivial_vector(graph, kind)
    vectors = pool.vectors(chosen, trivial, seed)
    values = pool.values[chosen]
    if kind == "rw":
        scale = inverse_sqrt(graph.degree)
        vectors *= np.where(scale > 0, scale, 1.0)[:, None]
        matrix = _matrix(graph, kind)
    tensors = {
        "values": torch.from_numpy(values),
        "vectors": torch.from_numpy(np.ascontiguousarray(vectors)),  # as read from the cache: the same bits follow
        "residuals": torch.from_numpy(_residuals(matrix, values, vectors)),
        "spaces": torch.from_numpy(numbered(pool.spaces[chosen], 0)),
    }
    has_trivial = trivial is not None and low > 0
    solver = "+".join(sorted({part.solver for _, part in parts}, reverse=True)) or "lapack"
    return Result(tensors, {"first": low, "trivial": has_trivial, "solver": solver, "cut": cut})


def _solve_ends(
    graph: Graph, matrix: Matrix, kind: Kind, first: int, last: int, seed: int
) -> list[tuple[np.ndarray, Pairs]]:
    """Solves with a growing guard, until every eigenspace that the selection touches is known completely."""
    guard = GUARD
    while True:
        low, high = first + guard if first else 0, last + guard if last else 0
        parts, iterated = _solve(graph, matrix, kind, low, high, seed)
        tolerance = REPEATED * centre(graph, kind)
        if not iterated or Pool(parts, graph.num_nodes, tolerance).covers(first, last, iterated):
            return parts
        guard *= 4
        if guard > MOST_GUARD:
            raise SpectrumError(
                f"an eigenvalue at the end of the spectrum is repeated more than {guard // 4} times, and "
                f"first={first}, last={last} cut through it. Ask for fewer pairs, or use the encoding 'llpe-probes'."
            )


def _solve(
    graph: Graph, matrix: Matrix, kind: Kind, low: int | None, high: int | None, seed: int
) -> tuple[list[tuple[np.ndarray, Pairs]], list[int]]:
    """(nodes, pairs) of every component, and which of them were iterated; ``low`` None means all pairs."""
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
        known = known_pairs(graph.degree[nodes], graph.sides[nodes], kind)
        if low is None or high is None or size <= DENSE_BELOW or 3 * (low + high) >= size:
            if low is not None:
                _require_dense(32 * size**2, size)
            own = local.copy() if isinstance(local, np.ndarray) else local.toarray()
            parts.append((nodes, dense_pairs(own, known)))
        else:
            iterated.append(len(parts))
            pairs = end_pairs(sp.csr_array(local), known, low=low, high=high, centre=middle, seed=seed)
            parts.append((nodes, pairs))
    return parts, iterated


def _matrix(graph: Graph, kind: Kind) -> Matrix:
    return dense_laplacian(graph, kind) if graph.num_nodes <= SMALL else laplacian(graph, kind)


def _require_dense(needed: int, size: int) -> None:
    require_memory(
        needed,
        f"the dense eigendecomposition of {size} nodes",
        "Use 'llpe-ends' (first and last k eigenpairs) or 'llpe-probes' (the whole spectrum, no eigenvectors).",
    )


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


def _residuals(matrix: Matrix, values: np.ndarray, vectors: np.ndarray, block: int = 256) -> np.ndarray:
    out = np.empty(values.size)
    for begin in range(0, values.size, block):
        part = slice(begin, begin + block)
        apart = matrix @ vectors[:, part] - vectors[:, part] * values[part]
        out[part] = np.einsum("ij,ij->j", apart, apart)
    return np.sqrt(out)
