"""The user's own graph, from a file or from a folder that ``llpe convert`` has written.

A reader finds the arrays of a file; here they are checked, labels become classes 0, 1, …, and edges become undirected.
A folder holds all that already. ``docs/your-own-graph.md`` and ``docs/large-graphs.md`` describe the formats.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from llpe.checks import check_count, checked
from llpe.data.dataset import PARTS, NodeDataset, undirected, unlabelled_note
from llpe.data.readers import Arrays, check_file, read_csv, read_graphml, read_npz, read_pt
from llpe.folder import GraphFolder
from llpe.graph import Graph
from llpe.storage import require_memory

Reader = Callable[[Path], tuple[Arrays, list[str]]]
READERS: dict[str, Reader] = {".npz": read_npz, ".pt": read_pt, ".graphml": read_graphml, ".csv": read_csv}


@checked
def load_file(path: str | Path, *, metric: str = "accuracy") -> NodeDataset:
    """Reads a graph with node features and labels from ``.npz``, ``.pt``, ``.graphml`` or CSV files.

    The graph is made undirected and simple; ``notes`` says what that changed, how many nodes are unlabelled,
    and what in the file was not used. A graph without labels can be encoded, but not trained on.

    Args:
        path: the file, or a folder with ``edges.csv`` and ``nodes.csv``.
        metric: ``"accuracy"`` or ``"auroc"``.
    """
    path = Path(path).expanduser()
    if not path.is_dir():
        check_file(path)
    reader = read_csv if path.is_dir() else READERS.get(path.suffix.lower())
    if reader is None:
        raise ValueError(
            f"{path}: must end in {', '.join(READERS)}, or be a folder with edges.csv and nodes.csv, "
            f"got {path.suffix or 'no ending'!r}. Convert the graph to one of these."
        )
    place = path.resolve().parent if path.name == "edges.csv" else path.resolve()
    name = place.name if place.is_dir() else place.stem
    try:
        return _to_dataset(name, *reader(path), metric)
    except ValueError as error:
        text = str(error)
        raise ValueError(text if text.startswith(str(path)) else f"{path}: {text}") from error


def _to_dataset(name: str, graph: Arrays, notes: list[str], metric: str) -> NodeDataset:
    """Checks and converts what a reader found; adds to ``notes`` what was changed or is missing."""
    edges, x, weight = graph["edge_index"], graph.get("x"), graph.get("edge_weight")
    if edges.ndim != 2 or edges.shape[0] != 2 or edges.dtype.kind not in "iu":
        raise ValueError(
            "edges must be integer node numbers, `edges` of shape [num_edges, 2] or `edge_index` of shape "
            f"[2, num_edges], got {edges.dtype} with {list(edges.shape)} read as [2, num_edges]."
        )
    if x is not None and (x.ndim != 2 or x.dtype.kind not in "biuf"):
        got = f"{x.dtype} of shape {list(x.shape)}"
        raise ValueError(f"features must be numbers of shape [num_nodes, num_features], got {got}.")
    if weight is not None and weight.dtype.kind not in "biuf":
        raise ValueError(f"`edge_weight` must be numbers of shape [num_edges], got {weight.dtype}.")
    classes = encode_labels(graph["y"]) if graph.get("y") is not None else None
    masks = _masks(graph)
    num_nodes = _count_nodes(graph, masks)
    if x is None:
        require_memory(16 * num_nodes, f"a graph of {num_nodes} nodes", "Check num_nodes and the numbers of the nodes.")
        x = np.ones((num_nodes, 1))
        notes.append("no features in the file: a column of ones is used, all information is in the structure")
    y, num_classes, class_names = classes or (torch.full((num_nodes,), -1), 0, ())
    notes += unlabelled_note(y)
    if class_names:
        notes.append("classes: " + ", ".join(f"{i} = {label}" for i, label in enumerate(class_names)))
    data = Data(x=_tensor(x, np.float32), y=y, edge_index=_tensor(edges, np.int64))
    if weight is not None:
        data.edge_weight = _tensor(weight.reshape(-1), np.float64)
    data, changes = undirected(data)
    return NodeDataset(name, data, metric, num_classes, (*notes, *changes), masks, class_names)


def _tensor(array: np.ndarray, dtype: type[np.generic]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array, dtype=dtype))


def _masks(graph: Arrays) -> dict[str, Tensor] | None:
    """Masks as bool [num_nodes, num_splits]; :class:`NodeDataset` checks that all parts are there."""
    given = {part: graph[f"{part}_mask"] for part in PARTS if f"{part}_mask" in graph}
    for part, mask in given.items():
        if mask.ndim not in (1, 2) or not np.isin(mask, (0, 1)).all():
            raise ValueError(f"the {part} mask must hold true or false in 1 or 2 dimensions, got {list(mask.shape)}.")
    return {part: _tensor(mask.reshape(len(mask), -1), np.bool_) for part, mask in given.items()} or None


def _count_nodes(graph: Arrays, masks: dict[str, Tensor] | None) -> int:
    """The number of nodes, on which features, labels and masks must agree."""
    arrays = {"features": graph.get("x"), "labels": graph.get("y")}
    arrays |= {f"{part} masks": mask for part, mask in (masks or {}).items()}
    sizes = {what: len(array) for what, array in arrays.items() if array is not None}
    if graph.get("num_nodes") is not None:
        sizes["num_nodes"] = check_count("num_nodes", graph["num_nodes"], least=0)
    if len(set(sizes.values())) > 1:
        raise ValueError(f"all parts must have the same number of nodes, got {sizes}.")
    edges = graph["edge_index"]
    return next(iter(sizes.values()), int(edges.max()) + 1 if edges.size else 0)


def encode_labels(labels: np.ndarray) -> tuple[Tensor, int, tuple[str, ...]]:
    """Labels as (classes 0 … C−1 with −1 for missing, C, names of the classes).

    Missing is −1, NaN or an empty text. Names are empty when the labels already are 0 … C−1.

    Example:
        >>> encode_labels(np.array(["cat", "", "ant", "cat"]))
        (tensor([ 1, -1,  0,  1]), 2, ('ant', 'cat'))
        >>> encode_labels(np.array([1.0, 0.0, np.nan]))
        (tensor([ 1,  0, -1]), 2, ())
    """
    values = labels.reshape(-1) if labels.ndim and labels.size == len(labels) else labels
    if values.ndim != 1 or values.dtype.kind not in "biufU":
        got = f"{labels.dtype} of shape {list(labels.shape)}. Use argmax on one-hot labels"
        raise ValueError(f"labels must hold one number or text for each node, got {got}.")
    text = values.dtype.kind == "U"
    if text:
        values = np.char.strip(values)
    missing = np.isin(values, ("", "-1", "nan", "NaN")) if text else (values == -1) | np.isnan(values)
    given = values[~missing]
    with contextlib.suppress(ValueError):  # texts that are all numbers are taken as numbers
        if text and np.isfinite(given.astype(np.float64)).all():
            given, text = given.astype(np.float64), False
    wrong = given[~np.isfinite(given) | (given != np.floor(given))] if given.dtype.kind == "f" else given[:0]
    if wrong.size:
        instead = "Regression targets are not supported; bin them into classes first."
        raise ValueError(f"labels must be classes, got the number {wrong[0]:g}. {instead}")
    if given.dtype.kind in "if" and given.size and given.min() < 0:
        raise ValueError(f"labels must be 0, 1, … or −1 for unlabelled, got {given.min():g}.")
    classes, inverse = np.unique(given, return_inverse=True)
    y = np.full(values.size, -1)
    y[~missing] = inverse
    names = tuple(str(label) if text else str(int(label)) for label in classes)
    if not text and np.array_equal(classes, np.arange(classes.size)):
        names = ()
    return torch.from_numpy(y), classes.size, names


@dataclass(frozen=True, eq=False)
class MappedDataset(NodeDataset):
    """A data set with features, classes and encoding on disk, for models that see single rows.

    Edges are not read at all: ``data`` has no ``edge_index``.

    Attributes:
        folder: the graph.
        features: the folder that ``llpe encode`` has written of it.
    """

    folder: GraphFolder = field(kw_only=True)
    features: Path = field(kw_only=True)

    def check_graph(self) -> None:
        """The folder was checked when it was converted."""

    @property
    def graph(self) -> Graph:
        raise ValueError(f"{self.name}: the edges must be in memory for this, got a mapped graph. Omit --features.")

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the checksums of all arrays."""
        return hashlib.sha256(json.dumps(self.folder.arrays, sort_keys=True).encode()).hexdigest()

    @property
    def graph_fingerprint(self) -> str:
        return self.folder.fingerprint

    def scaling(self, how: str) -> str:
        """Features are used as they are: a scaled copy might not fit."""
        if how not in ("auto", "raw"):
            raise ValueError(f"`training.features` must be raw for a mapped graph, got {how!r}. Scale x before.")
        return "raw"


def load_folder(path: str | Path) -> NodeDataset:
    """The graph of a folder, its edges in memory, its features and classes mapped."""
    folder = GraphFolder.open(path)
    data = folder.to_data()
    for part in PARTS:
        data.pop(f"{part}_mask", None)
    return NodeDataset(**_parts(folder, data))


def map_folder(path: str | Path, features: str | Path) -> MappedDataset:
    """The graph of a folder without its edges, and where its encoding is; everything is mapped."""
    folder = GraphFolder.open(path)
    data = Data(num_nodes=folder.num_nodes)
    data.update({name: folder.tensor(name) for name in ("x", "y") if name in folder.arrays})
    return MappedDataset(**_parts(folder, data), folder=folder, features=Path(features).expanduser())


def _parts(folder: GraphFolder, data: Data) -> dict[str, Any]:
    """What a data set is made of; without features a column of ones, without classes −1, neither of them in memory."""
    if data.x is None:
        data.x = torch.ones(1, 1).expand(folder.num_nodes, 1)
    if data.y is None:
        data.y = torch.full((1,), -1).expand(folder.num_nodes)
    given = [part for part in PARTS if f"{part}_mask" in folder.arrays]
    return {
        "name": folder.path.resolve().name,
        "data": data,
        "metric": "accuracy",
        "num_classes": int(data.y.max()) + 1,
        "notes": (*unlabelled_note(data.y), *folder.changes),
        "masks": {part: folder.tensor(f"{part}_mask").reshape(folder.num_nodes, -1) for part in given} or None,
    }
