"""The converter merges edges as ``Graph`` does, from any of its formats, and leaves nothing behind where it fails."""

from __future__ import annotations

import re
from unittest.mock import Mock

import duckdb
import numpy as np
import pandas as pd
import pytest
import torch
from torch_geometric.data import Data

from llpe import Graph
from llpe.data import convert as module
from llpe.data.convert import convert
from llpe.graph import TINY, tiny


def write(path, edge_index, weight=None):
    """The edges in the format that the ending says."""
    table = {"source": edge_index[0], "target": edge_index[1]} | ({} if weight is None else {"weight": weight})
    if path.suffix == ".csv":
        pd.DataFrame(table).to_csv(path, index=False)
    elif path.suffix == ".parquet":
        duckdb.from_df(pd.DataFrame(table)).write_parquet(str(path))
    else:
        np.savez_compressed(path, edge_index=edge_index, **({} if weight is None else {"edge_weight": weight}))
    return path


def random_edges(weighted):
    """Edges with self-loops, duplicates, both directions and, in eighths, weights of which some are 0."""
    rng = np.random.default_rng(0)
    edge_index = rng.integers(0, 300, (2, 9000))
    return edge_index, rng.integers(0, 9, 9000) / 8 if weighted else None


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".npz"])
def test_edges_are_merged_as_in_memory_and_the_changes_said(tmp_path, monkeypatch, ending, weighted):
    monkeypatch.setattr(module, "ROWS", 2048)
    edge_index, weight = random_edges(weighted)
    folder = convert(write(tmp_path / f"edges{ending}", edge_index, weight), tmp_path / "graph", num_nodes=310)
    data = Data(edge_index=torch.from_numpy(edge_index), num_nodes=310)
    if weighted:
        data.edge_weight = torch.from_numpy(weight)
    graph = Graph.from_data(data, warn=False)
    folder.check()
    assert folder.changes == graph.changes
    assert len(folder.changes) == (5 if weighted else 3)
    assert folder.fingerprint == graph.fingerprint
    assert {path.name for path in tmp_path.iterdir()} == {f"edges{ending}", "graph"}


@pytest.mark.parametrize("name", TINY)
def test_tiny_graphs_become_the_same_view(tmp_path, name):
    data = tiny(name)
    np.savez(tmp_path / "edges.npz", edges=data.edge_index.t().contiguous().numpy())
    folder = convert(tmp_path / "edges.npz", tmp_path / "graph", num_nodes=data.num_nodes)
    graph = Graph.from_data(data, warn=False)
    folder.check()
    assert (folder.changes, folder.fingerprint) == (graph.changes, graph.fingerprint)


def test_features_classes_and_masks_are_taken_over(tmp_path):
    parts = {"x": np.random.default_rng(0).normal(size=(4, 3)), "y": [0, 1, -1, 1], "train_mask": np.eye(4) > 0}
    np.savez(tmp_path / "nodes.npz", **parts, other=np.ones(7))
    edges = write(tmp_path / "edges.csv", np.array([[0], [1]]))
    data = convert(edges, tmp_path / "graph", nodes=tmp_path / "nodes.npz").to_data()
    assert torch.equal(data.x, torch.from_numpy(parts["x"]).float())
    assert data.y.tolist() == [0, 1, -1, 1]
    assert torch.equal(data.train_mask, torch.eye(4).bool())
    assert data.num_nodes == 4


def csv(text):
    return lambda place: (place / "edges.csv").write_text(text)


def npz(**arrays):
    return lambda place: np.savez(place / "edges.npz", **arrays)


EDGE = np.array([[0], [1]])
WRONG = {
    "must be a file that ends in .csv, .parquet, .npz": (csv("source,target\n0,1\n"), {"edges": "edges.txt"}),
    "must have the columns source and target, got from, to": (csv("from,to\n0,1\n"), {}),
    "must fit a table of edges": (csv("source,target\n0,1\n1,a\n"), {}),
    "must have a source and a target each, got 1 without": (csv("source,target\n0,1\n1,\n"), {}),
    "must name nodes 0, 1, …, got -3": (csv("source,target\n0,-3\n"), {}),
    "must name nodes 0 … 1, got an edge to node 5": (csv("source,target\n0,5\n"), {"num_nodes": 2}),
    "must be a number from 1e-150 to 1e150, or 0, got -1": (csv("source,target,weight\n0,1,-1\n"), {}),
    "or 0, got inf": (csv("source,target,weight\n0,1,inf\n"), {}),
    "got no edges and no number": (npz(edge_index=np.zeros((2, 0), dtype=int)), {}),
    "must hold `edge_index` [2, num_edges]": (npz(edge_index=np.zeros((3, 2), dtype=int)), {}),
    "must be integer node numbers, got float64": (npz(edge_index=EDGE / 2), {}),
    "must have 1 numbers, got [2]": (npz(edge_index=EDGE, edge_weight=[1.0, 2.0]), {}),
    "must be as many in all parts, got": (npz(edge_index=EDGE, x=np.eye(2), y=[0, 1, 1]), {}),
    "must be numbers [num_nodes, num_features], integer classes": (npz(edge_index=EDGE, y=[0.5, 1.0]), {}),
    "`x` must be finite": (npz(edge_index=EDGE, x=[[1.0], [np.nan]]), {}),
    "must be stored by rows": (npz(edge_index=np.asfortranarray(np.zeros((2, 3), dtype=int))), {}),
    "must hold numbers, got objects": (npz(edge_index=np.array([None])), {}),
    "must be a numpy .npz archive": (lambda place: (place / "edges.npz").write_text("no"), {}),
    "`memory` must be at least 0.8 GB, got 0.1 GB": (npz(edge_index=EDGE), {"memory": 10**8}),
    "`out` must be in an existing folder": (npz(edge_index=EDGE), {"out": "no/graph"}),
    "`out` must be a new folder": (npz(edge_index=EDGE), {"out": "."}),
    "`nodes` must be an .npz file": (npz(edge_index=EDGE), {"nodes": "nodes.csv"}),
}


@pytest.mark.parametrize("says", WRONG)
def test_bad_input_is_refused_and_leaves_nothing(tmp_path, monkeypatch, says):
    make, options = WRONG[says]
    make(tmp_path)
    before = list(tmp_path.iterdir())
    monkeypatch.chdir(tmp_path)
    edges, out = options.pop("edges", before[0].name), options.pop("out", "graph")
    with pytest.raises(ValueError, match=re.escape(says)):
        convert(edges, out, **options)
    assert list(tmp_path.iterdir()) == before


def test_an_interrupted_conversion_leaves_nothing(tmp_path):
    edges, steps = write(tmp_path / "edges.npz", EDGE), Mock(side_effect=[None, None, KeyboardInterrupt])
    with pytest.raises(KeyboardInterrupt):
        convert(edges, tmp_path / "graph", on_step=steps)
    steps.assert_called_with("sorting entries")
    assert list(tmp_path.iterdir()) == [edges]


def test_what_to_install_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr("llpe.extra._installed", lambda name: name not in ("duckdb", "pandas"))
    with pytest.raises(ModuleNotFoundError, match=r"needs the extra `big`, got no duckdb.*llpe\[big\]"):
        convert(write(tmp_path / "edges.npz", EDGE), tmp_path / "graph")
