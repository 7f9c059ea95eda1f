"""Graphs stored as text: edge and node tables in CSV, and GraphML."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from llpe.data.raw import RawGraph
from llpe.extra import INSTALL

Table = dict[str, tuple[str, ...]]


def read_csv(path: Path) -> RawGraph:
    """``edges.csv`` (columns source, target and optionally weight) with ``nodes.csv`` beside it (columns id,
    optionally label, and numeric features). ``path`` is the edge file or its folder.
    """
    edge_file = path / "edges.csv" if path.is_dir() else path
    node_file = edge_file.with_name("nodes.csv")
    nodes = _read_table(node_file, required=("id",))
    edges = _read_table(edge_file, required=("source", "target"))
    number = {node: i for i, node in enumerate(nodes["id"])}
    if len(number) < len(nodes["id"]):
        twice = next(node for i, node in enumerate(nodes["id"]) if number[node] != i)
        raise ValueError(f"{node_file.name}: column `id` must name each node once, got {twice!r} twice.")
    features = [column for column in nodes if column not in ("id", "label")]
    columns = [_numbers(nodes[column], f"{node_file.name}: column `{column}`") for column in features]
    weight = edges.get("weight")
    ignored = [column for column in edges if column not in ("source", "target", "weight")]
    return RawGraph(
        np.stack([_lookup(edges[end], number, f"{edge_file.name}: column `{end}`") for end in ("source", "target")]),
        np.stack(columns, axis=1) if columns else None,
        np.array(nodes["label"], dtype=str) if "label" in nodes else None,
        None if weight is None else _numbers(weight, f"{edge_file.name}: column `weight`"),
        num_nodes=len(number),
        notes=[f"ignored columns of {edge_file.name}: {', '.join(ignored)}"] if ignored else [],
    )


def read_graphml(path: Path) -> RawGraph:
    """Numeric node attributes become features, the node attribute ``label`` (or ``y``) the class, the edge
    attribute ``weight`` the weight.
    """
    try:
        import networkx
    except ImportError:
        raise ValueError(f"GraphML must be read with networkx, got none. Install it with: {INSTALL}") from None
    try:
        graph = networkx.read_graphml(path)
    except Exception as error:  # networkx lets XML, key and value errors through
        raise ValueError(f"the file must be GraphML, got {type(error).__name__}: {error}.") from error
    number = {node: i for i, node in enumerate(graph)}
    default = graph.graph.get("node_default", {})
    nodes: list[dict[str, Any]] = [{**default, **attributes} for _, attributes in graph.nodes(data=True)]
    names = list(dict.fromkeys(name for attributes in nodes for name in attributes))
    targets = [name for name in ("label", "y") if name in names]
    if len(targets) == 2:
        raise ValueError("the class must be the node attribute `label` or `y`, got both. Remove one.")
    labels = None
    if targets:
        labels = np.array([str(attributes.get(targets[0], "")) for attributes in nodes], dtype=str)
    x, ignored = _attributes(nodes, [name for name in names if name not in targets], list(number))
    ends = [(number[source], number[target]) for source, target in graph.edges()]
    return RawGraph(
        np.array(ends, dtype=np.int64).reshape(-1, 2).T,
        x,
        labels,
        _weights(graph),
        num_nodes=len(nodes),
        notes=[f"ignored node attributes that are not numbers: {', '.join(ignored)}"] if ignored else [],
    )


def _read_table(path: Path, required: tuple[str, ...]) -> Table:
    if not path.is_file():
        raise ValueError(
            f"{path.name} must exist in {path.parent}, got no such file. Put both CSV files in one folder."
        )
    with path.open(newline="", encoding="utf-8-sig") as file:
        try:
            reader = csv.reader(file)
            header = [name.strip() for name in next(reader, [])]
            rows = [row for row in reader if row]
        except (UnicodeDecodeError, csv.Error) as error:
            raise ValueError(f"{path.name} must be a CSV file in UTF-8, got {error}.") from error
    for name in required:
        if name not in header:
            raise ValueError(f"{path.name} must have a column `{name}`, got {', '.join(header) or 'no header'}.")
    if len(set(header)) < len(header):
        raise ValueError(f"{path.name} must name each column once, got {', '.join(header)}.")
    for i, row in enumerate(rows):
        if len(row) != len(header):
            raise ValueError(f"{path.name}: row {i + 1} must have {len(header)} cells, got {len(row)}.")
    columns = list(zip(*rows, strict=True)) or [()] * len(header)
    return {name: tuple(cell.strip() for cell in column) for name, column in zip(header, columns, strict=True)}


def _numbers(cells: Sequence[str], where: str) -> np.ndarray:
    try:
        numbers = np.array(cells, dtype=np.float64)
    except ValueError:
        numbers = np.array([_number(cell) for cell in cells])
    bad = ~np.isfinite(numbers)
    if bad.any():
        i = int(bad.argmax())
        raise ValueError(f"{where} must be finite numbers, got {cells[i]!r} in row {i + 1}. Fill in or remove it.")
    return numbers


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return float("nan")


def _lookup(cells: Sequence[str], number: dict[str, int], where: str) -> np.ndarray:
    ids = np.array([number.get(cell, -1) for cell in cells], dtype=np.int64)
    if (ids < 0).any():
        i = int((ids < 0).argmax())
        raise ValueError(f"{where} must name nodes of nodes.csv, got {cells[i]!r} in row {i + 1}. Add the node.")
    return ids


def _attributes(
    nodes: list[dict[str, Any]], names: list[str], node_names: list[str]
) -> tuple[np.ndarray | None, list[str]]:
    columns, ignored = [], []
    for name in names:
        values = [attributes.get(name) for attributes in nodes]
        if any(isinstance(value, str) for value in values):
            ignored.append(name)
            continue
        if None in values:
            raise ValueError(
                f"node attribute `{name}` must be given for every node, got none for node "
                f"{node_names[values.index(None)]!r}. Fill in or remove it."
            )
        columns.append(np.array(values, dtype=np.float64))
    return (np.stack(columns, axis=1) if columns else None), ignored


def _weights(graph: Any) -> np.ndarray | None:
    default = graph.graph.get("edge_default", {}).get("weight")
    weights = [attributes.get("weight", default) for _, _, attributes in graph.edges(data=True)]
    if all(weight is None for weight in weights):
        return None
    if not all(isinstance(weight, int | float) for weight in weights):
        bad = next(weight for weight in weights if not isinstance(weight, int | float))
        raise ValueError(f"edge attribute `weight` must be a number for every edge, got {bad!r}.")
    return np.array(weights, dtype=np.float64)
