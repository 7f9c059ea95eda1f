"""Promises of ``llpe reproduce`` and ``llpe verify``: what they name, print, write and refuse."""

from __future__ import annotations

import re

import pandas as pd
import pytest

import llpe.paper.theory as theory
from llpe.paper import STUDIES, studies
from llpe.paper.theory.base import Check, Claim, Panel, curve

PANEL = Panel("panel", "x", "y", (curve("line", [1, 2], [1, 2]),))


@pytest.fixture
def counting(monkeypatch):
    """A study that counts to three."""

    def run(name, settings, context):
        context.say("three numbers instead of all")
        numbers = list(context.track([1, 2, 3], "Counting", str))
        return [
            context.write_csv(name, pd.DataFrame({"number": numbers})),
            context.write_text(f"{name}.md", f"**{context.budget}: {numbers}**\n"),
        ]

    monkeypatch.setattr(studies, "signs", run)


def test_help_names_every_study(llpe):
    listing = llpe("reproduce", "--help").stdout.partition("Tables:")[2].partition("Budgets:")[0]
    assert set(STUDIES) <= set(re.findall(r"[a-z-]+", listing))


def test_a_study_says_what_is_smaller_and_prints_and_writes_its_tables(llpe, answer, counting, tmp_path):
    line = ["reproduce", "signs", "--output", tmp_path / "out", "--runs", tmp_path / "runs"]
    result = llpe(*line, "--budget", "quick")
    assert "three numbers instead of all" in result.stderr
    assert "How much the arbitrary signs of eigenvectors matter; budget quick: " in result.stderr
    assert "**quick: [1, 2, 3]**" in result.stdout
    files = [tmp_path / "out" / "signs.csv", tmp_path / "out" / "signs.md"]
    assert f"wrote {files[0]}" in result.stdout
    assert files[0].read_text().split() == ["number", "1", "2", "3"]
    assert answer(*line) == {"name": "signs", "budget": "standard", "files": list(map(str, files))}


def a_check(name, measured, printed=""):
    return lambda seed: Check(name, f"{name} with seed {seed}", (Claim("share", measured, "≤", 1),), printed, (PANEL,))


@pytest.fixture
def good(monkeypatch):
    table = {"theorem-a": a_check("theorem-a", 0.5), "theorem-b": a_check("theorem-b", 0.25, "printed wrongly")}
    monkeypatch.setattr(theory, "CHECKS", table)


def test_each_statement_has_a_line_and_corrections_are_shown(llpe, good):
    result = llpe("verify")
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["statement", "what", "was", "measured", "measured", "bound", "verdict"]
    assert lines[1].split() == ["theorem-a", "share", "0.5", "≤", "1", "holds"]
    assert lines[2].split() == ["theorem-b", "share", "0.25", "≤", "1", "holds,", "corrected"]
    assert "theorem-b  printed wrongly" in result.stdout
    assert "verify: done" in result.stderr


def test_verify_gives_json_and_figures(answer, good, tmp_path):
    document = answer("verify", "--seed", 3, "-o", tmp_path / "figures")
    assert [row["name"] for row in document["statements"]] == ["theorem-a", "theorem-b"]
    assert document["statements"][0]["statement"] == "theorem-a with seed 3"
    assert document["statements"][0]["claims"][0]["measured"] == 0.5
    assert [path.name for path in sorted((tmp_path / "figures").iterdir())] == ["theorem-a.png", "theorem-b.png"]
    assert len(document["figures"]) == 2


def test_exit_code_1_names_what_does_not_hold_and_the_table_is_still_printed(llpe, monkeypatch):
    monkeypatch.setattr(theory, "CHECKS", {"good": a_check("good", 0.5), "bad": a_check("bad", 1.5)})
    result = llpe("verify", code=1)
    assert "does not hold" in result.stdout
    assert result.stderr.endswith("error: 1 of 2 statements do not hold: bad.\n")


def test_a_file_in_place_of_the_folder_is_refused_before_anything_is_computed(llpe, tmp_path, monkeypatch):
    monkeypatch.setattr(theory, "CHECKS", {"never": lambda seed: pytest.fail("computed")})
    (tmp_path / "file").touch()
    assert "`output` must be a folder" in llpe("verify", "-o", tmp_path / "file", code=2).stderr
