"""Graphs in folders (:mod:`llpe.folder`) as data sets: with their edges in memory, or without them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch_geometric.data import Data

from llpe.data.dataset import PARTS, NodeDataset, unlabelled_note
from llpe.folder import GraphFolder
from llpe.graph import Graph


@dataclass(frozen=True, eq=False)
class MappedDataset(NodeDataset):
    """A data set whose features, classes and encoding stay on disk, and whose edges are not read at all.

    It is for models that see single rows. ``data`` has no ``edge_index``.

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
    for mask in PARTS:
        data.pop(f"{mask}_mask", None)
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
    names = {part: f"{part}_mask" for part in PARTS}
    masks = {part: folder.tensor(name) for part, name in names.items() if name in folder.arrays}
    return {
        "name": folder.path.resolve().name,
        "data": data,
        "metric": "accuracy",
        "num_classes": int(data.y.max()) + 1,
        "notes": (*unlabelled_note(data.y), *folder.changes),
        "masks": {part: mask.reshape(folder.num_nodes, -1) for part, mask in masks.items()} or None,
    }
