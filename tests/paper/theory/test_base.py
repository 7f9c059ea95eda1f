"""Promises of claims, checks and their figures."""

import json
import math

import pytest

from llpe.paper.theory import base as figures
from llpe.paper.theory.base import Check, Claim, Panel, Series, bound, curve, statement, worst_ratio

GOOD, BAD = Claim("share", 0.5, "≤", 1.0), Claim("share", 2.0, "≤", 1.0)


@pytest.mark.parametrize(
    ("measured", "relation", "bound", "holds"),
    [(1, "≤", 1, True), (1.1, "≤", 1, False), (1, "≥", 1, True), (0.9, "≥", 1, False), (math.nan, "≤", 1, False)],
)
def test_a_claim_is_its_inequality_and_nan_holds_nowhere(measured, relation, bound, holds):
    assert Claim("x", measured, relation, bound).holds is holds


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


def test_nan_is_not_hidden_by_the_worst_ratio():
    assert math.isnan(worst_ratio([1.0, math.nan], [2.0, 2.0]))


def test_a_figure_shows_every_series_of_every_panel(tmp_path, monkeypatch):
    drawn, save = [], figures.save_figure
    monkeypatch.setattr(figures, "save_figure", lambda figure, path: (drawn.append(figure), save(figure, path)))
    lines = (curve("measured", [1.0, 10.0], [0.0, 2.0]), bound("bound", [1.0, 10.0], [3.0, 3.0]))
    others = [Series(kind, [1.0, 2.0], [1.0, 2.0], kind) for kind in ("points", "smooth")]
    others.insert(0, Series("steps", [0.0, 1.0, 2.0], [3.0, 4.0], "steps"))
    panels = (Panel("a", "x", "y", lines, "log", "symlog"), Panel("b", "x", "y", others, marks=(("here", 1.0),)))
    check = Check("a", "A statement", (GOOD,), panels=panels)
    assert figures.draw_statement(check, tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    left, right = drawn[0].axes
    assert [text.get_text() for text in left.get_legend().get_texts()] == ["measured", "bound"]
    assert list(left.lines[0].get_ydata()) == [0.0, 2.0]
    assert left.get_ylim()[0] < 0, "zeros can be seen"
    assert [text.get_text() for text in right.get_legend().get_texts()] == ["steps", "points", "smooth"]
    assert [text.get_text() for text in right.texts] == ["here"]
    assert drawn[0].get_suptitle() == "A statement\n(holds)"
