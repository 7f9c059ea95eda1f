"""What all tests share: a cache of their own, real graphs where there are some, and a browser where there is one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from torch_geometric.data import Data
from torch_geometric.datasets import HeterophilousGraphDataset, WebKB

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
QUIET = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
CLASSES = {"texas": WebKB, "cornell": WebKB, "tolokers": HeterophilousGraphDataset}


def pytest_configure(config: pytest.Config) -> None:
    """One temporary cache per process of a test session: for tests, doctests, and the processes they start."""
    folder = tempfile.mkdtemp(prefix="llpe-tests-")
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    os.environ["LLPE_CACHE"] = folder
    os.environ.pop("LLPE_CACHE_GB", None)


@pytest.fixture
def real_data(tmp_path: Path) -> Callable[[str], Data]:
    """Loads a real graph as PyG does, from ``LLPE_DATA_MIRROR`` or shared/data beside the checkout; else skips."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    mirror = Path(os.environ.get("LLPE_DATA_MIRROR") or beside)

    def load(name: str) -> Data:
        raw = mirror / name / "raw"
        if not raw.is_dir():
            pytest.skip(f"no raw files of {name}: set LLPE_DATA_MIRROR to a folder that has {name}/raw")
        copy = tmp_path / "real" / name / "raw"  # PyG writes beside the raw files
        copy.mkdir(parents=True)
        for file in raw.iterdir():
            shutil.copyfile(file, copy / file.name)
        return CLASSES[name](str(tmp_path / "real"), name)[0]

    return load


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """The machine's Chromium or Chrome, driven by playwright; else skips."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    if BROWSER is None:
        pytest.skip("needs Chromium or Chrome on the PATH")
    with playwright.sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=BROWSER, args=QUIET)
        yield chromium
        chromium.close()


@pytest.fixture
def run_python() -> Callable[..., str]:
    """Runs code in a process of its own, with arguments and variables of the environment, and returns its output."""

    def run(code: str, *arguments: object, **environment: str) -> str:
        command = [sys.executable, "-c", code, *map(str, arguments)]
        env = os.environ | {"OMP_NUM_THREADS": "1"} | environment
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(params=["dense", "sparse"])
def dense_and_sparse(request, monkeypatch):
    """The test runs twice: as small graphs are worked on, and as large ones are."""
    if request.param == "sparse":
        for module in ("functional", "graph", "probes", "spectrum"):
            monkeypatch.setattr(f"llpe.{module}.SMALL", 0)
