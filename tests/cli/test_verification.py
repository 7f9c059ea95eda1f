"""``llpe verify``: a line for each statement, JSON, figures, and exit code 1 where something does not hold."""

import json

import pytest
from typer.testing import CliRunner

import llpe.paper.theory as theory
from llpe.cli import app
from llpe.paper.theory.base import Check, Claim, Panel, curve

PANEL = Panel("panel", "x", "y", (curve("line", [1, 2], [1, 2]),))


def a_check(name, measured, printed=""):
    return lambda seed: Check(name, f"{name} with seed {seed}", (Claim("share", measured, "≤", 1),), printed, (PANEL,))


@pytest.fixture
def good(monkeypatch):
    table = {"theorem-a": a_check("theorem-a", 0.5), "theorem-b": a_check("theorem-b", 0.25, "printed wrongly")}
    monkeypatch.setattr(theory, "CHECKS", table)


def test_each_statement_has_a_line_and_corrections_are_said(llpe, good):
    result = llpe("verify")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["statement", "what", "was", "measured", "measured", "bound", "verdict"]
    assert lines[1].split() == ["theorem-a", "share", "0.5", "≤", "1", "holds"]
    assert lines[2].split() == ["theorem-b", "share", "0.25", "≤", "1", "holds,", "corrected"]
    assert "theorem-b  printed wrongly" in result.stdout
    assert "verify: done" in result.stderr


def test_json_and_figures(llpe, good, tmp_path):
    result = llpe("verify", "--json", "--seed", 3, "-o", tmp_path / "figures")
    document = json.loads(result.stdout)
    assert [row["name"] for row in document["statements"]] == ["theorem-a", "theorem-b"]
    assert document["statements"][0]["statement"] == "theorem-a with seed 3"
    assert document["statements"][0]["claims"][0]["measured"] == 0.5
    assert [path.name for path in sorted((tmp_path / "figures").iterdir())] == ["theorem-a.png", "theorem-b.png"]
    assert len(document["figures"]) == 2


def test_exit_code_1_names_what_does_not_hold_and_the_table_is_still_there(monkeypatch):
    monkeypatch.setattr(theory, "CHECKS", {"good": a_check("good", 0.5), "bad": a_check("bad", 1.5)})
    result = CliRunner().invoke(app, ["verify"])
    assert result.exit_code == 1
    assert "does not hold" in result.stdout
    assert result.stderr.endswith("error: 1 of 2 statements do not hold: bad.\n")


def test_a_file_in_place_of_the_folder_is_refused_before_anything_is_computed(llpe, tmp_path, monkeypatch):
    monkeypatch.setattr(theory, "CHECKS", {"never": lambda seed: pytest.fail("computed")})
    file = tmp_path / "file"
    file.touch()
    result = llpe("verify", "-o", file)
    assert result.exit_code == 2
    assert "`output` must be a folder" in result.stderr
