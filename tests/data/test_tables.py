"""Promises of reading tables: CSV and GraphML."""

from __future__ import annotations

import sys

import networkx
import pytest

from llpe.data import load_file


def write_csv(folder, nodes="id,f,label,g\na,1,cat,2\nb,3,dog,4\nc,5,,6\n", edges="source,target\na,b\nb,c\n"):
    (folder / "nodes.csv").write_text(nodes)
    (folder / "edges.csv").write_text(edges)
    return folder


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
    ("nodes", "edges", "match"),
    [
        ("name,f\na,1\n", None, "nodes.csv must have a column `id`, got name, f"),
        ("", None, "nodes.csv must have a column `id`, got no header"),
        ("id,f,f\na,1,2\n", None, "nodes.csv must name each column once"),
        ("id,f\na,1\na,2\n", None, "nodes.csv: column `id` must name each node once, got 'a' twice"),
        ("id,f\na,red\n", None, "nodes.csv: column `f` must be finite numbers, got 'red' in row 1"),
        ("id,f\na,1\nb,\n", None, "column `f` must be finite numbers, got '' in row 2"),
        ("id,f\na,nan\n", None, "column `f` must be finite numbers, got 'nan'"),
        ("id,f\na\n", None, "nodes.csv: row 1 must have 2 cells, got 1"),
        ("id,label\na,0.5\nb,1\nc,2\n", None, "Regression targets are not supported"),
        (None, "from,to\na,b\n", "edges.csv must have a column `source`, got from, to"),
        (None, "source,target\na,z\n", "edges.csv: column `target` must name nodes of nodes.csv, got 'z' in row 1"),
        (None, "source,target,weight\na,b,heavy\n", "edges.csv: column `weight` must be finite numbers, got 'heavy'"),
    ],
)
def test_bad_tables_are_refused_naming_file_and_column(tmp_path, nodes, edges, match):
    given = {key: text for key, text in (("nodes", nodes), ("edges", edges)) if text is not None}
    with pytest.raises(ValueError, match=match):
        load_file(write_csv(tmp_path, **given))


def test_tables_must_be_there_and_be_text(tmp_path):
    with pytest.raises(ValueError, match=r"nodes.csv must exist in"):
        load_file(tmp_path)
    write_csv(tmp_path)
    (tmp_path / "nodes.csv").write_bytes(b"id\n\xff\xfe\n")
    with pytest.raises(ValueError, match=r"nodes.csv must be a CSV file in UTF-8"):
        load_file(tmp_path)


def graphml(path, nodes, edges=()):
    graph = networkx.Graph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(edges)
    networkx.write_graphml(graph, path)
    return path


def test_graphml_reads_weights_and_names_and_says_what_it_ignores(tmp_path):
    path = graphml(
        tmp_path / "toy.graphml",
        [("a", {"f": 1, "y": "red", "name": "Ann"}), ("b", {"f": 2, "y": "blue", "name": "Bob"})],
        [("a", "b", {"weight": 2.5})],
    )
    dataset = load_file(path)
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
    ("nodes", "edges", "match"),
    [
        ([("a", {"f": 1}), ("b", {})], [], "node attribute `f` must be given for every node, got none for node 'b'"),
        ([("a", {"label": 1, "y": 1})], [], "node attribute `label` or `y`, got both"),
        ([("a", {"label": 0.5})], [], "Regression targets are not supported"),
        (
            [("a", {}), ("b", {}), ("c", {})],
            [("a", "b", {"weight": 1}), ("b", "c", {})],
            "`weight` must be a number for every edge, got None",
        ),
    ],
)
def test_bad_graphml_is_refused(tmp_path, nodes, edges, match):
    with pytest.raises(ValueError, match=match):
        load_file(graphml(tmp_path / "toy.graphml", nodes, edges))


def test_graphml_that_is_not_xml_or_without_networkx_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "toy.graphml"
    path.write_text("hello")
    with pytest.raises(ValueError, match=r"the file must be GraphML, got ParseError"):
        load_file(path)
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ValueError, match=r"with networkx, got none. Install it with: pip install .llpe.lab"):
        load_file(path)
