"""Fixtures: the folder of real raw files, where there is one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def mirror() -> Path:
    """Raw files in the layout PyG expects: ``LLPE_DATA_MIRROR``, or shared/data beside the checkout."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    folder = Path(os.environ.get("LLPE_DATA_MIRROR") or beside)
    if not folder.is_dir():
        pytest.skip("no real data: set LLPE_DATA_MIRROR to a folder of raw files")
    return folder


@pytest.fixture(autouse=True)
def _own_data_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the user's data root, nor copies from a mirror it did not ask for."""
    monkeypatch.setenv("LLPE_DATA", str(tmp_path / "root"))
    monkeypatch.delenv("LLPE_DATA_MIRROR", raising=False)
