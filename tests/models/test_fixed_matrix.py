"""Fixed matrices, sparse features, and dropout."""

import pytest
import torch

from llpe.models import make_backbone, take_rows
from llpe.models.fixed_matrix import FeatureLinear, FixedMatrix, dropout
from llpe.spmm import quiet


@pytest.fixture
def x():
    torch.manual_seed(0)
    return torch.rand(20, 30) * (torch.rand(20, 30) < 0.1)


def as_layout(x, layout, index=torch.int64):
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
def test_sparse_features_equal_dense_ones_with_gradients(x, layout, index):
    linear = FeatureLinear(30, 7)
    upstream = torch.randn(20, 7)
    dense = linear(x)
    expected = torch.autograd.grad(dense, list(linear.parameters()), upstream)
    result = linear(as_layout(x, layout, index))
    gradients = torch.autograd.grad(result, list(linear.parameters()), upstream)
    torch.testing.assert_close(result, dense, atol=1e-6, rtol=0)
    for ours, theirs in zip(gradients, expected, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=0)


def test_an_empty_matrix_gives_zeros_and_zero_gradients():
    h = torch.randn(4, 2, requires_grad=True)
    result = FixedMatrix(torch.zeros(3, 4).to_sparse()) @ h
    result.sum().backward()
    assert torch.equal(result, torch.zeros(3, 2))
    assert torch.equal(h.grad, torch.zeros(4, 2))


def test_rows_are_taken_in_order_with_repeats(x):
    rows = torch.tensor([19, 3, 3, 0, 7])
    for index in (torch.int64, torch.int32):
        part = take_rows(as_layout(x, torch.sparse_csr, index), rows)
        assert part.layout == torch.sparse_csr
        assert torch.equal(part.to_dense(), x[rows])
    assert torch.equal(take_rows(x, rows), x[rows])
    none = take_rows(as_layout(x, torch.sparse_csr), rows[:0])
    assert none.shape == (0, 30)
    with pytest.raises(ValueError, match=r"`rows` must be a tensor of node numbers or a mask, got \[0\]"):
        take_rows(x, [0])


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
def test_bad_features_are_refused(x, change, message):
    with pytest.raises(ValueError, match=message):
        FeatureLinear(30, 7)(change(x))


def test_no_warning_of_torch_about_sparse_tensors_leaks_out(x):
    features, edge_index = as_layout(x, torch.sparse_csr), torch.tensor([[0, 1], [1, 0]])
    linear, sage = FeatureLinear(30, 7), make_backbone("sage", width=7)
    torch.set_warn_always(True)  # else only the first of a process is heard
    try:
        sage(linear(features), edge_index).sum().backward()
        take_rows(features, torch.tensor([0]))
    finally:
        torch.set_warn_always(False)


@pytest.mark.parametrize("layout", [torch.strided, torch.sparse_csr])
def test_features_are_dropped_in_training_and_gradients_are_those_of_what_was_left(x, layout):
    linear = FeatureLinear(30, 30, dropout=0.4)
    linear.weight.data.copy_(torch.eye(30))  # so that the output is what was left of x
    linear.bias.data.zero_()
    features = x if layout == torch.strided else as_layout(x, layout)
    out = linear(features)
    kept = out != 0
    assert 0 < int(kept.sum()) < int((x != 0).sum())
    torch.testing.assert_close(out[kept], x[kept] / 0.6, rtol=1e-4, atol=0)
    upstream = torch.randn(20, 30)
    weight, bias = torch.autograd.grad(out, [linear.weight, linear.bias], upstream)
    torch.testing.assert_close(weight, out.detach().T @ upstream)
    torch.testing.assert_close(bias, upstream.sum(dim=0))
    state = torch.get_rng_state()
    assert torch.equal(linear.eval()(features), x)
    assert torch.equal(torch.get_rng_state(), state)  # nothing is drawn


@pytest.mark.parametrize("share", [0.1, 0.2, 0.5, 0.9])
def test_dropout_drops_a_share_and_scales_the_rest(share):
    torch.manual_seed(0)
    out = dropout(torch.ones(1000, 401), share, True)
    dropped = (out == 0).double().mean()
    assert abs(dropped - share) < 4 * (share * (1 - share) / out.numel()) ** 0.5
    assert out[out != 0].unique().tolist() == pytest.approx([1 / (1 - share)], rel=1e-3)
    assert dropout(torch.empty(0, 3), share, True).shape == (0, 3)


def test_the_four_entries_of_a_draw_are_independent():
    torch.manual_seed(0)
    kept = (dropout(torch.ones(100_000, 4), 0.5, True) > 0).double()
    patterns = (kept @ torch.tensor([8.0, 4.0, 2.0, 1.0], dtype=torch.float64)).long().bincount(minlength=16)
    expected = 100_000 / 16
    assert ((patterns - expected) ** 2 / expected).sum() < 37.7  # the 0.1 % point of χ² with 15 degrees of freedom


def test_seeds_decide_dropout_and_evaluation_draws_nothing():
    h = torch.ones(50, 5)
    torch.manual_seed(1)
    first = dropout(h, 0.3, True)
    state = torch.get_rng_state()
    assert torch.equal(dropout(h, 0.3, False), h)
    assert torch.equal(dropout(h, 0.0, True), h)
    assert torch.equal(state, torch.get_rng_state())
    torch.manual_seed(1)
    assert torch.equal(dropout(h, 0.3, True), first)
