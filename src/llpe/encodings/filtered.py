"""Learned filters over the spectrum: the shared half of the encodings whose fixed part is a Chebyshev basis.

    P[v, s, f] = (h_f(L)·signal_s)[v] = Σ_m B[v, s, m]·C[m, f],   h_f(λ) = Σ_m C[m, f]·T_m(λ − 1)

A subclass computes B, the Chebyshev terms of its signals, and the parts of the penalty. The filters are shared by all
signals, so dim = signals × filters. Only the coefficients C ∈ R^(order × filters) are learned, in one of two ways:

* ``start="uniform"``, the paper's: C itself, from random values, with the paper's penalty on the gains W = T(λ)·C.
* a bank of low and high passes (``"heat"``, ``"step"``): C = bank + step·Θ, where Θ starts at 0 and ``step`` is a small
  part of each filter's largest coefficient. At the rates that models are trained with the filters then change slowly,
  and few labels cannot bend them at once. The penalty is on that change, relative to the bank: one value suits graphs
  of any size and encodings of any width.

The output is small next to the features unless ``size`` is given: its rows have a mean length of ``share`` times
that of the rows of ``data.x`` (of 1, where there are no features) on the first graph that is prepared. An encoding
larger than the features drowns them, and Adam then fits it first.

NOTE[PAPER]: the paper's penalty is on whole-matrix norms, l1·‖W‖₁ + l2·‖W‖_F, as in the authors' code; the text of the
paper speaks of columns.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from llpe import chebyshev
from llpe.chebyshev import BANKS, spread, to_unit_rows
from llpe.checks import check_choice, check_count, check_number, refusal, show
from llpe.device import wide
from llpe.encodings.base import Encoding, seeded

Start = Literal["uniform", "heat", "step"]
Rows = Literal["plain", "unit"]
SHARE = 0.1  # of the features' mean row length
RATE = 0.02  # of a filter's largest coefficient: what a change of 1 in Θ adds
L2 = 0.01  # penalty on the change of the filters, unless another is given
LEVELS = 1024  # distinct eigenvalues that ‖W‖₁ sees; more are merged with their neighbours


class FilteredEncoding(Encoding):
    """Base of the encodings that learn Chebyshev coefficients of filters, and nothing else.

    Args:
        signals: how many signals are filtered; ``dim`` must be a multiple.

    Attributes:
        theta: what is learned, shape (order, filters); see the module's docstring. None if ``frozen``.
        scale: factor of the output: ``size``, or what makes its rows a share of the features' length.
    """

    base: Tensor
    scale: Tensor
    graph_parts = frozenset({"levels", "gram"})

    def __init__(
        self,
        dim: int,
        signals: int,
        *,
        order: int,
        start: Start,
        rows: Rows | None,
        share: float,
        size: float | None,
        l1: float,
        l2: float | None,
        frozen: bool,
        seed: int,
    ) -> None:
        super().__init__(dim, seed)
        check_count("order", order)
        check_choice("start", start, ("uniform", *BANKS))
        rows = ("unit" if signals > 1 else "plain") if rows is None else rows
        check_choice("rows", rows, ("plain", "unit"))
        l2 = (0.0 if start == "uniform" or frozen else L2) if l2 is None else l2
        for name, value in (("l1", l1), ("l2", l2)):
            check_number(name, value, least=0.0)
            if value and frozen:
                raise refusal(name, "be 0 for frozen filters", value, "Nothing is learned.")
        check_number("share", share, above=0.0)
        if size is not None:
            check_number("size", size, above=0.0)
        self.order, self.start, self.rows, self.frozen = order, start, rows, frozen
        self.share, self.size, self.l1, self.l2 = share, size, l1, l2
        filters = dim // signals
        with seeded(seed, 2 * order * filters):
            self.theta = None if frozen else nn.Parameter(torch.empty(order, filters))
            self.register_buffer("base", torch.zeros(order, filters))
            self.register_buffer("scale", torch.tensor(math.nan))
            self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        if self.start == "uniform":
            (self.base if self.theta is None else self.theta).uniform_(-(self.order**-0.5), self.order**-0.5)
        else:
            self.base.copy_(BANKS[self.start](self.order, self.base.size(1)))
            self._given = False
            if self.theta is not None:
                self.theta.zero_()
        self.scale.fill_(math.nan)
        self._scaled = False

    @property
    def coefficients(self) -> Tensor:
        """The Chebyshev coefficients of the filters, shape (order, filters)."""
        if self.theta is None:
            return self.base
        return self.theta if self.start == "uniform" else self.base + self._step() * self.theta

    @torch.no_grad()
    def set_coefficients(self, coefficients: Tensor) -> None:
        """Sets the Chebyshev coefficients; what is learned from now on starts there.

        Example:
            >>> from llpe import LLPE
            >>> encoding = LLPE(4, order=3)
            >>> encoding.set_coefficients(torch.tensor([[1.0], [0.0], [0.0]]))  # h(λ) = 1
            >>> encoding.response([0.0, 0.5, 2.0]).flatten().tolist()
            [1.0, 1.0, 1.0]
        """
        given = _numbers("coefficients", coefficients, self.base)
        if given.shape != self.base.shape or not bool(torch.isfinite(given).all()):
            rule = f"be finite and of shape [order, filters] = {list(self.base.shape)}"
            instead = "The filters are shared by all signals: dim = signals × filters."
            raise refusal("coefficients", rule, list(given.shape), instead)
        if self.theta is not None and self.start == "uniform":
            self.theta.copy_(given)
            return
        self.base.copy_(given)
        self._given = True
        if self.theta is not None:
            self.theta.zero_()

    def _step(self) -> Tensor:
        largest = self.base.abs().amax(dim=0)
        return RATE * torch.where(largest > 0, largest, 1.0)

    def fixed_arguments(self) -> dict[str, Any]:
        return super().fixed_arguments() | {"levels": LEVELS}

    def uses(self, part: str) -> bool:
        return {"basis": True, "levels": self.l1 > 0, "gram": self.l2 > 0 or self.l1 > 0}[part]

    @torch.no_grad()
    def initialise(self, data: Data) -> None:
        """Sets ``scale`` by this data, once; and scales a bank to unit variance where rows keep their length."""
        if self._scaled:
            return
        basis = self.fixed(data, "basis")  # which may be on another device, once
        if self.rows == "plain" and self.start != "uniform" and not self._given:
            filtered = self._filtered(basis, self.coefficients.to(basis.device))
            self.base.div_(spread(filtered).to(self.base.device))
        if self.size is None:
            filtered = self._filtered(basis, self.coefficients.to(basis.device))
            length = torch.linalg.vector_norm(filtered.flatten(1), dim=1).mean()
            self.scale.copy_(self.share * mean_length(data.x) / torch.where(length > 0, length, 1.0))
        else:
            self.scale.fill_(self.size)
        self._scaled = True

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        super()._load_from_state_dict(state_dict, prefix, *rest)
        scale = state_dict.get(f"{prefix}scale")
        if scale is not None and not scale.is_meta:
            self._scaled = not bool(torch.isnan(scale))

    def _filtered(self, basis: Tensor, coefficients: Tensor, factor: Tensor | float = 1.0) -> Tensor:
        """``factor`` times the filtered signals, shape (rows, signals, filters), or (rows, filters) for one signal."""
        if self.rows == "plain":
            return basis @ (factor * coefficients).to(basis.dtype)
        coefficients = coefficients.to(basis.dtype)
        filtered = basis @ coefficients
        return filtered * (factor * to_unit_rows(filtered, coefficients, basis[..., :1])).to(basis.dtype)

    def forward(self, data: Data) -> Tensor:
        basis = self.fixed(data, "basis")
        self.initialise(data)
        return self._filtered(basis, self.coefficients, self.scale).flatten(1)

    def penalty(self, data: Data) -> Tensor:
        """What to add to the loss, over the spectrum of the graphs in ``data``.

        With ``start="uniform"`` l1·‖W‖₁ + l2·‖W‖_F of the gains W = T(λ)·C, added up over graphs. Otherwise
        l1·mean|V| + l2·√mean V² with V[λ, f] = (h_f(λ) − bank_f(λ)) / √(mean over λ of bank_f²), over all eigenvalues
        and filters: how far the filters have moved, in units of themselves.
        """
        total = torch.zeros((), device=self.base.device)
        if self.theta is None or self.l1 == self.l2 == 0:
            return total
        gram = self.fixed(data, "gram")
        theta = self.theta.to(gram.dtype)
        if self.start != "uniform":
            base, gram = self.base.to(gram.dtype), gram.sum(dim=0, keepdim=True)
            count = gram[0, 0, 0]
            power = ((gram @ base) * base).sum(dim=1)
            power = torch.where(power > 0, power, count)
            theta = theta * (self._step().to(gram.dtype) * (power[0] * theta.size(1)).rsqrt())
        if self.l1 > 0:
            levels = self.fixed(data, "levels")
            terms = torch.cos(levels[:, :1] * torch.arange(self.order, device=levels.device)) * levels[:, 1:]
            size = 1.0 if self.start == "uniform" else (count * theta.size(1)).rsqrt()
            total = total + self.l1 * size * (terms @ theta).abs().sum()
        if self.l2 > 0:
            squared = ((gram @ theta) * theta).sum(dim=(1, 2))
            total = total + self.l2 * squared.clamp_min(torch.finfo(gram.dtype).tiny).sqrt().sum()
        return total

    def response(self, lambdas: Any) -> Tensor:
        """The filters h_f(λ) on any grid of λ in [0, 2], shape (len(lambdas), filters).

        Example:
            >>> from llpe import LLPE
            >>> LLPE(2, order=8, size=1.0).response([0.0, 1.0, 2.0]).shape
            torch.Size([3, 2])
        """
        grid = _numbers("lambdas", lambdas, self.base).reshape(-1)
        if grid.numel() and not (float(grid.min()) >= -1e-6 and float(grid.max()) <= 2 + 1e-6):
            raise refusal("lambdas", "be in [0, 2]", f"values in [{float(grid.min()):g}, {float(grid.max()):g}]")
        terms = chebyshev.basis(grid.clamp(0, 2).cpu(), self.order)  # in float64, which not every device has
        return terms.to(grid.device) @ self.coefficients


def _numbers(name: str, given: Any, like: Tensor) -> Tensor:
    try:
        return torch.as_tensor(given, dtype=like.dtype, device=like.device)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise refusal(name, "be numbers", show(given)) from error


def mean_length(x: Tensor | None) -> float:
    """The mean length of the rows of the features; 1 where there are none."""
    if not isinstance(x, Tensor) or x.dim() == 0 or not x.numel():
        return 1.0
    if x.layout == torch.strided:
        length = torch.linalg.vector_norm(x.reshape(x.size(0), -1).to(wide(x.device)), dim=1)
    else:
        entries = x.detach().to_sparse_coo().coalesce()
        squares = torch.zeros(x.size(0), dtype=wide(x.device), device=x.device)
        length = squares.index_add_(0, entries.indices()[0], entries.values().to(squares) ** 2).sqrt()
    return float(length.mean()) or 1.0


def penalty_parts(value: np.ndarray, count: np.ndarray, order: int, num_nodes: int) -> dict[str, Tensor]:
    """What the penalty needs of a spectrum with distinct eigenvalues ``value``, each ``count`` times.

    * ``gram`` = Σ count·T(λ)T(λ)ᵀ, shape (1, order, order): ‖W‖_F² = tr(Cᵀ·gram·C)
    * ``levels``, shape (distinct, 2): the angle φ with λ = 1 + cos φ, so that T_m = cos(mφ), and the count;
      ‖W‖₁ = Σ count·|T·C|, exact up to LEVELS distinct eigenvalues. One row with count 0 is added where there would be
      as many rows as nodes: PyG would take it for a tensor with a row per node.
    """
    exact = chebyshev.basis(torch.from_numpy(value), order)
    gram = exact.T @ (torch.from_numpy(count)[:, None] * exact)
    if value.size > LEVELS:
        group = np.arange(value.size) * LEVELS // value.size
        merged = np.bincount(group, weights=count)
        value, count = np.bincount(group, weights=value * count) / merged, merged
    levels = torch.zeros(value.size + int(value.size == num_nodes), 2, dtype=torch.float64)
    levels[: value.size, 0] = torch.from_numpy(np.arccos(np.clip(value - 1, -1, 1)))
    levels[: value.size, 1] = torch.from_numpy(count)
    return {"levels": levels, "gram": gram[None]}


def density_parts(moments: np.ndarray, order: int, num_nodes: int) -> dict[str, Tensor]:
    """The same for a spectrum of which only the moments are known."""
    values, share = chebyshev.density(moments, LEVELS)
    return penalty_parts(values, num_nodes * share, order, num_nodes)
