"""Promises of reading the user's own arrays (.npz, .pt), and of docs/your-own-graph.md."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
import torch
from torch_geometric.data import Data, HeteroData

from llpe.data import load_benchmark, load_file, make_splits
from llpe.data.graph_file import encode_labels
from llpe.data.readers import CSR

PAGE = Path(__file__).resolve().parents[2] / "docs" / "your-own-graph.md"
EDGES = np.array([[0, 1], [1, 2], [2, 3]])
ADJACENCY = np.diag([1.0, 1.0, 1.0], k=1)  # the same edges
X = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0], [0.0, 4.0]])
Y = [0, 1, 0, -1]
PARTS = ("train", "val", "test")


@pytest.fixture
def npz(tmp_path):
    """Writes arrays, by default those of the toy graph, and gives the path."""

    def write(defaults=True, **arrays):
        np.savez(tmp_path / "toy.npz", **({"x": X, "y": Y, "edges": EDGES} if defaults else {}) | arrays)
        return tmp_path / "toy.npz"

    return write


def parts(name, matrix, mark="_"):
    """The four keys of a sparse matrix."""
    matrix = scipy.sparse.csr_array(matrix)
    values = (matrix.data, matrix.indices, matrix.indptr, matrix.shape)
    return {name + mark + part: value for part, value in zip(CSR, values, strict=True)}


BARE = {"defaults": False, **parts("adj", ADJACENCY)}


def test_other_keys_and_layouts_of_npz_are_read(npz):
    mask = np.array([[True, False, False, False], [False, True, False, False]])
    masks = {"train_masks": mask, "val_masks": mask[:, ::-1], "test_masks": np.roll(mask, 1, axis=1)}
    names = {"node_features": X.astype(bool), "node_labels": [0, 1, 0, 1], "edge_index": EDGES.T}
    path = npz(False, **names, edge_weight=[1.0, 2.0, 3.0], **masks, source="text")
    dataset = load_file(path, metric="auroc")
    assert dataset.metric == "auroc"
    assert dataset.masks["train"].tolist() == mask.T.tolist()
    assert dataset.data.edge_weight.tolist() == [1, 1, 2, 2, 3, 3]
    assert dataset.notes[0] == "ignored keys: source"
    assert load_file(npz(False, **parts("x", X), y=Y, edges=EDGES)).fingerprint == load_file(npz()).fingerprint


@pytest.mark.parametrize(
    ("names", "mark"),
    [(("adj", "attr"), "_"), (("adj_matrix", "attr_matrix"), "."), (("adj_matrix", "attr_matrix"), "_")],
)
def test_archives_of_gnn_benchmark_are_read_in_every_spelling(npz, names, mark):
    """Objects beside the arrays, which the published archives have, are neither used nor unpickled."""
    matrices = parts(names[0], ADJACENCY, mark) | parts(names[1], X, mark)
    dataset = load_file(npz(False, **matrices, labels=Y, metadata=np.array({"a": 1}, dtype=object)))
    assert dataset.notes[0] == "ignored keys: metadata"
    assert dataset.fingerprint == load_file(npz()).fingerprint


def test_entries_of_an_adjacency_matrix_are_weights_unless_all_are_one(npz):
    dataset = load_file(npz(False, **parts("adj", 2 * ADJACENCY), attr_matrix=X, labels=Y))
    assert dataset.data.edge_weight.tolist() == [2.0] * 6
    assert dataset.data.x.tolist() == X.tolist()


def test_the_raw_file_of_photo_is_the_benchmark(mirror, tmp_path):
    """Its features are 0 and 1, so that PyG's class leaves them as they are."""
    raw = mirror / "Photo" / "raw" / "amazon_electronics_photo.npz"
    if not raw.is_file():
        pytest.skip("no raw file of Photo among the real data")
    dataset = load_file(raw)
    assert dataset.fingerprint == load_benchmark("photo", root=tmp_path, mirror=mirror).fingerprint
    assert (dataset.name, dataset.num_classes, dataset.class_names) == ("amazon_electronics_photo", 8, ())


def test_masks_of_a_file_are_its_official_splits(npz):
    masks = {"train_mask": [1, 1, 0, 0], "val_mask": [0, 0, 1, 0], "test_mask": [0, 0, 0, 1]}
    split = make_splits(load_file(npz(y=[0, 1, 0, 1], **masks)), "official")[0]
    assert (split.train.tolist(), split.val.tolist(), split.test.tolist()) == ([0, 1], [2], [3])


def test_a_file_without_features_or_labels_is_read_and_says_so(npz):
    dataset = load_file(npz(False, edges=EDGES))
    assert dataset.data.x.tolist() == [[1.0]] * 4
    assert (dataset.num_classes, dataset.num_labelled) == (0, 0)
    assert dataset.notes[:2] == (
        "no features in the file: a column of ones is used, all information is in the structure",
        "4 of 4 nodes are unlabelled",
    )
    with pytest.raises(ValueError, match="must have labelled nodes"):
        make_splits(dataset)
    assert load_file(npz(False, edges=EDGES, num_nodes=6)).num_nodes == 6


@pytest.mark.parametrize(
    ("labels", "y", "names"),
    [
        ([3, 5, 3, -1], [0, 1, 0, -1], ("3", "5")),
        (["b", "a", "", "b"], [1, 0, -1, 1], ("a", "b")),
        (["10", "9", "nan", "10"], [1, 0, -1, 1], ("9", "10")),
        (["inf", "1", "2", "2"], [2, 0, 1, 1], ("1", "2", "inf")),
        ([True, False], [1, 0], ()),
        ([[1], [0]], [1, 0], ()),
        ([0.0, np.nan, 1.0, -1.0], [0, -1, 1, -1], ()),
        ([-1, -1], [-1, -1], ()),
    ],
)
def test_labels_become_classes_from_zero_and_keep_their_names(labels, y, names):
    classes, count, found = encode_labels(np.array(labels))
    assert (classes.tolist(), classes.dtype) == (y, torch.int64)
    assert (count, found) == (max(y) + 1, names)


@pytest.mark.parametrize(
    ("arrays", "match"),
    [
        ({"y": [0.25, 1, 2, 3]}, "labels must be classes, got the number 0.25. Regression targets are not supported"),
        ({"y": ["1.5", "2", "", "1"]}, "got the number 1.5"),
        ({"y": [0.0, np.inf, 1.0, 1.0]}, "got the number inf"),
        ({"y": [0, 1, -2, 0]}, "or −1 for unlabelled, got -2"),
        ({"y": np.eye(4, dtype=int)}, r"one number or text for each node, got int64 of shape \[4, 4\]. Use argmax"),
        ({"y": [1j, 0, 0, 0]}, "one number or text for each node, got complex128"),
        ({"y": 3}, r"labels must hold one number or text for each node, got int64 of shape \[\]"),
        ({"y": np.array([{}, 1], dtype=object)}, "`y` must be a plain array, got .* not objects"),
        ({"y": [0, 1]}, "same number of nodes, got .'features': 4, 'labels': 2."),
        ({"num_nodes": 9}, "same number of nodes, got .*'num_nodes': 9"),
        ({"num_nodes": [4, 4]}, r"`num_nodes` must be one integer, got int64 of shape \[2\]"),
        ({"x": X[:, 0]}, r"features must be numbers of shape \[num_nodes, num_features\], got float64 of shape \[4\]"),
        ({"x": np.full((4, 1), "a")}, "features must be numbers"),
        ({"x": np.full((4, 1), np.nan)}, "must be finite"),
        ({"node_features": X}, "one of x, node_features, attr, attr_matrix, got x and node_features. Remove one"),
        ({"edge_index": EDGES.T}, "one of edge_index, edges, .*, got edge_index and edges. Remove one"),
        ({"edges": EDGES.T}, "edges must be integer node numbers"),
        ({"edges": EDGES + 0.5}, "edges must be integer node numbers"),
        ({"edges": EDGES + 9}, "must name nodes 0 … 3, got an edge to node 12"),
        ({"edge_weight": [1.0]}, "one weight for each of 3 edges, got 1"),
        ({"edge_weight": [1.0, -1.0, 1.0]}, "must not be negative"),
        ({"edge_weight": ["a", "b", "c"]}, "`edge_weight` must be numbers of shape .num_edges., got <U1"),
        ({"train_mask": [1, 0, 0, 0]}, "`masks` must have the keys train, val, test, got train"),
        ({"train_mask": [1, 0, 0, 7]}, "the train mask must hold true or false"),
        ({f"{part}_mask": [1, 0] for part in PARTS}, "same number of nodes, got .*'train masks': 2"),
        (parts("x", X), "must hold `x` or x_data, .*, got both"),
        (parts("adj", ADJACENCY), "got edges and adj. Remove one"),
        ({"defaults": False, "x": X}, "CSR parts of `adj_matrix`, got none of them"),
        ({"defaults": False, "edges": np.zeros((0, 2), dtype=int)}, "must have at least one node"),
        ({"defaults": False, **parts("adj", X)}, r"must be CSR and square, got CSR of shape \[4, 2\]"),
        ({"defaults": False, "adj_matrix": ADJACENCY}, r"must be CSR and square, got array of shape \[4, 4\]"),
        (BARE | {"edge_weight": [1.0]}, "`edge_weight` must be left out with an adjacency matrix"),
        (
            {"defaults": False, "adj_data": [1.0]},
            "must have the keys adj_data, .*, got no adj_indices, adj_indptr",
        ),
        (BARE | {"adj_indices": [9, 2, 3]}, "must be a CSR matrix"),
        (BARE | {"labels": [0, 1]}, "same number of nodes, got .*'labels': 2, 'num_nodes': 4"),
    ],
)
def test_bad_archives_are_refused_naming_file_and_key(npz, arrays, match):
    path = npz(**arrays)
    with pytest.raises(ValueError, match=match) as caught:
        load_file(path)
    assert str(caught.value).count(str(path)) == 1


def test_missing_files_other_endings_and_what_is_no_archive_are_refused(tmp_path):
    path, other = tmp_path / "toy.npz", tmp_path / "graph.gml"
    for missing in (path, other):
        with pytest.raises(ValueError, match="the file must exist, got nothing there"):
            load_file(missing)
    path.write_text("hello")
    with pytest.raises(ValueError, match=r"must be a numpy .npz archive"):
        load_file(path)
    with path.open("wb") as file:
        np.save(file, X)
    with pytest.raises(ValueError, match="got a single array"):
        load_file(path)
    other.write_text("")
    with pytest.raises(ValueError, match=r"must end in .npz, .pt, .graphml, .csv, or be a folder .*, got '.gml'"):
        load_file(other)


def test_a_saved_dict_is_read_like_a_data_and_torchs_list_of_safe_classes_stays(npz, tmp_path):
    path, before = tmp_path / "toy.pt", set(torch.serialization.get_safe_globals())
    data = Data(x=torch.tensor(X).to_sparse(), y=torch.tensor(Y).double(), edge_index=torch.tensor(EDGES.T))
    data.edge_weight = torch.ones(3, 1)
    data.pos = torch.zeros(4, 2)
    torch.save(data.to_dict(), path)
    dataset = load_file(path)
    assert dataset.notes[0] == "ignored attributes: pos"
    assert dataset.fingerprint == load_file(npz(edge_weight=np.ones(3))).fingerprint
    torch.save(Data(edge_index=torch.tensor(EDGES.T), num_nodes=7), path)
    assert load_file(path).num_nodes == 7
    assert set(torch.serialization.get_safe_globals()) == before


class Unsafe:
    """An object that weights-only loading must not build."""


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (Unsafe(), "must hold one torch_geometric.data.Data of plain tensors, got other objects"),
        ([1, 2], "must hold one torch_geometric.data.Data, got list"),
        (HeteroData(), "got (other objects|HeteroData)"),
        ({"x": torch.ones(2, 1)}, "must have a tensor `edge_index`, got the keys x"),
        ({"edge_index": torch.zeros(2, 0).long(), "y": [1, 2]}, "`y` must be a tensor, got list"),
        ({"edge_index": torch.zeros(2, 1), "num_nodes": 2}, "edges must be integer node numbers"),
        (None, r"must be readable by torch.load, got EOFError"),
    ],
)
def test_other_contents_of_pt_are_refused(tmp_path, content, match):
    path = tmp_path / "toy.pt"
    path.touch()
    if content is not None:
        torch.save(content, path)
    with pytest.raises(ValueError, match=match):
        load_file(path)


def test_the_page_runs_from_top_to_bottom_and_prints_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 6
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    said = re.findall(r"print\(.*?  # (.*)", "\n".join(blocks))
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith(said[0].split("…")[0])
    assert [printed[1], printed[3]] == [said[1], said[3]]
