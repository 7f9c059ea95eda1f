"""Sparse matrices that stay fixed while something is learned: features and adjacencies.

The product A·h of such a matrix has the gradient Aᵀ·g. :class:`FixedMatrix` holds A and, once a gradient needs it, Aᵀ,
both by rows, so that a training step costs two sparse products and no conversion.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from llpe.models.dropout import dropout
from llpe.spmm import multiply


class FixedMatrix:
    """A sparse matrix without gradient; ``matrix @ h`` is differentiable in the dense matrix ``h``.

    Args:
        matrix: a sparse tensor of layout CSR, CSC or COO.

    Attributes:
        csr: the matrix by rows, with 32-bit indices where they suffice: less to read in each product.

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
            pointer, column = built.crow_indices().to(kind), built.col_indices().to(kind)
            self.csr = torch.sparse_csr_tensor(pointer, column, built.values(), size=built.shape)

    @cached_property
    def transposed_csr(self) -> Tensor:
        """The transpose by rows, which is the matrix by columns."""
        with quiet(), torch.no_grad():
            csc = self.csr.to_sparse_csc()
            pointer, row, values = csc.ccol_indices(), csc.row_indices(), csc.values()
            return torch.sparse_csr_tensor(pointer, row, values, size=csc.shape[::-1])

    @cached_property
    def transposition(self) -> Tensor:
        """For each entry of the transpose, its position among those of the matrix."""
        numbers = torch.arange(self.csr.values().numel(), device=self.csr.device)
        with quiet(), torch.no_grad():
            return with_values(self.csr, numbers).to_sparse_csc().values()

    def __matmul__(self, h: Tensor) -> Tensor:
        return _Product.apply(h, self, None, False)

    def dropped(self, h: Tensor, share: float) -> Tensor:
        """The product with a random ``share`` of the entries set to 0 and the others scaled up, as in dropout."""
        return _Product.apply(h, self, dropout(self.csr.values(), share, True), False)

    def take(self, rows: Tensor) -> FixedMatrix:
        return FixedMatrix(take_rows(self.csr, rows))

    def __repr__(self) -> str:
        return f"FixedMatrix(shape={list(self.csr.shape)}, entries={self.csr.values().numel()})"


class _Product(torch.autograd.Function):
    """matrix · h, or matrixᵀ · h: each is the gradient of the other. ``values`` replace those of the matrix."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, matrix: FixedMatrix, values: Tensor | None, transpose: bool) -> Tensor:
        ctx.matrix, ctx.values, ctx.transpose = matrix, values, transpose
        csr = matrix.transposed_csr if transpose else matrix.csr
        if values is not None:
            csr = with_values(csr, values[matrix.transposition] if transpose else values)
        return multiply(csr, h)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        return _Product.apply(grad, ctx.matrix, ctx.values, not ctx.transpose), None, None, None


def with_values(matrix: Tensor, values: Tensor) -> Tensor:
    """A CSR matrix with entries in the same places and other values."""
    pointer, column = matrix.crow_indices(), matrix.col_indices()
    with quiet():
        return torch.sparse_csr_tensor(pointer, column, values, size=matrix.shape, check_invariants=False)


def take_rows(matrix: Tensor, rows: Tensor) -> Tensor:
    """Rows of a dense or sparse CSR matrix, in the order of ``rows`` (torch cannot index a CSR tensor).

    Example:
        >>> x = torch.eye(3)
        >>> with quiet():
        ...     take_rows(x.to_sparse_csr(), torch.tensor([2, 0])).to_dense()
        tensor([[0., 0., 1.],
                [1., 0., 0.]])
    """
    if matrix.layout != torch.sparse_csr:
        return matrix[rows]
    start = matrix.crow_indices()
    count = (start[1:] - start[:-1])[rows]
    pointer = torch.cat([count.new_zeros(1), count.cumsum(0, dtype=count.dtype)])
    shift = torch.repeat_interleave(start[:-1][rows] - pointer[:-1], count)
    entries = torch.arange(shift.numel(), device=shift.device) + shift
    shape = (int(rows.numel()), matrix.size(1))
    with quiet():
        return torch.sparse_csr_tensor(pointer, matrix.col_indices()[entries], matrix.values()[entries], size=shape)


@contextmanager
def quiet() -> Iterator[None]:
    """Silences torch's two notices about its sparse tensors: the beta state, and unchecked invariants."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CS. tensor support is in beta")
        warnings.filterwarnings("ignore", message="Sparse invariant checks are implicitly disabled")
        yield
