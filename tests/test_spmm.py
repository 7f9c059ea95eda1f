"""The quick sparse product equals torch's own."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from llpe.spmm import ROWS, multiply, multiply_rows, threads, torch_csr


@pytest.mark.parametrize(("rows", "columns", "share"), [(7, 5, 0.4), (1, 9, 0.5), (300, 200, 0.02), (4, 4, 0.0)])
@pytest.mark.parametrize("width", [1, 3, 32])
def test_product_equals_the_dense_one(rows, columns, share, width):
    random = np.random.default_rng(0)
    matrix = sp.csr_array(random.random((rows, columns)) * (random.random((rows, columns)) < share))
    block = torch.randn(columns, width, generator=torch.Generator().manual_seed(1))
    expected = torch.from_numpy(matrix.toarray()).float() @ block
    torch.testing.assert_close(multiply(torch_csr(matrix), block), expected)
    apart = block.T.contiguous().T  # columns that are contiguous, and not rows
    torch.testing.assert_close(multiply(torch_csr(matrix), apart), expected)
    exact = torch.from_numpy(matrix @ block.double().numpy())
    torch.testing.assert_close(multiply(torch_csr(matrix, torch.float64), block.double()), exact)


@pytest.mark.parametrize("length", [128, 129, 20_000])
def test_long_rows_are_added_up_without_rounding_errors_that_add_up(length):
    lengths = np.array([3, 0, length, 1])
    columns = np.concatenate([np.arange(count) for count in lengths])
    matrix = sp.csr_array((np.full(columns.size, 0.1), columns, np.append(0, lengths.cumsum())), shape=(4, length))
    block = torch.full((length, 2), 0.7)
    exact = torch.from_numpy(matrix.astype(np.float32).astype(np.float64) @ block.double().numpy())
    csr = torch_csr(matrix)
    torch.testing.assert_close(multiply_rows(csr, block).double(), exact, rtol=1e-6, atol=0)
    assert torch.equal(multiply_rows(csr, block, slice(1, 3)), multiply_rows(csr, block)[1:3])
    if length > 10_000:
        assert (multiply(csr, block)[2].double() / exact[2] - 1).abs().max() > 1e-5  # the plain sum


@pytest.mark.parametrize("count", [0, 1, 23, 24, 25, 1000])
def test_threads_do_every_piece_of_work_once(count):
    before, done = torch.get_num_threads(), []
    try:
        torch.set_num_threads(3)
        with threads(ROWS + 1) as run:
            run(done.append, range(count))
    finally:
        torch.set_num_threads(before)
    assert sorted(done) == list(range(count))
