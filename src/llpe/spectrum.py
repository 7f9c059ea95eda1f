"""Laplacian → eigenpairs, all of them or from the ends, in an order, sign and basis that do not depend on the solver.

The problem is solved component by component: small components densely, large ones (when only the ends are wanted) by
sparse iteration, isolated nodes not at all. So the eigenvalues that repeat across components are all found. Then they
are merged, by the conventions of :mod:`llpe.conventions`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from llpe.cache import Cache, Result, fetch
from llpe.checks import check_choice, check_count, check_seed, checked
from llpe.conventions import Merged, Parts
from llpe.eigensolvers import DENSE_BELOW, Pairs, dense_pairs, end_pairs
from llpe.graph import SMALL, Graph
from llpe.inputs import GraphLike
from llpe.laplacian import KINDS, Kind, centre, dense_laplacian, inverse_sqrt, known_pairs, laplacian, trivial_vector
from llpe.spmm import ranges
from llpe.storage import SpectrumError, require_memory

GUARD = 8  # pairs beyond the wanted ones, to see where the last eigenspace ends
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
    trivial = trivial_vector(graph, kind)
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
    parts: Parts = []
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
            pairs = end_pairs(sp.csr_array(local), known, low=low, high=high, centre=middle, seed=seed)
            parts.append((nodes, pairs))
    return Merged(parts, graph.num_nodes, middle)


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
