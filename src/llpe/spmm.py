"""Sparse matrices times dense blocks: scipy's matrices as torch's, and the quickest product."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor

ROWS = 4096  # of a product that are computed and used before the next: they stay in the cache
LONG = 128  # entries of a row that are added up one after another
Run = Callable[[Callable[[Any], None], Iterable[Any]], None]  # calls a function with each of these arguments


def torch_csr(matrix: sp.csr_array, dtype: torch.dtype = torch.float32) -> Tensor:
    """The matrix in torch's CSR layout, with 32-bit indices where they suffice."""
    return csr_tensor(*csr_arrays(matrix, dtype), matrix.shape)


def csr_arrays(matrix: sp.csr_array, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor]:
    """The row pointers, columns and values of a matrix, which any device can hold."""
    index = torch.int32 if max(matrix.nnz, *matrix.shape) < 2**31 else torch.int64
    start, columns = torch.from_numpy(matrix.indptr).to(index), torch.from_numpy(matrix.indices).to(index)
    return start, columns, torch.from_numpy(matrix.data).to(dtype)


def multiply(matrix: Tensor, block: Tensor) -> Tensor:
    """matrix · block, for a matrix in CSR layout and a dense block of columns.

    A row of the product is a weighted sum of rows of the block, which is what torch's ``embedding_bag`` computes; in
    float32 on the CPU its kernel is about twice as fast as torch's own product (``benchmarks/``).

    Example:
        >>> multiply(torch_csr(sp.csr_array([[0.0, 2.0], [0.0, 0.0]])), torch.ones(2, 3))
        tensor([[2., 2., 2.],
                [0., 0., 0.]])
    """
    return product(matrix.crow_indices(), matrix.col_indices(), matrix.values(), block)


def product(start: Tensor, columns: Tensor, values: Tensor, block: Tensor) -> Tensor:
    """The same for a matrix that is given by the three arrays of the CSR layout, on any device."""
    if not values.numel():
        return block.new_zeros(start.numel() - 1, block.size(1))
    if block.device.type == "cpu" and not block.dtype == values.dtype == torch.float32:
        return csr_tensor(start, columns, values, (start.numel() - 1, block.size(0))) @ block
    with torch.no_grad():
        return F.embedding_bag(columns, block, start, mode="sum", per_sample_weights=values, include_last_offset=True)


def multiply_rows(matrix: Tensor, block: Tensor, rows: slice | None = None) -> Tensor:
    """matrix · block, or a range of its rows, where rounding must not add up in long rows.

    In float32, rows of more than ``LONG`` entries are cut into pieces, and the sums of the pieces added up in the same
    way: the error grows with the logarithm of a row's length instead of its root, or the length itself.

    Example:
        >>> multiply_rows(torch_csr(sp.csr_array([[0.0, 2.0], [0.0, 0.0]])), torch.ones(2, 3), slice(1, 2))
        tensor([[0., 0., 0.]])
    """
    start = matrix.crow_indices()
    start = start if rows is None else start[rows.start : rows.stop + 1]
    entries = slice(int(start[0]), int(start[-1]))
    start, columns, values = start - entries.start, matrix.col_indices()[entries], matrix.values()[entries]
    lengths = start.diff()
    if block.dtype != torch.float32 or int(lengths.max()) <= LONG:
        return product(start, columns, values, block)
    pieces = (lengths + LONG - 1).div(LONG, rounding_mode="floor")
    last = pieces.cumsum(0, dtype=start.dtype)
    row = torch.repeat_interleave(pieces)
    place = torch.arange(len(row), dtype=start.dtype, device=start.device)
    cuts = torch.cat([start[row] + LONG * (place - (last - pieces)[row]), start[-1:]])
    sums = product(cuts, columns, values, block)
    start = torch.cat([start[:1], last])
    return multiply_rows(csr_tensor(start, place, torch.ones_like(sums[:, 0]), (len(lengths), len(row))), sums)


def ranges(count: int, length: int) -> Iterator[slice]:
    """Slices of at most this length that make up ``count`` rows."""
    return (slice(begin, min(begin + length, count)) for begin in range(0, count, length))


@contextmanager
def threads(num_nodes: int) -> Iterator[Run]:
    """A function that calls another with each of some arguments, in as many threads as torch has.

    Inside a thread torch has no further ones: each of its own steps would wait for the slower of two threads, which
    takes long for many short steps on a busy machine. A graph of up to ``ROWS`` nodes is not worth a thread.

    Example:
        >>> with threads(5) as run:
        ...     run(print, ranges(5, 4))
        slice(0, 4, None)
        slice(4, 5, None)
    """
    count = torch.get_num_threads() if num_nodes > ROWS else 1
    if count == 1:
        yield _one_by_one
        return
    try:
        with ThreadPoolExecutor(count, initializer=torch.set_num_threads, initargs=(1,)) as pool:

            def run(work: Callable[[Any], None], arguments: Iterable[Any]) -> None:
                every = list(arguments)
                parts = ranges(len(every), len(every) // (8 * count) + 1)  # few, as handing over takes time
                list(pool.map(lambda part: _one_by_one(work, every[part]), parts))

            yield run
    finally:
        torch.set_num_threads(count)


def _one_by_one(work: Callable[[Any], None], arguments: Iterable[Any]) -> None:
    for argument in arguments:
        work(argument)


def csr_tensor(start: Tensor, columns: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """A tensor in CSR layout from its three arrays."""
    with quiet():
        return torch.sparse_csr_tensor(start, columns, values, size=shape, check_invariants=False)


@contextmanager
def quiet() -> Iterator[None]:
    """Silences torch's notices about its sparse tensors: the beta state, and unchecked invariants."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield
