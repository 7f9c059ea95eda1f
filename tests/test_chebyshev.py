"""Chebyshev series against closed forms, and what the banks of filters let through."""

import numpy as np
import pytest
import torch

from llpe import ProbeLLPE, chebyshev
from llpe.chebyshev import BANKS, heat_bank, step_bank
from llpe.data import sbm


def test_basis_is_cos_of_m_arccos_and_finite_outside_the_interval():
    values = torch.linspace(0, 2, 101, dtype=torch.float64)
    naive = torch.cos(torch.arange(128) * torch.arccos(values - 1)[:, None])
    assert torch.allclose(chebyshev.basis(values, 128), naive, atol=1e-11)
    in_float32 = chebyshev.basis(values.float(), 128).double()
    assert torch.allclose(in_float32, chebyshev.basis(values.float().double(), 128), rtol=0, atol=1e-4)
    outside = torch.tensor([-1e-15, 2 + 4e-16], dtype=torch.float64)
    assert chebyshev.basis(outside, 64).isfinite().all()
    assert torch.cos(63 * torch.arccos(outside - 1)).isnan().any()  # what the formula with arccos would do


@pytest.mark.parametrize("function", [np.exp, lambda v: 1 / (1 + v**2), lambda v: np.cos(9 * v)])
def test_series_of_the_coefficients_gives_the_function_back(function):
    values = np.linspace(0, 2, 57)
    series = chebyshev.basis(torch.from_numpy(values), 60) @ chebyshev.coefficients(function, 60)
    assert np.abs(series.numpy() - function(values)).max() < 1e-10


def test_what_is_no_series_is_refused():
    with pytest.raises(ValueError, match="one finite number for each λ"), np.errstate(invalid="ignore"):
        chebyshev.coefficients(lambda v: np.sqrt(v - 1), 8)
    for order in (0, -1, 2.0):
        with pytest.raises(ValueError, match="`order` must be an integer of at least 1"):
            chebyshev.basis(torch.ones(1), order)


def test_density_of_known_moments_counts_eigenvalues():
    """Moments of ¼ of the eigenvalues at 0.3 and ¾ at 1.4: the density must put that share on each side of 1."""
    m = np.arange(200)
    moments = 0.25 * np.cos(m * np.arccos(-0.7)) + 0.75 * np.cos(m * np.arccos(0.4))
    values, weights = chebyshev.density(moments, 512)
    assert (weights >= 0).all()
    assert weights[values < 1].sum() == pytest.approx(0.25, abs=1e-3)
    assert (weights * values).sum() == pytest.approx(0.25 * 0.3 + 0.75 * 1.4, abs=1e-3)


def test_heat_bank_holds_heat_kernels_of_times_up_to_32():
    times = 32 ** (np.arange(1, 4) / 3)
    low = torch.stack([chebyshev.coefficients(lambda v, t=t: np.exp(-t * v), 64) for t in times], dim=1)
    high = torch.stack([chebyshev.coefficients(lambda v, t=t: np.exp(t * (v - 2)), 64) for t in times], dim=1)
    assert torch.allclose(heat_bank(64, 6), torch.cat([low, high], dim=1), atol=1e-12)
    assert torch.allclose(heat_bank(64, 1), low[:, 2:] + high[:, 2:], atol=1e-12)
    short = chebyshev.coefficients(lambda v: np.exp(-8 * v), 8)  # 8 terms resolve no longer times
    assert torch.allclose(heat_bank(8, 2)[:, 0], short, atol=1e-12)


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
