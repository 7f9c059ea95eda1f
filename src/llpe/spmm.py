"""Sparse matrices times dense blocks: scipy's matrices as torch's, and the quickest product."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor

ROWS = 4096  # of a product that are computed and used before the next: they stay in the cache


def torch_csr(matrix: sp.csr_array, dtype: torch.dtype = torch.float32) -> Tensor:
    """The matrix in torch's CSR layout, with 32-bit indices where they suffice."""
    index = torch.int32 if max(matrix.nnz, *matrix.shape) < 2**31 else torch.int64
    start, columns = torch.from_numpy(matrix.indptr).to(index), torch.from_numpy(matrix.indices).to(index)
    return _csr(start, columns, torch.from_numpy(matrix.data).to(dtype), matrix.shape)


def multiply(matrix: Tensor, block: Tensor) -> Tensor:
    """matrix · block, for a matrix in CSR layout and a dense block of columns.

    A row of the product is a weighted sum of rows of the block, which is what torch's ``embedding_bag`` computes; in
    float32 on the CPU its kernel is about twice as fast as torch's own product (``benchmarks/``).

    Example:
        >>> multiply(torch_csr(sp.csr_array([[0.0, 2.0], [0.0, 0.0]])), torch.ones(2, 3))
        tensor([[2., 2., 2.],
                [0., 0., 0.]])
    """
    values = matrix.values()
    if block.dtype != torch.float32 or values.dtype != torch.float32 or block.is_cuda or not values.numel():
        return matrix @ block
    start, columns = matrix.crow_indices(), matrix.col_indices()
    with torch.no_grad():
        return F.embedding_bag(columns, block, start, mode="sum", per_sample_weights=values, include_last_offset=True)


def row_products(matrix: Tensor, rows: int = ROWS) -> Callable[[Tensor], Iterator[tuple[slice, Tensor]]]:
    """block → matrix · block, one range of ``rows`` rows after another; on a GPU all at once."""
    n = matrix.size(0)
    if matrix.is_cuda:
        return lambda block: iter([(slice(0, n), matrix @ block)])
    begins = range(0, n, rows)
    parts = [_rows_of(matrix, begin, min(begin + rows, n)) for begin in begins]

    def product(block: Tensor) -> Iterator[tuple[slice, Tensor]]:
        for begin, part in zip(begins, parts, strict=True):
            yield slice(begin, begin + part.size(0)), multiply(part, block)

    return product


def _rows_of(matrix: Tensor, begin: int, end: int) -> Tensor:
    """A range of rows of a matrix in CSR layout, without a copy of its entries."""
    start = matrix.crow_indices()[begin : end + 1]
    entries = slice(int(start[0]), int(start[-1]))
    columns, values = matrix.col_indices()[entries], matrix.values()[entries]
    return _csr(start - start[0], columns, values, (end - begin, matrix.size(1)))


def _csr(start: Tensor, columns: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # torch calls its CSR support a beta
        return torch.sparse_csr_tensor(start, columns, values, size=shape, check_invariants=False)
