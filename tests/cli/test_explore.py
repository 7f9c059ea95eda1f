"""Promises of ``llpe list``, ``spectrum``, ``encode`` and ``cache``."""

from __future__ import annotations

import errno
import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors import safe_open

from llpe.cli import explore
from llpe.data import BENCHMARKS, load_graph
from llpe.encodings import ENCODINGS, make_encoding
from llpe.lab import export, load_encoding
from llpe.lab.listing import list_cache
from llpe.models import BACKBONES, PYG_MODELS

GRAPH = "sbm:n=60,seed=3"


def test_list_shows_everything_or_one_kind(llpe, answer):
    text, document = llpe("list").stdout, answer("list")
    for name in (*ENCODINGS, *BACKBONES, *PYG_MODELS, *BENCHMARKS, "sbm", "pa"):
        assert name in text
    assert set(document) == {"encodings", "models", "pyg_models", "benchmarks", "synthetic"}
    for kind in ("encodings", "models", "benchmarks", "synthetic"):
        assert answer("list", kind) == {key: document[key] for key in document if key.endswith(kind)}
        assert all(row["name"] in llpe("list", kind).stdout for row in document[kind])
    assert [row["name"] for row in document["encodings"]] == list(ENCODINGS)
    assert all(row["formula"].startswith("P") and row["what"] for row in document["encodings"])
    assert "P = U·W, W = T(λ̃)·C" in text
    assert "dim, order=none, k=none, scaling=unit" in text
    assert "sbm:n=2000,homophily=0" in text


def test_list_knows_what_is_at_hand(llpe, answer, tmp_path, monkeypatch):
    def at_hand(*arguments):
        return {row["name"] for row in answer("list", "benchmarks", *arguments)["benchmarks"] if row["at_hand"]}

    assert at_hand() == set()
    (tmp_path / "elsewhere/cora_ml/raw").mkdir(parents=True)
    (tmp_path / "elsewhere/cora_ml/raw/cora_ml.npz").touch()
    assert at_hand("--data-root", tmp_path / "elsewhere") == {"cora-ml"}
    (tmp_path / "elsewhere/yandex").mkdir()
    (tmp_path / "elsewhere/yandex/cornell.npz").touch()
    monkeypatch.setenv("LLPE_DATA_MIRROR", str(tmp_path / "elsewhere"))
    assert at_hand() == {"cora-ml", "cornell"}
    (line,) = (line for line in llpe("list", "benchmarks").stdout.splitlines() if line.startswith("cora-ml "))
    assert line.split() == ["cora-ml", "2995", "7", "accuracy", "0.74", "yes"]


def test_spectrum_of_a_star_is_known(answer, star):
    document = answer("spectrum", star, "--exact")
    assert (document["num_nodes"], document["num_edges"], document["num_labelled"]) == (6, 5, 5)
    assert document["degree"] == {"mean": 10 / 6, "median": 1.0, "min": 1, "max": 5}
    assert (document["components"], document["isolated"]) == (1, 0)
    assert document["multiplicity"] == {"0": 1, "2": 1}
    shares = document["density"]
    assert (shares["low"], shares["middle"], shares["high"]) == pytest.approx((1 / 6, 4 / 6, 1 / 6))
    assert sum(shares["histogram"]) == pytest.approx(1)
    assert [pair["value"] for pair in document["ends"]["first"]] == pytest.approx([0, 1, 1, 1])
    assert [pair["value"] for pair in document["ends"]["last"]] == pytest.approx([1, 2])
    assert all(pair["residual"] < 1e-12 for pair in document["ends"]["first"])
    assert document["ends"]["largest_gap"]["width"] == pytest.approx(1)
    assert document["homophily"] == {"class": 0.0, "node": 0.0, "edge": 0.0}
    assert "1 of 6 nodes are unlabelled" in document["notes"]


def test_spectrum_in_words(llpe, star):
    result = llpe("spectrum", star)
    lines = result.stdout.splitlines()
    assert "(estimate: order 64, 32 probes)" in lines.pop(4)
    assert lines[:5] == [
        "graph         star: 6 nodes, 5 edges, 2 classes",
        "degree        mean 1.67, median 1, 1 … 5",
        "components    1, the largest of 6 nodes, 0 isolated nodes",
        "homophily     class 0.000, node 0.000, edge 0.000",
        "multiplicity  1 × eigenvalue 0, 1 × eigenvalue 2",
    ]
    assert lines[-1].split() == ["0", "2/3", "4/3", "2"]
    assert "█" in "".join(lines)
    assert "note: star: 1 of 6 nodes are unlabelled\n" in result.stderr


def test_spectrum_of_a_graph_without_labels_and_edges(llpe, answer, tmp_path):
    np.savez(tmp_path / "empty.npz", x=np.eye(3), edges=np.zeros((0, 2), dtype=int))
    text = llpe("spectrum", tmp_path / "empty.npz").stdout
    assert "3 nodes, 0 edges, no labels" in text
    assert "homophily" not in text
    assert "0 × eigenvalue 0, 0 × eigenvalue 2" in text
    np.savez(tmp_path / "one.npz", x=np.eye(1), edges=np.zeros((0, 2), dtype=int))
    for exact in ([], ["--exact"]):
        document = answer("spectrum", tmp_path / "one.npz", *exact)
        assert document["ends"]["largest_gap"] is None
        assert document["density"]["middle"] == pytest.approx(1, abs=1e-3)


def test_spectrum_warns_of_slow_ends_on_large_graphs(llpe, monkeypatch):
    assert llpe("spectrum", "sbm:n=60").stderr == ""
    monkeypatch.setattr(explore, "LARGE", 50)
    assert "of 60 nodes take a while; --no-ends leaves them out." in llpe("spectrum", "sbm:n=60").stderr
    result = llpe("spectrum", "sbm:n=60", "--no-ends")
    assert result.stderr == ""
    assert "smallest" not in result.stdout


@pytest.mark.parametrize(("suffix", "magic"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_spectrum_is_drawn(llpe, tmp_path, suffix, magic):
    path = tmp_path / f"plot.{suffix}"
    path.write_text("replaced")
    assert f"wrote {path}" in llpe("spectrum", "sbm:n=60", "--plot", path).stdout
    assert path.read_bytes().startswith(magic)
    assert [file.name for file in tmp_path.glob("*plot*")] == [path.name]


def read(path):
    """(tensors, metadata) of a written file."""
    if path.suffix == ".npz":
        with np.load(path) as file:
            arrays = {name: torch.from_numpy(file[name]) for name in file.files if name != "metadata"}
            return arrays, json.loads(str(file["metadata"]))
    if path.suffix == ".pt":
        content = torch.load(path, weights_only=True)
        return content, json.loads(content.pop("metadata"))
    with safe_open(path, framework="pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118


@pytest.mark.parametrize("suffix", [".npz", ".pt", ".safetensors"])
def test_the_fixed_part_is_written(llpe, tmp_path, suffix):
    path = tmp_path / f"pe{suffix}"
    result = llpe("encode", GRAPH, "-o", path, "--encoding", "lpe-fk", "--dim", "8", "k=5")
    tensors, facts = read(path)
    encoding = make_encoding("lpe-fk", dim=8, k=5)
    assert set(tensors) == {"vectors"}
    assert torch.equal(tensors["vectors"], encoding.fixed(encoding.prepare(load_graph(GRAPH).data), "vectors"))
    assert facts["encoding"] == repr(encoding) == "LPEFirst(dim=8, k=5, seed=0)"
    assert facts["graph"] == GRAPH
    assert len(facts["graph_fingerprint"]) == 64
    assert result.stdout.splitlines()[0].split() == ["vectors", "[60,", "5]"]
    assert f"wrote {path} (" in result.stdout


def test_a_file_is_replaced_only_by_force_and_whole(llpe, answer, tmp_path, monkeypatch):
    path = tmp_path / "pe.npz"
    path.write_text("precious")
    assert "which exists. Add --force to replace it." in llpe("encode", GRAPH, "-o", path, code=2).stderr

    def full(file, **_):
        file.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(export.np, "savez", full)
        result = llpe("encode", GRAPH, "-o", path, "--force", code=1)
    assert result.stderr == "error: No space left on device. Free some space and run the same command again.\n"
    assert path.read_text() == "precious"
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["pe.npz"]
    document = answer("encode", GRAPH, "-o", path, "--force")
    assert document["encoding"].startswith("LLPE(dim=64, order=32"), "the default"
    assert {"basis", "gram"} == set(document["tensors"]) == set(read(path)[0])


def test_a_run_gives_its_trained_encoding(llpe, trained, tmp_path):
    path = tmp_path / "pe.safetensors"
    llpe("encode", "sbm:n=80", "-o", path, "--run", trained["run"], "--split", "1")
    tensors, facts = read(path)
    encoding = load_encoding(trained["run"], split=1).eval()
    with torch.no_grad():
        assert torch.equal(tensors["encoding"], encoding(encoding.prepare(load_graph("sbm:n=80").data)))
    assert tensors["encoding"].shape == (80, 8)
    assert (facts["run"], facts["split"]) == (trained["run"], "1")


def test_cache_is_listed_and_cleared(llpe, answer, tmp_path):
    folder = tmp_path / "cache"
    assert llpe("cache", "--path").stdout == f"{folder}\n"
    assert llpe("cache").stdout == f"0 entries, 0 bytes of at most 10.0 GB, in {folder}\n"
    llpe("encode", "sbm:n=140", "-o", tmp_path / "a.npz")
    document = answer("cache")
    assert [entry["kind"] for entry in document["entries"]].count("spectrum") == 1
    assert document["bytes"] == sum(file.stat().st_size for file in folder.glob("*.safetensors"))
    assert document["entries"][0]["unused_seconds"] < 60
    lines = llpe("cache").stdout.splitlines()
    assert lines[0].split() == ["kind", "what", "graph", "size", "unused", "for"]
    assert any("llpe directions=64, order=32, rows=unit, scaling=unit, seed=0" in line for line in lines)
    assert lines[-1].startswith("2 entries, ")
    assert llpe("cache", "--clear").stdout.startswith("removed 2 entries (")
    assert answer("cache", "--clear") == {"folder": str(folder), "removed": 0, "bytes": 0}
    assert answer("cache", "--path") == {"folder": str(folder)}


def test_an_entry_that_vanishes_meanwhile_is_no_error(tmp_path):
    gone = SimpleNamespace(entries=lambda: [(tmp_path / "gone", {"kind": "spectrum", "seed": 0}, 3)])
    assert list_cache(gone)[0]["unused_seconds"] == 0
