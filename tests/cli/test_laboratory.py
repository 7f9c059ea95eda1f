"""train, check, predict, demo: as a newcomer would call them."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from llpe.cli import app
from llpe.data import sbm
from llpe.encodings import ENCODINGS

SMALL = ["epochs=8", "hidden=8", "dim=8", "order=8", "splits.count=2"]
TRAIN = ["train", "--dataset", "sbm:n=80", "--encoding", "llpe", "--model", "mlp", *SMALL]


def call(*arguments, code=0):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def trained(tmp_path):
    document = json.loads(call(*TRAIN, "--runs", tmp_path / "runs", "--json").stdout)
    return document, tmp_path


def test_train_prints_one_json_object_with_the_promised_keys(trained):
    document, tmp_path = trained
    assert {"metric", "val", "test", "mean_test", "std_test", "splits", "run"} <= set(document)
    assert document["metric"] == "accuracy"
    assert document["splits"] == len(document["test"]) == len(document["val"]) == 2
    assert document["mean_test"] == pytest.approx(np.mean(document["test"]))
    assert document["run"].startswith(str(tmp_path / "runs"))


def test_train_prints_a_table_and_where_the_run_is(tmp_path):
    result = call(*TRAIN, "--runs", tmp_path)
    assert "test accuracy" in result.stdout
    assert "over 2 splits" in result.stdout
    assert f"run folder {tmp_path}" in result.stdout
    assert "split 0: done" in result.stderr
    assert "\x1b" not in result.output


def test_train_says_what_it_does_to_the_features(tmp_path):
    told = "note: sbm:n=80: each column of the features is scaled to mean 0 and variance 1; training.features=raw"
    result = call(*TRAIN, "--runs", tmp_path, "--json")
    assert result.stderr.count(told) == 1
    assert json.loads(result.stdout)["splits"] == 2
    assert "each row of the features is scaled to length 1" in call(*TRAIN, "features=rows", "--runs", tmp_path).stderr
    assert "features" not in call(*TRAIN, "training.features=raw", "--runs", tmp_path).stderr


def test_train_again_only_reads_what_is_there(trained, monkeypatch):
    document, tmp_path = trained
    monkeypatch.setattr("llpe.lab.train.make_optimiser", None)
    again = json.loads(call(*TRAIN, "--runs", tmp_path / "runs", "--json").stdout)
    assert again == document
    resumed = json.loads(call("train", document["run"], "--runs", tmp_path / "runs", "--json").stdout)
    assert resumed == document


def test_train_from_a_config_file_with_changes(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('dataset = "sbm:n=80"\n[encoding]\nname = "rwse"\ndim = 4\n[training]\nepochs = 3\n')
    result = json.loads(call("train", file, "splits.count=1", "steps=3", "--runs", tmp_path, "--json").stdout)
    assert "rwse+mlp" in result["run"]
    assert 'kind = "random"' in Path(result["run"], "config.toml").read_text()


def test_the_run_folder_has_the_name_of_the_encoding(tmp_path):
    arguments = ["--encoding", "llpe-probes", "probes=4", *SMALL, "--runs", tmp_path, "--json"]
    result = json.loads(call("train", "--dataset", "sbm:n=80", *arguments).stdout)
    assert "llpe-probes+mlp" in result["run"]
    assert 'name = "llpe-probes"' in Path(result["run"], "config.toml").read_text()
    assert Path(result["run"], "split-00", "filters.npz").is_file()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train"], "`--dataset` must be given"),
        (["train", "a.toml", "b.toml"], "CONFIG must be one file, got a.toml, b.toml"),
        (["train", "absent.toml"], "absent.toml"),
        (["train", "--dataset", "corra"], "Did you mean"),
        (["train", "--dataset", "sbm:n=80", "lrr=3"], "`lrr` must be one of"),
        (["train", "--dataset", "sbm:n=80", "--encoding", "lpe"], "`name` must be one of none, lpe-fk"),
        (["train", "--dataset", "sbm:n=80", "--model", "mpl"], "`model` must be one of mlp"),
        (["train", "--dataset", "sbm:n=80", "lr=-1", "epochs=0"], "training.epochs"),
        (["check", "--dataset", "sbm:n=80", "--source", "probes"], "Use --encoding llpe, llpe-ends or llpe-probes."),
        (["search", "--dataset", "sbm:n=80", "--source=ends"], "`--source` must be left out"),
        (["train", "--dataset", "sbm:n=80", "source=ends"], "Use the encoding 'llpe-ends'."),
        (["encode", "sbm:n=80", "-o", "x.npz", "source=probes"], "Use the encoding 'llpe-probes'."),
        (["train", "--dataset", "sbm:n=80", "scaling=minmax"], "Use the encoding 'llpe-minmax'."),
        (["predict", "nowhere", "sbm:n=80", "-o", "x.txt"], "must end in one of .csv, .npz"),
        (["predict", "nowhere", "sbm:n=80", "-o", "x.csv"], "must be a run folder"),
    ],
)
def test_bad_requests_are_one_paragraph_and_exit_2(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = call(*arguments, code=2)
    assert words in result.stderr
    assert "Traceback" not in result.output
    assert list(tmp_path.iterdir()) == []


def test_a_run_whose_every_split_fails_exits_1(tmp_path):
    result = call(*TRAIN, "optimizer=sgd", "lr=1e30", "--runs", tmp_path, code=1)
    assert "every split failed" in result.stderr
    assert "smaller lr" in result.stderr


def test_check_says_what_would_be_computed(tmp_path):
    result = call("check", "--dataset", "sbm:n=80", *SMALL)
    for word in ("graph", "encoding", "to prepare", "memory", "an epoch", "training", "2 splits of up to 8 epochs"):
        assert word in result.stdout
    document = json.loads(call("check", "--dataset", "sbm:n=80", "--json").stdout)
    assert document["config"]["encoding"]["order"] == 32
    assert document["nodes"] == 80
    assert document["fixed_bytes"] == 80 * 128 * 32 * 4  # nodes × directions × order


@pytest.mark.parametrize("name", [name for name in ENCODINGS if name != "llpe"])
def test_check_knows_every_encoding(name):
    document = json.loads(call("check", "--dataset", "sbm:n=80", "--encoding", name, "--json").stdout)
    assert document["memory_bytes"] > 0
    assert document["training_seconds"] > 0


def test_predict_writes_classes_for_every_node(trained):
    document, tmp_path = trained
    table = tmp_path / "out.csv"
    result = call("predict", document["run"], "sbm:n=80", "-o", table)
    assert "accuracy on 48 train nodes" in result.stdout
    assert "accuracy on 16 test nodes" in result.stdout
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert len(rows) == 80
    assert set(rows[0]) == {"node", "prediction", "p(0)", "p(1)"}
    call("predict", document["run"], "sbm:n=80", "-o", tmp_path / "out.npz", "--split", "1")
    with np.load(tmp_path / "out.npz") as arrays:
        assert arrays["probabilities"].shape == (80, 2)
    assert "--force" in call("predict", document["run"], "sbm:n=80", "-o", table, code=2).stderr
    words = call("predict", document["run"], "sbm:n=80,features=3", "-o", table, "--force", code=2).stderr
    assert "must have 10 features" in words


@pytest.mark.parametrize("split", [0, 1])
def test_predict_scores_the_parts_of_the_split_apart(trained, split):
    """The scores of training are found again, part by part."""
    document, tmp_path = trained
    arguments = ["-o", tmp_path / "out.csv", "--split", split, "--json"]
    found = json.loads(call("predict", document["run"], "sbm:n=80", *arguments).stdout)
    report = json.loads(Path(document["run"], f"split-{split:02d}", "report.json").read_text())
    assert set(found) == {"output", "nodes", "split", "metric", "scores"}
    assert (found["nodes"], found["split"], found["metric"]) == (80, split, "accuracy")
    assert found["scores"] == {
        part: {"nodes": nodes, "score": report[part]} for part, nodes in (("train", 48), ("val", 16), ("test", 16))
    }


def test_predict_scores_all_labelled_nodes_of_another_graph(trained):
    document, tmp_path = trained
    save_named(tmp_path / "other.npz", n=60, seed=5, names=["0", "1"], unlabelled=10)
    found = json.loads(
        call("predict", document["run"], tmp_path / "other.npz", "-o", tmp_path / "o.csv", "--json").stdout
    )
    assert set(found["scores"]) == {"labelled"}
    assert found["scores"]["labelled"]["nodes"] == 50
    Path(document["run"], "split-00", "split.npz").unlink()  # as in folders made before it was kept
    result = call("predict", document["run"], "sbm:n=80", "-o", tmp_path / "old.csv", "--split", 0)
    assert "note: not scored: " in result.stderr
    assert "accuracy" not in result.stdout


def save_named(path, names, *, n=60, seed=0, unlabelled=0):
    """A graph file with classes of these names."""
    data = sbm(n=n, seed=seed)
    y = np.array(names)[data.y.numpy()]
    y[:unlabelled] = ""
    np.savez(path, x=data.x.numpy(), y=y, edge_index=data.edge_index.numpy())
    return path


def test_predict_goes_by_the_names_of_classes_and_not_by_their_order(tmp_path):
    run = train_on(save_named(tmp_path / "g.npz", ["left", "right"]), tmp_path)
    scores = []
    for name, names in (("one", ["left", "right"]), ("two", ["right", "left"])):
        other = save_named(tmp_path / f"{name}.npz", names, seed=1)
        answer = call("predict", run, other, "-o", tmp_path / f"{name}.csv", "--json")
        scores.append(json.loads(answer.stdout)["scores"]["labelled"]["score"])
    assert sum(scores) == pytest.approx(1.0)
    strange = call("predict", run, save_named(tmp_path / "s.npz", ["left", "up"]), "-o", tmp_path / "s.csv")
    assert "note: not scored: the run does not know all classes of the graph" in strange.stderr


def train_on(path, folder):
    return json.loads(call("train", "--dataset", path, *SMALL, "--runs", folder / "runs", "--json").stdout)["run"]


def test_a_run_is_used_wherever_its_graph_has_gone(tmp_path, monkeypatch):
    (tmp_path / "before").mkdir()
    (tmp_path / "after").mkdir()
    monkeypatch.chdir(tmp_path / "before")
    save_named("g.npz", ["a", "b"])
    run = train_on("g.npz", tmp_path)
    monkeypatch.chdir(tmp_path / "after")
    (tmp_path / "before" / "g.npz").rename("moved.npz")
    found = json.loads(call("predict", run, "moved.npz", "-o", "out.csv", "--json").stdout)
    assert set(found["scores"]) == {"train", "val", "test"}
    call("encode", "moved.npz", "-o", "pe.npz", "--run", run)
    assert np.load("pe.npz")["encoding"].shape == (60, 8)


def test_predict_says_when_an_encoding_means_something_else_on_another_graph(trained, tmp_path):
    document, _ = trained
    same = call("predict", document["run"], "sbm:n=80", "-o", tmp_path / "same.csv")
    assert "another graph" not in same.stderr
    data = sbm(n=80)
    data.y[::2] = -1
    np.savez(tmp_path / "g.npz", x=data.x.numpy(), y=data.y.numpy(), edge_index=data.edge_index.numpy())
    same = call("predict", document["run"], tmp_path / "g.npz", "-o", tmp_path / "labels.csv")
    assert "another graph" not in same.stderr, "fewer labels are not another graph"
    other = call("predict", document["run"], "sbm:n=90", "-o", tmp_path / "other.csv")
    assert "another graph than the run was trained on, and columns of 'llpe' mean" in other.stderr
    assert "use one of none, signnet, rwse, llpe-invariant." in other.stderr
    line = ["train", "--dataset", "sbm:n=80", "--encoding", "llpe-invariant", *SMALL, "--runs", tmp_path, "--json"]
    run = json.loads(call(*line).stdout)["run"]
    assert "another graph" not in call("predict", run, "sbm:n=90", "-o", tmp_path / "invariant.csv").stderr


def test_predict_uses_the_names_of_classes(tmp_path):
    run = train_on(save_named(tmp_path / "g.npz", ["left", "right"]), tmp_path)
    call("predict", run, tmp_path / "g.npz", "-o", tmp_path / "out.csv")
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
    assert {row["prediction"] for row in rows} <= {"left", "right"}


def test_encode_gives_the_trained_encoding_of_a_run(trained):
    document, tmp_path = trained
    file = tmp_path / "pe.npz"
    call("encode", "sbm:n=80", "-o", file, "--run", document["run"])
    with np.load(file) as arrays:
        assert any(arrays[name].shape == (80, 8) for name in arrays.files)


def test_demo_trains_and_draws(tmp_path, monkeypatch):
    monkeypatch.setattr("llpe.cli.demonstration.HOMOPHILIES", (1,))
    result = call("demo", "--runs", tmp_path, "--splits", "1")
    assert "llpe-probes" in result.stdout
    assert (tmp_path / "demo.png").stat().st_size > 10_000


@pytest.mark.parametrize("kind", ["npz", "pt", "graphml", "csv"])
def test_a_users_own_graph_trains(kind, tmp_path):
    data = sbm(n=60, features=3)
    path = tmp_path / f"mine.{kind}"
    if kind == "npz":
        np.savez(path, x=data.x.numpy(), y=data.y.numpy(), edge_index=data.edge_index.numpy())
    elif kind == "pt":
        torch.save(data, path)
    elif kind == "graphml":
        import networkx as nx

        graph = nx.Graph()
        for node in range(60):
            graph.add_node(node, label=int(data.y[node]), a=float(data.x[node, 0]), b=float(data.x[node, 1]))
        graph.add_edges_from(data.edge_index.t().tolist())
        nx.write_graphml(graph, path)
    else:
        path = tmp_path / "mine"
        path.mkdir()
        edges = [f"{u},{v}" for u, v in data.edge_index.t().tolist() if u < v]
        (path / "edges.csv").write_text("\n".join(["source,target", *edges]))
        nodes = [f"{i},{int(data.y[i])},{float(data.x[i, 0])}" for i in range(60)]
        (path / "nodes.csv").write_text("\n".join(["id,label,a", *nodes]))
    result = json.loads(call("train", "--dataset", path, *SMALL, "--runs", tmp_path / "runs", "--json").stdout)
    assert result["splits"] == 2


@pytest.mark.skipif(sys.platform != "linux", reason="sends Ctrl-C to a process group")
def test_ctrl_c_keeps_checkpoints_and_says_how_to_resume(tmp_path):
    arguments = ["train", "--dataset", "sbm:n=400", "epochs=100000", "patience=100000", "splits.count=2", "dim=8"]
    process = subprocess.Popen(
        [sys.executable, "-m", "llpe.cli", *arguments, "--runs", str(tmp_path)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    limit = time.monotonic() + 60
    while not list(tmp_path.rglob("checkpoint.pt")) and time.monotonic() < limit:
        time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130, said
    assert "Resume with: llpe train" in said
    assert "Traceback" not in said
    assert len(list(tmp_path.rglob("checkpoint.pt"))) == 2
    assert not list(tmp_path.rglob("*.partial"))
