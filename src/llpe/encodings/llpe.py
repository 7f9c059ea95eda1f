"""LLPE (Ito et al. 2025): a learned filter over the whole spectrum, from eigenpairs.

    P = U·W,   W = T(λ̃)·Θ,   so   P = (Û·T)·Θ = B·Θ

with Û the eigenvectors as they enter (``scaling``), T the Chebyshev basis on the eigenvalues, and
Θ ∈ R^(order × dim) all that is learned. B ∈ R^(n × order) is computed once, from all eigenpairs (``llpe``) or from the
first and last k (``llpe-ends``, "LLPE large"); training never sees a matrix of size n×n.

NOTE[PAPER]: the paper adds eigenvectors as the solver returns them and its authors' code scales each to [−1, 1]; both
depend on arbitrary signs and, where an eigenvalue repeats, on an arbitrary basis. ``scaling="unit"`` takes one
direction per eigenspace from a seeded probe instead; ``scaling="minmax"`` is the authors' form (``llpe-minmax``), where
a constant vector, 0/0 there, is mapped to 0.
"""

from __future__ import annotations

from typing import Any, Literal, final

import numpy as np
import torch
from torch import Tensor

from llpe import chebyshev
from llpe.cache import Cache
from llpe.encodings.base import check_choice, check_count
from llpe.encodings.filtered import LEVELS, FilteredEncoding, penalty_parts
from llpe.graph import Graph
from llpe.probes import draw
from llpe.spectrum import Spectrum, directions, end_spectrum, full_spectrum

SMALL = 1e-8  # relative range below which an eigenvector counts as constant


@final
class LLPE(FilteredEncoding):
    """Learnable Laplacian positional encoding.

    Args:
        dim: width of the output.
        order: number of Chebyshev terms of a filter.
        source: ``"full"``, all eigenpairs, or ``"ends"``, the first and last k. Without any: :class:`llpe.ProbeLLPE`.
        k: with ``ends``, pairs from each end (default 64).
        scaling: how eigenvectors enter: ``"unit"`` (one direction per eigenspace) or ``"minmax"`` (as published).
        start: how the filters begin: ``"uniform"`` draws Θ from ±1/√order as the paper does; ``"heat"`` is a bank of
            low-pass e^(−tλ) and high-pass e^(−t(2−λ)) kernels, ``"step"`` one of sharp cutoffs (for few large blocks;
            needs a high order); banks are scaled to unit variance on the first graph that is seen.
        size: what the encoding is multiplied with. SGD does better from a large one where structure says more than the
            features do (on Cora, 10), and from a small one where it says less (on Texas, 1): a setting to search.
        l1, l2: coefficients of ‖W‖₁ and ‖W‖_F in :meth:`penalty`, over the eigenvalues.
        seed: of the direction in each eigenspace (with ``minmax``, of signs and bases) and of the initial filters.

    Attributes:
        theta: the filters' Chebyshev coefficients, shape (order, dim).

    Example:
        >>> from llpe.graph import tiny
        >>> encoding = LLPE(4, order=8)
        >>> data = encoding.prepare(tiny("ring"))
        >>> encoding(data).shape, encoding.theta.shape
        (torch.Size([8, 4]), torch.Size([8, 4]))
    """

    name = "llpe"
    needs = "all eigenpairs"
    keeps = "n × order"
    cost = "O(n³), by LAPACK"
    reference = "Ito et al., Learning Laplacian Positional Encodings for Heterophilous Graphs, AISTATS 2025"

    def __init__(
        self,
        dim: int,
        *,
        order: int = 64,
        source: Literal["full", "ends"] = "full",
        k: int | None = None,
        scaling: Literal["unit", "minmax"] = "unit",
        start: Literal["uniform", "heat", "step"] = "uniform",
        size: float = 1.0,
        l1: float = 0.0,
        l2: float = 0.0,
        seed: int = 0,
    ) -> None:
        super().__init__(dim, dim, order=order, start=start, size=size, l1=l1, l2=l2, seed=seed)
        if source not in ("full", "ends"):
            raise ValueError(
                f"`source` must be 'full' or 'ends', got {source!r}. ProbeLLPE is the encoding from probes."
            )
        check_choice("scaling", scaling, ("unit", "minmax"))
        if source == "full" and k is not None:
            raise ValueError(f"`k` must be left out with source='full', got {k!r}. Set source='ends' to use it.")
        self.source, self.scaling = source, scaling
        self.name = "llpe-minmax" if scaling == "minmax" else "llpe"
        self.k = k
        if source == "ends":
            self.name = "llpe-ends"
            self.needs = "the first k and the last k eigenpairs"
            self.cost = "iterations · (edges + n·k), by Krylov spaces"
            self.k = 64 if k is None else k
            check_count("k", self.k)

    @property
    def invariances(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset() if self.scaling == "minmax" else frozenset({"sign", "basis"})

    def fixed_arguments(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("order", "k", "scaling", "seed")} | {"levels": LEVELS}

    def compute(self, graph: Graph, cache: bool | Cache) -> dict[str, Tensor]:
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
