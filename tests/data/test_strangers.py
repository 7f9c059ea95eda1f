"""Files and names from strangers: damaged, enormous, endless or hostile ones are refused in words, at once."""

from __future__ import annotations

import os
from types import SimpleNamespace

import networkx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from llpe import SpectrumError
from llpe.data import load_file
from llpe.lab import resolve
from llpe.lab.config import dump_toml
from llpe.lab.export import write_predictions
from llpe.runs import RunFolder
from llpe.sealed import write_text

EDGES = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])
MINE = {"x": np.eye(4), "y": np.array([0, 1, 0, 1]), "edges": EDGES}


def save_graphml(path):
    graph = networkx.cycle_graph(4)
    networkx.set_node_attributes(graph, 1.5, "size")
    networkx.write_graphml(graph, path)


def save_csv(path):
    path.with_name("nodes.csv").write_text("id,label,age\nann,red,31\nbob,blue,25\n")
    path.write_text("source,target,weight\nann,bob,1.5\n")


DATA = Data(x=torch.eye(4), edge_index=torch.from_numpy(EDGES.T.copy()))
FORMATS = {
    "plain.npz": lambda path: np.savez(path, **MINE),
    "packed.npz": lambda path: np.savez_compressed(path, **MINE),
    "mine.pt": lambda path: torch.save(DATA, path),
    "old.pt": lambda path: torch.save(DATA.to_dict(), path, _use_new_zipfile_serialization=False),
    "mine.graphml": save_graphml,
    "edges.csv": save_csv,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FORMATS)
def test_a_damaged_file_is_read_or_refused_in_words(name, tmp_path):
    path, rng = tmp_path / name, np.random.default_rng(0)
    FORMATS[name](path)
    whole = path.read_bytes()
    load_file(path)
    refused = []
    for attempt in range(60):
        content = bytearray(whole)
        at = int(rng.integers(len(whole)))
        if attempt % 3:
            content[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(content if attempt % 3 else content[:at])
        try:
            load_file(path)
        except (ValueError, SpectrumError) as error:
            refused.append(str(error))
    assert len(refused) > 20
    assert all("must" in words or "needs about" in words for words in refused)


def test_an_archive_that_expands_beyond_reason_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("llpe.data.readers.LARGE", 2**20)
    np.savez_compressed(tmp_path / "bomb.npz", edges=EDGES, x=np.zeros((4, 2**16)))
    with pytest.raises(ValueError, match=r"not expand to more than 100 times its size, got .* GB from .* MB\. If you"):
        load_file(tmp_path / "bomb.npz")
    np.savez(tmp_path / "honest.npz", edges=EDGES, x=np.zeros((4, 2**16)))
    assert load_file(tmp_path / "honest.npz").num_features == 2**16


@pytest.mark.parametrize(
    "arrays",
    [
        {"edges": EDGES, "num_nodes": np.array(2**31 - 1)},
        {"edges": EDGES + 2**33},
        {"edges": EDGES, "x_data": [0], "x_indices": [0], "x_indptr": [0, 1, 1], "x_shape": [2, 2**50]},
    ],
    ids=["nodes", "ids", "features"],
)
def test_a_small_file_cannot_ask_for_all_memory(arrays, tmp_path, monkeypatch):
    monkeypatch.setattr("llpe.storage.available_memory", lambda: 2**30)
    np.savez(tmp_path / "mine.npz", **arrays)
    with pytest.raises((ValueError, SpectrumError), match=r"needs about .* GB of memory|must"):
        load_file(tmp_path / "mine.npz")


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")], ids=["pipe", "device"])
@pytest.mark.parametrize("name", ["mine.npz", "mine.pt", "mine.graphml", "edges.csv"])
def test_what_may_never_end_is_refused(name, make, tmp_path):
    make(tmp_path / name)
    with pytest.raises(ValueError, match=r"must be a file, got a folder, a pipe or a device"):
        load_file(tmp_path / name)


def test_an_edge_to_a_node_that_is_not_declared_is_refused(tmp_path):
    path = tmp_path / "mine.graphml"
    save_graphml(path)
    path.write_text(path.read_text().replace('target="3"', 'target="ghost"', 1))
    with pytest.raises(ValueError, match=r"edges must join nodes of the file, got one to 'ghost'\. Declare it"):
        load_file(path)


@pytest.mark.parametrize("weight", [1e-50, 1e-200, 1e40])
def test_weights_that_float32_cannot_hold_are_refused(weight, tmp_path):
    np.savez(tmp_path / "mine.npz", **MINE, edge_weight=np.array([1.0, 1.0, weight, 1.0]))
    with pytest.raises(ValueError, match=r"`edge_weight` must be 0 or between 1\.2e-38 and 3\.4e\+38, got .*unit"):
        load_file(tmp_path / "mine.npz")


@pytest.mark.parametrize(
    ("dataset", "folder"),
    [("..", "graph"), (".", "graph"), ("/", "graph"), ("-rf.npz", "rf"), ("🦊.npz", "graph"), ("a\n🦊/b\tc.pt", "b-c")],
)
def test_no_name_of_a_graph_leads_out_of_the_runs_folder(dataset, folder, tmp_path):
    config = resolve({"dataset": dataset, "encoding": {"name": "none"}}, find_dataset=False)
    run = RunFolder.of(tmp_path, config)
    assert run.path.parent.parent == tmp_path / folder
    run.path.mkdir(parents=True)
    write_text(run.path / "config.toml", dump_toml(config))
    assert RunFolder.read(run.path).config["dataset"] == dataset


def test_a_report_that_is_a_pipe_does_not_hang(tmp_path):
    (tmp_path / "split-00").mkdir()
    os.mkfifo(tmp_path / "split-00" / "report.json")
    run = RunFolder(tmp_path, {})
    assert run.unfinished == (0,)
    assert run.report(0) is None


def test_no_class_name_is_taken_for_a_formula(tmp_path):
    names = ("=cmd|' /C calc'!A0", "@home", "-1", "plain")
    prediction = SimpleNamespace(class_names=names, probabilities=np.eye(4))
    write_predictions(prediction, tmp_path / "out.csv")
    cells = [line.split(",")[1] for line in (tmp_path / "out.csv").read_text().splitlines()[1:]]
    assert cells == ["'=cmd|' /C calc'!A0", "'@home", "-1", "plain"]
