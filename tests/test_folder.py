"""A graph in a folder: what is refused of it, and that it is the graph that was converted."""

from __future__ import annotations

import os
import re
import shutil

import numpy as np
import pytest
import torch

from llpe import Graph, sealed
from llpe.data.convert import convert
from llpe.folder import FILE, ArrayWriter, GraphFolder


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """The path 0 – 1 – 2 – 3 with weights, and a node without edges."""
    place = tmp_path_factory.mktemp("folder")
    np.savez(place / "path.npz", edge_index=[[0, 1, 2], [1, 2, 3]], edge_weight=[1.0, 0.5, 2.0], x=np.eye(5))
    return convert(place / "path.npz", place / "graph").path


@pytest.fixture
def folder(original, tmp_path):
    """A copy that may be spoiled."""
    return shutil.copytree(original, tmp_path / "graph")


def rewrite(folder, name, array):
    """Replaces an array and its checksum, as a program that writes the format wrongly would."""
    document = sealed.read_json(folder / FILE)
    with ArrayWriter(folder / f"{name}.npy", array.dtype.str, array.shape) as writer:
        writer.append(array)
        document["arrays"][name] = writer.finish()
    sealed.write_json(folder / FILE, document)


def test_a_folder_is_the_graph_that_was_converted(folder):
    opened = GraphFolder.open(folder)
    opened.check()
    assert opened.array("indices").dtype == np.int32
    assert (opened.num_nodes, opened.num_entries) == (5, 6)
    assert opened.changes == ("made 3 one-way edges undirected",)
    graph = Graph.from_data(opened)
    assert graph.changes == ()
    assert graph.fingerprint == opened.fingerprint
    assert graph.dense[1].tolist() == [1.0, 0.0, 0.5, 0.0, 0.0]
    assert torch.equal(opened.to_data().x, torch.eye(5))
    rewrite(folder, "indices", np.load(folder / "indices.npy").astype(np.int64))  # which a large graph has
    opened = GraphFolder.open(folder)
    opened.check()
    assert Graph.from_data(opened).fingerprint == opened.fingerprint


@pytest.mark.parametrize("rows", [1, 2, 1000])
@pytest.mark.parametrize("entries", [1, 3, 1000])
def test_row_ranges_cover_every_row_once(folder, monkeypatch, rows, entries):
    monkeypatch.setattr("llpe.folder.ROWS", rows)
    monkeypatch.setattr("llpe.folder.ENTRIES", entries)
    opened = GraphFolder.open(folder)
    ranges = list(opened.row_ranges())
    assert [row for first, last in ranges for row in range(first, last)] == list(range(5))
    assert all(last - first == 1 or opened.matrix(first, last).nnz <= entries for first, last in ranges)
    opened.check()


ARRAYS = {
    "must name nodes 0 … 4, got 9": ("indices", np.array([1, 0, 2, 1, 3, 9], dtype="i4")),
    "must name nodes 0 … 4, got -1": ("indices", np.array([1, -1, 2, 1, 3, 2], dtype="i4")),
    "must ascend in each row, got other columns in row 1": ("indices", np.array([1, 2, 0, 1, 3, 2], dtype="i4")),
    "must have no self-loops, got one at node 0": ("indices", np.array([0, 0, 2, 1, 3, 2], dtype="i4")),
    "must hold each edge in both of its rows": ("indices", np.array([1, 0, 2, 1, 3, 1], dtype="i4")),
    "must be positive and finite": ("weight", np.array([1.0, 1.0, 0.5, 0.5, -2.0, -2.0])),
    "edges in one direction only": ("weight", np.array([1.0, 1.0, 0.5, 0.5, 2.0, 3.0])),
    "must ascend from 0": ("indptr", np.array([0, 1, 3, 2, 6, 6])),
    "must end with the 6 entries, got 5": ("indptr", np.array([0, 1, 3, 4, 5, 5])),
}
FILES = {
    "it is not finished. Write the folder again": lambda folder: (folder / FILE).unlink(),
    "must be as it was written": lambda folder: (folder / FILE).write_text('{"num_nodes": 5}'),
    "must have the format 'llpe graph 1', got '2'": lambda folder: sealed.write_json(folder / FILE, {"format": "2"}),
    "indices.npy` must exist, got no such file": lambda folder: (folder / "indices.npy").unlink(),
    "indices.npy` must be a whole array in NumPy's format": lambda folder: os.truncate(folder / "indices.npy", 140),
    "indptr.npy` must be <i8 of shape [6], got <i8 [3]": lambda folder: np.save(folder / "indptr.npy", np.arange(3)),
    "x.npy` must have the checksum": lambda folder: np.save(folder / "x.npy", np.ones((5, 5), dtype="f4")),
}


@pytest.mark.parametrize("says", [*FILES, *ARRAYS])
def test_a_spoiled_folder_is_refused(folder, says):
    if says in ARRAYS:
        rewrite(folder, *ARRAYS[says])
    else:
        FILES[says](folder)
    with pytest.raises(ValueError, match=f"{re.escape(says)}.*llpe convert"):
        GraphFolder.open(folder).check()
