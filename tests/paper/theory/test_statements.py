"""Every statement holds, and a broken formula makes its check fail."""

from pathlib import Path

import numpy as np
import pytest

from llpe import chebyshev
from llpe.paper.theory import (
    CHECKS,
    approximation,
    blocks,
    concentration,
    davis_kahan,
    distances,
    expected_spectrum,
    minimal_norm,
    near_best,
    probe_distances,
    rademacher,
    recovery,
)

QUICK = ("definition-1", "theorem-3", "minimal-norm", "near-best", "theorem-4")
SIZES = (240, 480)


@pytest.fixture
def small(monkeypatch):
    """Graphs of block models that take no time."""
    for module in (recovery, davis_kahan, concentration):
        monkeypatch.setattr(module, "SIZES", SIZES)
        monkeypatch.setattr(module, "SEEDS", 1)


def failing(check):
    return [claim.text for claim in check.claims if not claim.holds]


@pytest.mark.parametrize("name", QUICK)
def test_statement_holds(name):
    check = CHECKS[name](0)
    assert check.name == name
    assert failing(check) == []
    assert check.panels


@pytest.mark.parametrize(("k", "homophily"), [(2, 0.9), (2, 0.02), (4, 0.9), (4, 0.02)])
def test_the_named_end_finds_the_blocks_and_the_other_does_not(small, k, homophily):
    claims, panel = recovery.compare(k, homophily, seed=0)
    assert [claim.text for claim in claims if not claim.holds] == []
    assert len(panel.series) == 6


def test_the_wrong_end_is_noticed(small, monkeypatch):
    ends = recovery.ends

    def swapped(model, drawn):
        named, other = ends(model, drawn)
        return other[:, : model.k - 1], named

    monkeypatch.setattr(recovery, "ends", swapped)
    claims, _ = recovery.compare(2, 0.02, seed=0)
    assert not claims[0].holds
    assert not claims[3].holds


def test_a_wrong_closed_form_of_the_spectrum_is_noticed(monkeypatch):
    right = blocks.informative_value
    monkeypatch.setattr(blocks, "informative_value", lambda model: right(model) + 1e-3)
    assert "largest error of the closed form of simple graphs" in failing(expected_spectrum.check_expected_spectrum(0))


def test_a_sine_bound_that_is_too_small_is_noticed(small, monkeypatch):
    monkeypatch.setattr(recovery, "sine_bound", lambda dim, deviation, gap: 0.1 * deviation)
    check = davis_kahan.check_davis_kahan(0)
    assert failing(check)[0] == "‖sin Θ‖ / bound, worst graph"


def test_davis_kahan_holds_and_needs_its_root_of_two(small):
    assert failing(davis_kahan.check_davis_kahan(0)) == []


def test_a_concentration_bound_that_is_too_small_is_noticed(small, monkeypatch):
    monkeypatch.setattr(concentration, "deviation_bound", lambda n, degree, delta=0.05: 0.5 * degree**-0.5)
    assert "‖L−ℒ‖ / bound, degree n/2, worst graph" in failing(concentration.check_concentration(0))


def test_wrong_chebyshev_coefficients_are_noticed(monkeypatch):
    def undivided(function, order):  # the printed integral, whose a_0 is twice what it should be
        out = chebyshev.coefficients(function, order)
        out[0] *= 2
        return out

    monkeypatch.setattr(near_best, "coefficients", undivided)
    assert "S_M/E_M / (4 + 4/π²·ln M)" in failing(near_best.check_near_best(0))


def test_a_polynomial_that_is_not_monic_is_noticed(monkeypatch):
    right = minimal_norm.monic
    monkeypatch.setattr(minimal_norm, "monic", lambda degree, x: 0.9 * right(degree, x))
    assert "smallest ‖p‖_∞ / 2^(1−m) of random monic p" in failing(minimal_norm.check_minimal_norm(0))


def test_the_printed_commute_time_is_noticed(monkeypatch):
    right = distances.squared_distances
    monkeypatch.setattr(
        distances, "squared_distances", lambda v, u, r, *, null: right(v, u, lambda x: r(x) ** 2, null=null)
    )
    assert "commute time: error of vol·f_r², r = 1/λ" in failing(distances.check_definition_1(0))


def test_gains_that_are_not_the_root_are_noticed(monkeypatch):
    right = approximation.one_filter
    monkeypatch.setattr(approximation, "one_filter", lambda v, r, order: right(v, lambda x: r(x) ** 2, order))
    assert "one filter, order 24: error / largest distance" in failing(approximation.check_theorem_3(0))


def test_the_printed_upper_bound_of_theorem_4_is_noticed_to_be_wrong_on_one_edge(monkeypatch):
    monkeypatch.setattr(rademacher, "UPPER", 1.0)
    assert "√n·R/C, largest over M and spectra" in failing(rademacher.check_theorem_4(0))
    edge = rademacher.features(np.array([0.0, 2.0]), 2, "monic")
    exact = (2 * np.sqrt(1.25) + 2) / 2 / np.sqrt(2)  # σ alike: 2·(1, 0, ½); σ opposite: 2·(0, 1, 0)
    assert rademacher.complexity(edge)[0] == pytest.approx(exact)
    assert exact > 2**0.5


def test_monte_carlo_complexity_agrees_with_all_signs():
    matrix = np.random.default_rng(0).standard_normal((9, 3))
    exact, none = rademacher.complexity(matrix, draws=512)
    mean, error = rademacher.complexity(matrix, draws=511)
    assert none == 0
    assert abs(mean - exact) < 4 * error


def test_probes_hold_and_a_wrong_variance_is_noticed(monkeypatch):
    monkeypatch.setattr(probe_distances, "PROBES", (4, 16, 64))
    monkeypatch.setattr(probe_distances, "SEEDS", 4)
    assert failing(probe_distances.check_probes(0)) == []
    right = probe_distances.probe_features
    monkeypatch.setattr(probe_distances, "probe_features", lambda *a, **b: (2 * right(*a, **b)[0], None))
    assert "worst pair's relative error / bound" in failing(probe_distances.check_probes(0))


def test_commute_times_of_a_ring_are_known():
    n = 9
    ring = np.roll(np.eye(n), 1, axis=0) + np.roll(np.eye(n), -1, axis=0)
    steps = np.arange(n)
    assert distances.commute_times(ring)[0] == pytest.approx(2 * steps * (n - steps))  # 2·edges·resistance


def test_every_statement_is_in_the_document_with_its_figure():
    docs = Path(__file__).parents[3] / "docs"
    document = (docs / "theory.md").read_text()
    for name in CHECKS:
        assert f"`{name}`" in document, name
        assert f"](theory/{name}.png)" in document, name
    assert {path.stem for path in (docs / "theory").iterdir()} == set(CHECKS)
