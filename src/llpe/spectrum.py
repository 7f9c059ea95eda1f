"""Laplacian → eigenpairs, all of them or from the ends, in an order, sign and basis that do not depend on the solver.

The problem is solved component by component: small components densely, large ones (when only the ends are wanted) by
sparse iteration, isolated nodes not at all. So the eigenvalues that repeat across components are all found. Then they
are merged, by these conventions:

* values ascend; eigenvalues that agree to 1e-12, or to 1e-8 of their distance from the nearer end of the spectrum,
  form one *eigenspace*;
* inside an eigenspace E the basis is Gram–Schmidt of P_E g_1, P_E g_2, … for seeded Gaussian probes g (so a simple
  eigenvector has the sign that makes u·g_1 > 0), except that
* the first vector of the null space is the trivial one (√d, or 1 for the combinatorial Laplacian).

Of an eigenspace larger than what is wanted of it, only the projections P_E g are computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
import torch
from scipy.linalg.lapack import dgeqrf, dorgqr
from torch import Tensor

from llpe.cache import Cache, Result, fetch
from llpe.checks import check_choice, check_count, check_seed, checked
from llpe.eigensolvers import DENSE_BELOW, Pairs, dense_pairs, eigenspaces, end_pairs, tolerance
from llpe.graph import SMALL, Graph
from llpe.inputs import GraphLike
from llpe.laplacian import KINDS, Kind, centre, dense_laplacian, inverse_sqrt, known_pairs, laplacian, trivial_vector
from llpe.probes import draw
from llpe.spmm import ranges
from llpe.storage import SpectrumError, require_memory

GUARD = 8  # pairs beyond the wanted ones, to see where the last eigenspace ends
BLOCK = 64  # columns that LAPACK may work on at once
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
        solver: what solved it: ``lapack``, ``arpack``, ``filter``, ``inverse``, or several, joined by +.
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


@checked
def full_spectrum(data: GraphLike, *, laplacian: Kind = "sym", seed: int = 0, cache: bool | Cache = True) -> Spectrum:
    """All eigenpairs, by LAPACK. Needs about 32·n² bytes and refuses when they are not free.

    Example:
        >>> from llpe.graph import tiny
        >>> full_spectrum(tiny("star"), cache=False).values.round(decimals=12).tolist()
        [0.0, 1.0, 1.0, 1.0, 1.0, 2.0]
    """
    graph = Graph.from_data(data)
    return _spectrum(graph, graph.num_nodes, 0, {"laplacian": laplacian, "seed": seed}, cache)


@checked
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
    check_count("first", first, least=0)
    check_count("last", last, least=0)
    if first + last < 1:
        raise ValueError("`first` + `last` must be at least 1, got 0. Ask for pairs from one end or both.")
    graph = Graph.from_data(data)
    low = min(first, graph.num_nodes)
    made = {"laplacian": laplacian, "seed": seed, "first": first, "last": last}
    return _spectrum(graph, low, min(last, graph.num_nodes - low), made, cache)


def _spectrum(graph: Graph, low: int, high: int, made: dict[str, Any], cache: bool | Cache) -> Spectrum:
    check_choice("laplacian", made["laplacian"], KINDS)
    check_seed(made["seed"])
    compute = partial(_compute, graph, made["laplacian"], low, high, made["seed"])
    result = fetch("spectrum", graph, made, compute, cache=cache)
    fields: dict[str, Any] = {**result.tensors, **result.facts, "made": made, "cut": tuple(result.facts["cut"])}
    return Spectrum(**fields)


def _compute(graph: Graph, kind: Kind, low: int, high: int, seed: int) -> Result:
    n = graph.num_nodes
    make = dense_laplacian if n <= SMALL else laplacian
    matrix = make(graph, "comb" if kind == "comb" else "sym")
    counts = None if low + high == n else (low and low + GUARD, high and high + GUARD)
    pool = _solve(graph, matrix, kind, counts, seed)
    chosen, cut = pool.choose(low, high)
    trivial = trivial_vector(graph, kind) if pool.has_null_space else None
    values, vectors = pool.values[chosen], pool.vectors(chosen, trivial, seed)
    if kind == "rw":
        scale = inverse_sqrt(graph.degree)
        vectors *= np.where(scale > 0, np.ldexp(scale, -graph.exponent // 2), 1.0)[:, None]
        matrix = make(graph, kind)
    residuals = _residuals(matrix, values, vectors)
    if kind == "comb" and graph.exponent:
        with np.errstate(over="ignore"):
            values, residuals = np.ldexp((values, residuals), graph.exponent)
        if graph.exponent < -960 or not np.isfinite(values).all():  # below, float64 loses digits
            raise SpectrumError("eigenvalues of 'comb' are beyond the range of float64. Scale the weights first.")
    spaces = pool.spaces[chosen]  # in order, with gaps
    tensors = {
        "values": torch.from_numpy(values),
        "vectors": torch.from_numpy(np.ascontiguousarray(vectors)),  # as read from the cache: the same bits follow
        "residuals": torch.from_numpy(residuals),
        "spaces": torch.from_numpy(np.cumsum(np.diff(spaces, prepend=spaces[:1]) > 0)),
    }
    solver = "+".join(sorted({part.solver for _, part in pool.parts}, reverse=True))
    return Result(tensors, {"first": low, "trivial": trivial is not None and low > 0, "solver": solver, "cut": cut})


def _residuals(matrix: Matrix, values: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    out = np.empty(values.size)
    for part in ranges(values.size, 256):
        difference = matrix @ vectors[:, part] - vectors[:, part] * values[part]
        out[part] = np.einsum("ij,ij->j", difference, difference)
    return np.sqrt(out)


def _solve(graph: Graph, matrix: Matrix, kind: Kind, counts: tuple[int, int] | None, seed: int) -> Merged:
    """The eigenpairs of every component: as many from each end as ``counts`` says, or more; None means all."""
    groups = graph.component_nodes
    dense_below = graph.num_nodes if counts is None else max(DENSE_BELOW, 3 * sum(counts))
    largest = max((len(nodes) for nodes in groups if len(nodes) <= dense_below), default=0)
    size = graph.num_nodes if counts is None else largest
    require_memory(
        8 * (3 * largest**2 + size**2),
        f"the dense eigendecomposition of {size} nodes",
        "Use 'llpe-ends' (first and last k eigenpairs) or 'llpe-probes' (the whole spectrum, no eigenvectors).",
    )
    middle = centre(graph, kind)
    parts: list[tuple[np.ndarray, Pairs]] = []
    for nodes in groups:
        if len(nodes) == 1:
            alone = np.array([0.0 if kind == "comb" else 1.0])
            parts.append((nodes, Pairs(alone, np.ones((1, 1)), 1, 0, "lapack")))
            continue
        local = matrix[nodes][:, nodes] if len(groups) > 1 else matrix
        known = known_pairs(graph.degree[nodes], graph.sides[nodes], kind)
        if counts is None or len(nodes) <= dense_below:
            own = local.copy() if isinstance(local, np.ndarray) else local.toarray()
            parts.append((nodes, dense_pairs(own, known)))
        else:
            low, high = counts
            parts.append((nodes, end_pairs(sp.csr_array(local), known, low, high, centre=middle, seed=seed)))
    return Merged(parts, graph.num_nodes, middle)


class Merged:
    """The eigenpairs of all components (``parts``: nodes and pairs of each), sorted and grouped into eigenspaces."""

    def __init__(self, parts: list[tuple[np.ndarray, Pairs]], num_nodes: int, centre: float) -> None:
        self.parts, self.num_nodes = parts, num_nodes
        values = np.concatenate([pairs.values for _, pairs in parts])
        order = values.argsort(kind="stable")
        self.values = values[order]
        self.part: np.ndarray = np.zeros_like(order)  # of each pair: its component,
        self.column: np.ndarray = order  # and its column there
        if len(parts) > 1:  # skipped for one component: 5 % of the time of a small graph
            counts = [pairs.values.size for _, pairs in parts]
            self.part = np.repeat(np.arange(len(parts)), counts)[order]
            self.column = order - (np.cumsum(counts) - counts)[self.part]
        self.has_null_space = bool(self.values[0] <= tolerance(0.0, centre))  # as space 0; the high end alone has none
        self.spaces = eigenspaces(self.values, centre)
        self.sizes = np.bincount(self.spaces)
        self.innermost = {  # of each iterated component: the last value found from either end
            index: pairs.values[[pairs.low - 1] * bool(pairs.low) + [pairs.low] * bool(pairs.high)]
            for index, (_, pairs) in enumerate(parts)
            if pairs.project
        }

    def choose(self, low: int, high: int) -> tuple[np.ndarray, list[str]]:
        """Positions of the wanted pairs, and what was cut."""
        total = self.values.size
        chosen = np.concatenate([np.arange(low), np.arange(total - high, total)])
        kept = np.bincount(self.spaces[chosen], minlength=self.sizes.size)
        cut = [
            f"the eigenspace of {self.values[self.spaces == space][0]:.6g} has dimension "
            f"{self.sizes[space]}{' or more' if self._unfinished(space) else ''}, of which {kept[space]} are kept"
            for space in np.flatnonzero((kept > 0) & (kept < self.sizes)).tolist()
        ]
        return chosen, cut

    def _unfinished(self, space: int) -> list[int]:
        """The components of which vectors of an eigenspace may be missing: the last that was found is one of it."""
        first, last = self.values[self.spaces == space][[0, -1]]
        within = [((first <= value) & (value <= last)).any() for value in self.innermost.values()]
        return [index for index, missing in zip(self.innermost, within, strict=True) if missing]

    def vectors(self, chosen: np.ndarray, trivial: np.ndarray | None, seed: int) -> np.ndarray:
        """The chosen eigenvectors in the conventions of this module, shape (num_nodes, len(chosen))."""
        out = self._signed(chosen, draw(self.num_nodes, 1, seed)[:, 0].astype(np.float64))
        spaces = self.spaces[chosen]
        for space in np.flatnonzero((self.sizes > 1) & (np.bincount(spaces, minlength=self.sizes.size) > 0)).tolist():
            where, members = np.flatnonzero(spaces == space), np.flatnonzero(self.spaces == space)
            probes = draw(self.num_nodes, where.size, seed).astype(np.float64)
            if trivial is not None and space == 0:
                probes = np.column_stack([trivial, probes[:, :-1]])
            if unfinished := self._unfinished(space):
                projected = np.zeros_like(probes)
                if (finished := members[~np.isin(self.part[members], unfinished)]).size:
                    basis = self._basis(finished)
                    projected += basis @ (basis.T @ probes)
                for nodes, pairs in (self.parts[index] for index in unfinished):
                    assert pairs.project is not None
                    projected[nodes] = pairs.project(self.values[members[0]], probes[nodes])
                out[:, where] = _orthonormal(projected)
            else:
                basis = self._basis(members)
                out[:, where] = basis @ _orthonormal(basis.T @ probes)
        if trivial is not None and chosen[0] == 0 and self.sizes[0] == 1:
            out[:, 0] = trivial
        return out

    def _signed(self, chosen: np.ndarray, probe: np.ndarray) -> np.ndarray:
        """The chosen eigenvectors, signed; those of repeated eigenvalues are arbitrary."""
        if len(self.parts) == 1:
            out = self.parts[0][1].vectors[:, self.column[chosen]]
        else:
            out = np.zeros((self.num_nodes, chosen.size))
            single = np.flatnonzero(self.sizes[self.spaces[chosen]] == 1)
            part = self.part[chosen[single]]
            for index in np.unique(part):
                nodes, pairs = self.parts[index]
                mine = single[part == index]
                out[np.ix_(nodes, mine)] = pairs.vectors[:, self.column[chosen[mine]]]
        out *= np.where(probe @ out < 0, -1.0, 1.0)
        return out

    def _basis(self, positions: np.ndarray) -> np.ndarray | sp.csc_array:
        """The eigenvectors at these positions; sparse where each lives on one component only."""
        if len(self.parts) == 1:
            return self.parts[0][1].vectors[:, self.column[positions]]
        members = [(*self.parts[self.part[position]], self.column[position]) for position in positions]
        entries = np.concatenate([pairs.vectors[:, column] for _, pairs, column in members])
        rows = np.concatenate([nodes for nodes, *_ in members])
        starts = np.cumsum([0, *(len(nodes) for nodes, *_ in members)])
        return sp.csc_array((entries, rows, starts), shape=(self.num_nodes, positions.size))


def _orthonormal(columns: np.ndarray) -> np.ndarray:
    """Gram–Schmidt of the columns, by LAPACK's reflections: for a few columns far faster than NumPy's QR."""
    upper, scale, *_ = dgeqrf(columns, lwork=BLOCK * columns.shape[1])
    rotation, *_ = dorgqr(upper, scale, lwork=BLOCK * columns.shape[1])
    return rotation * np.where(upper.diagonal() < 0, -1.0, 1.0)


def directions(spectrum: Spectrum, probe: Tensor) -> Tensor:
    """Weights w such that U·w = Σ_E √dim(E) · P_E g / ‖P_E g‖ for the probe g: one direction per eigenspace E.

    Neither P_E g nor U·w depends on the basis of E, and every eigenvalue has energy equal to its multiplicity. The
    spectrum is that of ``sym``, the probe has shape (num_nodes,), or (num_nodes, probes) for several, and w has shape
    (K,) or (K, probes) and is float64; for a simple eigenvalue it is the sign of u·g.
    """
    projection = spectrum.vectors.T @ probe.double()
    dimension = torch.bincount(spectrum.spaces)
    power = projection.new_zeros(len(dimension), *projection.shape[1:]).index_add_(0, spectrum.spaces, projection**2)
    size = dimension.view(-1, *[1] * (projection.dim() - 1))
    return projection * (size / power).sqrt()[spectrum.spaces]
