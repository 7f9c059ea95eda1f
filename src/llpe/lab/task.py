"""What all splits of a run share: the prepared graph and the model."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch_geometric.data import Data

from llpe.data import MappedDataset, NodeDataset, scaled_features, sparse_features
from llpe.device import CPU, find_device
from llpe.encodings import Encoding
from llpe.features import Features
from llpe.lab.batches import typical_rows
from llpe.lab.config import Config
from llpe.models import Classifier, Inputs


@dataclass(frozen=True)
class Task:
    """What all splits share, on the CPU: the prepared graph, and a model of which each split trains a copy.

    ``inputs`` is what the model needs of the graph; None for a model that sees single rows.
    """

    dataset: NodeDataset
    config: Config
    data: Data
    model: Classifier
    inputs: Inputs | None


def make_task(
    dataset: NodeDataset,
    config: Config,
    *,
    encoding: Encoding | None = None,
    model: nn.Module | None = None,
    data: Data | None = None,
    cache: bool = True,
) -> Task:
    """Prepares the graph and makes the model, once for all splits.

    Args:
        encoding, model: modules to use in place of those that the config names.
        data: the graph, prepared before for the same encoding.
        cache: keep the encoding's fixed part on disk.
    """
    _check_classes(dataset)
    made = config.make_classifier(dataset.num_features, dataset.num_classes, encoding=encoding, model=model)
    if data is None and isinstance(dataset, MappedDataset):
        data = mapped_data(dataset, made, config)
    elif data is None:
        device = find_device(config.training.device)
        data = prepared(dataset, made.encoding, features=config.training.features, device=device, cache=cache)
    made.encoding.initialise(typical_rows(data))
    return Task(dataset, config, data, made, None if made.backbone.row_wise else made.inputs(data))


def dry_run(dataset: NodeDataset, encoding: Encoding) -> dict[str, Any]:
    """What would be computed: the size of the graph, the encoding's columns, and the size of its fixed part.

    Example:
        >>> from llpe.data import load_graph
        >>> from llpe.encodings import make_encoding
        >>> found = dry_run(load_graph("sbm:n=80"), make_encoding("lpe-flk", dim=16, k=4))
        >>> found["columns"], found["fixed_columns"], found["fixed_bytes"]
        (16, 8, 2560)
    """
    _check_classes(dataset)
    return {
        "nodes": dataset.num_nodes,
        "edges": dataset.data.num_edges // 2,
        "features": dataset.num_features,
        "classes": dataset.num_classes,
        "encoding": repr(encoding),
        "columns": encoding.dim,
        "fixed_columns": encoding.fixed_bytes(dataset.num_nodes) // (4 * dataset.num_nodes),
        "fixed_bytes": encoding.fixed_bytes(dataset.num_nodes),
    }


def _check_classes(dataset: NodeDataset) -> None:
    if dataset.num_classes < 2:
        raise ValueError(f"{dataset.name}: training must have at least 2 classes, got {dataset.num_classes}.")


def prepared(
    dataset: NodeDataset, encoding: Encoding, *, features: str, device: torch.device = CPU, cache: bool = True
) -> Data:
    """A graph as models see it: features on their scale, sparse where that pays, and the encoding's fixed part.

    Only the sparse products of the fixed part are computed on ``device``.
    """
    data, view = copy.copy(dataset.data), copy.copy(dataset.graph)
    data.x = view.features = scaled_features(data.x, features)[0]
    encoding.attach(data, [view], cache, device)
    data.x = sparse_features(data.x)
    return data


def mapped_data(dataset: MappedDataset, model: Classifier, config: Config) -> Data:
    """A graph on disk as models see it: rows of its features and of its encoding are read when they are needed."""
    if not model.backbone.row_wise:
        raise ValueError(
            f"`model` must see single rows of a mapped graph, as mlp does, got {model.name}. Use PyG's loaders, as in "
            "docs/large-graphs.md, or leave out --features."
        )
    dataset.scaling(config.training.features)
    encoding: Any = model.encoding
    if not encoding.dim:
        return dataset.data
    if not hasattr(encoding, "prepare_from"):
        raise ValueError(
            f"`encoding` must be none or one that a folder can hold, got {encoding.name}. Omit --features."
        )
    features = Features.open(dataset.features or "")
    if features.graph != dataset.graph_fingerprint:
        raise ValueError(f"`features` must be those of {dataset.name}, got those of another graph. Encode it again.")
    out: Data = encoding.prepare_from(features, dataset.data)
    return out
