"""Promises of ``llpe reproduce``: what it names, says, writes and refuses."""

from __future__ import annotations

import json
import re

import pytest

from llpe import paper
from llpe.paper import MODULES
from llpe.paper.base import Study


@pytest.fixture
def counting(monkeypatch):
    """A study that counts to three."""

    def run(context):
        context.say("three numbers instead of all")
        numbers = list(context.track([1, 2, 3], "Counting", str))
        return [
            context.write_csv("counting", [{"number": number} for number in numbers]),
            context.write_text("counting.md", f"**{context.budget}: {numbers}**\n"),
        ]

    monkeypatch.setattr(paper, "find_study", lambda name: Study(name, "Counting", run))


def test_help_names_every_study(llpe):
    listing = llpe("reproduce", "--help").stdout.partition("Tables:")[2].partition("Budgets:")[0]
    assert set(MODULES) <= set(re.findall(r"[a-z-]+", listing))


def test_a_study_says_what_is_smaller_and_prints_and_writes_its_tables(llpe, counting, tmp_path):
    result = llpe(
        "reproduce", "counting", "--budget", "quick", "--output", tmp_path / "out", "--runs", tmp_path / "runs"
    )
    assert result.exit_code == 0
    assert "three numbers instead of all" in result.stderr
    assert "Counting; budget quick: " in result.stderr
    assert "**quick: [1, 2, 3]**" in result.stdout
    assert f"wrote {tmp_path / 'out' / 'counting.csv'}" in result.stdout
    assert (tmp_path / "out" / "counting.csv").read_text().split() == ["number", "1", "2", "3"]


def test_json_is_one_document(llpe, counting, tmp_path):
    result = llpe("reproduce", "counting", "--output", tmp_path, "--runs", tmp_path / "runs", "--json")
    files = [str(tmp_path / "counting.csv"), str(tmp_path / "counting.md")]
    assert json.loads(result.stdout) == {"name": "counting", "budget": "standard", "files": files}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["table-1"], "`name` must be one of table-small, "),
        (["sbm", "--budget", "fast"], "budget` must be one of quick, standard, paper, got 'fast'"),
    ],
)
def test_what_is_not_there_is_refused_with_what_is(llpe, arguments, words):
    result = llpe("reproduce", *arguments)
    assert result.exit_code
    assert words in result.stderr
