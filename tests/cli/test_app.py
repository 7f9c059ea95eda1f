"""Promises of the program itself: exit codes, errors in words, notes, help."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import llpe as package
from llpe.cli import app
from llpe.cli.app import Program
from llpe.data import DownloadError
from llpe.graph import GraphWarning
from llpe.storage import SpectrumError

NAMES = [command.name or command.callback.__name__ for command in app.registered_commands]


def invoke(action, *arguments):
    """Runs a program with the one command ``act``; an exception as action is raised by it."""

    def act() -> None:
        if isinstance(action, BaseException):
            raise action
        action()

    program = typer.Typer(cls=Program, rich_markup_mode=None)
    program.callback()(lambda: None)
    program.command("act")(act)
    return CliRunner().invoke(program, arguments or ["act"])


def test_no_command_shows_the_help_which_names_every_command_in_full(llpe):
    assert llpe("--version").stdout == f"llpe {package.__version__}\n"
    text = llpe("--help").stdout
    assert llpe().stdout.rstrip() == text.rstrip()
    assert "Examples:\n    llpe list" in text
    listed = re.findall(r"^  ([a-z]+)  +[A-Z].*\.$", text.partition("Commands:")[2], flags=re.MULTILINE)
    assert listed == NAMES
    assert "..." not in text.partition("Commands:")[2], "a description that is cut off"


@pytest.mark.parametrize("name", NAMES)
def test_help_of_every_command_has_an_example(llpe, name):
    assert f"Examples:\n    llpe {name}" in llpe(name, "--help").stdout


def test_the_page_shows_commands_that_exist():
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()
    shown = set(re.findall(r"^\$ llpe (\S+)", page, flags=re.MULTILINE))
    assert {"list", "spectrum", "encode", "table", "cache", "train"} <= shown <= set(NAMES)
    assert set(re.findall(r"^## `llpe (\w+)", page, flags=re.MULTILINE)) <= set(NAMES)


def test_help_imports_nothing_heavy(run_python):
    run_python("""
import sys
from llpe.cli import app
try:
    app(["--help"])
except SystemExit as end:
    assert not end.code
heavy = {"torch", "numpy", "scipy", "matplotlib", "pydantic", "rich.console", "llpe.data", "llpe.lab"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
""")


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (ValueError("`k` must be odd, got 2."), 2, "error: `k` must be odd, got 2.\n"),
        (ValueError("first\n\n  second\n"), 2, "error: first\n  second\n"),
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
        (ValueError(), 2, "error: ValueError\n"),
        (KeyboardInterrupt(), 130, "error: interrupted.\n"),
        (typer.Abort(), 130, "error: interrupted.\n"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_errors_are_one_paragraph_and_the_right_exit_code(error, code, says):
    result = invoke(error)
    assert (result.exit_code, result.stdout) == (code, "")
    assert says in result.stderr
    assert "Traceback" not in result.stderr
    assert "\n\n" not in result.stderr
    assert result.stderr.endswith("\n")


@pytest.mark.parametrize("arguments", [["--debug", "act"], ["act", "--debug"]])
def test_debug_shows_the_traceback_wherever_it_stands(arguments):
    result = invoke(KeyError("x"), *arguments)
    assert result.exit_code == 1
    assert "Traceback (most recent call last)" in result.stderr
    assert result.stderr.endswith("error: KeyError: 'x'.\n")
    assert invoke(KeyboardInterrupt(), *arguments).stderr == "error: interrupted.\n"


def test_debug_after_two_dashes_is_an_argument(llpe):
    assert "got '--debug'" in llpe("spectrum", "--", "--debug", code=2).stderr


def test_exit_codes_of_commands_are_kept():
    assert invoke(typer.Exit(3)).exit_code == 3
    assert invoke(lambda: None).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["lisst"], "No such command 'lisst'. Did you mean 'list'? See `llpe --help`."),
        (["check"], "No such command 'check'"),
        (["cache", "--foo"], "No such option: --foo. See `llpe cache --help`."),
        (["spectrum"], "Missing argument 'GRAPH'. See `llpe spectrum --help`."),
        (["encode", "sbm:n=20"], "Missing option"),
        (["spectrum", "sbm:n=20", "--order", "many"], "--order"),
        (["cache", "extra"], "unexpected extra argument"),
    ],
)
def test_usage_errors_point_to_the_help(llpe, arguments, says):
    result = llpe(*arguments, code=2)
    assert says in result.stderr
    assert "--help`." in result.stderr


def test_warnings_of_the_library_are_notes_and_shown_once():
    def act() -> None:
        for _ in range(2):
            warnings.warn("dropped 3 self-loops.", GraphWarning, stacklevel=1)
            warnings.warn("somebody else's", DeprecationWarning, stacklevel=1)

    assert invoke(act).stderr == "note: dropped 3 self-loops.\n"
    assert "DeprecationWarning: somebody else's" in invoke(act, "act", "--debug").stderr


def test_a_reader_who_leaves_early_is_no_error():
    arguments = [sys.executable, "-m", "llpe.cli", "--help"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1


def test_closed_streams_are_no_error():
    command = f"{sys.executable} -m llpe.cli list encodings"
    assert subprocess.run(f"{command} >&-", shell=True, stderr=subprocess.PIPE, check=True).stderr == b""
    assert subprocess.run(f"{command} 2>&- <&-", shell=True, stdout=subprocess.PIPE, check=True).stdout


@pytest.mark.parametrize("seconds", [0.1, 0.2, 0.4])
def test_ctrl_c_while_the_program_is_loaded_shows_no_traceback(seconds):
    code = (
        f"import os, signal, threading; threading.Timer({seconds}, os.kill, (os.getpid(), signal.SIGINT)).start(); "
        "from llpe.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code, "list"], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in (0, 130)


def test_the_program_runs_as_a_process_and_what_ascii_lacks_is_a_question_mark():
    command, environment = [sys.executable, "-m", "llpe.cli", "spectrum", "sbm:n=50"], {"PYTHONIOENCODING": "ascii"}
    printed = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment, check=True).stdout
    assert printed.startswith("graph         sbm:n=50: 50 nodes")
    assert "1 ? eigenvalue 0" in printed
