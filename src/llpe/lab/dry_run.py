"""What a config would compute on a graph, without computing it."""

from __future__ import annotations

from typing import Any

from llpe.data import NodeDataset
from llpe.encodings import Encoding


def dry_run(dataset: NodeDataset, encoding: Encoding) -> dict[str, Any]:
    """The size of the graph, the encoding's columns, and the size of its fixed part.

    Example:
        >>> from llpe.data import load_graph
        >>> from llpe.encodings import make_encoding
        >>> found = dry_run(load_graph("sbm:n=80"), make_encoding("lpe-flk", dim=16, k=4))
        >>> found["columns"], found["fixed_columns"], found["fixed_bytes"]
        (16, 8, 2560)
    """
    if dataset.num_classes < 2:
        raise ValueError(f"{dataset.name}: training must have at least 2 classes, got {dataset.num_classes}.")
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
