"""Contexts of studies: a small one that trains, and one that trains nothing."""

from dataclasses import dataclass, field, replace

import pytest

from llpe.data import load_graph
from llpe.lab import resolve
from llpe.paper import Context
from llpe.runs import RunFolder


@dataclass(frozen=True)
class Untrained(Context):
    """Keeps the configs it should train, and answers each with scores of 0.5 and 0.6.

    A benchmark is a graph of 60 nodes with its name, or is missing.
    """

    benchmarks: bool = True
    asked: list = field(default_factory=list)
    said: list = field(default_factory=list)

    def load(self, name):
        if name.startswith(("sbm:", "pa:")):
            return load_graph(name)
        return replace(load_graph("sbm:n=60"), name=name) if self.benchmarks else None

    def train(self, dataset, raw):
        resolve(raw)
        self.asked.append(raw)
        run = RunFolder(self.runs, raw)
        reports = {i: {"split": i, "status": "done", "test": score} for i, score in enumerate((0.5, 0.6))}
        vars(run)["splits"] = reports  # as if they had been read
        return run


@pytest.fixture
def untrained(tmp_path):
    def make(budget="quick", *, benchmarks=True):
        said = []
        folders = (tmp_path / "runs", tmp_path / "out")
        return Untrained(budget, *folders, workers=1, say=said.append, benchmarks=benchmarks, said=said)

    return make


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    return Context("quick", folder / "runs", folder / "out", workers=1)
