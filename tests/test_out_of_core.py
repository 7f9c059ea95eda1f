"""Features of a graph in a folder equal those in memory; what is finished is kept, and what is spoiled is refused."""

from __future__ import annotations

import errno
import os
import pickle
import subprocess
import sys
import time
from functools import partial
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from torch_geometric.loader import ClusterData, ClusterLoader, NeighborLoader, RandomNodeLoader
from torch_geometric.typing import WITH_PYG_LIB

from llpe import Graph, ProbeLLPE, probe_features, sealed
from llpe import out_of_core as module
from llpe.data.convert import convert
from llpe.features import Features
from llpe.out_of_core import block_width, encode_block, encode_folder, needed_memory

GB = 10**9
OPTIONS = {"order": 6, "probes": 10, "memory": 4 * GB}


def random_graph(place, weighted):
    """A graph with a hub and a node without edges."""
    rng = np.random.default_rng(0)
    edges = np.concatenate([rng.integers(0, 400, (2, 900)), [np.zeros(200, dtype=int), np.arange(200)]], axis=1)
    np.savez(place / "edges.npz", edge_index=edges, **({"edge_weight": rng.random(1100)} if weighted else {}))
    return convert(place / "edges.npz", place / "graph", num_nodes=401)


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    return random_graph(tmp_path_factory.mktemp("graph"), weighted=False)


@pytest.fixture
def narrow(monkeypatch):
    """Blocks of four probes, and ranges of few rows."""
    monkeypatch.setattr(module, "WIDTH", 4)
    monkeypatch.setattr("llpe.folder.ENTRIES", 400)
    monkeypatch.setattr(module, "ROWS", 256)


def stop_in_block(number):
    """Progress that is interrupted in the middle of a block."""

    def tell(done, total):
        if done > number * 4 * OPTIONS["order"] + 10:
            raise KeyboardInterrupt

    return tell


def in_memory(graph):
    return probe_features(Graph.from_data(graph), order=6, probes=10)[0]


def changed(out):
    return {path.name: path.stat().st_mtime_ns for path in out.glob("block-*")}


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_features_are_those_in_memory(narrow, tmp_path, centred, weighted):
    graph = random_graph(tmp_path, weighted)
    found = encode_folder(graph, tmp_path / "out", centred=centred, seed=3, **OPTIONS)
    assert (found.num_blocks, found.width) == (3, 4)
    features = Features.open(tmp_path / "out")
    basis, moments = probe_features(Graph.from_data(graph), order=6, probes=10, centred=centred, seed=3)
    assert torch.equal(features[:], basis)
    assert np.array_equal(features.moments, moments)
    rows = torch.tensor([400, 3, 3, 0])
    assert torch.equal(features[rows], basis[rows])


def test_a_stopped_encoding_keeps_finished_blocks_and_resumes(graph, narrow, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        encode_folder(graph, out, on_progress=stop_in_block(1), **OPTIONS)
    assert {path.name for path in out.iterdir()} - {".lock"} == {"features.json", "block-000.json", "block-000.npy"}
    with pytest.raises(ValueError, match="must hold 3 finished blocks, got 2 without, the first is 1"):
        Features.open(out)
    before, told = changed(out), []
    encode_folder(graph, out, on_progress=lambda done, total: told.append((done, total)), **OPTIONS)
    assert before.items() <= changed(out).items()
    assert told[0] == (24 + 4, 60)
    assert told[-1] == (60, 60)
    assert torch.equal(Features.open(out)[:], in_memory(graph))
    encode_folder(graph, out, **OPTIONS | {"memory": GB})
    assert before.items() <= changed(out).items()


def test_a_killed_encoding_resumes(graph, tmp_path):
    out = tmp_path / "out"
    code = f"""
import time
from pathlib import Path
from llpe import out_of_core
from llpe.folder import GraphFolder
out_of_core.WIDTH = 4
tell = lambda done, total: time.sleep(60) if done > 30 else None
out_of_core.encode_folder(GraphFolder.open({str(graph.path)!r}), {str(out)!r}, **{OPTIONS!r}, on_progress=tell)
"""
    process = subprocess.Popen([sys.executable, "-c", code])
    while not list(out.glob("block-001-*/terms")) and process.poll() is None:
        time.sleep(0.05)
    with pytest.raises(ValueError, match="must be written by one process"):
        encode_folder(graph, out, **OPTIONS)
    process.kill()
    assert process.wait() == -9
    before = changed(out)
    encode_folder(graph, out, **OPTIONS)
    assert before["block-000.npy"] == changed(out)["block-000.npy"]
    assert not list(out.glob("block-*-*"))
    assert torch.equal(Features.open(out)[:], in_memory(graph))


def test_blocks_are_independent_and_their_work_can_be_sent_to_other_processes(graph, narrow, tmp_path):
    encode_folder(graph, tmp_path / "whole", **OPTIONS)
    with pytest.raises(KeyboardInterrupt):
        encode_folder(graph, tmp_path / "parts", on_progress=stop_in_block(0), **OPTIONS)
    for block in (2, 0, 1):
        pickle.loads(pickle.dumps(partial(encode_block, graph.path, tmp_path / "parts", block)))()
    parts = Features.open(tmp_path / "parts")
    assert torch.equal(parts[:], Features.open(tmp_path / "whole")[:])


def test_a_worker_that_was_given_up_and_its_successor_do_not_disturb_each_other(graph, tmp_path):
    out, block = tmp_path / "out", partial(encode_block, graph.path, tmp_path / "out", 0)
    encode_folder(graph, out, compute=lambda *_: None, **OPTIONS)

    def begin_again(products):
        if products == 30:
            with pytest.raises(KeyboardInterrupt):
                block(Mock(side_effect=KeyboardInterrupt))

    block(begin_again)
    assert torch.equal(Features.open(out)[:], in_memory(graph))


def test_memory_decides_the_width_of_blocks_and_too_little_is_refused(graph):
    fixed = needed_memory(graph, 0)
    assert needed_memory(graph, 16) == fixed + 4 * 401 * 16
    assert block_width(graph, 10, needed_memory(graph, 16)) == 10
    assert block_width(graph, 40, needed_memory(graph, 100)) == 14  # three blocks of at most 16
    assert block_width(graph, 10, needed_memory(graph, 3)) == 3
    with pytest.raises(ValueError, match=r"`memory` must be at least 0\.\d\dGB for 401 nodes, got 0\.\d\dGB"):
        block_width(graph, 10, fixed)


def test_a_full_disk_is_said_and_finished_blocks_are_kept(graph, narrow, tmp_path, monkeypatch):
    out, write, room = tmp_path / "out", os.pwrite, iter(range(15))

    def full(*arguments):
        if next(room, None) is None:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with pytest.raises(OSError, match=r"No space left on device: .*block-\d\d\d-.*/terms"):
            encode_folder(graph, out, **OPTIONS)
    assert not list(out.glob("block-*-*"))
    before = changed(out)
    encode_folder(graph, out, **OPTIONS)
    assert before.items() <= changed(out).items()
    Features.open(out)


def test_too_little_disk_and_too_many_terms_are_refused_before_anything_is_computed(graph, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"`order` must be at most 64 out of core, .*, got 65"):
        encode_folder(graph, tmp_path / "out", **OPTIONS | {"order": 65})
    monkeypatch.setattr(module.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 1000}))
    with pytest.raises(OSError, match=r"the features need 0.0 GB of disk, and 0.0 GB are free"):
        encode_folder(graph, tmp_path / "out", **OPTIONS)


def test_spoiled_features_are_refused_and_computed_again(graph, narrow, tmp_path):
    out = tmp_path / "out"
    encode_folder(graph, out, **OPTIONS)
    file = out / "block-001.npy"
    block, before = file.read_bytes(), changed(out)
    spoils = {
        "must exist": file.unlink,
        "must be a whole array": lambda: file.write_bytes(block[:-100]),
        "must have the checksum it was written with": lambda: file.write_bytes(block[:-1] + bytes([block[-1] ^ 1])),
    }
    for says, spoil in spoils.items():
        spoil()
        with pytest.raises(ValueError, match=f"block-001.npy` {says}.*llpe encode again"):
            Features.open(out)
        with pytest.warns(sealed.DamageWarning, match=r"block-001.npy is damaged; computing it again"):
            encode_folder(graph, out, **OPTIONS)
        assert file.read_bytes() == block
        assert changed(out)["block-000.npy"] == before["block-000.npy"]


def test_other_features_and_other_files_are_not_written_over(graph, narrow, tmp_path):
    encode_folder(graph, tmp_path / "out", **OPTIONS)
    with pytest.raises(ValueError, match="seed: 0 there, 1 asked for"):
        encode_folder(graph, tmp_path / "out", seed=1, **OPTIONS)
    document = sealed.read_json(tmp_path / "out" / "features.json") | {"graph": "another"}
    (tmp_path / "other").mkdir()
    sealed.write_json(tmp_path / "other" / "features.json", document)
    with pytest.raises(ValueError, match="be the graph of the features"):
        encode_block(graph.path, tmp_path / "other", 0)
    with pytest.raises(ValueError, match="`memory` must be as much as when the folder was started"):
        module._plan(Features(tmp_path / "out", graph.fingerprint, 401, 6, 10, False, 0, 2))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").touch()
    with pytest.raises(ValueError, match=r"be a new folder or one of features, got .*notes.txt"):
        encode_folder(graph, tmp_path / "mine", **OPTIONS)


def test_an_encoding_reads_its_fixed_part_from_the_folder(graph, narrow, tmp_path):
    encoding = ProbeLLPE(20, order=6, probes=10, l1=0.1)
    encode_folder(graph, tmp_path / "out", **encoding.probe_arguments(), memory=GB)
    data = encoding.prepare(graph.to_data(), cache=False)
    from_folder = encoding.prepare_from(tmp_path / "out", graph.to_data())
    assert isinstance(from_folder[encoding.attribute("basis")], Features)
    assert torch.equal(encoding(from_folder), encoding(data))
    torch.testing.assert_close(encoding.penalty(from_folder), encoding.penalty(data))
    with pytest.raises(ValueError, match=r"`features` must be those of ProbeLLPE\(.*, got order=6"):
        ProbeLLPE(20, order=7, probes=10).prepare_from(tmp_path / "out", graph.to_data())


LOADERS = {
    "random": lambda data: RandomNodeLoader(data, num_parts=3),
    "cluster": lambda data: ClusterLoader(ClusterData(data, num_parts=4, log=False), batch_size=2),
    "neighbor": lambda data: NeighborLoader(data, num_neighbors=[3, 3], batch_size=100),
}


@pytest.mark.parametrize("name", LOADERS)
def test_samples_of_loaders_read_their_rows_of_the_encoding(graph, tmp_path, name):
    if name != "random" and not WITH_PYG_LIB:
        pytest.skip("PyG's loader needs pyg-lib")
    encoding = ProbeLLPE(20, order=6, probes=10)
    encode_folder(graph, tmp_path / "out", **encoding.probe_arguments(), memory=GB)
    whole = encoding(encoding.prepare(graph.to_data(), cache=False))
    data = encoding.prepare_from(tmp_path / "out", graph.to_data())
    parts = list(LOADERS[name](data))
    seen = torch.cat([sample.n_id[: sample.get("batch_size")] for sample in parts])
    assert seen.sort().values.equal(torch.arange(401))
    for sample in parts:
        assert torch.equal(encoding(sample), whole[sample.n_id])
