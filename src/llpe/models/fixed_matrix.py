"""Sparse matrices that stay fixed while something is learned, features and adjacencies; and dropout.

The product A·h of such a matrix has the gradient Aᵀ·g. :class:`FixedMatrix` holds A and, once a gradient needs it, Aᵀ,
both by rows, so that a training step costs two sparse products and no conversion. :class:`FeatureLinear`, the first
layer of a classifier, keeps sparse features as one.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from llpe.checks import refusal, show
from llpe.inputs import FEATURE_LAYOUTS, check_tensor
from llpe.spmm import csr_tensor, product, quiet

LEVELS = 1 << 16  # values of the sixteen random bits that decide whether dropout keeps an entry


class FixedMatrix:
    """A sparse matrix without gradient; ``matrix @ h`` is differentiable in the dense matrix ``h``.

    Args:
        matrix: a sparse tensor of layout CSR, CSC or COO.

    Attributes:
        start, columns, values: the matrix by rows, as in the CSR layout, with 32-bit indices where they suffice: less
            to read in each product. They are plain tensors, which any device can hold.

    Example:
        >>> matrix = FixedMatrix(torch.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse())
        >>> matrix @ torch.ones(2, 3)
        tensor([[2., 2., 2.],
                [0., 0., 0.]])
    """

    def __init__(self, matrix: Tensor) -> None:
        with quiet(), torch.no_grad():
            built = matrix.detach().to_sparse_csr()
        small = max(built.values().numel(), *built.shape) < 2**31
        kind = torch.int32 if small else torch.int64
        self.start, self.columns = built.crow_indices().to(kind), built.col_indices().to(kind)
        self.values, self.shape = built.values().clone(), built.shape  # no view of a sparse tensor

    @cached_property
    def transposition(self) -> tuple[Tensor, Tensor, Tensor]:
        """``start`` and ``columns`` of the transpose by rows, and the positions of its values in the matrix."""
        columns, (height, width) = self.columns, self.shape
        ordered, order = columns.sort(stable=True)
        bounds, numbers = (torch.arange(n, device=columns.device, dtype=columns.dtype) for n in (width + 1, height))
        rows = numbers.repeat_interleave(self.start.diff(), output_size=columns.numel())
        return torch.searchsorted(ordered, bounds).to(columns.dtype), rows[order], order

    @cached_property
    def transposed_values(self) -> Tensor:
        return self.values[self.transposition[2]]

    def __matmul__(self, h: Tensor) -> Tensor:
        return _Product.apply(h, self, None, False)

    def dropped(self, h: Tensor, share: float) -> Tensor:
        """The product with a random ``share`` of the entries set to 0 and the others scaled up, as in dropout."""
        return _Product.apply(h, self, dropout(self.values, share, True), False)

    def take(self, rows: Tensor) -> FixedMatrix:
        return FixedMatrix._of(*_take_rows(self.start, self.columns, self.values, rows), (rows.numel(), self.shape[1]))

    def to(self, device: torch.device) -> FixedMatrix:
        return FixedMatrix._of(self.start.to(device), self.columns.to(device), self.values.to(device), self.shape)

    @classmethod
    def _of(cls, start: Tensor, columns: Tensor, values: Tensor, shape: tuple[int, ...]) -> FixedMatrix:
        out = cls.__new__(cls)
        out.start, out.columns, out.values, out.shape = start, columns, values, torch.Size(shape)
        return out


class _Product(torch.autograd.Function):
    """matrix · h, or matrixᵀ · h: each is the gradient of the other. ``values`` replace those of the matrix.

    It has the numbers of the matrix: under autocast ``h`` has fewer digits, and so has its gradient.
    """

    @staticmethod
    def forward(ctx: Any, h: Tensor, matrix: FixedMatrix, values: Tensor | None, transpose: bool) -> Tensor:
        ctx.matrix, ctx.values, ctx.transpose, ctx.dtype = matrix, values, transpose, h.dtype
        h = h.to(matrix.values.dtype)
        if not transpose:
            return product(matrix.start, matrix.columns, matrix.values if values is None else values, h)
        start, columns, order = matrix.transposition
        return product(start, columns, matrix.transposed_values if values is None else values[order], h)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        out = _Product.apply(grad, ctx.matrix, ctx.values, not ctx.transpose)
        return out.to(ctx.dtype), None, None, None


def take_rows(matrix: Tensor, rows: Tensor) -> Tensor:
    """Rows of a dense or sparse CSR matrix, in the order of ``rows`` (torch cannot index a CSR tensor).

    Example:
        >>> x = torch.eye(3)
        >>> with quiet():
        ...     take_rows(x.to_sparse_csr(), torch.tensor([2, 0])).to_dense()
        tensor([[0., 0., 1.],
                [1., 0., 0.]])
    """
    check_rows(rows)
    if matrix.layout != torch.sparse_csr:
        return matrix[rows]
    arrays = _take_rows(matrix.crow_indices(), matrix.col_indices(), matrix.values(), rows)
    return csr_tensor(*arrays, (rows.numel(), matrix.size(1)))


def _take_rows(start: Tensor, columns: Tensor, values: Tensor, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    count = start.diff()[rows]
    pointer = torch.cat([count.new_zeros(1), count.cumsum(0, dtype=count.dtype)])
    shift = torch.repeat_interleave(start[:-1][rows] - pointer[:-1], count, output_size=int(pointer[-1]))
    entries = torch.arange(shift.numel(), device=shift.device) + shift
    return pointer, columns[entries], values[entries]


def check_rows(rows: Tensor) -> None:
    if not isinstance(rows, Tensor) or rows.dim() != 1 or rows.dtype not in (torch.int64, torch.int32, torch.bool):
        raise refusal("rows", "be a tensor of node numbers or a mask", show(rows), "Use torch.tensor([…]).")


@final
class FeatureLinear(nn.Module):
    """x W + b, where a sparse ``x`` (layout CSR, CSC or COO) stays sparse, forwards and backwards.

    ``weight`` has shape [in_features, out_features], the transpose of ``torch.nn.Linear``'s: a sparse product needs it
    by rows, and so no step has to copy it. It is initialised alike. While training, a share ``dropout`` of the entries
    of ``x`` is dropped: for a bag of words, some of its words.

    Example:
        >>> x = torch.tensor([[0.0, 1.0, 0.0], [2.0, 0.0, 0.0]])
        >>> linear = FeatureLinear(3, 4)
        >>> torch.allclose(linear(x.to_sparse()), linear(x))
        True
    """

    def __init__(self, in_features: int, out_features: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.in_features, self.dropout = in_features, dropout
        self.weight = nn.Parameter(torch.empty(in_features, out_features))
        self.bias = nn.Parameter(torch.empty(out_features))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = self.in_features**-0.5
        nn.init.uniform_(self.weight, -bound, bound)
        nn.init.uniform_(self.bias, -bound, bound)

    def matrix(self, x: Tensor | None) -> Tensor | FixedMatrix:
        """Features as :meth:`forward` reads them: checked, and with sparse ones by rows. Made once per graph."""
        if not isinstance(x, Tensor):
            rule = f"be a tensor of {self.in_features} features per node"
            raise refusal("data.x", rule, type(x).__name__, "Give features, or say in_features=0.")
        check_tensor("data.x", x, FEATURE_LAYOUTS)
        if x.dim() != 2 or x.size(1) != self.in_features:
            instead = "The model was made for another number of features: see in_features."
            raise refusal("data.x", f"have shape [rows, {self.in_features}]", list(x.shape), instead)
        dtype = self.weight.dtype
        if x.dtype != dtype:
            raise refusal("data.x", f"have dtype {dtype}", x.dtype, f"Convert it with data.x.to({dtype}).")
        if x.layout == torch.strided:
            return x
        if x.requires_grad:
            rule, instead = "not require gradients while sparse", "Convert it with data.x.to_dense()."
            raise refusal("data.x", rule, "a tensor that does", instead)
        return FixedMatrix(x)

    def forward(self, x: Tensor | FixedMatrix) -> Tensor:
        x = x if isinstance(x, FixedMatrix) else self.matrix(x)
        if isinstance(x, Tensor):
            return torch.addmm(self.bias, dropout(x, self.dropout, self.training), self.weight)
        if self.training and self.dropout:
            return x.dropped(self.weight, self.dropout) + self.bias
        return x @ self.weight + self.bias


def dropout(h: Tensor, share: float, training: bool) -> Tensor:
    """Sets a ``share`` of the entries to 0 while training, and scales the others by 1 / (1 − share).

    On a CPU, where drawing is what dropout costs, one random number decides about four entries, by sixteen bits each:
    an entry is dropped with probability ``share`` rounded to a multiple of 2⁻¹⁶, and what is kept is scaled by that
    same probability, so that the expectation is exact. Bits come from torch's generator, as seeds and
    checkpoints expect.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> dropout(torch.ones(2, 4), 0.5, True).unique()
        tensor([0., 2.])
    """
    dropped = round(share * LEVELS)
    if not training or not 0 < dropped < LEVELS or h.device.type != "cpu":
        return F.dropout(h, share, training)
    draws = torch.empty((h.numel() + 3) // 4, dtype=torch.int64).random_(-(1 << 63), None)
    bits = draws.view(torch.int16)[: h.numel()].view(h.shape)
    keep = (bits >= dropped - LEVELS // 2).to(h.dtype)
    return h * keep.mul_(LEVELS / (LEVELS - dropped))
