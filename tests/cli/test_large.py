"""Promises of ``llpe convert``, and of ``encode`` and ``train`` with folders."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from llpe import ProbeLLPE
from llpe.data import sbm
from llpe.features import Features
from llpe.folder import GraphFolder
from llpe.lab.batches import typical_rows

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
    np.save(tmp_path / "graph" / "y.npy", np.zeros(200, dtype=int))
    assert "must have the checksum it was written with" in llpe("encode", "graph", "-o", "out", *OPTIONS, code=2).stderr
    assert [path.name for path in tmp_path.iterdir()] == ["graph"]
    (tmp_path / "graph" / "graph.json").unlink()
    assert "it is not finished" in llpe("encode", "graph", "-o", "out", *OPTIONS, code=2).stderr


TRAIN = ("--encoding", "llpe-probes", "encoding.dim=16", "probes=8", "order=6", "epochs=4", "hidden=8")
SPLITS = ("splits.count=2", "features=raw", "--workers", 1)


@pytest.fixture
def folders(llpe, edges, tmp_path):
    """The graph and its features, in folders."""
    graph, features = tmp_path / "graph", tmp_path / "features"
    llpe("convert", edges, graph)
    llpe("encode", graph, "-o", features, *OPTIONS)
    return graph, features


@pytest.mark.parametrize("batch", [(), ("batch=32",)])
def test_training_from_mapped_folders_equals_training_in_memory(answer, folders, tmp_path, monkeypatch, batch):
    graph, features = folders
    for name in ("MANY_ROWS", "BATCH", "SAMPLE"):
        monkeypatch.setattr(f"llpe.lab.batches.{name}", 50 if name != "SAMPLE" or batch else 10**6)
    arguments = (*TRAIN, *SPLITS, *batch, "size=1", "--runs", tmp_path / "runs")
    mapped = answer("train", "--dataset", graph, "--features", features, *arguments)
    in_memory = answer("train", "--dataset", graph, *arguments)
    assert mapped["run"] != in_memory["run"]
    assert (mapped["val"], mapped["test"]) == (in_memory["val"], in_memory["test"])
    assert answer("train", "--dataset", graph, "--features", features, *arguments) == mapped


def test_the_scale_of_a_mapped_encoding_is_found_from_some_rows(folders, monkeypatch):
    monkeypatch.setattr("llpe.lab.batches.SAMPLE", 50)
    data = ProbeLLPE(16, probes=8, order=6).prepare_from(folders[1], GraphFolder.open(folders[0]).to_data())
    sample = typical_rows(data)
    assert sample.n_id.tolist() == list(range(0, 200, 4))
    assert torch.equal(sample.x, data.x[::4])
    assert typical_rows(sample) is sample


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--model", "sage"], "`model` must see single rows of a mapped graph, as mlp does, got sage."),
        (["--encoding", "rwse"], "`encoding` must be none or one that a folder can hold"),
        (["--encoding", "llpe-probes", "probes=4"], "got order=6, probes=8"),
        ([*TRAIN, "features=rows"], "`training.features` must be raw for a mapped graph, got 'rows'."),
    ],
)
def test_what_cannot_be_trained_from_folders_is_refused(llpe, folders, tmp_path, arguments, says):
    arguments = ("--dataset", folders[0], "--features", folders[1], "--runs", tmp_path / "runs", *arguments)
    assert says in llpe("train", *arguments, code=2).stderr
    assert not (tmp_path / "runs").exists()


def test_features_of_another_graph_are_refused(llpe, folders, tmp_path):
    (tmp_path / "ring.csv").write_text("source,target\n" + "".join(f"{i},{(i + 1) % 200}\n" for i in range(200)))
    llpe("convert", tmp_path / "ring.csv", tmp_path / "ring")
    llpe("encode", tmp_path / "ring", "-o", tmp_path / "other", *OPTIONS)
    said = llpe("train", "--dataset", folders[0], "--features", tmp_path / "other", *TRAIN, code=2).stderr
    assert "`features` must be those of graph, got those of another graph." in said


def test_a_folder_is_a_graph_for_every_command(answer, folders, edges):
    document = answer("spectrum", folders[0], "--exact")
    assert document["num_edges"] == answer("spectrum", edges, "--exact")["num_edges"]
