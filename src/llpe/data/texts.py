"""Graphs stored as text: edge and node tables in CSV, and GraphML. Readers return what those of ``arrays`` do."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import iterparse

import numpy as np

from llpe.data.arrays import Arrays, describe, ignored
from llpe.extra import how_to_install

Column = Sequence[Any]
Table = Mapping[str, Column]


def read_csv(path: Path) -> tuple[Arrays, list[str]]:
    """``edges.csv`` (columns source, target and optionally weight) with ``nodes.csv`` next to it (columns id,
    optionally label, and numeric features). ``path`` is the edge file or its folder.
    """
    edge_file = path / "edges.csv" if path.is_dir() else path
    nodes = _table(edge_file.with_name("nodes.csv"), required=("id",))
    edges = _table(edge_file, required=("source", "target"))
    features = {name: cells for name, cells in nodes.items() if name != "id"}
    unused = [name for name in edges if name not in ("source", "target", "weight")]
    graph = _graph(nodes["id"], features, edges, "nodes.csv: column", f"{edge_file.name}: column")
    return graph, ignored(f"columns of {edge_file.name}", unused)


def read_graphml(path: Path) -> tuple[Arrays, list[str]]:
    """Numeric node attributes become features, the node attribute ``label`` (or ``y``) the class, the edge
    attribute ``weight`` the weight.
    """
    try:
        import networkx
    except ImportError:
        install = how_to_install("lab")
        raise ValueError(f"GraphML must be read with networkx, got none. Install it with: {install}") from None
    try:
        declared = {element.get("id") for _, element in iterparse(path) if element.tag.rpartition("}")[2] == "node"}
        graph = networkx.read_graphml(path)
    except Exception as error:  # networkx lets XML, key and value errors through
        raise ValueError(f"the file must be GraphML, got {describe(error)}.") from error
    unknown = [node for node in graph if node not in declared]
    if unknown:
        raise ValueError(f"edges must join nodes of the file, got one to {unknown[0]!r}. Declare it with <node id=…>.")
    default = graph.graph.get("node_default", {})
    rows = [{**default, **attributes} for _, attributes in graph.nodes(data=True)]
    names = dict.fromkeys(name for row in rows for name in row)
    nodes = {name: [row.get(name) for row in rows] for name in names}
    if "y" in nodes:
        if "label" in nodes:
            raise ValueError("the class must be the node attribute `label` or `y`, got both. Remove one.")
        nodes["label"] = nodes.pop("y")
    texts = [name for name, cells in nodes.items() if name != "label" and any(isinstance(cell, str) for cell in cells)]
    numeric = {name: cells for name, cells in nodes.items() if name not in texts}
    edges = {"source": [edge[0] for edge in graph.edges()], "target": [edge[1] for edge in graph.edges()]}
    weight = graph.graph.get("edge_default", {}).get("weight")
    weights = [weight for *_, weight in graph.edges(data="weight", default=weight)]
    if any(weight is not None for weight in weights):
        edges["weight"] = weights
    arrays = _graph(list(graph), numeric, edges, "node attribute", "edge attribute")
    return arrays, ignored("node attributes that are not numbers", texts)


def _graph(ids: Column, nodes: Table, edges: Table, of_node: str, of_edge: str) -> Arrays:
    """The arrays of a graph whose nodes are named by ``ids``; columns of ``nodes`` are features, except ``label``."""
    number = {node: i for i, node in enumerate(ids)}
    twice = [node for i, node in enumerate(ids) if number[node] != i]
    if twice:
        raise ValueError(f"{of_node} `id` must name each node once, got {twice[0]!r} twice.")
    labels, weights, finite = nodes.get("label"), edges.get("weight"), "be finite numbers"
    features = [_convert(nodes[n], _finite, f"{of_node} `{n}`", finite, ids) for n in nodes if n != "label"]
    ends = [_convert(edges[n], number.get, f"{of_edge} `{n}`", "name nodes") for n in ("source", "target")]
    return {
        "edge_index": np.stack(ends).astype(np.int64),
        "x": np.stack(features, axis=1) if features else None,
        "y": None if labels is None else np.array(["" if label is None else str(label) for label in labels], dtype=str),
        "edge_weight": None if weights is None else _convert(weights, _finite, f"{of_edge} `weight`", finite),
        "num_nodes": len(number),
    }


def _convert(
    cells: Column, convert: Callable[[Any], float | None], column: str, rule: str, nodes: Column = ()
) -> np.ndarray:
    """The values of a column's cells; refuses the first cell that has none."""
    values = [convert(cell) for cell in cells]
    if None in values:
        i = values.index(None)
        where = f"for node {nodes[i]!r}" if nodes else f"for edge {i + 1}"
        raise ValueError(f"{column} must {rule}, got {cells[i]!r} {where}. Correct or remove it.")
    return np.array(values)


def _finite(cell: Any) -> float | None:
    try:
        value = float(cell)
    except (ValueError, TypeError):
        return None
    return value if math.isfinite(value) else None


def _table(path: Path, required: tuple[str, ...]) -> Table:
    """The columns of a CSV file by name."""
    if not path.is_file():
        raise ValueError(
            f"{path.name} must exist in {path.parent}, got no such file. Put both CSV files in one folder."
        )
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            header, *rows = [[cell.strip() for cell in row] for row in csv.reader(file)] or [[]]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path.name} must be a CSV file in UTF-8, got {error}.") from error
    rows = [row for row in rows if row]
    for name in required:
        if name not in header:
            raise ValueError(f"{path.name} must have a column `{name}`, got {', '.join(header) or 'no header'}.")
    if len(set(header)) < len(header):
        raise ValueError(f"{path.name} must name each column once, got {', '.join(header)}.")
    for i, row in enumerate(rows):
        if len(row) != len(header):
            raise ValueError(f"{path.name}: row {i + 1} must have {len(header)} cells, got {len(row)}.")
    columns = list(zip(*rows, strict=True)) or [()] * len(header)
    return dict(zip(header, columns, strict=True))
