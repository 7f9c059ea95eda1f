"""train, search, predict: as a newcomer would call them."""

import csv
import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from functools import partialmethod
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from llpe import LLPE
from llpe.data import sbm
from llpe.encodings import ENCODINGS, Encoding
from llpe.graph import Graph
from llpe.models import Classifier

SMALL = ["epochs=8", "hidden=8", "dim=8", "order=8", "splits.count=2", "--workers", 1]
TRAIN = ["train", "--dataset", "sbm:n=80", "--encoding", "llpe", *SMALL]


@pytest.fixture
def train_on(answer, tmp_path):
    """The run folder of a graph."""
    return lambda graph, *more: answer("train", "--dataset", graph, *SMALL, *more, "--runs", tmp_path / "runs")["run"]


def save_named(path, names=("a", "b"), *, n=60, seed=0, unlabelled=0):
    """A graph file with classes of these names."""
    data = sbm(n=n, seed=seed)
    y = np.array(names)[data.y.numpy()]
    y[:unlabelled] = ""
    np.savez(path, x=data.x.numpy(), y=y, edge_index=data.edge_index.numpy())
    return path


def test_train_answers_with_the_promised_keys_and_only_reads_what_is_there(trained, answer, monkeypatch):
    assert set(trained) == {"metric", "val", "test", "mean_test", "std_test", "splits", "failed", "run"}
    assert (trained["metric"], trained["splits"], trained["failed"]) == ("accuracy", 2, [])
    assert len(trained["test"]) == len(trained["val"]) == 2
    assert trained["mean_test"] == pytest.approx(np.mean(trained["test"]))
    monkeypatch.setattr("llpe.lab.train.make_optimiser", None)
    runs = Path(trained["run"]).parents[2]
    assert answer(*TRAIN, "--runs", runs) == trained
    assert answer("train", trained["run"], "--runs", runs) == trained


def test_everything_is_made_once_for_all_splits(llpe, tmp_path, monkeypatch):
    graph = save_named(tmp_path / "graph.npz")
    made = {}
    for kind, name in ((Encoding, "__init__"), (LLPE, "compute"), (Classifier, "__init__"), (Graph, "__init__")):
        made[kind, name] = Mock(wraps=getattr(kind, name))
        monkeypatch.setattr(kind, name, partialmethod(made[kind, name]))
    llpe("train", "--dataset", graph, *SMALL, "--runs", tmp_path)
    assert [each.call_count for each in made.values()] == [1, 1, 1, 2]  # the edges of the file, and the view of them
    llpe("compare", graph, "epochs=1", "--splits", 1, "--workers", 1, "--runs", tmp_path, "-o", tmp_path / "page.html")
    assert [each.call_count for each in made.values()][:3] == [1 + 6, 1 + 1, 1 + 6], "six encodings, one of them LLPE"


def test_train_prints_a_table_where_the_run_is_and_how_features_are_scaled(llpe, tmp_path):
    result = llpe(*TRAIN, "--runs", tmp_path)
    assert "test accuracy" in result.stdout
    assert "over 2 splits" in result.stdout
    assert f"run folder {tmp_path}" in result.stdout
    assert "split 0: done" in result.stderr
    told = "note: sbm:n=80: each column of the features is scaled to mean 0 and variance 1; training.features=raw"
    assert result.stderr.count(told) == 1
    assert "each row of the features is scaled to length 1" in llpe(*TRAIN, "features=rows", "--runs", tmp_path).stderr
    assert "features" not in llpe(*TRAIN, "training.features=raw", "--runs", tmp_path).stderr


def test_train_from_a_config_file_with_changes(answer, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('dataset = "sbm:n=80"\n[encoding]\nname = "rwse"\ndim = 4\n[training]\nepochs = 3\n')
    result = answer("train", file, "splits.count=1", "steps=3", "--runs", tmp_path, "--workers", 1)
    assert "rwse+mlp" in result["run"]
    assert 'kind = "random"' in Path(result["run"], "config.toml").read_text()


def test_a_dry_run_prints_a_config_file_and_trains_nothing(llpe, answer, tmp_path):
    line = ["--dry-run", "--runs", tmp_path / "runs"]
    text = llpe(*TRAIN, *line).stdout
    assert "# 80 nodes, " in text
    assert "8 columns\n# its fixed part: 80 × 64 numbers, 20.5 kB\n" in text
    assert tomllib.loads(text)["encoding"]["order"] == 8
    file = tmp_path / "config.toml"
    file.write_text(text)
    document = answer("train", file, *line)
    assert document == answer(*TRAIN, *line)
    assert document["config"]["encoding"]["order"] == 8
    assert (document["nodes"], document["fixed_bytes"]) == (80, 80 * 64 * 4)
    assert not (tmp_path / "runs").exists()
    np.savez(tmp_path / "one.npz", x=np.eye(4), y=[0, 0, 0, 0], edges=[[0, 1], [2, 3]])
    assert "at least 2 classes" in llpe("train", "--dataset", tmp_path / "one.npz", "--dry-run", code=2).stderr


@pytest.mark.parametrize("name", ENCODINGS)
def test_every_encoding_is_written_as_large_as_a_dry_run_says(answer, tmp_path, name):
    found = answer("train", "--dataset", "sbm:n=80", "--encoding", name, "dim=16", "--dry-run")
    written = answer("encode", "sbm:n=80", "--encoding", name, "dim=16", "-o", tmp_path / "pe.npz")
    assert written["bytes"] == (tmp_path / "pe.npz").stat().st_size
    with np.load(tmp_path / "pe.npz") as arrays:
        shapes = {part: list(arrays[part].shape) for part in arrays.files if part != "metadata"}
        floats = [arrays[part].size for part in shapes if arrays[part].dtype == np.float32 and len(arrays[part]) == 80]
    assert shapes == written["tensors"]
    assert all(shape[0] in (1, 80) for shape in shapes.values())
    assert found["fixed_bytes"] == 4 * sum(floats)


def test_a_run_whose_every_split_fails_exits_1(llpe, tmp_path):
    result = llpe(*TRAIN, "optimizer=sgd", "lr=1e30", "--runs", tmp_path, code=1)
    assert "every split failed" in result.stderr
    assert "smaller lr" in result.stderr


def test_search_prints_its_trials_and_resumes(llpe, answer, tmp_path):
    line = ["search", "--dataset", "sbm:n=80", "--encoding", "rwse", "--runs", tmp_path, "--workers", 1]
    line += ["dim=8", "epochs=6", "splits.count=2"]
    assert "chosen by validation" in llpe(*line, "--trials", 2).stdout
    found = answer(*line, "--trials", 3)
    assert set(found) == {"metric", "mean_val", "test", "mean_test", "trials", "run"}
    assert len(found["trials"]) == 3
    assert found["mean_val"] == max(trial["val"] for trial in found["trials"] if trial["state"] == "complete")


def test_a_config_with_a_search_is_searched_and_not_trained(llpe, answer, tmp_path):
    file = tmp_path / "config.toml"
    file.write_text(
        'dataset = "sbm:n=80"\n[encoding]\nname = "none"\n[training]\nepochs = 4\n[splits]\ncount = 2\n'
        "[search]\ntrials = 1\n[search.space]\nlr = [0.1]\n"
    )
    assert "Use `llpe search`" in llpe("train", file, "--runs", tmp_path, code=2).stderr
    found = answer("search", file, "--runs", tmp_path, "--workers", 1)
    assert found["trials"][0]["choice"]["lr"] == 0.1


def test_predict_writes_classes_for_every_node_and_finds_the_scores_of_training_again(trained, llpe, answer, tmp_path):
    table = tmp_path / "out.csv"
    result = llpe("predict", trained["run"], "sbm:n=80", "-o", table)
    assert "accuracy on 48 train nodes" in result.stdout
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert len(rows) == 80
    assert set(rows[0]) == {"node", "prediction", "p(0)", "p(1)"}
    for split in (0, 1):
        found = answer("predict", trained["run"], "sbm:n=80", "-o", tmp_path / f"{split}.npz", "--split", split)
        scores = found.pop("scores")
        assert found == {"output": f"{tmp_path}/{split}.npz", "nodes": 80, "split": split, "metric": "accuracy"}
        assert {part: each["nodes"] for part, each in scores.items()} == {"train": 48, "val": 16, "test": 16}
        assert scores["val"]["score"] == trained["val"][split]
        assert scores["test"]["score"] == trained["test"][split]
        with np.load(tmp_path / f"{split}.npz") as arrays:
            assert arrays["probabilities"].shape == (80, 2)
    assert "--force" in llpe("predict", trained["run"], "sbm:n=80", "-o", table, code=2).stderr
    words = llpe("predict", trained["run"], "sbm:n=80,features=3", "-o", table, "--force", code=2).stderr
    assert "must have 10 features" in words


def test_predict_scores_all_labelled_nodes_of_another_graph(trained, llpe, answer, tmp_path):
    other = save_named(tmp_path / "other.npz", ["0", "1"], seed=5, unlabelled=10)
    scores = answer("predict", trained["run"], other, "-o", tmp_path / "o.csv")["scores"]
    assert set(scores) == {"labelled"}
    assert scores["labelled"]["nodes"] == 50
    old = shutil.copytree(trained["run"], tmp_path / "old")
    (old / "split-00" / "split.npz").unlink()  # as in folders made before it was kept
    result = llpe("predict", old, "sbm:n=80", "-o", tmp_path / "old.csv", "--split", 0)
    assert "note: not scored: " in result.stderr
    assert "accuracy" not in result.stdout


def test_predict_goes_by_the_names_of_classes_and_not_by_their_order(llpe, answer, train_on, tmp_path):
    run = train_on(save_named(tmp_path / "g.npz", ["left", "right"]))
    scores = []
    for names in (["left", "right"], ["right", "left"]):
        other = save_named(tmp_path / "other.npz", names, seed=1)
        found = answer("predict", run, other, "-o", tmp_path / "out.csv", "--force")
        scores.append(found["scores"]["labelled"]["score"])
    assert sum(scores) == pytest.approx(1.0)
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
    assert {row["prediction"] for row in rows} <= {"left", "right"}
    strange = llpe("predict", run, save_named(tmp_path / "s.npz", ["left", "up"]), "-o", tmp_path / "s.csv")
    assert "note: not scored: the run does not know all classes of the graph" in strange.stderr


def test_a_run_is_used_wherever_its_graph_has_gone(llpe, answer, train_on, tmp_path, monkeypatch):
    (tmp_path / "before").mkdir()
    (tmp_path / "after").mkdir()
    monkeypatch.chdir(tmp_path / "before")
    run = train_on(save_named("g.npz"))
    monkeypatch.chdir(tmp_path / "after")
    (tmp_path / "before" / "g.npz").rename("moved.npz")
    found = answer("predict", run, "moved.npz", "-o", "out.csv")
    assert set(found["scores"]) == {"train", "val", "test"}
    llpe("encode", "moved.npz", "-o", "pe.npz", "--run", run)
    assert np.load("pe.npz")["encoding"].shape == (60, 8)


def test_predict_says_when_an_encoding_means_something_else_on_another_graph(trained, llpe, train_on, tmp_path):
    def said(run, graph):
        return llpe("predict", run, graph, "-o", tmp_path / "out.csv", "--force").stderr

    assert "another graph" not in said(trained["run"], "sbm:n=80")
    fewer = save_named(tmp_path / "g.npz", ["0", "1"], n=80, unlabelled=40)
    assert "another graph" not in said(trained["run"], fewer), "fewer labels are not another graph"
    other = said(trained["run"], "sbm:n=90")
    assert "another graph than the run was trained on, and columns of 'llpe' mean" in other
    comparable = [name for name, named in ENCODINGS.items() if named.kind.comparable]
    assert f"use one of {', '.join(comparable)}." in other
    run = train_on("sbm:n=80", "--encoding", "llpe-invariant")
    assert "another graph" not in said(run, "sbm:n=90")


@pytest.mark.skipif(sys.platform != "linux", reason="sends Ctrl-C to a process group")
def test_ctrl_c_keeps_checkpoints_and_says_how_to_resume(tmp_path):
    arguments = ["train", "--dataset", "sbm:n=400", "epochs=100000", "patience=100000", "splits.count=2", "dim=8"]
    runs = tmp_path / "my runs"
    command = [sys.executable, "-m", "llpe.cli", *arguments, "--runs", str(runs)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    limit = time.monotonic() + 60
    while not list(tmp_path.rglob("checkpoint.pt")) and time.monotonic() < limit:
        time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130, said
    assert "Resume with: llpe train '" in said
    assert f"--runs '{runs}'" in said
    assert "Traceback" not in said
    assert len(list(tmp_path.rglob("checkpoint.pt"))) == 2
    assert not list(tmp_path.rglob("*.partial"))
