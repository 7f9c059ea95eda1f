"""LLPE (Ito et al. 2025): a learned filter over the whole spectrum.

    P = U·W,   W = T(λ̃)·Θ,   so   P = (Û·T)·Θ = B·Θ

with Û the eigenvectors as they enter (``scaling``), T the Chebyshev basis on the eigenvalues, and
Θ ∈ R^(order × filters) all that is learned. B ∈ R^(n × order) is computed once; training never sees a matrix of size
n×n. The source of B:

* ``full``: all eigenpairs. * ``ends``: the first and last k ("LLPE large").
* ``probes``: T_m(L̃)S for random probes S instead of Û·T; the filters are shared by all probes, no eigensolver is
  involved, and dim = probes × filters. See :mod:`llpe.probes`.

NOTE[PAPER]: the paper adds eigenvectors as the solver returns them and its authors' code scales each to [−1, 1]; both
depend on arbitrary signs and, where an eigenvalue repeats, on an arbitrary basis. ``scaling="unit"`` takes one
direction per eigenspace from a seeded probe instead; ``scaling="minmax"`` is the authors' form, where a constant
vector, 0/0 there, is mapped to 0.
NOTE[PAPER]: the penalty is on whole-matrix norms, l1·‖W‖₁ + l2·‖W‖_F, as in the authors' code; the paper speaks of
columns.
"""

from __future__ import annotations

from typing import Any, Literal, final

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from llpe import chebyshev
from llpe.cache import Cache
from llpe.encodings.base import Encoding, check_choice, check_count, seeded
from llpe.filters import BANKS
from llpe.graph import Graph
from llpe.probes import draw, probe_features
from llpe.spectrum import Spectrum, directions, end_spectrum, full_spectrum

FAINT = 1e-12  # mean square below which a row is left as it is
LEVELS = 1024  # distinct eigenvalues that ‖W‖₁ sees; more are merged with their neighbours
NEEDS_KEEPS_COST = {
    "full": ("all eigenpairs", "n × order", "O(n³), by LAPACK"),
    "ends": ("the first k and the last k eigenpairs", "n × order", "iterations · (edges + n·k), by Krylov spaces"),
    "probes": ("T_m(L̃)S, no eigenvector", "n × probes × order", "order · probes · edges, sparse products"),
}
SMALL = 1e-8  # relative range below which an eigenvector counts as constant


@final
class LLPE(Encoding):
    """Learnable Laplacian positional encoding.

    Args:
        dim: width of the output.
        order: number of Chebyshev terms of a filter.
        source: ``"full"``, ``"ends"`` or ``"probes"``: what of the spectrum is used, and how.
        k: with ``ends``, pairs from each end (default 64).
        probes: with ``probes``, how many (default 32); ``dim`` must be a multiple of it.
        start: how the filters begin: ``"uniform"`` draws Θ from ±1/√order as the paper does; ``"heat"`` is a bank of
            low-pass e^(−tλ) and high-pass e^(−t(2−λ)) kernels, ``"step"`` one of sharp cutoffs (for few large blocks;
            needs a high order); banks are scaled to unit variance on the first graph that is seen. Default: ``heat``
            with ``probes``, where random filters give noise, else ``uniform``.
        scaling: how eigenvectors enter: ``"unit"`` (one direction per eigenspace) or ``"minmax"`` (as published).
        rows: with ``probes``, ``"unit"`` scales what a filter gives a node, one number for each probe, to mean square
            1: its direction says where the node is, its length how well connected. ``"plain"`` keeps the length, and
            with it the distances of :mod:`llpe.probes`. Default: ``unit`` with two probes or more, else ``plain``.
        size: what the encoding is multiplied with. SGD does better from a large one where structure says more than the
            features do (on Cora, 10), and from a small one where it says less (on Texas, 1): a setting to search.
        l1, l2: coefficients of ‖W‖₁ and ‖W‖_F in :meth:`penalty`.
        seed: of the probes and of the initial filters.

    Attributes:
        theta: the filters' Chebyshev coefficients, shape (order, filters).

    Example:
        >>> from llpe.graph import tiny
        >>> encoding = LLPE(4, order=8)
        >>> data = encoding.prepare(tiny("ring"))
        >>> encoding(data).shape, encoding.theta.shape
        (torch.Size([8, 4]), torch.Size([8, 4]))
    """

    name = "llpe"
    started: Tensor
    graph_parts = frozenset({"terms", "gram"})
    reference = "Ito et al., Learning Laplacian Positional Encodings for Heterophilous Graphs, AISTATS 2025"

    def __init__(
        self,
        dim: int,
        *,
        order: int = 64,
        source: Literal["full", "ends", "probes"] = "full",
        k: int | None = None,
        probes: int | None = None,
        start: Literal["uniform", "heat", "step"] | None = None,
        scaling: Literal["unit", "minmax"] = "unit",
        rows: Literal["plain", "unit"] | None = None,
        size: float = 1.0,
        l1: float = 0.0,
        l2: float = 0.0,
        seed: int = 0,
    ) -> None:
        super().__init__(dim, seed)
        chebyshev.check_order(order)
        check_choice("source", source, ("full", "ends", "probes"))
        check_choice("scaling", scaling, ("unit", "minmax"))
        self.order, self.source, self.scaling = order, source, scaling
        self.needs, self.keeps, self.cost = NEEDS_KEEPS_COST[source]
        self.k = _only_with("k", k, "ends", source, 64)
        self.probes = _only_with("probes", probes, "probes", source, 32)
        self.start = start or ("heat" if source == "probes" else "uniform")
        check_choice("start", self.start, ("uniform", *BANKS))
        self.rows = rows or ("unit" if (self.probes or 1) > 1 else "plain")
        check_choice("rows", self.rows, ("plain", "unit"))
        if self.rows == "unit" and source != "probes":
            raise ValueError(f"`rows` must be 'plain' with source={source!r}, got 'unit'. Only probes have directions.")
        if source == "probes" and scaling != "unit":
            raise ValueError(
                "`scaling` must be 'unit' with source='probes', got 'minmax'. Probes have no eigenvectors."
            )
        for name, value in (("l1", l1), ("l2", l2)):
            if not np.isfinite(value) or value < 0:
                raise ValueError(f"`{name}` must be a finite number of at least 0, got {value!r}.")
        if not np.isfinite(size) or size <= 0:
            raise ValueError(f"`size` must be a finite number above 0, got {size!r}.")
        self.size, self.l1, self.l2 = size, l1, l2
        if dim % (self.probes or 1):
            raise ValueError(
                f"`dim` must be probes × filters, a multiple of probes={self.probes}, got {dim}. "
                f"Take dim={self.probes}, {2 * (self.probes or 1)}, … or another number of probes."
            )
        self.theta = nn.Parameter(torch.empty(order, dim // (self.probes or 1)))
        self.register_buffer("started", torch.tensor(False))
        with seeded(seed):
            self.reset_parameters()

    @classmethod
    def as_published(cls, dim: int = 128, *, order: int = 64, penalty: float = 0.0, seed: int = 0) -> LLPE:
        """The authors' form: all eigenvectors min-max scaled, uniform start, one coefficient for both penalties.

        Example:
            >>> LLPE.as_published(penalty=0.001)
            LLPE(dim=128, order=64, source='full', k=None, probes=None, start='uniform', scaling='minmax', \
rows='plain', size=1.0, l1=0.001, l2=0.001, seed=0)
        """
        return cls(dim, order=order, scaling="minmax", start="uniform", l1=penalty, l2=penalty, seed=seed)

    @property
    def invariances(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset() if self.scaling == "minmax" else frozenset({"sign", "basis"})

    def reset_parameters(self) -> None:
        with torch.no_grad():
            if self.start == "uniform":
                self.theta.uniform_(-(self.order**-0.5), self.order**-0.5)
            else:
                self.theta.copy_(BANKS[self.start](self.order, self.theta.size(1)))
            self.started.fill_(self.start == "uniform")

    def fixed_arguments(self) -> dict[str, Any]:
        names = {"full": ("scaling",), "ends": ("scaling", "k"), "probes": ("probes",)}[self.source]
        return {name: getattr(self, name) for name in ("source", "order", "seed", *names)} | {"levels": LEVELS}

    def compute(self, graph: Graph, cache: bool | Cache) -> dict[str, Tensor]:
        if self.probes is not None:
            basis, moments = probe_features(graph, order=self.order, probes=self.probes, seed=self.seed)
            values, share = chebyshev.density(moments, LEVELS)
            return {"basis": basis, **penalty_parts(values, graph.num_nodes * share, self.order)}
        if self.k is not None:
            spectrum = end_spectrum(graph, first=self.k, last=self.k, seed=self.seed, cache=cache)
        else:
            spectrum = full_spectrum(graph, seed=self.seed, cache=cache)
        probe = torch.from_numpy(draw(graph.num_nodes, 1, self.seed)[:, 0])
        space = spectrum.spaces.numpy()
        count = np.bincount(space).astype(np.float64)
        value = np.bincount(space, weights=spectrum.values.numpy()) / count
        basis = spectral_basis(spectrum, self.order, self.scaling, probe)
        return {"basis": basis, **penalty_parts(value, count, self.order)}

    def uses(self, part: str) -> bool:
        return {"basis": True, "terms": self.l1 > 0, "gram": self.l2 > 0}[part]

    def meet(self, data: Data) -> None:
        """Scales a ``heat`` or ``step`` start to unit variance on this data, once."""
        if not self.started:
            with torch.no_grad():
                rows = (self.fixed(data, "basis") @ self.theta.to(self.fixed(data, "basis").dtype)).flatten(0, -2)
                spread = torch.maximum(rows.std(dim=0, correction=0), 0.1 * rows.square().mean(dim=0).sqrt())
                self.theta.div_(torch.where(spread > 0, spread, 1.0))
                self.started.fill_(True)

    def forward(self, data: Data) -> Tensor:
        basis = self.fixed(data, "basis")
        self.meet(data)
        if self.rows == "plain":
            return (basis @ (self.size * self.theta).to(basis.dtype)).flatten(1)
        filtered = basis @ self.theta.to(basis.dtype)
        filtered = filtered * (self.size * (filtered.square().mean(dim=1, keepdim=True) + FAINT).rsqrt())
        return filtered.flatten(1)

    def penalty(self, data: Data) -> Tensor:
        """l1·‖W‖₁ + l2·‖W‖_F of the gains W = T(λ̃)Θ over the spectrum of each graph in ``data``, added up.

        With ``full`` and ``ends`` the spectrum is the eigenvalues; with ``probes`` its estimated density.
        """
        total = torch.zeros((), device=self.theta.device)
        if self.l1 > 0:
            terms = self.fixed(data, "terms")
            used = int((terms[..., 0] > 0).sum(dim=1).max())  # T_0 = 1: its column holds the counts, 0 in the padding
            terms = terms[:, :used]
            total = total + self.l1 * _AbsoluteSum.apply(terms.flatten(0, 1), self.theta.to(terms.dtype))
        if self.l2 > 0:
            gram = self.fixed(data, "gram")
            theta = self.theta.to(gram.dtype)
            squared = ((gram @ theta) * theta).sum(dim=(1, 2))
            total = total + self.l2 * squared.clamp_min(torch.finfo(gram.dtype).tiny).sqrt().sum()
        return total

    def response(self, lambdas: Any) -> Tensor:
        """The filters h_f(λ) on any grid of λ in [0, 2], shape (len(lambdas), filters).

        Example:
            >>> LLPE(2, order=8).response([0.0, 1.0, 2.0]).shape
            torch.Size([3, 2])
        """
        grid = torch.as_tensor(lambdas, dtype=self.theta.dtype, device=self.theta.device).reshape(-1)
        if grid.numel() and (float(grid.min()) < -1e-6 or float(grid.max()) > 2 + 1e-6):
            raise ValueError(
                f"`lambdas` must be in [0, 2], got values in [{float(grid.min()):g}, {float(grid.max()):g}]."
            )
        return chebyshev.basis(grid.clamp(0, 2), self.order) @ self.theta


class _AbsoluteSum(torch.autograd.Function):
    """Σ|A·x| in one node of the graph of derivatives, with the gradient Aᵀ·sign(A·x)."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, x: Tensor) -> Tensor:
        product = matrix @ x
        ctx.save_for_backward(matrix, product)
        return torch.linalg.vector_norm(product, ord=1)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor]:
        matrix, product = ctx.saved_tensors
        return None, (matrix.T @ product.sign()).mul_(gradient)


def spectral_basis(spectrum: Spectrum, order: int, scaling: str, probe: Tensor, block: int = 1024) -> Tensor:
    """B = Û·T(λ̃), shape (num_nodes, order), float64; eigenvectors are taken in blocks of columns."""
    terms = chebyshev.basis(spectrum.values, order)
    if scaling == "unit":
        return spectrum.vectors @ (directions(spectrum, probe)[:, None] * terms)
    out = spectrum.vectors.new_zeros(spectrum.vectors.size(0), order)
    for begin in range(0, terms.size(0), block):
        part = slice(begin, begin + block)
        out += minmax(spectrum.vectors[:, part]) @ terms[part]
    return out


def minmax(vectors: Tensor) -> Tensor:
    """Each column scaled to [−1, 1]; a constant column, whose range is 0, becomes 0."""
    low, high = vectors.amin(dim=0), vectors.amax(dim=0)
    constant = high - low <= SMALL * torch.maximum(high.abs(), low.abs())
    scaled = 2 * (vectors - low) / torch.where(constant, 1.0, high - low) - 1
    return torch.where(constant, 0.0, scaled)


def penalty_parts(value: np.ndarray, count: np.ndarray, order: int) -> dict[str, Tensor]:
    """What the penalty needs of a spectrum with distinct eigenvalues ``value``, each ``count`` times.

    * ``gram`` = Σ count·T(λ)T(λ)ᵀ, shape (1, order, order): ‖W‖_F² = tr(Θᵀ·gram·Θ)
    * ``terms`` = count·T(λ), shape (1, LEVELS, order): ‖W‖₁ = Σ|terms·Θ|, exact up to LEVELS distinct eigenvalues

    Their shapes do not depend on the graph, so that graphs of different sizes stand in one batch.
    """
    exact = chebyshev.basis(torch.from_numpy(value), order)
    gram = exact.T @ (torch.from_numpy(count)[:, None] * exact)
    if value.size > LEVELS:
        group = np.arange(value.size) * LEVELS // value.size
        merged = np.bincount(group, weights=count)
        value, count = np.bincount(group, weights=value * count) / merged, merged
    terms = torch.zeros(LEVELS, order, dtype=torch.float64)
    terms[: value.size] = torch.from_numpy(count)[:, None] * chebyshev.basis(torch.from_numpy(value), order)
    return {"terms": terms[None], "gram": gram[None]}


def _only_with(name: str, value: int | None, wanted: str, source: str, default: int) -> int | None:
    if source == wanted:
        value = default if value is None else value
        check_count(name, value)
        return value
    if value is not None:
        raise ValueError(
            f"`{name}` must be left out with source={source!r}, got {value!r}. Set source={wanted!r} to use it."
        )
    return None
