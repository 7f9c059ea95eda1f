"""A new encoding is one file and one line: everything else finds it by its name in the table."""

import importlib.util
import json
import sys

import pytest
from typer.testing import CliRunner

from llpe.cli import app
from llpe.encodings import ENCODINGS, Named

FILE = '''
"""Degrees: P = F·Wᵀ + b, the logarithm of the degree and its powers."""

import numpy as np
import torch

from llpe.encodings.linear import LinearEncoding


class DegreePE(LinearEncoding):
    """Powers of the log-degree, projected to ``dim`` columns."""

    name, part = "degree", "powers"
    invariances, fixed_by, choices = frozenset({"sign", "basis"}), ("powers",), {"powers": [2, 4]}
    needs, keeps, cost = "the degrees", "n × powers", "edges"

    def __init__(self, dim, *, powers=3, seed=0):
        super().__init__(dim, powers, seed)
        self.powers = powers

    def compute(self, graph, cache):
        return {"powers": torch.from_numpy(np.log1p(graph.degree)[:, None] ** np.arange(1, self.powers + 1))}
'''
CONFIG = """
dataset = "sbm:n=80"
encoding = { name = "degree", dim = 4 }
model = { hidden = 4 }
training = { epochs = 3 }
splits = { count = 2 }
"""


@pytest.fixture
def new(tmp_path, monkeypatch):
    """The file in a folder of its own, and the line."""
    file = tmp_path / "degree.py"
    file.write_text(FILE)
    spec = importlib.util.spec_from_file_location("degree", file)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "degree", module)
    spec.loader.exec_module(module)
    monkeypatch.setitem(ENCODINGS, "degree", Named(module.DegreePE))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.toml").write_text(CONFIG)
    return tmp_path


def llpe(*arguments: str) -> str:
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_it_is_trained_searched_tabulated_and_drawn_without_another_change(new):
    assert "degree" in llpe("list", "encodings")
    assert json.loads(llpe("train", "config.toml", "--dry-run", "--json"))["fixed_bytes"] == 80 * 3 * 4
    llpe("train", "config.toml")
    assert len(list(new.glob("runs/*/degree+mlp/*/split-*/report.json"))) == 2
    searched = json.loads(llpe("search", "config.toml", "--trials", "2", "--json"))
    assert {trial["choice"]["powers"] for trial in searched["trials"]} <= {2, 3, 4}
    assert "degree" in llpe("table", "runs")
    llpe("report", "runs", "-o", "page.html")
    assert "degree" in (new / "page.html").read_text()
    assert llpe("encode", "sbm:n=80", "--encoding", "degree", "--dim", "4", "-o", "columns.npz")
