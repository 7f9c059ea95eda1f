"""Sparse features and fixed matrices."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from torch import Tensor

from llpe.models import make_backbone, sparse, take_rows
from llpe.models.dropout import dropout
from llpe.models.features import FeatureLinear
from llpe.models.sparse import FixedMatrix, quiet, remember


@pytest.fixture
def x() -> Tensor:
    torch.manual_seed(0)
    return torch.rand(20, 30) * (torch.rand(20, 30) < 0.1)


def as_layout(x: Tensor, layout: torch.layout, index: torch.dtype = torch.int64) -> Tensor:
    with quiet():
        result = x.to_sparse(layout=layout)
        if index == torch.int64:
            return result
        crow, col = result.crow_indices().to(index), result.col_indices().to(index)
        return torch.sparse_csr_tensor(crow, col, result.values(), size=x.shape)


@pytest.mark.parametrize(
    ("layout", "index"),
    [
        (torch.sparse_csr, torch.int64),
        (torch.sparse_csr, torch.int32),
        (torch.sparse_csc, torch.int64),
        (torch.sparse_coo, torch.int64),
    ],
)
def test_sparse_features_equal_dense_ones_with_gradients(x: Tensor, layout: torch.layout, index: torch.dtype) -> None:
    linear = FeatureLinear(30, 7)
    upstream = torch.randn(20, 7)
    dense = linear(x)
    expected = torch.autograd.grad(dense, list(linear.parameters()), upstream)
    result = linear(as_layout(x, layout, index))
    gradients = torch.autograd.grad(result, list(linear.parameters()), upstream)
    torch.testing.assert_close(result, dense, atol=1e-6, rtol=0)
    for ours, theirs in zip(gradients, expected, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=0)


def test_sparse_product_has_an_exact_gradient_in_double(x: Tensor) -> None:
    matrix = FixedMatrix(lambda: x.double().to_sparse())
    h = torch.randn(30, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda h: matrix @ h, h)


def test_a_fixed_matrix_holds_itself_and_its_transpose_by_rows(x: Tensor) -> None:
    matrix = FixedMatrix(lambda: x.to_sparse())
    assert torch.equal(matrix.csr.to_dense(), x)
    assert torch.equal(matrix.transposed_csr.to_dense(), x.T)
    assert matrix.csr.layout == matrix.transposed_csr.layout == torch.sparse_csr
    assert repr(matrix) == f"FixedMatrix(shape=[20, 30], entries={int((x > 0).sum())})"


def test_an_empty_matrix_gives_zeros_and_zero_gradients() -> None:
    h = torch.randn(4, 2, requires_grad=True)
    result = FixedMatrix(lambda: torch.zeros(3, 4).to_sparse()) @ h
    result.sum().backward()
    assert torch.equal(result, torch.zeros(3, 2))
    assert torch.equal(h.grad, torch.zeros(4, 2))


def test_rows_are_taken_in_order_with_repeats(x: Tensor) -> None:
    rows = torch.tensor([19, 3, 3, 0, 7])
    for index in (torch.int64, torch.int32):
        part = take_rows(as_layout(x, torch.sparse_csr, index), rows)
        assert part.layout == torch.sparse_csr
        assert torch.equal(part.to_dense(), x[rows])
    assert torch.equal(take_rows(x, rows), x[rows])
    none = take_rows(as_layout(x, torch.sparse_csr), rows[:0])
    assert none.shape == (0, 30)


def test_preparation_is_done_once_per_tensor_and_again_when_it_changes() -> None:
    made = []
    tensor = torch.zeros(3)

    def prepare(*tensors: Tensor | None) -> int:
        return remember("test", tensors, lambda: made.append(0) or len(made))

    assert prepare(tensor, None) == prepare(tensor, None) == 1
    assert prepare(tensor.clone(), None) == 2
    tensor[0] = 1
    assert prepare(tensor, None) == prepare(tensor, None) == 3
    assert prepare(tensor, tensor) == 4
    with torch.inference_mode():
        inferred = torch.zeros(3)
    assert prepare(inferred) == prepare(inferred) == 5


def test_what_was_prepared_is_freed_with_its_tensor(x: Tensor) -> None:
    before = set(sparse._memory)
    features = as_layout(x, torch.sparse_csr)
    FeatureLinear(30, 7)(features).sum().backward()
    (key,) = set(sparse._memory) - before
    matrix = weakref.ref(sparse._memory[key][-1])
    assert "transposed_csr" in vars(matrix())
    gc.disable()  # no cycle keeps it alive until the collector comes
    try:
        del features
        assert key not in sparse._memory
        assert matrix() is None
    finally:
        gc.enable()


def test_changed_sparse_features_are_seen(x: Tensor) -> None:
    linear = FeatureLinear(30, 7)
    features = as_layout(x, torch.sparse_csr)
    linear(features).sum().backward()
    first = linear.weight.grad.clone()
    linear.weight.grad = None
    features.values().mul_(2)
    linear(features).sum().backward()
    torch.testing.assert_close(linear.weight.grad, 2 * first)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: None, "`data.x` must be a tensor of 30 features per node, got NoneType. Give features"),
        (lambda x: x[:, :4], r"`data.x` must have shape \[rows, 30\], got \[20, 4\]"),
        (lambda x: x[0], r"`data.x` must have shape \[rows, 30\], got \[30\]"),
        (lambda x: x.long(), "`data.x` must have dtype torch.float32, got torch.int64. Convert it"),
        (lambda x: x.to_sparse().requires_grad_(), "must not require gradients while sparse"),
    ],
)
def test_bad_features_are_refused(x: Tensor, change, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        FeatureLinear(30, 7)(change(x))


def test_no_warning_of_torch_about_sparse_tensors_leaks_out(x: Tensor) -> None:
    features, edge_index = as_layout(x, torch.sparse_csr), torch.tensor([[0, 1], [1, 0]])
    linear, sage = FeatureLinear(30, 7), make_backbone("sage", width=7)
    torch.set_warn_always(True)  # else only the first of a process is heard
    try:
        sage(linear(features), edge_index).sum().backward()
        take_rows(features, torch.tensor([0]))
    finally:
        torch.set_warn_always(False)


def test_a_product_with_dropped_entries_is_that_of_the_matrix_without_them(x: Tensor) -> None:
    """Forwards and backwards, against the dense matrix that the same draw leaves."""
    matrix = FixedMatrix(lambda: x.double().to_sparse())
    h = torch.randn(30, 4, dtype=torch.float64, requires_grad=True)
    torch.manual_seed(3)
    found = matrix.dropped(h, 0.4)
    torch.manual_seed(3)
    left = sparse.with_values(matrix.csr, dropout(matrix.csr.values(), 0.4, True)).to_dense()
    kept = left != 0
    assert 0 < int(kept.sum()) < int((x != 0).sum())
    torch.testing.assert_close(left[kept], x.double()[kept] / 0.6, rtol=1e-4, atol=0)
    torch.testing.assert_close(found, left @ h)
    upstream = torch.randn(20, 4, dtype=torch.float64)
    (gradient,) = torch.autograd.grad(found, h, upstream)
    torch.testing.assert_close(gradient, left.T @ upstream)


@pytest.mark.parametrize("layout", [torch.strided, torch.sparse_csr])
def test_features_with_dropped_entries_are_right_on_average(x: Tensor, layout: torch.layout) -> None:
    linear = FeatureLinear(30, 3, dropout=0.5)
    features = x if layout == torch.strided else as_layout(x, layout)
    torch.manual_seed(0)
    with torch.no_grad():
        draws = torch.stack([linear(features) for _ in range(3000)]).double()
        exact = (x @ linear.weight + linear.bias).double()
        error = draws.std(dim=0) / len(draws) ** 0.5
        assert ((draws.mean(dim=0) - exact).abs() <= 5 * error + 1e-6).all()
        assert (draws.std(dim=0)[x.any(dim=1)] > 0).all()
        state = torch.get_rng_state()
        torch.testing.assert_close(linear.eval()(features), exact.float())
        assert torch.equal(torch.get_rng_state(), state)  # nothing is drawn


@pytest.mark.parametrize("layout", [torch.strided, torch.sparse_csr])
def test_the_gradient_of_dropped_features_is_that_of_what_was_left(x: Tensor, layout: torch.layout) -> None:
    linear = FeatureLinear(30, 30, dropout=0.5)
    linear.weight.data.copy_(torch.eye(30))  # so that the output is what was left of x
    linear.bias.data.zero_()
    out = linear(x if layout == torch.strided else as_layout(x, layout))
    upstream = torch.randn(20, 30)
    weight, bias = torch.autograd.grad(out, [linear.weight, linear.bias], upstream)
    torch.testing.assert_close(weight, out.detach().T @ upstream)
    torch.testing.assert_close(bias, upstream.sum(dim=0))
