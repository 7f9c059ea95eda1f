"""Promises of ``llpe convert``, and of ``encode`` and ``train`` with folders."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from llpe import ProbeLLPE
from llpe.data import sbm
from llpe.features import Features
from llpe.folder import GraphFolder

OPTIONS = ("--encoding", "llpe-probes", "--dim", 16, "probes=8", "order=6")


@pytest.fixture(scope="module")
def edges(tmp_path_factory):
    """A block model, its features and classes as an ``.npz`` file."""
    path, data = tmp_path_factory.mktemp("edges") / "mine.npz", sbm(200, homophily=0.9)
    np.savez(path, edge_index=data.edge_index.numpy(), x=data.x.numpy(), y=data.y.numpy())
    return path


def test_a_graph_is_converted_and_encoded_as_in_memory(llpe, answer, edges, tmp_path):
    graph, out = tmp_path / "graph", tmp_path / "features"
    result = llpe("convert", edges, graph)
    assert result.stdout.splitlines()[0].split() == ["nodes", "200"]
    assert f"wrote {graph}" in result.stdout
    document = answer("encode", graph, "-o", out, *OPTIONS, "--memory", "1GB")
    assert (document["blocks"], document["width"], document["graph"]) == (1, 8, GraphFolder.open(graph).fingerprint)
    encoding = ProbeLLPE(16, probes=8, order=6)
    assert torch.equal(Features.open(out)[:], encoding.fixed(encoding.prepare(sbm(200, homophily=0.9)), "basis"))
    assert "basis   [200, 8, 6]" in llpe("encode", graph, "-o", out, *OPTIONS).stdout


def test_what_the_converter_changed_is_said(llpe, answer, tmp_path):
    (tmp_path / "edges.csv").write_text("source,target\n0,1\n0,1\n1,1\n")
    said = llpe("convert", tmp_path / "edges.csv", tmp_path / "graph", "--num-nodes", 3).stderr
    assert "note: graph: dropped 1 self-loops" in said
    assert "note: graph: merged 1 duplicate edges (counted once)" in said
    assert "note: graph: made 1 one-way edges undirected" in said
    assert GraphFolder.open(tmp_path / "graph").num_nodes == 3
    assert answer("convert", tmp_path / "edges.csv", tmp_path / "other")["num_nodes"] == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-o", "out", "--encoding", "rwse"], "`--encoding` must be llpe-probes for a graph in a folder, got rwse."),
        (["-o", "out"], "`--encoding` must be llpe-probes for a graph in a folder, got none."),
        (["-o", "out", *OPTIONS, "--memory", "much"], "`memory` must be a size such as 4GB or 800MB, got 'much'."),
        (["-o", "out", *OPTIONS, "--memory", "100MB"], "`memory` must be at least 0."),
        (["-o", "out", *OPTIONS, "--dim", "9"], "`dim` must be probes × filters"),
        (["-o", "out", "--run", "runs/a"], "`--run` must be left out with a graph in a folder"),
    ],
)
def test_bad_requests_are_refused_and_leave_nothing(llpe, edges, tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    llpe("convert", edges, "graph")
    assert says in llpe("encode", "graph", *arguments, code=2).stderr
    assert [path.name for path in tmp_path.iterdir()] == ["graph"]
    (tmp_path / "graph" / "graph.json").unlink()
    assert "it is not finished" in llpe("encode", "graph", "-o", "out", *OPTIONS, code=2).stderr


def test_a_full_disk_is_one_paragraph_that_says_what_to_do(llpe, edges, tmp_path, monkeypatch):
    llpe("convert", edges, tmp_path / "graph")
    monkeypatch.setattr("llpe.out_of_core.shutil.disk_usage", lambda path: type("Usage", (), {"free": 0}))
    said = llpe("encode", tmp_path / "graph", "-o", tmp_path / "out", *OPTIONS, code=1).stderr
    assert "GB are free" in said
    assert "Free some space and run the same command again." in said
