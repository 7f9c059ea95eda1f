"""LLPE (Ito et al. 2025): a learned filter over the whole spectrum, from eigenpairs.

    P = U·W,   W = T(λ̃)·C,   so   P = (Û·T)·C = B·C

with Û the eigenvectors as they enter, T the Chebyshev basis on the eigenvalues, and C ∈ R^(order × filters) all that is
learned. B is computed once, from all eigenpairs (``llpe``) or from the first and last k (``llpe-ends``, "LLPE large");
training never sees a matrix of size n×n.

P is a filter applied to one signal, h(L)·s with s = Σ_E √dim(E)·P_E g / ‖P_E g‖ over the eigenspaces E: one direction
in each, fixed by a seeded random vector g. One such signal says little of a node's position to a model that is not
tuned; several, ``directions``, through the same filters say much. ``LLPE(16)`` therefore filters sixteen signals.

NOTE[PAPER]: the paper has one signal, adds eigenvectors as the solver returns them, and its authors' code scales each
to [−1, 1]; signs and, where an eigenvalue repeats, the basis are arbitrary there. ``scaling="minmax"`` is the authors'
form (``llpe-minmax``), where a constant vector, 0/0 there, is mapped to 0. ``size=1.0`` is the plain formula, P = B·C
with one direction for each eigenspace.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, final

import numpy as np
import torch
from torch import Tensor

from llpe import chebyshev
from llpe.cache import Cache
from llpe.chebyshev import count_signals
from llpe.checks import check_choice, check_count, refusal
from llpe.encodings.filtered import SHARE, FilteredEncoding, Rows, Start, penalty_parts
from llpe.graph import Graph
from llpe.probes import draw
from llpe.spectrum import Spectrum, directions, end_spectrum, full_spectrum
from llpe.spmm import ranges

ENTRIES = 2**18  # gains held at once: all probes of a small graph, one by one on a large one
SMALL = 1e-8  # relative range below which an eigenvector counts as constant


@final
class LLPE(FilteredEncoding):
    """Learnable Laplacian positional encoding.

    Args:
        dim: width of the output, directions × filters.
        order: number of Chebyshev terms of a filter (default 32, with ``minmax`` 64).
        source: ``"full"``, all eigenpairs, or ``"ends"``, the first and last k. Without any: :class:`llpe.ProbeLLPE`.
        k: with ``ends``, pairs from each end (default 64).
        scaling: how eigenvectors enter: ``"unit"`` (a seeded direction in each eigenspace) or ``"minmax"`` (as
            published; then one direction, a uniform start and size 1).
        directions: how many signals are filtered; by default as many as ``dim``, at most 128, but one if ``size`` is
            given.
        start: where the filters start: ``"heat"``, a bank of low-pass e^(−tλ) and high-pass e^(−t(2−λ)) kernels;
            ``"step"``, one of sharp cutoffs (for few large blocks; needs a high order); ``"uniform"``, as in the paper,
            coefficients drawn from ±1/√order. What is learned then: see :mod:`llpe.encodings.filtered`.
        rows: ``"unit"`` leaves the trivial eigenvector out and scales what a filter gives a node, one number for each
            direction, to mean square 1; ``"plain"`` keeps all as it is. Default: ``unit`` with several directions, else
            ``plain``.
        share: mean length of the rows, relative to that of the features' rows.
        size: a fixed factor of the encoding instead.
        l1, l2: coefficients of the :meth:`penalty`. Default: 0 and 0.01, with a uniform start 0 and 0.
        frozen: the filters stay as they start; nothing is learned.
        seed: of the directions (with ``minmax``, of signs and bases) and of a uniform start.

    Example:
        >>> from llpe.graph import tiny
        >>> encoding = LLPE(4)
        >>> data = encoding.prepare(tiny("ring"))
        >>> encoding(data).shape, encoding.coefficients.shape  # four directions, one filter
        (torch.Size([8, 4]), torch.Size([32, 1]))
        >>> LLPE(4, size=1.0).coefficients.shape  # one direction, four filters
        torch.Size([32, 4])
    """

    name = "llpe"
    fixed_by = ("order", "k", "scaling", "directions", "rows", "seed")
    paper_options: ClassVar = {"order": 64, "size": 1.0, "start": "uniform"}  # the plain formula, one direction
    needs = "all eigenpairs"
    keeps = "n × directions × order"
    cost = "O(n³), by LAPACK"
    reference = "Ito et al., Learning Laplacian Positional Encodings for Heterophilous Graphs, AISTATS 2025"

    def __init__(
        self,
        dim: int,
        *,
        order: int | None = None,
        source: Literal["full", "ends"] = "full",
        k: int | None = None,
        scaling: Literal["unit", "minmax"] = "unit",
        directions: int | None = None,
        start: Start | None = None,
        rows: Rows | None = None,
        share: float = SHARE,
        size: float | None = None,
        l1: float = 0.0,
        l2: float | None = None,
        frozen: bool = False,
        seed: int = 0,
    ) -> None:
        check_count("dim", dim)
        check_choice("scaling", scaling, ("unit", "minmax"))
        published = scaling == "minmax"
        if published and directions not in (None, 1):
            raise refusal("directions", "be 1 with scaling='minmax'", repr(directions), "Leave it out.")
        if source not in ("full", "ends"):
            raise refusal("source", "be 'full' or 'ends'", repr(source), "ProbeLLPE is the encoding from probes.")
        if source == "full" and k is not None:
            raise refusal("k", "be left out with source='full'", k, "Set source='ends' to use it.")
        size = 1.0 if published and size is None else size
        directions = count_signals("directions", directions, dim, 1 if size is not None else None)
        order = (64 if published else 32) if order is None else order
        start = ("uniform" if published else "heat") if start is None else start
        shared: dict[str, Any] = {"share": share, "size": size, "l1": l1, "l2": l2, "frozen": frozen, "seed": seed}
        super().__init__(dim, directions, order=order, start=start, rows=rows, **shared)
        if self.rows == "unit" and directions == 1:
            raise refusal("rows", "be 'plain' with one direction", "'unit'", "Only the sign would be left.")
        self.source, self.scaling, self.directions, self.k = source, scaling, directions, k
        self.name = "llpe-minmax" if published else "llpe"
        if source == "ends":
            self.name, self.k = "llpe-ends", check_count("k", 64 if k is None else k)
            self.needs = "the first k and the last k eigenpairs"
            self.cost = "iterations · (edges + n·k), by Krylov spaces"

    @classmethod
    def space(cls, preset: str, decided: Mapping[str, Any]) -> dict[str, list[Any]]:
        if preset == "authors":
            penalties = [0.01, 0.001, 0.0001, 0.0]
            return {"encoding.dim": [64, 128], "order": [64, 128], "l1,l2": [[c, c] for c in penalties]}
        published = decided.get("scaling") == "minmax"
        if preset == "extended" and not published:
            own: dict[str, list[Any]] = {"order": [32, 64], "share": [0.1, 0.3, 1.0, 3.0]}
        else:
            own = {"order": [64, 128], "l1": [0.001, 0.0001, 0.0]}
            own |= {} if published else {"size": [1.0, 10.0]}  # as published, min-max scaling is the size
        return own | ({"k": [64, 128, 256, 512]} if decided.get("source") == "ends" else {})

    @property
    def invariances(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset() if self.scaling == "minmax" else frozenset({"sign", "basis"})

    def compute(self, graph: Graph, cache: bool | Cache) -> dict[str, Tensor]:
        if self.k is not None:
            spectrum = end_spectrum(graph, first=self.k, last=self.k, seed=self.seed, cache=cache)
        else:
            spectrum = full_spectrum(graph, seed=self.seed, cache=cache)
        terms = chebyshev.basis(spectrum.values, self.order)
        if self.scaling == "minmax":
            basis = minmax_basis(spectrum, terms)
        else:
            probes = torch.from_numpy(draw(graph.num_nodes, self.directions, self.seed))
            basis = spectral_basis(spectrum, terms, probes, centred=self.rows == "unit")
            basis = basis[:, 0] if self.directions == 1 else basis
        space = spectrum.spaces.numpy()
        count = np.bincount(space).astype(np.float64)
        value = np.bincount(space, weights=spectrum.values.numpy()) / count
        return {"basis": basis, **penalty_parts(value, count, self.order, graph.num_nodes)}


def spectral_basis(spectrum: Spectrum, terms: Tensor, probes: Tensor, *, centred: bool = False) -> Tensor:
    """B[:, r] = U·diag(w_r)·T(λ̃), w_r the directions of probe r; shape (num_nodes, probes, order).

    Computed in float64, a few probes at a time, and kept in float32 where there are several. ``centred`` leaves out the
    trivial eigenvector, as :func:`~llpe.probes.probe_features` does.
    """
    (n, pairs), (count, order) = spectrum.vectors.shape, (probes.size(1), terms.size(1))
    weights = directions(spectrum, probes)
    weights[: int(centred and spectrum.trivial)] = 0
    out = torch.empty(n, count, order, dtype=torch.float64 if count == 1 else torch.float32)
    block = max(1, ENTRIES // (pairs * order))
    for part in ranges(count, block):
        gains = weights[:, part, None] * terms[:, None]
        out[:, part] = (spectrum.vectors @ gains.flatten(1)).view(n, -1, order)
    return out


def minmax_basis(spectrum: Spectrum, terms: Tensor) -> Tensor:
    """B = Û·T(λ̃), shape (num_nodes, order), float64; eigenvectors are taken in blocks of columns."""
    out = spectrum.vectors.new_zeros(spectrum.vectors.size(0), terms.size(1))
    for vectors, rows in zip(spectrum.vectors.split(1024, dim=1), terms.split(1024), strict=True):
        out += minmax(vectors) @ rows
    return out


def minmax(vectors: Tensor) -> Tensor:
    """Each column scaled to [−1, 1]; a constant column, whose range is 0, becomes 0."""
    low, high = vectors.amin(dim=0), vectors.amax(dim=0)
    constant = high - low <= SMALL * torch.maximum(high.abs(), low.abs())
    scaled = 2 * (vectors - low) / torch.where(constant, 1.0, high - low) - 1
    return torch.where(constant, 0.0, scaled)
