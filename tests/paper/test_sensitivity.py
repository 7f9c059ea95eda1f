"""Promises of the sensitivity studies: what is trained, on which graph, and what is written."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from llpe.data import DownloadError, NodeDataset, load_graph
from llpe.paper import Context, base, find_study, sensitivity
from llpe.paper.sensitivity import INSTEAD, open_cora
from llpe.runs import RunFolder


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def context(tmp_path: Path, said: list[str]) -> Context:
    return Context("quick", tmp_path / "runs", tmp_path / "out", workers=1, say=said.append)


@pytest.fixture
def no_cora(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str, *, data_root: Path | None = None) -> NodeDataset:
        if "cora" in name:
            raise DownloadError("its files are not at hand")
        return load_graph(name)

    monkeypatch.setattr(base, "load_graph", load)


@pytest.fixture
def configs(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Nothing is trained: the configs that were asked for, each answered with 0.5 and 0.6."""
    asked: list[dict[str, Any]] = []

    def train(self: Context, dataset: NodeDataset, raw: dict[str, Any]) -> RunFolder:
        asked.append(raw)
        run = RunFolder(Path(), raw)
        run.__dict__["splits"] = {
            i: {"status": "done", "split": i, "test": score} for i, score in enumerate((0.5, 0.6))
        }
        return run

    monkeypatch.setattr(Context, "train", train)
    return asked


def read(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def test_without_cora_quick_takes_a_block_model_and_says_so(no_cora, context, said):
    assert open_cora(context).name == INSTEAD
    assert said == [
        "giant:cora is left out: its files are not at hand",
        f"{INSTEAD} is taken instead of Cora.",
    ]
    with pytest.raises(ValueError, match="the budget 'standard' must have the files of Cora"):
        open_cora(replace(context, budget="standard"))


@pytest.mark.parametrize(("name", "option"), [("order", "order"), ("ends", "k")])
def test_along_a_line_nothing_else_differs(no_cora, configs, context, name, option):
    find_study(name).run(context)
    lines: dict[str, set[int]] = {}
    for config in configs:
        encoding = dict(config["encoding"])
        lines.setdefault(str(encoding | {option: None}), set()).add(encoding.get(option, 0))
    assert len(lines) == len({str(config | {"encoding": None}) for config in configs}) + (3 if name == "order" else 2)
    assert sorted(map(len, lines.values())) == [1] + [len(max(lines.values(), key=len))] * (len(lines) - 1)


def test_more_pairs_than_there_are_are_left_out(no_cora, configs, context, said):
    find_study("ends").run(context)
    assert f"k = 512 is left out: {INSTEAD} has 500 eigenpairs in all." in said
    assert {row["k"] for row in read(context.out / "ends.csv")} == {"", "8", "64"}


def test_the_paper_budget_trains_gt_and_the_others_say_that_they_do_not(configs, monkeypatch, context, said):
    monkeypatch.setattr(sensitivity, "CORA", "sbm:n=60")
    find_study("order").run(context)
    assert {config["model"]["name"] for config in configs} == {"mlp"}
    assert any("An MLP instead of GT" in line for line in said)
    configs.clear()
    find_study("order").run(replace(context, budget="paper"))
    assert {config["model"]["name"] for config in configs} == {"gt"}
    assert {config["splits"]["count"] for config in configs} == {10}


def test_the_study_trains_and_writes_what_it_found(no_cora, monkeypatch, context):
    short = replace(sensitivity.SETTINGS["quick"], training={"epochs": 3}, splits=2)
    monkeypatch.setattr(sensitivity, "SETTINGS", {"quick": short})
    monkeypatch.setattr(sensitivity, "INSTEAD", "sbm:n=60,homophily=0.1")
    files = find_study("ends").run(context)
    assert [file.name for file in files] == ["ends.csv", "ends.md", "ends.tex", "ends.png", "ends.pdf"]
    rows = read(context.out / "ends.csv")
    assert [row["encoding"] for row in rows] == ["none", "llpe-ends, scaling=minmax", "llpe-ends"]
    assert all(row["splits"] == "2" and 0 < float(row["mean"]) <= 1 for row in rows)
    text = (context.out / "ends.md").read_text()
    assert "| encoding | k = 8 |" in text
    assert "Without an encoding:" in text
