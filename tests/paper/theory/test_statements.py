"""Every statement holds, and a broken formula makes its check fail."""

from pathlib import Path

import numpy as np
import pytest

from llpe import chebyshev
from llpe.paper.theory import CHECKS, blocks, distances, polynomials, recovery, spectra

SMALL = {"sizes": (240, 480), "graphs": 1}
FEW = {"counts": (4, 16, 64), "draws": 4}


@pytest.fixture(autouse=True)
def forget():
    """What a broken formula gave is not used by the next test."""
    yield
    blocks.recover.cache_clear()


def failing(check):
    return [claim.text for claim in check.claims if not claim.holds]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {}) for name in ("definition-1", "theorem-3", "minimal-norm", "near-best", "theorem-4")),
        ("davis-kahan", SMALL),
        ("probes", FEW),
    ],
)
def test_statement_holds(name, options):
    check = CHECKS[name](0, **options)
    assert check.name == name
    assert failing(check) == []
    assert check.panels


@pytest.mark.parametrize(("k", "homophily"), [(2, 0.9), (2, 0.02), (4, 0.9), (4, 0.02)])
def test_the_named_end_finds_the_blocks_and_the_other_does_not(k, homophily):
    *claims, panel = recovery.compare(k, homophily, 0, **SMALL)
    assert [claim.text for claim in claims if not claim.holds] == []
    assert len(panel.series) == 6


def broken_end(model, ends, *, right=blocks.named_and_other):
    named, other = right(model, ends)
    return other[:, : model.k - 1], named


def printed_coefficients(function, order):
    """The printed integral, whose a_0 is twice what it should be."""
    out = chebyshev.coefficients(function, order)
    out[0] *= 2
    return out


BROKEN = [
    (blocks, "informative_value", lambda right: lambda model: right(model) + 1e-3,
     spectra.expected_spectrum, {}, "largest error of the closed form of simple graphs"),
    (blocks, "sine_bound", lambda right: lambda dim, deviation, gap: 0.1 * deviation,
     spectra.davis_kahan, SMALL, "‖sin Θ‖ / bound, worst graph"),
    (spectra, "deviation_bound", lambda right: lambda n, degree: 0.5 * degree**-0.5,
     spectra.concentration, SMALL, "‖L−ℒ‖ / bound, degree n/2, worst graph"),
    (polynomials, "coefficients", lambda right: printed_coefficients,
     polynomials.near_best, {}, "S_M/E_M / (4 + 4/π²·ln M)"),
    (polynomials, "monic", lambda right: lambda degree, x: 0.9 * right(degree, x),
     polynomials.minimal_norm, {}, "smallest ‖p‖_∞ / 2^(1−m) of random monic p"),
    (polynomials, "features", lambda right: lambda values, order, family: 1.5 * right(values, order, family),
     polynomials.theorem_4, {}, "√n·R/C, largest over M and spectra"),
    (distances, "squared_distances", lambda right: lambda v, u, r, *, null: right(v, u, lambda x: r(x) ** 2, null=null),
     distances.definition_1, {}, "commute time: error of vol·f_r², r = 1/λ"),
    (distances, "one_filter", lambda right: lambda v, r, order: right(v, lambda x: r(x) ** 2, order),
     distances.theorem_3, {}, "one filter, order 24: error / largest distance"),
    (distances, "probe_features", lambda right: lambda *a, **b: (2 * right(*a, **b)[0], None),
     distances.probes, FEW, "worst pair's relative error / bound"),
]  # fmt: skip


@pytest.mark.parametrize(("module", "name", "breaking", "check", "options", "claim"), BROKEN)
def test_a_broken_formula_is_noticed(monkeypatch, module, name, breaking, check, options, claim):
    monkeypatch.setattr(module, name, breaking(getattr(module, name)))
    assert claim in failing(check(0, **options))


def test_the_wrong_end_is_noticed(monkeypatch):
    monkeypatch.setattr(blocks, "named_and_other", broken_end)
    claims = list(recovery.compare(2, 0.02, 0, **SMALL))
    assert not claims[0].holds
    assert not claims[3].holds


def test_the_complexity_of_one_edge_is_known_and_above_the_printed_bound():
    edge = polynomials.features(np.array([0.0, 2.0]), 2, "monic")
    exact = (2 * np.sqrt(1.25) + 2) / 2 / np.sqrt(2)  # σ alike: 2·(1, 0, ½); σ opposite: 2·(0, 1, 0)
    assert polynomials.complexity(edge)[0] == pytest.approx(exact)
    assert exact > 2**0.5


def test_monte_carlo_complexity_agrees_with_all_signs():
    matrix = np.random.default_rng(0).standard_normal((9, 3))
    exact, none = polynomials.complexity(matrix, draws=512)
    mean, error = polynomials.complexity(matrix, draws=511)
    assert none == 0
    assert abs(mean - exact) < 4 * error


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
