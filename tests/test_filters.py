"""Banks of filters: what they let through."""

import numpy as np
import pytest
import torch

from llpe import ProbeLLPE, chebyshev
from llpe.chebyshev import BANKS, heat_bank, step_bank
from llpe.data import sbm


def test_heat_bank_holds_low_and_high_passes():
    response = chebyshev.basis(torch.linspace(0, 2, 5, dtype=torch.float64), 32) @ heat_bank(32, 6)
    assert (response.diff(dim=0)[:, :3] < 0.02).all()
    assert (response.diff(dim=0)[:, 3:] > -0.02).all()
    assert torch.allclose(response[0, :2], torch.ones(2, dtype=torch.float64), atol=1e-3)  # e^0 at λ = 0
    assert 0.9 < float(response[0, 2]) <= 1  # the sharpest is cut a little
    assert torch.allclose(response[:, 3:], response[:, :3].flip(0))
    single = chebyshev.basis(torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64), 32) @ heat_bank(32, 1)
    assert single[0] == pytest.approx(single[2])
    assert single[1] < 0.1 * single[0]


@pytest.mark.parametrize("bank", BANKS.values())
@pytest.mark.parametrize("filters", [1, 2, 5, 8])
def test_banks_have_their_shape_and_are_mirrored(bank, filters):
    made = bank(24, filters)
    assert made.shape == (24, filters)
    grid = torch.linspace(0, 2, 41, dtype=torch.float64)
    response = chebyshev.basis(grid, 24) @ made
    if filters == 1:
        torch.testing.assert_close(response, response.flip(0))
    elif filters % 2 == 0:
        torch.testing.assert_close(response[:, filters // 2 :], response[:, : filters // 2].flip(0))


def test_steps_are_flat_on_both_sides_and_sharper_with_the_order():
    grid = torch.linspace(0, 2, 2001, dtype=torch.float64)
    angle = torch.arccos((grid - 1).clamp(-1, 1))
    cutoff = np.pi - np.pi / 4
    away = (angle - cutoff).abs() > 0.3
    ideal = (angle > cutoff).double()
    errors = []
    for order in (32, 64, 128):
        step = chebyshev.basis(grid, order) @ step_bank(order, 2)[:, 0]
        assert float(step.min()) > -1e-9
        assert float(step.max()) < 1 + 1e-9
        errors.append(float((step - ideal)[away].abs().max()))
    assert errors[0] > 4 * errors[1] > 16 * errors[2]


def test_steps_find_two_large_blocks_where_heat_does_not():
    """Per node, the blocks' eigenvector is 1/n of a probe's energy: sharpness decides."""
    data = sbm(n=4000, blocks=2, degree=10, homophily=0.95, seed=0)
    side = data.y.double() * 2 - 1

    def separation(start):
        encoding = ProbeLLPE(8, order=128, probes=1, start=start)
        pe = encoding(encoding.prepare(data, cache=False)).detach().double()
        pe = pe - pe.mean(dim=0)
        return float((side @ pe / (side.norm() * pe.norm(dim=0))).abs().max())

    assert separation("step") > 0.7
    assert separation("step") > separation("heat") + 0.2
