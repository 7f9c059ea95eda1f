"""Chebyshev series against closed forms."""

import numpy as np
import pytest
import torch

from llpe import chebyshev


def test_basis_is_cos_of_m_arccos():
    values = torch.linspace(0, 2, 101, dtype=torch.float64)
    naive = torch.cos(torch.arange(128) * torch.arccos(values - 1)[:, None])
    assert torch.allclose(chebyshev.basis(values, 128), naive, atol=1e-11)


def test_basis_is_finite_where_an_eigenvalue_rounds_outside_the_interval():
    values = torch.tensor([-1e-15, 2 + 4e-16], dtype=torch.float64)
    assert chebyshev.basis(values, 64).isfinite().all()
    assert torch.cos(63 * torch.arccos(values - 1)).isnan().any()  # what the formula with arccos would do


def test_float32_basis_is_accurate_to_1e_4_at_order_128():
    values = torch.linspace(0, 2, 1001, dtype=torch.float64)
    difference = chebyshev.basis(values.float(), 128).double() - chebyshev.basis(values.float().double(), 128)
    assert difference.abs().max() < 1e-4


@pytest.mark.parametrize("function", [np.exp, lambda v: 1 / (1 + v**2), lambda v: np.cos(9 * v)])
def test_series_of_the_coefficients_gives_the_function_back(function):
    values = np.linspace(0, 2, 57)
    series = chebyshev.basis(torch.from_numpy(values), 60) @ chebyshev.coefficients(function, 60)
    assert np.abs(series.numpy() - function(values)).max() < 1e-10


def test_coefficients_refuse_a_function_that_is_not_finite():
    with (
        pytest.raises(ValueError, match="one finite number for each λ"),
        np.errstate(invalid="ignore"),
    ):
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
