"""Promises of the figures of statements."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from llpe.paper.theory import figure as statements
from llpe.paper.theory.base import Check, Claim, Panel, Series, bound, curve
from llpe.paper.theory.figure import draw_statement


@pytest.fixture
def drawn(monkeypatch):
    kept: list[Figure] = []
    save = statements.save_figure
    monkeypatch.setattr(statements, "save_figure", lambda figure, path: (kept.append(figure), save(figure, path)))
    return kept


def test_a_figure_shows_every_series_of_every_panel(tmp_path, drawn):
    x = [1.0, 10.0]
    lines = Panel("a", "x", "y", (curve("measured", x, [0.0, 2.0]), bound("bound", x, [3.0, 3.0])), "log", "symlog")
    steps = Series("steps", np.array([0.0, 1.0, 2.0]), np.array([3.0, 4.0]), "steps")
    points = Series("points", np.array([1.0, 2.0]), np.array([1.0, 2.0]), "points")
    smooth = Series("smooth", np.array([1.0, 2.0]), np.array([1.0, 2.0]), "smooth")
    others = Panel("b", "x", "y", (steps, points, smooth), marks=(("here", 1.0),))
    check = Check("a", "A statement", (Claim("c", 0, "≤", 1),), panels=(lines, others))
    assert draw_statement(check, tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    left, right = drawn[0].axes
    assert [text.get_text() for text in left.get_legend().get_texts()] == ["measured", "bound"]
    assert left.lines[0].get_ydata().tolist() == [0.0, 2.0]
    assert left.get_ylim()[0] < 0, "zeros can be seen"
    assert [text.get_text() for text in right.get_legend().get_texts()] == ["steps", "points", "smooth"]
    assert [text.get_text() for text in right.texts] == ["here"]
    assert "A statement" in drawn[0].get_suptitle()
    assert "(holds)" in drawn[0].get_suptitle()
