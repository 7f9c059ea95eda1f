"""Promises of accuracy by local homophily: nodes are in their fifths, and all tests are counted."""

import numpy as np
import pandas as pd
import pytest
import torch

from llpe.data import load_graph
from llpe.homophily import local_homophily
from llpe.paper import local, run_study
from llpe.paper.base import config_of, settings_of

GRAPHS = ["sbm:n=150,homophily=0.8", "sbm:n=150,homophily=0.2"]
SETTINGS = settings_of("local-homophily", "quick") | {
    "graphs": [GRAPHS[:1], ["missing:graph", GRAPHS[1]]],
    "encodings": {"none": {"name": "none"}, "lpe-fk": {"name": "lpe-fk", "dim": 8, "k": 4}},
    "draws": 200,
}


class Here(local.Context):
    def load(self, name):
        return None if name == "missing:graph" else super().load(name)


def test_all_fifths_of_both_graphs_are_written_with_their_intervals(context):
    files = run_study("local-homophily", Here(**vars(context)), SETTINGS)
    assert [file.name for file in files] == [f"local-homophily.{end}" for end in ("csv", "md", "tex", "png", "pdf")]
    rows = pd.read_csv(files[0])
    assert set(rows.dataset) == set(GRAPHS)
    assert set(rows.encoding) == set(SETTINGS["encodings"])
    assert ((rows.low <= rows.accuracy) & (rows.accuracy <= rows.high)).all()
    assert f"{GRAPHS[1]} instead of missing:graph as the heterophilous graph." in files[1].read_text()


def test_every_test_of_every_split_is_counted(context):
    dataset = load_graph(GRAPHS[0])
    run = context.train(dataset, config_of(SETTINGS, dataset.name, {"name": "none"}))
    nodes = local.count_tests(run)
    assert nodes.tested.sum() == 3 * 30
    assert nodes.right.sum() / nodes.tested.sum() == pytest.approx(np.mean(run.scores))
    known = local_homophily(dataset.data.edge_index, dataset.data.y)[nodes.index]
    assert nodes.homophily.to_numpy() == pytest.approx(known.numpy(), nan_ok=True)


def test_nodes_are_in_the_fifth_of_their_homophily():
    """A star: the centre has 2 of 5 neighbours of its class; leaves have all or none; one node is alone."""
    edges = torch.tensor([[0, 0, 0, 0, 0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0, 0, 0, 0, 0]])
    homophily = local_homophily(edges, torch.tensor([0, 0, 0, 1, 1, 1, 1]))
    nodes = pd.DataFrame({"homophily": homophily, "tested": 1, "right": [1, 1, 0, 1, 1, 0, 1]})
    groups = local.group_by_homophily(nodes, draws=10)
    assert list(groups[["fifth", "nodes", "accuracy"]].itertuples(index=False, name=None)) == [
        ("0 – .2", 3, pytest.approx(2 / 3)),
        (".4 – .6", 1, 1.0),
        (".8 – 1", 2, 0.5),
    ]


def test_the_interval_is_that_of_a_share_and_follows_its_seed():
    right, once = np.repeat([0, 1], 200), np.ones(400, dtype=int)
    low, high = local.bootstrap(right, once, draws=2000)
    half = 1.96 * 0.5 / 400**0.5
    assert (low, high) == pytest.approx((0.5 - half, 0.5 + half), abs=0.01)
    assert local.bootstrap(right, once, draws=2000) == (low, high)
    fewer = local.bootstrap(right * 5, 5 * once, draws=2000)
    assert fewer[1] - fewer[0] == pytest.approx(high - low), "testing a node five times is not five nodes"
