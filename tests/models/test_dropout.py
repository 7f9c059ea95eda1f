"""Dropout: as torch's, with other draws."""

from __future__ import annotations

import pytest
import torch

from llpe.models.dropout import dropout


@pytest.mark.parametrize("share", [0.1, 0.2, 0.5, 0.9])
def test_a_share_is_dropped_and_the_rest_scaled(share):
    torch.manual_seed(0)
    out = dropout(torch.ones(1000, 401), share, True)
    dropped = (out == 0).double().mean()
    assert abs(dropped - share) < 4 * (share * (1 - share) / out.numel()) ** 0.5
    assert out[out != 0].unique().tolist() == pytest.approx([1 / (1 - share)], rel=1e-3)
    assert out.double().mean() == pytest.approx(1, abs=0.01)


def test_the_four_entries_of_a_draw_are_independent():
    torch.manual_seed(0)
    kept = (dropout(torch.ones(100_000, 4), 0.5, True) > 0).double()
    patterns = (kept @ torch.tensor([8.0, 4.0, 2.0, 1.0], dtype=torch.float64)).long().bincount(minlength=16)
    expected = 100_000 / 16
    assert ((patterns - expected) ** 2 / expected).sum() < 37.7  # the 0.1 % point of χ² with 15 degrees of freedom


def test_the_gradient_goes_where_the_entries_went():
    torch.manual_seed(0)
    h = torch.randn(7, 3, dtype=torch.float64, requires_grad=True)
    out = dropout(h, 0.4, True)
    out.sum().backward()
    assert torch.allclose(h.grad * h, out)
    assert 0 < int((h.grad == 0).sum()) < h.numel()


def test_seeds_decide_and_evaluation_draws_nothing():
    h = torch.ones(50, 5)
    torch.manual_seed(1)
    first = dropout(h, 0.3, True)
    state = torch.get_rng_state()
    assert torch.equal(dropout(h, 0.3, False), h)
    assert torch.equal(dropout(h, 0.0, True), h)
    assert torch.equal(state, torch.get_rng_state())
    torch.manual_seed(1)
    assert torch.equal(dropout(h, 0.3, True), first)


def test_nothing_is_left_of_an_empty_tensor():
    assert dropout(torch.empty(0, 3), 0.5, True).shape == (0, 3)
