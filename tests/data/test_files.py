"""Promises of reading the user's own files: every format, and arrays (.npz, .pt) in detail."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
import scipy.sparse
import torch
from torch_geometric.data import Data, HeteroData

from llpe.data import load_benchmark, load_file, make_splits, sbm
from llpe.data.arrays import open_npz
from llpe.data.raw import encode_labels

EDGES = np.array([[0, 1], [1, 2], [2, 3]])
X = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0], [0.0, 4.0]])


def save(path, **arrays):
    np.savez(path, **{"x": X, "y": [0, 1, 0, -1], "edges": EDGES} | arrays)
    return path


def check_toy(dataset):
    """The graph every format below describes."""
    assert dataset.name == "toy"
    assert dataset.data.edge_index.tolist() == [[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]]
    assert dataset.data.x.tolist() == X.tolist()
    assert dataset.data.x.dtype == torch.float32
    assert dataset.data.y.tolist() == [0, 1, 0, -1]
    assert dataset.num_classes == 2
    assert "1 of 4 nodes are unlabelled" in dataset.notes
    assert "made 3 one-way edges undirected" in dataset.notes


def test_the_same_graph_in_every_format_is_the_same_graph(tmp_path):
    npz = save(tmp_path / "toy.npz")
    pt = tmp_path / "toy.pt"
    torch.save(Data(x=torch.tensor(X), y=torch.tensor([0, 1, 0, -1]), edge_index=torch.tensor(EDGES.T)), pt)
    graph = networkx.DiGraph()
    for i, (f, g) in enumerate(X):
        graph.add_node(f"n{i}", f=float(f), g=float(g), **({"label": i % 2} if i < 3 else {}))
    graph.add_edges_from((f"n{u}", f"n{v}") for u, v in EDGES)
    networkx.write_graphml(graph, tmp_path / "toy.graphml")
    folder = tmp_path / "toy"
    folder.mkdir()
    nodes = "".join(f"n{i},{f},{g},{'' if i == 3 else i % 2}\n" for i, (f, g) in enumerate(X))
    (folder / "nodes.csv").write_text("id,f,g,label\n" + nodes)
    (folder / "edges.csv").write_text("source,target\n" + "".join(f"n{u},n{v}\n" for u, v in EDGES))
    files = [npz, pt, tmp_path / "toy.graphml", folder, folder / "edges.csv"]
    loaded = [load_file(file) for file in files]
    for dataset in loaded:
        check_toy(dataset)
    assert len({dataset.fingerprint for dataset in loaded}) == 1


def test_other_keys_and_layouts_of_npz_are_read(tmp_path):
    mask = np.array([[True, False, False, False], [False, True, False, False]])
    path = tmp_path / "yandex.npz"
    np.savez(
        path,
        node_features=X.astype(bool),
        node_labels=[0, 1, 0, 1],
        edge_index=EDGES.T,
        edge_weight=[1.0, 2.0, 3.0],
        train_masks=mask,
        val_masks=mask[:, ::-1],
        test_masks=np.roll(mask, 1, axis=1),
        source="text",
    )
    dataset = load_file(path, metric="auroc")
    assert dataset.metric == "auroc"
    assert dataset.masks["train"].tolist() == mask.T.tolist()
    assert dataset.data.edge_weight.tolist() == [1, 1, 2, 2, 3, 3]
    assert dataset.notes[0] == "ignored keys: source"
    sparse = tmp_path / "sparse.npz"
    np.savez(
        sparse,
        x_data=X[X != 0],
        x_indices=[0, 1, 0, 1],
        x_indptr=range(5),
        x_shape=X.shape,
        y=[0, 1, 0, 1],
        edges=EDGES,
    )
    assert load_file(sparse).data.x.tolist() == X.tolist()


def parts(name, matrix, mark="_"):
    """The four keys of a sparse matrix."""
    matrix = scipy.sparse.csr_array(matrix)
    values = (matrix.data, matrix.indices, matrix.indptr, matrix.shape)
    return {
        name + mark + part: value for part, value in zip(("data", "indices", "indptr", "shape"), values, strict=True)
    }


ADJACENCY = np.diag([1.0, 1.0, 1.0], k=1)  # the edges above, one way


@pytest.mark.parametrize(
    ("names", "mark"),
    [(("adj", "attr"), "_"), (("adj_matrix", "attr_matrix"), "."), (("adj_matrix", "attr_matrix"), "_")],
)
def test_archives_of_gnn_benchmark_are_read_in_every_spelling(tmp_path, names, mark):
    """Objects beside the arrays, which the published archives have, are neither used nor unpickled."""
    path = tmp_path / "toy.npz"
    adjacency, attributes = (parts(name, matrix, mark) for name, matrix in zip(names, (ADJACENCY, X), strict=True))
    np.savez(path, **adjacency, **attributes, labels=[0, 1, 0, -1], metadata=np.array({"a": 1}, dtype=object))
    dataset = load_file(path)
    check_toy(dataset)
    assert dataset.data.edge_weight is None
    assert dataset.notes[0] == "ignored keys: metadata"
    assert dataset.fingerprint == load_file(save(tmp_path / "same.npz")).fingerprint


def test_entries_of_an_adjacency_matrix_are_weights_unless_all_are_one(tmp_path):
    path = tmp_path / "toy.npz"
    np.savez(path, **parts("adj", 2 * ADJACENCY), attr_matrix=X, labels=[0, 1, 0, 1])
    assert load_file(path).data.edge_weight.tolist() == [2.0] * 6
    assert load_file(path).data.x.tolist() == X.tolist()


@pytest.mark.parametrize(
    ("arrays", "match"),
    [
        (parts("adj", X), r"must be CSR and square, got CSR of shape \[4, 2\]"),
        ({"adj_matrix": ADJACENCY}, r"must be CSR and square, got array of shape \[4, 4\]"),
        ({**parts("adj", ADJACENCY), "edge_weight": [1.0]}, "`edge_weight` must be left out with an adjacency matrix"),
        ({**parts("adj", ADJACENCY), "edges": EDGES}, "got edges and adj. Remove one"),
        ({**parts("x", X), "x": X, "edges": EDGES}, "must hold `x` or x_data, .*, got both"),
        ({"adj_data": [1.0]}, "must have the keys adj_data, .*, got no adj_indices, adj_indptr, adj_shape"),
        ({**parts("adj", ADJACENCY), "labels": [0, 1]}, "same number of nodes, got .*'labels': 2, 'num_nodes': 4"),
    ],
)
def test_bad_adjacency_matrices_are_refused(tmp_path, arrays, match):
    np.savez(tmp_path / "toy.npz", **arrays)
    with pytest.raises(ValueError, match=match):
        load_file(tmp_path / "toy.npz")


def test_the_raw_file_of_photo_is_the_benchmark(mirror, tmp_path):
    """Its features are 0 and 1, so that PyG's class leaves them as they are."""
    raw = mirror / "Photo" / "raw" / "amazon_electronics_photo.npz"
    if not raw.is_file():
        pytest.skip("no raw file of Photo among the real data")
    dataset = load_file(raw)
    benchmark = load_benchmark("photo", root=tmp_path, mirror=mirror)
    assert dataset.name == "amazon_electronics_photo"
    assert dataset.fingerprint == benchmark.fingerprint
    assert (dataset.num_classes, dataset.class_names) == (8, ())


def test_masks_of_a_file_are_its_official_splits(tmp_path):
    path = save(
        tmp_path / "toy.npz", y=[0, 1, 0, 1], train_mask=[1, 1, 0, 0], val_mask=[0, 0, 1, 0], test_mask=[0, 0, 0, 1]
    )
    split = make_splits(load_file(path), "official")[0]
    assert (split.train.tolist(), split.val.tolist(), split.test.tolist()) == ([0, 1], [2], [3])


def test_a_file_without_features_or_labels_is_read_and_says_so(tmp_path):
    path = tmp_path / "bare.npz"
    np.savez(path, edges=EDGES)
    dataset = load_file(path)
    assert dataset.data.x.tolist() == [[1.0]] * 4
    assert (dataset.num_classes, dataset.num_labelled) == (0, 0)
    assert dataset.notes[:2] == (
        "no features in the file: a column of ones is used, all information is in the structure",
        "4 of 4 nodes are unlabelled",
    )
    with pytest.raises(ValueError, match="must have labelled nodes"):
        make_splits(dataset)
    np.savez(path, edges=EDGES, num_nodes=6)
    assert load_file(path).num_nodes == 6


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
    assert classes.tolist() == y
    assert classes.dtype == torch.int64
    assert count == max(y) + 1
    assert found == names


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        ([0.5, 1.0], "labels must be classes, got the number 0.5. Regression targets are not supported"),
        (["1.5", "2"], "got the number 1.5"),
        ([0, -2], "or −1 for unlabelled, got -2"),
        ([[0, 1], [1, 0]], "one number or text for each node, got int64 of shape .2, 2.. Use argmax"),
        ([1j, 0], "one number or text for each node, got complex128"),
    ],
)
def test_bad_labels_are_refused(labels, match):
    with pytest.raises(ValueError, match=match):
        encode_labels(np.array(labels))


@pytest.mark.parametrize(
    ("arrays", "match"),
    [
        ({"y": [0.25, 1, 2, 3]}, "Regression targets are not supported"),
        ({"y": [0, 1]}, "same number of nodes, got .'features': 4, 'labels': 2."),
        ({"num_nodes": 9}, "same number of nodes, got .*'num_nodes': 9"),
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
        ({"edge_weight": ["a", "b", "c"]}, "`edge_weight` must be numbers of shape"),
        ({"y": 3}, "labels must hold one number or text for each node, got the single 3"),
        ({"num_nodes": [4, 4]}, r"`num_nodes` must be one integer, got int64 of shape \[2\]"),
        ({"train_mask": [1, 0, 0, 0]}, "masks must be given for train, val and test, got none for val, test"),
        ({"train_mask": [1, 0, 0, 7]}, "the train mask must hold true or false"),
        ({f"{part}_mask": [1, 0] for part in ("train", "val", "test")}, "same number of nodes, got .*'train masks': 2"),
        ({"y": np.array([{}, 1], dtype=object)}, "`y` must be a plain array, got .* not objects"),
    ],
)
def test_bad_archives_are_refused_naming_file_and_key(tmp_path, arrays, match):
    path = save(tmp_path / "toy.npz", **arrays)
    with pytest.raises(ValueError, match=match) as caught:
        load_file(path)
    assert str(caught.value).count(str(path)) == 1


def test_archives_without_edges_or_with_broken_sparse_features_are_refused(tmp_path):
    path = tmp_path / "toy.npz"
    np.savez(path, x=X)
    with pytest.raises(ValueError, match="CSR parts of `adj_matrix`, got none of them"):
        load_file(path)
    np.savez(path, x_data=[1.0], edges=EDGES)
    with pytest.raises(ValueError, match=r"must have the keys x_data, .*, got no x_indices, x_indptr, x_shape"):
        load_file(path)
    np.savez(path, x_data=[1.0], x_indices=[5], x_indptr=[0, 1], x_shape=[1, 2], edges=EDGES)
    with pytest.raises(ValueError, match=r"must be a CSR matrix"):
        load_file(path)
    np.savez(path, edges=np.zeros((0, 2), dtype=int))
    with pytest.raises(ValueError, match="must have at least one node"):
        load_file(path)


def test_what_is_not_an_archive_is_refused(tmp_path):
    text, single = tmp_path / "text.npz", tmp_path / "single.npz"
    text.write_text("hello")
    with pytest.raises(ValueError, match=r"must be a numpy .npz archive"):
        open_npz(text)
    with single.open("wb") as file:
        np.save(file, X)
    with pytest.raises(ValueError, match="got a single array"):
        open_npz(single)
    with pytest.raises(ValueError, match="the file must exist"):
        open_npz(tmp_path / "missing.npz")


def test_a_saved_dict_is_read_like_a_data(tmp_path):
    path = tmp_path / "toy.pt"
    data = Data(x=torch.tensor(X).to_sparse(), y=torch.tensor([0.0, 1.0, 0.0, -1.0]), edge_index=torch.tensor(EDGES.T))
    data.edge_weight = torch.ones(3, 1)
    data.pos = torch.zeros(4, 2)
    torch.save(data.to_dict(), path)
    dataset = load_file(path)
    check_toy(dataset)
    assert dataset.data.edge_weight.tolist() == [1.0] * 6
    assert dataset.notes[0] == "ignored attributes: pos"
    torch.save(Data(edge_index=torch.tensor(EDGES.T), num_nodes=7), path)
    assert load_file(path).num_nodes == 7


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
    ],
)
def test_other_contents_of_pt_are_refused(tmp_path, content, match):
    path = tmp_path / "toy.pt"
    torch.save(content, path)
    with pytest.raises(ValueError, match=match):
        load_file(path)


def test_a_broken_pt_is_refused(tmp_path):
    path = tmp_path / "toy.pt"
    path.write_bytes(b"")
    with pytest.raises(ValueError, match=r"must be readable by torch.load, got"):
        load_file(path)


def test_other_endings_and_missing_files_are_refused(tmp_path):
    path = tmp_path / "graph.gml"
    with pytest.raises(ValueError, match=r"the file must exist, got nothing there"):
        load_file(path)
    path.write_text("")
    with pytest.raises(ValueError, match=r"must end in .npz, .pt, .graphml, .csv, or be a folder .*, got '.gml'"):
        load_file(path)


def test_loading_a_pt_file_leaves_torchs_list_of_safe_classes_alone(tmp_path):
    torch.save(sbm(n=20), tmp_path / "g.pt")
    before = set(torch.serialization.get_safe_globals())
    load_file(tmp_path / "g.pt")
    assert set(torch.serialization.get_safe_globals()) == before
