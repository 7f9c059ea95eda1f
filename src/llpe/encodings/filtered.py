"""Learned filters over the spectrum: the shared half of the encodings whose fixed part is a Chebyshev basis B.

    P = B·Θ,   Θ ∈ R^(order × filters),   h_f(λ) = Σ_m Θ[m, f]·T_m(λ − 1)

A subclass computes B, with a last axis of length ``order``, and the parts of the penalty from a spectrum.

NOTE[PAPER]: the penalty is on whole-matrix norms, l1·‖W‖₁ + l2·‖W‖_F, as in the authors' code; the paper speaks of
columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from llpe import chebyshev
from llpe.encodings.base import Encoding, check_choice, seeded
from llpe.filters import BANKS

LEVELS = 1024  # distinct eigenvalues that ‖W‖₁ sees; more are merged with their neighbours


class FilteredEncoding(Encoding):
    """Base of the encodings that learn Chebyshev coefficients of filters, and nothing else.

    Args:
        filters: how many; ``dim`` or fewer, where several columns share one.

    Attributes:
        theta: the filters' Chebyshev coefficients, shape (order, filters).
    """

    started: Tensor
    graph_parts = frozenset({"terms", "gram"})

    def __init__(
        self, dim: int, filters: int, *, order: int, start: str, size: float, l1: float, l2: float, seed: int
    ) -> None:
        super().__init__(dim, seed)
        chebyshev.check_order(order)
        check_choice("start", start, ("uniform", *BANKS))
        for name, value in (("l1", l1), ("l2", l2)):
            if not np.isfinite(value) or value < 0:
                raise ValueError(f"`{name}` must be a finite number of at least 0, got {value!r}.")
        if not np.isfinite(size) or size <= 0:
            raise ValueError(f"`size` must be a finite number above 0, got {size!r}.")
        self.order, self.start, self.size, self.l1, self.l2 = order, start, size, l1, l2
        self.theta = nn.Parameter(torch.empty(order, filters))
        self.register_buffer("started", torch.tensor(False))
        with seeded(seed):
            self.reset_parameters()

    def reset_parameters(self) -> None:
        with torch.no_grad():
            if self.start == "uniform":
                self.theta.uniform_(-(self.order**-0.5), self.order**-0.5)
            else:
                self.theta.copy_(BANKS[self.start](self.order, self.theta.size(1)))
            self.started.fill_(self.start == "uniform")

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
        return (basis @ (self.size * self.theta).to(basis.dtype)).flatten(1)

    def penalty(self, data: Data) -> Tensor:
        """l1·‖W‖₁ + l2·‖W‖_F of the gains W = T(λ̃)Θ over the spectrum of each graph in ``data``, added up."""
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
            >>> from llpe import LLPE
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
