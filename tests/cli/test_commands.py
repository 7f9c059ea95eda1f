"""Promises of the program itself: exit codes, errors in words, notes, help."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import llpe as package
from llpe.cli import app
from llpe.cli.commands import Commands, describe, exit_code, split_debug
from llpe.data import DownloadError
from llpe.graph import GraphWarning
from llpe.storage import SpectrumError

NAMES = [command.name or command.callback.__name__ for command in app.registered_commands]


def command_that(action):
    """A program with the one command ``act``."""
    program = typer.Typer(cls=Commands, rich_markup_mode=None)
    program.callback()(lambda: None)
    program.command("act")(action)
    return program


def failing(error):
    def act() -> None:
        raise error

    return command_that(act)


def python(*arguments, **options):
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, env=environment, **options
    )


def test_version_is_the_packages(llpe):
    assert llpe("--version").stdout == f"llpe {package.__version__}\n"


def test_no_command_shows_the_help(llpe):
    result = llpe()
    assert result.exit_code == 0
    assert result.stdout.rstrip() == llpe("--help").stdout.rstrip()


def test_help_names_every_command_and_has_an_example(llpe):
    text = llpe("--help").stdout
    assert "Examples:\n    llpe list" in text
    for name in ("list", "spectrum", "encode", "cache", "table"):
        assert f"\n  {name} " in text


@pytest.mark.parametrize("name", NAMES)
def test_help_of_every_command_has_an_example(llpe, name):
    result = llpe(name, "--help")
    assert result.exit_code == 0
    assert f"Examples:\n    llpe {name}" in result.stdout


def test_the_page_shows_commands_that_there_are():
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()
    shown = set(re.findall(r"^\$ llpe (\S+)", page, flags=re.MULTILINE))
    assert {"list", "spectrum", "encode", "table", "cache"} <= shown <= set(NAMES)


def test_help_brings_nothing_heavy():
    code = """
import sys
from llpe.cli import app
try:
    app(["--help"])
except SystemExit as end:
    assert not end.code
heavy = {"torch", "numpy", "scipy", "matplotlib", "pydantic", "rich.console", "llpe.data", "llpe.lab"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""
    done = python("-c", code)
    assert done.returncode == 0, done.stderr


def test_help_answers_at_once():
    def seconds():
        begin = time.perf_counter()
        assert python("-m", "llpe.cli", "--help").returncode == 0
        return time.perf_counter() - begin

    assert min(seconds() for _ in range(5)) < 0.6  # 0.2 on an idle machine; the tests share theirs


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (ValueError("`k` must be odd, got 2."), 2, "error: `k` must be odd, got 2.\n"),
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "a.npz"), 2, "directory: a.npz.\n"),
        (SpectrumError("did not converge."), 1, "error: did not converge.\n"),
        (DownloadError("no network."), 1, "error: no network.\n"),
        (OSError(errno.ENOSPC, "No space left on device", "runs/x"), 1, "device: runs/x. Free some space"),
        (OSError("odd"), 1, "error: OSError: odd. Run the same command with --debug"),
        (PermissionError(errno.EACCES, "Permission denied"), 1, "error: Permission denied.\n"),
        (MemoryError(), 1, "error: out of memory: an allocation failed. Use a smaller graph"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: 8 GB.\nmore"), 1, "out of memory: DefaultCPU"),
        (np.linalg.LinAlgError("Singular matrix"), 1, "error: Singular matrix"),
        (KeyError("x"), 1, "error: KeyError: 'x'. Run the same command with --debug to see where."),
        (ZeroDivisionError(), 1, "error: ZeroDivisionError: no message."),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_errors_are_one_paragraph_and_the_right_exit_code(error, code, says):
    result = CliRunner().invoke(failing(error), ["act"])
    assert result.exit_code == code
    assert result.stdout == ""
    assert says in result.stderr
    assert "Traceback" not in result.stderr
    assert "\n\n" not in result.stderr
    assert result.stderr.endswith("\n")


def test_many_problems_stay_on_their_lines():
    result = CliRunner().invoke(failing(ValueError("first\n\n  second\n")), ["act"])
    assert result.stderr == "error: first\n  second\n"


@pytest.mark.parametrize("arguments", [["--debug", "act"], ["act", "--debug"]])
def test_debug_shows_the_traceback_wherever_it_stands(arguments):
    result = CliRunner().invoke(failing(KeyError("x")), arguments)
    assert result.exit_code == 1
    assert "Traceback (most recent call last)" in result.stderr
    assert result.stderr.endswith("error: KeyError: 'x'.\n")


def test_debug_after_two_dashes_is_an_argument():
    assert split_debug(["a", "--debug", "--", "--debug"]) == (["a", "--", "--debug"], True)
    assert split_debug(["a", "--", "--debug"]) == (["a", "--", "--debug"], False)


def test_interruption_is_130_without_a_traceback():
    for arguments in (["act"], ["act", "--debug"]):
        result = CliRunner().invoke(failing(KeyboardInterrupt()), arguments)
        assert (result.exit_code, result.stderr) == (130, "error: interrupted.\n")
    assert exit_code(typer.Abort()) == exit_code(KeyboardInterrupt()) == 130


def test_exit_codes_of_commands_are_kept():
    assert CliRunner().invoke(failing(typer.Exit(3)), ["act"]).exit_code == 3
    assert CliRunner().invoke(command_that(lambda: None), ["act"]).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["lisst"], "No such command 'lisst'. Did you mean 'list'? See `llpe --help`."),
        (["cache", "--foo"], "No such option: --foo See `llpe cache --help`."),
        (["spectrum"], "Missing argument 'GRAPH'. See `llpe spectrum --help`."),
        (["encode", "sbm:n=20"], "Missing option"),
        (["spectrum", "sbm:n=20", "--order", "many"], "--order"),
        (["cache", "extra"], "unexpected extra argument"),
    ],
)
def test_usage_errors_point_to_the_help(llpe, arguments, says):
    result = llpe(*arguments)
    assert result.exit_code == 2
    assert says.replace("foo See", "foo. See") in result.stderr
    assert "--help`." in result.stderr


def test_warnings_of_the_library_are_notes_and_said_once():
    def act() -> None:
        for _ in range(2):
            warnings.warn("dropped 3 self-loops.", GraphWarning, stacklevel=1)
            warnings.warn("somebody else's", DeprecationWarning, stacklevel=1)

    assert CliRunner().invoke(command_that(act), ["act"]).stderr == "note: dropped 3 self-loops.\n"
    assert "DeprecationWarning: somebody else's" in CliRunner().invoke(command_that(act), ["act", "--debug"]).stderr


def test_other_callers_may_catch_the_errors_themselves():
    program = typer.main.get_command(failing(ValueError("mine")))
    with pytest.raises(ValueError, match="mine"):
        program.main(["act"], standalone_mode=False)


def test_describe_knows_errors_without_words():
    assert describe(ValueError()) == "ValueError"
    assert describe(KeyError("x"), debug=True) == "KeyError: 'x'."


def test_a_reader_who_leaves_early_is_no_error():
    arguments = [sys.executable, "-m", "llpe.cli", "--help"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1


def test_the_program_runs_as_a_process(tmp_path):
    done = python("-m", "llpe.cli", "spectrum", "sbm:n=50", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("graph         sbm:n=50: 50 nodes")
    assert "\x1b" not in done.stdout
    done = python("-m", "llpe.cli", "spectrum", "sbm:n=ten")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: `n` in 'sbm:n=ten' must be an integer, got 'ten'.\n"
