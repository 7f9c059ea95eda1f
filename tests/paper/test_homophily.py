"""Promises of the sweeps over homophily: the paper's picture, on a small scale, from the files they write."""

from __future__ import annotations

import csv
from importlib import import_module

import pytest

from llpe.data import parse_spec
from llpe.lab import resolve
from llpe.paper import BUDGETS, Context, find_study
from llpe.paper.homophily import Panel, Sweep, attachment_sweep, block_sweep, encodings, run_sweep

TINY = Sweep(
    panels=(Panel("two blocks", "sbm:n=160,degree=16,homophily={}", 2),),
    homophilies=(0.0, 1.0),
    encodings={
        name: option
        for name, option in encodings(dim=16, k=4, probes=8).items()
        if name in ("none", "lpe-fk", "lpe-lk", "llpe", "llpe-probes")
    },
    model={"name": "mlp", "hidden": 16},
    training={"lr": 0.05, "epochs": 120, "patience": 120},
    splits=2,
    differs=("All of it is smaller.",),
)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep")
    said: list[str] = []
    context = Context("quick", folder / "runs", folder / "out", workers=1, say=said.append)
    files = run_sweep("tiny", "Tiny blocks", lambda budget: TINY, context)
    return context, files, said


def accuracies(file):
    with file.open(newline="") as lines:
        return {(row["encoding"], float(row["homophily"])): float(row["mean"]) for row in csv.DictReader(lines)}


def test_first_eigenvectors_help_where_neighbours_agree_last_where_they_differ_llpe_at_both(written):
    found = accuracies(written[1][0])
    good, poor = 0.85, 0.78
    assert found["lpe-fk", 1.0] > good
    assert found["lpe-fk", 0.0] < poor
    assert found["lpe-lk", 0.0] > good
    assert found["lpe-lk", 1.0] < poor
    for homophily in (0.0, 1.0):
        assert found["none", homophily] < poor
        assert found["llpe", homophily] > good
        assert found["llpe-probes", homophily] > good


def test_a_sweep_leaves_numbers_tables_and_figures_and_says_what_is_smaller(written):
    _, files, said = written
    assert [file.name for file in files] == ["tiny.csv", "tiny.md", "tiny.tex", "tiny.png", "tiny.pdf"]
    assert said == ["All of it is smaller."]
    assert "| lpe-fk |" in files[1].read_text()
    assert "over 2 splits" in files[1].read_text()
    assert r"\begin{tabular}{lrr}" in files[2].read_text()


def test_a_sweep_that_is_run_again_trains_nothing_and_writes_the_same(written, monkeypatch):
    context, files, _ = written
    before = [file.read_bytes() for file in files]

    def refuse(*args, **options):
        raise AssertionError("trained anew")

    monkeypatch.setattr(import_module("llpe.lab.fit"), "train_split", refuse)
    again = run_sweep("tiny", "Tiny blocks", lambda budget: TINY, context)
    assert [file.read_bytes() for file in again] == before


@pytest.mark.parametrize("plan", [block_sweep, attachment_sweep])
@pytest.mark.parametrize("budget", BUDGETS)
def test_every_config_of_every_budget_is_valid(plan, budget):
    sweep = plan(budget)
    rest = {"model": sweep.model, "training": sweep.training, "splits": {"count": sweep.splits}}
    for panel in sweep.panels:
        for homophily in sweep.homophilies:
            made = parse_spec(panel.spec.format(homophily)).keywords
            assert made["homophily"] == homophily
        for option in sweep.encodings.values():
            resolve({"dataset": panel.spec.format(0.0), "encoding": option, **rest})


def test_standard_and_paper_have_the_papers_graphs_model_and_splits():
    for budget in ("standard", "paper"):
        two, five = (parse_spec(panel.spec.format(0.0)).keywords for panel in block_sweep(budget).panels)
        assert two == {"n": 2000, "homophily": 0.0}
        assert five == {"n": 5000, "blocks": 5, "homophily": 0.0}
        assert set(block_sweep(budget).homophilies) >= {0.0, 0.2, 0.4, 0.6, 0.8, 1.0}
        assert block_sweep(budget).model["name"] == "gt"
        assert block_sweep(budget).splits == 10
        assert set(attachment_sweep(budget).encodings) == {"none", "lpe-flk", "llpe", "llpe-probes"}


def test_both_are_found_by_name():
    assert find_study("sbm").name == "sbm"
    assert find_study("preferential-attachment").name == "preferential-attachment"
