"""Chebyshev series against closed forms, and what the banks of filters let through."""

import numpy as np
import pytest
import torch

from llpe import ProbeLLPE, chebyshev
from llpe.chebyshev import BANKS, heat_bank, step_bank
from llpe.data import sbm


def test_basis_is_cos_of_m_arccos():
    values = torch.linspace(0, 2, 101, dtype=torch.float64)
    naive = torch.cos(torch.arange(128) * torch.arccos(values - 1)[:, None])
    assert torch.allclose(chebyshev.basis(values, 128), naive, atol=1e-11)


def test_basis_is_finite_outside_the_interval_and_accurate_in_float32():
    outside = torch.tensor([-1e-15, 2 + 4e-16], dtype=torch.float64)
    assert chebyshev.basis(outside, 64).isfinite().all()
    assert torch.cos(63 * torch.arccos(outside - 1)).isnan().any()  # what the formula with arccos would do
    values = torch.linspace(0, 2, 1001)
    difference = chebyshev.basis(values, 128).double() - chebyshev.basis(values.double(), 128)
    assert difference.abs().max() < 1e-4


@pytest.mark.parametrize("function", [np.exp, lambda v: 1 / (1 + v**2), lambda v: np.cos(9 * v)])
def test_series_of_the_coefficients_gives_the_function_back(function):
    values = np.linspace(0, 2, 57)
    series = chebyshev.basis(torch.from_numpy(values), 60) @ chebyshev.coefficients(function, 60)
    assert np.abs(series.numpy() - function(values)).max() < 1e-10


def test_coefficients_refuse_a_function_that_is_not_finite():
    with pytest.raises(ValueError, match="one finite number for each λ"), np.errstate(invalid="ignore"):
        chebyshev.coefficients(lambda v: np.sqrt(v - 1), 8)


@pytest.mark.parametrize("time", [0.5, 4.0, 30.0])
def test_heat_coefficients_are_those_of_the_heat_kernel(time):
    expected = chebyshev.coefficients(lambda v: np.exp(-time * v), 64)
    assert torch.allclose(chebyshev.heat(np.array([time]), 64)[:, 0], expected, atol=1e-12)


def test_density_of_known_moments_counts_eigenvalues():
    """Moments of ¼ of the eigenvalues at 0.3 and ¾ at 1.4: the density must put that share on each side of 1."""
    m = np.arange(200)
    moments = 0.25 * np.cos(m * np.arccos(-0.7)) + 0.75 * np.cos(m * np.arccos(0.4))
    values, weights = chebyshev.density(moments, 512)
    assert (weights >= 0).all()
    assert weights[values < 1].sum() == pytest.approx(0.25, abs=1e-3)
    assert (weights * values).sum() == pytest.approx(0.25 * 0.3 + 0.75 * 1.4, abs=1e-3)


@pytest.mark.parametrize("order", [0, -1, 2.0])
def test_a_bad_order_is_refused(order):
    with pytest.raises(ValueError, match="`order` must be an integer of at least 1"):
        chebyshev.basis(torch.ones(1), order)


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
    angle = torch.arccos((grid - 1).clamp(-1, 1)) - 0.75 * np.pi  # from the cutoff
    errors = []
    for order in (32, 64, 128):
        step = chebyshev.basis(grid, order) @ step_bank(order, 2)[:, 0]
        assert -1e-9 < float(step.min()) < float(step.max()) < 1 + 1e-9
        errors.append(float((step - (angle > 0).double())[angle.abs() > 0.3].abs().max()))
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
