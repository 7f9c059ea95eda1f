"""Promises of reading text files (CSV, GraphML), and that the same graph in every format is the same graph."""

from __future__ import annotations

import sys

import networkx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from llpe.data import load_file

EDGES = np.array([[0, 1], [1, 2], [2, 3]])
X = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0], [0.0, 4.0]])
Y = [0, 1, 0, -1]


def write_csv(folder, nodes="id,f,label,g\na,1,cat,2\nb,3,dog,4\nc,5,,6\n", edges="source,target\na,b\nb,c\n"):
    folder.mkdir(exist_ok=True)
    (folder / "nodes.csv").write_text(nodes)
    (folder / "edges.csv").write_text(edges)
    return folder


def write_graphml(path, nodes, edges=(), kind=networkx.Graph):
    graph = kind()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(edges)
    networkx.write_graphml(graph, path)
    return path


def test_the_same_graph_in_every_format_is_the_same_graph(tmp_path):
    npz, pt = tmp_path / "toy.npz", tmp_path / "toy.pt"
    np.savez(npz, x=X, y=Y, edges=EDGES)
    torch.save(Data(x=torch.tensor(X), y=torch.tensor(Y), edge_index=torch.tensor(EDGES.T)), pt)
    labels = [{"label": y} if y >= 0 else {} for y in Y]
    nodes = [(f"n{i}", {"f": X[i, 0], "g": X[i, 1], **labels[i]}) for i in range(4)]
    named = [(f"n{u}", f"n{v}") for u, v in EDGES]
    graphml = write_graphml(tmp_path / "toy.graphml", nodes, named, networkx.DiGraph)
    rows = "".join(f"{name},{each['f']},{each['g']},{each.get('label', '')}\n" for name, each in nodes)
    pairs = "".join(f"{source},{target}\n" for source, target in named)
    folder = write_csv(tmp_path / "toy", "id,f,g,label\n" + rows, "source,target\n" + pairs)
    loaded = [load_file(file) for file in (npz, pt, graphml, folder, folder / "edges.csv")]
    for dataset in loaded:
        assert (dataset.name, dataset.num_classes, dataset.data.x.dtype) == ("toy", 2, torch.float32)
        assert dataset.data.edge_index.tolist() == [[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]]
        assert (dataset.data.x.tolist(), dataset.data.y.tolist()) == (X.tolist(), Y)
        assert dataset.notes == ("1 of 4 nodes are unlabelled", "made 3 one-way edges undirected")
    assert len({dataset.fingerprint for dataset in loaded}) == 1


def test_csv_keeps_text_ids_weights_and_names(tmp_path):
    folder = write_csv(tmp_path, edges="\ufeffsource, target,weight,kind\na,b,2,x\n\nb,c,0.5,y\n")
    dataset = load_file(folder)
    assert dataset.class_names == ("cat", "dog")
    assert dataset.data.y.tolist() == [0, 1, -1]
    assert dataset.data.x.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert dataset.data.edge_weight.tolist() == [2, 2, 0.5, 0.5]
    assert dataset.notes[0] == "ignored columns of edges.csv: kind"
    assert "classes: 0 = cat, 1 = dog" in dataset.notes
    bare = load_file(write_csv(tmp_path, nodes="id\na\nb\n", edges="source,target\n"))
    assert (bare.num_nodes, bare.data.num_edges, bare.num_classes) == (2, 0, 0)


@pytest.mark.parametrize(
    ("tables", "match"),
    [
        ({"nodes": "name,f\na,1\n"}, "nodes.csv must have a column `id`, got name, f"),
        ({"nodes": ""}, "nodes.csv must have a column `id`, got no header"),
        ({"nodes": "id,f,f\na,1,2\n"}, "nodes.csv must name each column once"),
        ({"nodes": "id,f\na,1\na,2\n"}, "nodes.csv: column `id` must name each node once, got 'a' twice"),
        ({"nodes": "id,f\na,red\n"}, "nodes.csv: column `f` must be finite numbers, got 'red' for node 'a'"),
        ({"nodes": "id,f\na,1\nb,\n"}, "column `f` must be finite numbers, got '' for node 'b'"),
        ({"nodes": "id,f\na,nan\n"}, "column `f` must be finite numbers, got 'nan'"),
        ({"nodes": "id,f\na\n"}, "nodes.csv: row 1 must have 2 cells, got 1"),
        ({"nodes": "id,label\na,0.5\nb,1\nc,2\n"}, "Regression targets are not supported"),
        ({"edges": "from,to\na,b\n"}, "edges.csv must have a column `source`, got from, to"),
        ({"edges": "source,target\na,z\n"}, "edges.csv: column `target` must name nodes, got 'z' for edge 1"),
        (
            {"edges": "source,target,weight\na,b,much\n"},
            "edges.csv: column `weight` must be finite numbers, got 'much'",
        ),
    ],
)
def test_bad_tables_are_refused_naming_file_and_column(tmp_path, tables, match):
    with pytest.raises(ValueError, match=match):
        load_file(write_csv(tmp_path, **tables))


def test_tables_must_exist_and_be_text(tmp_path):
    with pytest.raises(ValueError, match=r"nodes.csv must exist in"):
        load_file(tmp_path)
    write_csv(tmp_path)
    (tmp_path / "nodes.csv").write_bytes(b"id\n\xff\xfe\n")
    with pytest.raises(ValueError, match=r"nodes.csv must be a CSV file in UTF-8"):
        load_file(tmp_path)


def test_graphml_reads_weights_and_names_and_says_what_it_ignores(tmp_path):
    nodes = [("a", {"f": 1, "y": "red", "name": "Ann"}), ("b", {"f": 2, "y": "blue", "name": "Bob"})]
    dataset = load_file(write_graphml(tmp_path / "toy.graphml", nodes, [("a", "b", {"weight": 2.5})]))
    assert dataset.data.x.tolist() == [[1.0], [2.0]]
    assert dataset.class_names == ("blue", "red")
    assert dataset.data.edge_weight.tolist() == [2.5, 2.5]
    assert dataset.notes[0] == "ignored node attributes that are not numbers: name"


def test_graphml_defaults_fill_missing_values(tmp_path):
    path = tmp_path / "toy.graphml"
    path.write_text(
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
        '<key id="f" for="node" attr.name="f" attr.type="double"><default>7</default></key>'
        '<key id="w" for="edge" attr.name="weight" attr.type="double"><default>2</default></key>'
        '<graph edgedefault="undirected"><node id="a"><data key="f">1</data></node><node id="b"/>'
        '<edge source="a" target="b"/></graph></graphml>'
    )
    dataset = load_file(path)
    assert dataset.data.x.tolist() == [[1.0], [7.0]]
    assert dataset.data.edge_weight.tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("nodes", "match"),
    [
        ([("a", {"f": 1}), ("b", {})], "node attribute `f` must be finite numbers, got None for node 'b'"),
        ([("a", {"label": 1, "y": 1})], "node attribute `label` or `y`, got both"),
        ([("a", {"label": 0.5})], "Regression targets are not supported"),
        ([("a", {}), ("b", {}), ("c", {})], "edge attribute `weight` must be finite numbers, got None for edge 2"),
    ],
)
def test_bad_graphml_is_refused(tmp_path, nodes, match):
    edges = [("a", "b", {"weight": 1}), ("b", "c", {})] if len(nodes) == 3 else []
    with pytest.raises(ValueError, match=match):
        load_file(write_graphml(tmp_path / "toy.graphml", nodes, edges))


def test_graphml_that_is_not_xml_or_without_networkx_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "toy.graphml"
    path.write_text("hello")
    with pytest.raises(ValueError, match=r"the file must be GraphML, got ParseError"):
        load_file(path)
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ValueError, match=r"with networkx, got none. Install it with: pip install .llpe.lab"):
        load_file(path)
