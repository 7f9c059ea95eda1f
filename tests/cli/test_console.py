"""Promises of printing and of parsing: terminals get tables and bars, files get plain text."""

from __future__ import annotations

import io
import json
import sys

import pytest

from llpe.cli import console
from llpe.cli.options import check_file, parse_assignments


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch):
    """Puts a terminal of 60 columns in place of a stream."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.delenv("NO_COLOR", raising=False)

    def replace(name):
        screen = Terminal()
        monkeypatch.setattr(sys, name, screen)
        return screen

    return replace


def test_a_table_is_aligned_text_in_a_file(capsys):
    console.table(["name", "n"], [["a", 10], ["bcd", "**9**"]])
    assert capsys.readouterr().out == "name   n\na     10\nbcd    9\n"


def test_a_table_is_drawn_on_a_terminal(terminal):
    screen = terminal("stdout")
    console.table(["name", "n"], [["[a]", "**10**"], ["b", "9"]])
    text = screen.getvalue()
    assert "─" in text
    assert "\x1b[1m10" in text
    assert "[a]" in text, "not markup"


def test_fields_are_folded_on_a_terminal_only(terminal, capsys):
    values = {"name": "word " * 40, "other": "one\ntwo"}
    console.fields(values)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:] == ["other  one", "       two"]
    screen = terminal("stdout")
    console.fields(values)
    lines = screen.getvalue().splitlines()
    assert len(lines) > 5
    assert max(map(len, lines)) <= 60
    assert all(line.startswith(" " * 7) for line in lines[1:-2])


def test_json_has_no_number_that_json_lacks(capsys):
    console.write_json({"a": float("nan"), "b": [float("inf"), 1.5], 3: ("λ", None)})
    text = capsys.readouterr().out
    assert json.loads(text) == {"a": None, "b": [None, 1.5], "3": ["λ", None]}
    assert "λ" in text


def test_notes_and_errors_go_to_stderr(capsys):
    console.note("a")
    console.error("b\n\nc")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "note: a\nerror: b\nc\n")


def test_progress_in_a_file_is_a_line_now_and_then(capsys, monkeypatch):
    with console.Progress() as progress:
        for step in range(100):
            progress.update("a", "", step, 100)
    assert capsys.readouterr().err == "", "not a flood"
    monkeypatch.setattr(console, "EVERY", 0)
    with console.Progress() as progress:
        progress.update("cora split 3", "val 0.83", 5, 10)
        progress.update("cora split 3", done=7)
        progress.finish("cora split 3", "test 0.85")
        progress.finish("read from disk")
    first, second, *rest = capsys.readouterr().err.splitlines()
    assert first == "cora split 3: 5/10, val 0.83"
    assert second.startswith("cora split 3: 7/10, 0:00:0")
    assert second.endswith(" left")
    assert rest == ["cora split 3: done, test 0.85, 0:00:00", "read from disk: done"]


def test_progress_on_a_terminal_is_live_and_leaves_stdout_alone(terminal, capsys):
    screen = terminal("stderr")
    with console.Progress() as progress:
        progress.update("split [3]", "val 0.83", 4, 10)
        console.note("shown above the bars")
        print("a result")
        progress.finish("split [3]", "test 0.85")
    text = screen.getvalue()
    assert "━" in text
    assert "note: shown above the bars" in text
    assert "split [3]: done, test 0.85, 0:00:00" in text
    assert capsys.readouterr().out == "a result\n"


def test_assignments_are_typed():
    given = ["a=1", "b=-2.50", "c=1e-3", "d=TRUE", "e=false", "f=None", "g=probes", "h='1'", 'i="x y"', "j=a=b", "k=.5"]
    values = [1, -2.5, 0.001, True, False, None, "probes", "1", "x y", "a=b", 0.5]
    assert parse_assignments(given) == dict(zip("abcdefghijk", values, strict=True))
    assert parse_assignments(["weight-decay=0", "model.norm-eps=.5"]) == {"weight_decay": 0, "model.norm_eps": 0.5}
    assert parse_assignments(None) == {}


def test_all_bad_assignments_are_reported_at_once():
    with pytest.raises(ValueError, match="must be key=value") as error:
        parse_assignments(["k", "=3", "k=", "1k=2", "good=1", "good=2"])
    lines = str(error.value).splitlines()
    assert len(lines) == 5
    assert lines[0] == "options must be key=value, as in k=8, got 'k'."
    assert lines[-1] == "`good` must be given once, got it again as 'good=2'."


def test_a_folder_in_place_of_a_file_is_refused(tmp_path):
    with pytest.raises(ValueError, match="must be a file, got the folder"):
        check_file("output", tmp_path, ("",), replace=True)
