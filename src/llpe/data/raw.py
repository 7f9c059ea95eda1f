"""From what a file holds to a checked data set: labels become classes 0, 1, …, edges become undirected."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from llpe.data.dataset import NodeDataset, undirected


@dataclass
class RawGraph:
    """What a reader found. Arrays are as in the file; ``labels`` may be numbers or names."""

    edge_index: np.ndarray
    x: np.ndarray | None = None
    labels: np.ndarray | None = None
    edge_weight: np.ndarray | None = None
    masks: dict[str, np.ndarray] | None = None  # part → bool [num_nodes, num_splits]
    num_nodes: int | None = None
    notes: list[str] = field(default_factory=list)


def to_dataset(name: str, raw: RawGraph, metric: str = "accuracy") -> NodeDataset:
    """Checks and converts what a reader found; says in ``notes`` what was changed or left out."""
    num_nodes = _count_nodes(raw)
    notes = list(raw.notes)
    if raw.x is None:
        notes.append("no features in the file: a column of ones is used, all information is in the structure")
        x = torch.ones(num_nodes, 1)
    else:
        x = torch.from_numpy(np.ascontiguousarray(raw.x, dtype=np.float32))
    names: tuple[str, ...] = ()
    if raw.labels is None:
        y, num_classes = torch.full((num_nodes,), -1), 0
    else:
        y, num_classes, names = encode_labels(raw.labels)
    unlabelled = int((y < 0).sum())
    if unlabelled:
        notes.append(f"{unlabelled} of {num_nodes} nodes are unlabelled")
    if names:
        notes.append("classes: " + ", ".join(f"{i} = {label}" for i, label in enumerate(names)))
    data = Data(x=x, y=y, edge_index=torch.from_numpy(_edges(raw.edge_index)))
    if raw.edge_weight is not None:
        data.edge_weight = torch.from_numpy(np.ascontiguousarray(raw.edge_weight, dtype=np.float64))
    data, changes = undirected(data)
    masks = None
    if raw.masks is not None:
        masks = {part: torch.from_numpy(np.ascontiguousarray(mask)) for part, mask in raw.masks.items()}
    return NodeDataset(name, data, metric, num_classes, (*notes, *changes), masks, names)


def encode_labels(labels: np.ndarray) -> tuple[Tensor, int, tuple[str, ...]]:
    """Labels as (classes 0 … C−1 with −1 for missing, C, names of the classes).

    Missing is −1, NaN or an empty text. Names are empty when the labels already are 0 … C−1.

    Example:
        >>> encode_labels(np.array(["cat", "", "ant", "cat"]))
        (tensor([ 1, -1,  0,  1]), 2, ('ant', 'cat'))
        >>> encode_labels(np.array([1.0, 0.0, np.nan]))
        (tensor([ 1,  0, -1]), 2, ())
    """
    values = labels.reshape(-1) if labels.size == labels.shape[0] else labels
    if values.ndim != 1 or values.dtype.kind not in "biufU":
        raise ValueError(
            "labels must hold one number or text for each node, "
            f"got {labels.dtype} of shape {list(labels.shape)}. Use argmax on one-hot labels."
        )
    if values.dtype.kind == "U":
        values = np.char.strip(values)
        missing = np.isin(values, ("", "-1", "nan", "NaN"))
        values = _as_numbers(values, missing)
    else:
        missing = np.isnan(values) | (values == -1) if values.dtype.kind == "f" else values == -1
    given = values[~missing]
    if given.dtype.kind == "f" and not np.array_equal(given, np.floor(given)):
        example = given[given != np.floor(given)][0]
        raise ValueError(
            f"labels must be classes, got the number {example:g}. "
            "Regression targets are not supported; bin them into classes first."
        )
    if given.dtype.kind in "if" and given.size and given.min() < 0:
        raise ValueError(f"labels must be 0, 1, … or −1 for unlabelled, got {given.min():g}.")
    classes, inverse = np.unique(given, return_inverse=True)
    y = np.full(values.size, -1)
    y[~missing] = inverse
    if classes.dtype.kind != "U" and np.array_equal(classes, np.arange(classes.size)):
        return torch.from_numpy(y), classes.size, ()
    names = classes if classes.dtype.kind == "U" else classes.astype(np.int64)
    return torch.from_numpy(y), classes.size, tuple(str(label) for label in names)


def _as_numbers(values: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Texts as numbers if all given ones are numbers, else as they are."""
    numbers = np.full(values.size, np.nan)
    try:
        numbers[~missing] = values[~missing].astype(np.float64)
    except ValueError:
        return values
    return numbers if np.isfinite(numbers[~missing]).all() else values


def _count_nodes(raw: RawGraph) -> int:
    """The number of nodes, on which features, labels and masks must agree, once each is seen to be usable."""
    if raw.x is not None and (raw.x.ndim != 2 or raw.x.dtype.kind not in "biuf"):
        raise ValueError(
            "features must be numbers of shape [num_nodes, num_features], "
            f"got {raw.x.dtype} of shape {list(raw.x.shape)}."
        )
    if raw.labels is not None and raw.labels.ndim == 0:
        raise ValueError(f"labels must hold one number or text for each node, got the single {raw.labels!s}.")
    if raw.edge_weight is not None and (raw.edge_weight.ndim != 1 or raw.edge_weight.dtype.kind not in "biuf"):
        raise ValueError(
            "`edge_weight` must be numbers of shape [num_edges], "
            f"got {raw.edge_weight.dtype} of shape {list(raw.edge_weight.shape)}."
        )
    sizes = {"features": None if raw.x is None else len(raw.x)}
    sizes["labels"] = None if raw.labels is None else len(raw.labels)
    for part, mask in (raw.masks or {}).items():
        sizes[f"{part} masks"] = len(mask)
    sizes["num_nodes"] = raw.num_nodes
    known = {what: size for what, size in sizes.items() if size is not None}
    if len(set(known.values())) > 1:
        raise ValueError(f"all parts must have the same number of nodes, got {known}.")
    if known:
        return next(iter(known.values()))
    return int(raw.edge_index.max()) + 1 if raw.edge_index.size else 0


def _edges(edge_index: np.ndarray) -> np.ndarray:
    if edge_index.ndim != 2 or edge_index.shape[0] != 2 or edge_index.dtype.kind not in "iu":
        raise ValueError(
            "edges must be integer node numbers, `edges` of shape [num_edges, 2] or `edge_index` of shape "
            f"[2, num_edges], got {edge_index.dtype} with {list(edge_index.shape)} read as [2, num_edges]."
        )
    return np.ascontiguousarray(edge_index, dtype=np.int64)
