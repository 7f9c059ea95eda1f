"""Promises of ``llpe encode``: files that others can read, written whole or not at all."""

from __future__ import annotations

import errno
import json

import numpy as np
import pytest
import torch
from safetensors import safe_open

from llpe.cli import export
from llpe.data import load_graph
from llpe.encodings import ENCODINGS, make_encoding

GRAPH = "sbm:n=60,seed=3"


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
    assert result.exit_code == 0, result.stderr
    tensors, facts = read(path)
    encoding = make_encoding("lpe-fk", dim=8, k=5)
    data = load_graph(GRAPH).data
    assert set(tensors) == {"vectors"}
    assert torch.equal(tensors["vectors"], encoding.fixed(encoding.prepare(data), "vectors"))
    assert facts["encoding"] == repr(encoding) == "LPEFirst(dim=8, k=5, seed=0)"
    assert facts["graph"] == GRAPH
    assert len(facts["graph_fingerprint"]) == 64
    assert result.stdout.splitlines()[0].split() == ["vectors", "[60,", "5]"]
    assert f"wrote {path} (" in result.stdout


@pytest.mark.parametrize("name", ENCODINGS)
def test_every_encoding_can_be_written(llpe, tmp_path, name):
    result = llpe("encode", "sbm:n=40", "-o", tmp_path / "pe.npz", "--encoding", name, "--json")
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert {part: list(tensor.shape) for part, tensor in read(tmp_path / "pe.npz")[0].items()} == document["tensors"]
    assert document["bytes"] == (tmp_path / "pe.npz").stat().st_size
    assert all(shape[0] in (1, 40) for shape in document["tensors"].values())


def test_llpe_with_64_columns_is_the_default(llpe, tmp_path):
    document = json.loads(llpe("encode", GRAPH, "-o", tmp_path / "a.npz", "--json").stdout)
    assert document["encoding"].startswith("LLPE(dim=64, order=32, source='full'")
    document = json.loads(llpe("encode", GRAPH, "-o", tmp_path / "b.npz", "--json", "dim=32", "l1=0.1").stdout)
    assert document["encoding"].startswith("LLPE(dim=32")
    assert {"basis", "levels", "gram"} <= set(document["tensors"])


def test_a_file_is_replaced_only_by_force(llpe, tmp_path):
    path = tmp_path / "pe.npz"
    path.write_text("precious")
    result = llpe("encode", GRAPH, "-o", path)
    assert result.exit_code == 2
    assert "which is there. Add --force to replace it." in result.stderr
    assert path.read_text() == "precious"
    assert llpe("encode", GRAPH, "-o", path, "--force").exit_code == 0
    assert "basis" in read(path)[0]


def test_a_full_disk_leaves_nothing_half_written(llpe, tmp_path, monkeypatch):
    def full(file, **_):
        file.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "pe.npz"
    path.write_text("precious")
    monkeypatch.setattr(export.np, "savez", full)
    result = llpe("encode", GRAPH, "-o", path, "--force")
    assert result.exit_code == 1
    assert result.stderr == "error: No space left on device. Free some space and run the same command again.\n"
    assert path.read_text() == "precious"
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["pe.npz"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-o", "pe.csv"], "`output` must end in one of .npz, .pt, .safetensors, got 'pe.csv'."),
        (["-o", "no/pe.npz"], "`output` must be in an existing folder"),
        (["-o", "pe.npz", "--encoding", "lpe"], "`name` must be one of none, lpe-fk"),
        (["-o", "pe.npz", "kk=3"], "options of 'llpe' must be among dim, order"),
        (["-o", "pe.npz", "k"], "options must be key=value, as in k=8, got 'k'."),
        (["-o", "pe.npz", "--dim", "0"], "`dim` must be an integer of at least 1, got 0."),
        (["-o", "pe.npz", "--dim", "8", "dim=9"], "`dim` must be given once, got --dim 8 and dim=9."),
        (["-o", "pe.npz", "l1=much"], "`l1` must be a finite number of at least 0, got 'much'."),
        (["-o", "pe.npz", "name=rwse"], "options of 'llpe' must be as `llpe list encodings` shows them, got: "),
        (["-o", "pe.npz", "--split", "1"], "`--split` must come with --run"),
        (["-o", "pe.npz", "--run", "runs/a", "k=3"], "`--run` must stand alone"),
        (["-o", "pe.npz", "--run", "runs/a", "--dim", "8"], "`--run` must stand alone"),
        (["-o", "pe.npz", "--run", "runs/a", "--encoding", "llpe"], "`--run` must stand alone"),
    ],
)
def test_encode_refuses_in_words(llpe, tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    result = llpe("encode", GRAPH, *arguments)
    assert result.exit_code == 2
    assert says in result.stderr
    assert not list(tmp_path.glob("*pe*"))


def test_a_run_gives_its_trained_encoding(llpe, tmp_path, monkeypatch):
    trained = make_encoding("llpe", dim=4, order=8, seed=7)
    asked = []

    def load_encoding(run, split=None):
        asked.append((run, split))
        return trained.train()

    monkeypatch.setattr("llpe.lab.load_encoding", load_encoding)
    run, path = tmp_path / "runs" / "a", tmp_path / "pe.safetensors"
    result = llpe("encode", GRAPH, "-o", path, "--run", run, "--split", "2")
    assert result.exit_code == 0, result.stderr
    assert asked == [(run, 2)]
    tensors, facts = read(path)
    with torch.no_grad():
        assert torch.equal(tensors["encoding"], trained(trained.prepare(load_graph(GRAPH).data)))
    assert tensors["encoding"].shape == (60, 4)
    assert (facts["run"], facts["split"]) == (str(run), "2")
    assert not trained.training
