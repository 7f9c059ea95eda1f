"""Fixtures: the program in this process, with a cache and a data root of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from llpe.cli import app

SMALL = ("epochs=8", "hidden=8", "dim=8", "order=8", "splits.count=2", "--workers", 1)


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLPE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("LLPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("LLPE_DATA_MIRROR", raising=False)


@pytest.fixture(scope="session")
def llpe() -> Callable[..., Result]:
    """Runs one command line; what every answer must keep is checked here."""

    def run(*arguments: object, code: int = 0) -> Result:
        result = CliRunner().invoke(app, [str(each) for each in arguments])
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output
        assert "\x1b" not in result.output, "colour without a terminal"
        assert not any(character in result.output for character in "│─╭╮╯╰┃━"), "boxes without a terminal"
        assert result.stderr.count("error: ") == bool(code)
        assert code != 2 or result.stdout == ""
        return result

    return run


@pytest.fixture(scope="session")
def answer(llpe) -> Callable[..., Any]:
    """The JSON document that a command prints."""
    return lambda *arguments: json.loads(llpe(*arguments, "--json").stdout)


@pytest.fixture(scope="session")
def trained(answer, tmp_path_factory) -> dict[str, Any]:
    """What training on ``sbm:n=80`` answers; its run folder is for reading only."""
    folder = tmp_path_factory.mktemp("trained")
    return answer("train", "--dataset", "sbm:n=80", "--encoding", "llpe", *SMALL, "--runs", folder)


@pytest.fixture
def star(tmp_path: Path) -> Path:
    """A star of six nodes, whose eigenvalues are 0, 1, 1, 1, 1, 2."""
    path = tmp_path / "star.npz"
    np.savez(path, x=np.eye(6), y=[0, 1, 1, 1, 1, -1], edges=[[0, i] for i in range(1, 6)])
    return path
