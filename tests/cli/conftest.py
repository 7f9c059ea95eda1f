"""Fixtures: the program in this process, with a cache and a data root of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from llpe.cli import app


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLPE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("LLPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("LLPE_DATA_MIRROR", raising=False)


@pytest.fixture
def llpe() -> Callable[..., Result]:
    """Runs one command line; what every answer must keep is checked here."""

    def run(*arguments: object) -> Result:
        result = CliRunner().invoke(app, [str(each) for each in arguments])
        assert "\x1b" not in result.output, "colour without a terminal"
        assert not any(character in result.output for character in "│─╭╮╯╰┃━"), "boxes without a terminal"
        if result.exit_code:
            assert result.stdout == ""
            assert result.stderr.count("error: ") == 1
        return result

    return run


@pytest.fixture
def star(tmp_path: Path) -> Path:
    """A star of six nodes, whose eigenvalues are 0, 1, 1, 1, 1, 2."""
    path = tmp_path / "star.npz"
    np.savez(path, x=np.eye(6), y=[0, 1, 1, 1, 1, -1], edges=[[0, i] for i in range(1, 6)])
    return path
