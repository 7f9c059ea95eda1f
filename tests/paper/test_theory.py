"""Every statement of the paper holds, and a broken formula makes its check fail; claims, checks and figures."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from llpe import chebyshev
from llpe.laplacian import laplacian
from llpe.paper.theory import CHECKS, base, blocks, distances, polynomials, recovery, spectra
from llpe.paper.theory.base import Check, Claim, Panel, Series, bound, curve, statement, worst_ratio
from llpe.paper.theory.blocks import BlockModel

SMALL = {"sizes": (240, 480), "graphs": 1}
FEW = {"counts": (4, 16, 64), "draws": 4}
MODELS = [BlockModel(24, k, degree=6.0, homophily=h) for k in (2, 3, 4) for h in (0.0, 0.1, 0.5, 0.9)]
GOOD, BAD = Claim("share", 0.5, "≤", 1.0), Claim("share", 2.0, "≤", 1.0)


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
    docs = Path(__file__).parents[2] / "docs"
    document = (docs / "theory.md").read_text()
    for name in CHECKS:
        assert f"`{name}`" in document, name
        assert f"](theory/{name}.png)" in document, name
    assert {path.stem for path in (docs / "theory").iterdir()} == set(CHECKS)


@pytest.mark.parametrize("model", MODELS)
def test_closed_forms_are_what_the_definition_gives(model):
    for loops, closed in ((True, blocks.values_with_loops), (False, blocks.values_without_loops)):
        assert np.linalg.eigvalsh(blocks.mean_laplacian(model, loops=loops)) == pytest.approx(closed(model), abs=1e-12)
    assert (24 / model.k - 1) * model.p + (24 - 24 / model.k) * model.q == pytest.approx(6.0)
    vectors = blocks.block_vectors(model)
    assert vectors.T @ vectors == pytest.approx(np.eye(model.k - 1), abs=1e-12)
    image = blocks.mean_laplacian(model, loops=False) @ vectors
    assert image == pytest.approx(blocks.informative_value(model) * vectors, abs=1e-12)
    assert np.linalg.norm(vectors[0] - vectors[-1]) == pytest.approx((2 * model.k / model.n) ** 0.5)


def test_deviation_is_the_operator_norm_of_the_difference():
    model = BlockModel(60, 3, degree=12.0, homophily=0.1)
    dense = laplacian(model.draw(0)[0]).toarray() - blocks.mean_laplacian(model, loops=False)
    assert blocks.deviation(model, 0) == pytest.approx(np.linalg.norm(dense, 2), rel=1e-3)


def test_the_gap_closes_from_below_as_q_goes_to_zero():
    gaps = [blocks.gap(BlockModel(100, 2, degree=20.0, homophily=h)) for h in (0.6, 0.75, 0.9, 1.0)]
    assert gaps[1] > gaps[2] > gaps[3] == pytest.approx(0, abs=1e-12)


def test_aligned_vectors_undo_a_rotation():
    truth = blocks.block_vectors(MODELS[-1])
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    assert blocks.align(truth @ turn, truth) == pytest.approx(truth, abs=1e-12)
    assert blocks.cosines(truth @ turn, truth) == pytest.approx(np.ones(3))


def test_clusters_find_separated_groups_whatever_their_names():
    labels = np.repeat(np.arange(4), 15)
    rows = 5 * np.eye(4)[labels] + np.random.default_rng(0).normal(size=(60, 4)) * 0.3
    assert blocks.misclassified(blocks.cluster(rows, 4), labels) == 0
    assert blocks.misclassified(np.zeros(60, dtype=int), labels) == 45


@pytest.mark.parametrize(
    ("measured", "relation", "bound", "holds"),
    [(1, "≤", 1, True), (1.1, "≤", 1, False), (1, "≥", 1, True), (0.9, "≥", 1, False), (math.nan, "≤", 1, False)],
)
def test_a_claim_is_its_inequality_and_nan_holds_nowhere(measured, relation, bound, holds):
    assert Claim("x", measured, relation, bound).holds is holds
    assert math.isnan(worst_ratio([1.0, math.nan], [2.0, 2.0]))


def test_a_check_holds_only_if_every_claim_does_and_goes_to_json_with_all_of_them():
    assert Check("a", "A", (GOOD, GOOD)).verdict == "holds"
    assert Check("a", "A", (GOOD,), printed="not so").verdict == "holds, corrected"
    assert not Check("a", "A", ()).holds
    broken = Check("a", "A", (GOOD, BAD), printed="not so")
    assert broken.verdict == "does not hold"
    assert broken.telling is BAD
    document = json.loads(json.dumps(broken.as_dict()))
    assert [claim["holds"] for claim in document["claims"]] == [True, False]
    assert document["holds"] is False


def test_a_statement_has_the_name_of_its_function_and_sorts_claims_from_panels():
    panel = Panel("a", "x", "y", ())

    @statement("It holds", printed="not so")
    def theorem_9(seed, *, size=1):
        yield Claim("seed", seed, "≤", size)
        yield panel
        yield GOOD

    check = theorem_9(3, size=4)
    assert (check.name, check.statement, check.verdict) == ("theorem-9", "It holds", "holds, corrected")
    assert (check.claims[0].measured, check.claims[0].bound, check.claims[1]) == (3, 4, GOOD)
    assert check.panels == [panel]


def test_a_figure_shows_every_series_of_every_panel(tmp_path, monkeypatch):
    drawn, save = [], base.save_figure
    monkeypatch.setattr(base, "save_figure", lambda figure, path: (drawn.append(figure), save(figure, path)))
    lines = (curve("measured", [1.0, 10.0], [0.0, 2.0]), bound("bound", [1.0, 10.0], [3.0, 3.0]))
    others = [Series(kind, [1.0, 2.0], [1.0, 2.0], kind) for kind in ("points", "smooth")]
    others.insert(0, Series("steps", [0.0, 1.0, 2.0], [3.0, 4.0], "steps"))
    panels = (Panel("a", "x", "y", lines, "log", "symlog"), Panel("b", "x", "y", others, marks=(("here", 1.0),)))
    check = Check("a", "A statement", (GOOD,), panels=panels)
    assert base.draw_statement(check, tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    left, right = drawn[0].axes
    assert [text.get_text() for text in left.get_legend().get_texts()] == ["measured", "bound"]
    assert list(left.lines[0].get_ydata()) == [0.0, 2.0]
    assert left.get_ylim()[0] < 0, "zeros can be seen"
    assert [text.get_text() for text in right.get_legend().get_texts()] == ["steps", "points", "smooth"]
    assert [text.get_text() for text in right.texts] == ["here"]
    assert drawn[0].get_suptitle() == "A statement\n(holds)"
