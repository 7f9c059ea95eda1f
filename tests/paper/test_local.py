"""Promises of accuracy by local homophily: nodes are in their fifths, and all tests are counted."""

from __future__ import annotations

import csv

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from llpe.data import NodeDataset
from llpe.paper import Context, find_study, local

GRAPHS = ("sbm:n=150,homophily=0.8", "sbm:n=150,homophily=0.2")
TINY = {"none": {"name": "none"}, "lpe-fk": {"name": "lpe-fk", "dim": 8, "k": 4}}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("local")
    trained = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "HOMOPHILOUS", GRAPHS[:1])
        patch.setattr(local, "HETEROPHILOUS", ("amazon-ratings", GRAPHS[1]))
        patch.setattr(local, "ENCODINGS", TINY)
        count = local.tested_and_right
        patch.setattr(local, "tested_and_right", lambda d, r: (trained.append((r, count(d, r))), count(d, r))[1])
        files = find_study("local-homophily").run(Context("quick", folder / "runs", folder / "out", workers=1))
    return files, trained


def test_every_test_of_every_split_is_counted(written):
    for run, (tested, right) in written[1]:
        assert tested.sum() == 3 * 30
        assert right.sum() / tested.sum() == pytest.approx(np.mean(run.scores))


def test_all_fifths_of_both_graphs_are_written_with_their_intervals(written):
    with written[0][0].open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert {row["dataset"] for row in rows} == set(GRAPHS)
    assert {row["encoding"] for row in rows} == set(TINY)
    for row in rows:
        assert float(row["low"]) <= float(row["accuracy"]) <= float(row["high"])
    assert f"{GRAPHS[1]} instead of amazon-ratings as the heterophilous graph." in written[0][1].read_text()
    names = [file.name for file in written[0]]
    assert names == [f"local-homophily.{suffix}" for suffix in ("csv", "md", "tex", "png", "pdf")]


def test_nodes_are_in_the_fifth_of_their_homophily():
    """A star: the centre has 2 of 5 neighbours of its class; leaves have all or none; one node is alone."""
    edges = torch.tensor([[0, 0, 0, 0, 0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0, 0, 0, 0, 0]])
    data = Data(x=torch.zeros(7, 1), edge_index=edges, y=torch.tensor([0, 0, 0, 1, 1, 1, 1]))
    dataset = NodeDataset("star", data, metric="accuracy", num_classes=2)
    right = np.array([1, 1, 0, 1, 1, 0, 1])
    groups = local.group_by_homophily(dataset, "none", np.ones(7, dtype=int), right)
    assert [(g.fifth, g.nodes, g.accuracy) for g in groups] == [
        ("0 – .2", 3, pytest.approx(2 / 3)),
        (".4 – .6", 1, 1.0),
        (".8 – 1", 2, 0.5),
    ]


def test_the_interval_is_that_of_a_share_and_follows_its_seed():
    right = np.repeat([0, 1], 200)
    low, high = local.bootstrap(right, np.ones(400, dtype=int))
    half = 1.96 * 0.5 / 400**0.5
    assert low == pytest.approx(0.5 - half, abs=0.01)
    assert high == pytest.approx(0.5 + half, abs=0.01)
    assert local.bootstrap(right, np.ones(400, dtype=int)) == (low, high)
    fewer = local.bootstrap(right * 5, np.full(400, 5))
    assert fewer[1] - fewer[0] == pytest.approx(high - low), "testing a node five times is not five nodes"


def test_without_a_graph_it_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(Context, "load", lambda self, name: None)
    with pytest.raises(ValueError, match="local-homophily must have a graph, got no benchmark"):
        find_study("local-homophily").run(Context("standard", tmp_path, tmp_path))
