"""Sparse matrices that are fixed while something is learned: features, adjacencies.

The product A·h of such a matrix has the gradient Aᵀ·g. :class:`FixedMatrix` holds A and, once a gradient has
asked for it, Aᵀ, both by rows, so that a training step costs two sparse products and no conversion.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, TypeVar

import torch
from torch import Tensor

from llpe.models.dropout import dropout
from llpe.spmm import multiply

Value = TypeVar("Value")


class FixedMatrix:
    """A sparse matrix without gradient; ``matrix @ h`` is differentiable in the dense matrix ``h``.

    Args:
        build: makes the sparse tensor, of layout CSR, CSC or COO. It is called once, inside the first product.

    Example:
        >>> matrix = FixedMatrix(lambda: torch.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse())
        >>> matrix @ torch.ones(2, 3)
        tensor([[2., 2., 2.],
                [0., 0., 0.]])
    """

    def __init__(self, build: Callable[[], Tensor]) -> None:
        self._build = build

    @cached_property
    def csr(self) -> Tensor:
        """The matrix by rows, with 32-bit indices where they suffice: less to read in each product."""
        with quiet(), torch.no_grad():
            built = self._build().detach().to_sparse_csr()
            small = max(built.values().numel(), *built.shape) < 2**31
            kind = torch.int32 if small else torch.int64
            pointer, column = built.crow_indices().to(kind), built.col_indices().to(kind)
            csr = torch.sparse_csr_tensor(pointer, column, built.values(), size=built.shape)
        self._build = lambda: csr  # lets go of what it was built from
        return csr

    @cached_property
    def transposed_csr(self) -> Tensor:
        """The transpose by rows, which is the matrix by columns."""
        with quiet(), torch.no_grad():
            csc = self.csr.to_sparse_csc()
            pointer, row, values = csc.ccol_indices(), csc.row_indices(), csc.values()
            return torch.sparse_csr_tensor(pointer, row, values, size=csc.shape[::-1])

    @cached_property
    def transposition(self) -> Tensor:
        """Where the entries of the transpose stand in the matrix."""
        numbers = torch.arange(self.csr.values().numel(), device=self.csr.device)
        with quiet(), torch.no_grad():
            return with_values(self.csr, numbers).to_sparse_csc().values()

    def __matmul__(self, h: Tensor) -> Tensor:
        return _Product.apply(h, self, False)

    def dropped(self, h: Tensor, share: float) -> Tensor:
        """The product with a random ``share`` of the entries set to 0 and the others scaled up, as in dropout."""
        return _DroppedProduct.apply(h, self, dropout(self.csr.values(), share, True))

    def __repr__(self) -> str:
        return f"FixedMatrix(shape={list(self.csr.shape)}, entries={self.csr.values().numel()})"


class _Product(torch.autograd.Function):
    """matrix · h, or matrixᵀ · h: each is the gradient of the other."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, matrix: FixedMatrix, transpose: bool) -> Tensor:
        ctx.matrix, ctx.transpose = matrix, transpose
        return multiply(matrix.transposed_csr if transpose else matrix.csr, h)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return _Product.apply(grad, ctx.matrix, not ctx.transpose), None, None


class _DroppedProduct(torch.autograd.Function):
    """The product of a matrix with other values, differentiable once."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, matrix: FixedMatrix, values: Tensor) -> Tensor:
        ctx.matrix = matrix
        ctx.save_for_backward(values)
        return multiply(with_values(matrix.csr, values), h)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (values,) = ctx.saved_tensors
        return multiply(with_values(ctx.matrix.transposed_csr, values[ctx.matrix.transposition]), grad), None, None


def with_values(matrix: Tensor, values: Tensor) -> Tensor:
    """A CSR matrix with the same places and other values."""
    with quiet():
        return torch.sparse_csr_tensor(
            matrix.crow_indices(), matrix.col_indices(), values, size=matrix.shape, check_invariants=False
        )


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


def remember(kind: Hashable, tensors: tuple[Tensor | None, ...], make: Callable[[], Value]) -> Value:
    """``make()``, called once for these very tensors.

    The value is kept as long as all of ``tensors`` live, and made anew after one of them was written to.
    """
    key = (kind, *map(id, tensors))
    versions = [_version(tensor) for tensor in tensors]
    known = _memory.get(key)
    if known is not None:
        owners, made_at, value = known
        same = all(owner() is tensor for owner, tensor in zip(owners, tensors, strict=True) if tensor is not None)
        if same and made_at == versions:
            return value

    def forget(_: Any) -> None:
        _memory.pop(key, None)

    value = make()
    owners = [_nothing if tensor is None else weakref.ref(tensor, forget) for tensor in tensors]
    _memory[key] = (owners, versions, value)
    return value


_memory: dict[tuple[Hashable, ...], tuple[list[Callable[[], Any]], list[int], Any]] = {}


def _nothing() -> None:
    return None


def _version(tensor: Tensor | None) -> int:
    return 0 if tensor is None or tensor.is_inference() else tensor._version


@contextmanager
def quiet() -> Iterator[None]:
    """Silences torch's two notices about its sparse tensors: the beta state, and unchecked invariants."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CS. tensor support is in beta")
        warnings.filterwarnings("ignore", message="Sparse invariant checks are implicitly disabled")
        yield
