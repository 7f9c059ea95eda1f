"""Promises of printing: terminals get tables and bars, files get plain text."""

from __future__ import annotations

import io
import json
import sys

import pytest

from llpe.cli import output
from llpe.cli.options import check_choice, check_new_file, parse_assignments
from llpe.cli.progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_table_is_aligned_text_in_a_file(capsys):
    output.table(["name", "n"], [["a", "10"], ["bcd", "9"]], title="All", right=[1])
    assert capsys.readouterr().out == "All\nname   n\na     10\nbcd    9\n"


def test_a_table_is_drawn_on_a_terminal(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    output.table(["name", "n"], [["[a]", "10"], ["b", "9"]], title="All [of it]", right=[1], bold={(0, 1)})
    text = screen.getvalue()
    assert "─" in text
    assert "\x1b[1m10" in text
    assert "[a]" in text, "not markup"
    assert text.startswith("All [of it]")


def test_blocks_are_folded_on_a_terminal_only(monkeypatch, capsys):
    words = "word " * 40
    output.blocks([("name", [words])])
    assert len(capsys.readouterr().out.splitlines()) == 1
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("COLUMNS", "60")
    output.blocks([("name", [words])])
    lines = screen.getvalue().splitlines()
    assert len(lines) > 1
    assert max(map(len, lines)) <= 60
    assert all(line.startswith(" " * 6) for line in lines[1:])


def test_json_has_no_number_that_json_has_not(capsys):
    output.write_json({"a": float("nan"), "b": [float("inf"), 1.5], 3: ("λ", None)})
    text = capsys.readouterr().out
    assert json.loads(text) == {"a": None, "b": [None, 1.5], "3": ["λ", None]}
    assert "λ" in text


def test_notes_and_errors_go_to_stderr(capsys):
    output.note("a")
    output.error("b\n\nc")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "note: a\nerror: b\nc\n")


def test_bars_are_blocks_where_these_can_be_shown(monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    assert output.bars([0, 1, 2], height=2) == ["  █", " ██"]
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert output.bars([0, 1, 2], height=2) == ["  #", " ##"]
    assert output.bars([0.0, 0.0], height=1) == ["  "]


def test_sizes_and_durations_are_read_at_a_glance():
    assert [output.size(x) for x in (0, 999, 1e6, 2.5e12)] == ["0 B", "999 B", "1.0 MB", "2.5 TB"]
    assert [output.duration(x) for x in (-1, 59.4, 60, 3600, 86400)] == ["0 s", "59 s", "1 min", "1 h", "1 d"]


def test_progress_in_a_file_is_a_line_now_and_then(capsys):
    with progress(every=0) as bars:
        bar = bars.add("cora split 3", total=10)
        bar.update(5, "val 0.83")
        bar.advance(2)
        bar.finish("test 0.85")
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "cora split 3: 5/10, val 0.83, 0 s left",
        "cora split 3: 7/10, 0 s left",
        "cora split 3: done, test 0.85, 0 s",
    ]


def test_progress_in_a_file_is_not_a_flood(capsys):
    with progress(every=1000) as bars:
        bar = bars.add("a", total=100)
        for step in range(100):
            bar.update(step)
    assert capsys.readouterr().err == ""


def test_progress_on_a_terminal_is_live_and_leaves_stdout_alone(monkeypatch, capsys):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with progress() as bars:
        bar = bars.add("split [3]", total=10)
        bar.update(4, "val 0.83")
        output.note("said above the bars")
        print("a result")
        bar.finish("test 0.85")
    text = screen.getvalue()
    assert "━" in text
    assert "split [3]" in text
    assert "note: said above the bars" in text
    assert "split [3]: done, test 0.85, 0 s" in text
    assert capsys.readouterr().out == "a result\n"


def test_assignments_are_typed():
    given = ["a=1", "b=-2.50", "c=1e-3", "d=TRUE", "e=false", "f=None", "g=probes", "h='1'", 'i="x y"', "j=a=b"]
    assert parse_assignments(given) == {
        "a": 1,
        "b": -2.5,
        "c": 0.001,
        "d": True,
        "e": False,
        "f": None,
        "g": "probes",
        "h": "1",
        "i": "x y",
        "j": "a=b",
    }
    assert parse_assignments(["weight-decay=0", "model.norm-eps=.5"]) == {"weight_decay": 0, "model.norm_eps": 0.5}
    assert parse_assignments([]) == {}


def test_all_bad_assignments_are_told_at_once():
    with pytest.raises(ValueError, match="must be key=value") as error:
        parse_assignments(["k", "=3", "k=", "1k=2", "good=1", "good=2"])
    lines = str(error.value).splitlines()
    assert len(lines) == 5
    assert lines[0] == "options must be key=value, as in k=8, got 'k'."
    assert lines[-1] == "`good` must be given once, got it again as 'good=2'."


def test_choices_are_listed():
    with pytest.raises(ValueError, match="`format` must be one of a, b, got 'c'"):
        check_choice("format", "c", ("a", "b"))


def test_files_that_cannot_be_written_are_refused_early(tmp_path):
    (tmp_path / "there.npz").touch()
    (tmp_path / "folder.npz").mkdir()
    for name, says in (
        ("a.txt", r"must end in one of \.npz, \.pt, got"),
        ("folder.npz", "must be a file, got the folder"),
        ("no/a.npz", "must be in an existing folder"),
        ("there.npz", "which is there. Add --force"),
    ):
        with pytest.raises(ValueError, match=says):
            check_new_file("output", tmp_path / name, (".npz", ".pt"), replace=False)
    check_new_file("output", tmp_path / "there.npz", (".npz",), replace=True)
