"""Promises of grids: the same cells in Markdown and in LaTeX that compiles."""

from __future__ import annotations

import pytest

from llpe.report.grid import Grid, percent

GRID = Grid("Accuracy in %", ["encoding", "a_b"], [["llpe | x", "1.0 ± 2"], ["lpe-fk", percent(None)]], ["10 splits"])


def test_markdown_has_a_line_for_each_row_and_each_remark():
    assert GRID.markdown().splitlines() == [
        "**Accuracy in %**",
        "",
        "| encoding | a_b |",
        "|---|--:|",
        "| llpe \\| x | 1.0 ± 2 |",
        "| lpe-fk | – |",
        "",
        "* 10 splits",
    ]


def test_latex_escapes_what_latex_reads_and_writes_signs_as_commands():
    text = GRID.latex()
    assert r"encoding & a\_b \\" in text
    assert r"llpe | x & 1.0 $\pm$ 2 \\" in text
    assert text.splitlines()[0] == "% Accuracy in %"
    assert text.splitlines()[-1] == "% 10 splits"
    body = [line for line in text.splitlines() if not line.startswith("%")]
    assert all(line.isascii() for line in body)


def test_a_grid_refuses_a_row_of_another_length():
    with pytest.raises(ValueError, match="`rows` must have a text for each of 2 columns, got 1"):
        Grid("t", ["a", "b"], [["a"]])
