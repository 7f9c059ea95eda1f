"""Sparse matrices that stay fixed while something is learned: features and adjacencies.

The product A·h of such a matrix has the gradient Aᵀ·g. :class:`FixedMatrix` holds A and, once a gradient needs it, Aᵀ,
both by rows, so that a training step costs two sparse products and no conversion.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from llpe.checks import refusal, show
from llpe.models.dropout import dropout
from llpe.spmm import csr_tensor, product, quiet


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

    def __repr__(self) -> str:
        return f"FixedMatrix(shape={list(self.shape)}, entries={self.values.numel()})"


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
