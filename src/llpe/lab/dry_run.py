"""What a config would compute on a graph, without computing it."""

from __future__ import annotations

import re
from typing import Any

from llpe.data import NodeDataset
from llpe.encodings import Encoding
from llpe.lab.config import Config


def dry_run(dataset: NodeDataset, config: Config) -> dict[str, Any]:
    """The size of the graph, the encoding's columns, and the size of its fixed part.

    Example:
        >>> from llpe.data import load_graph
        >>> from llpe.lab.config import resolve
        >>> config = resolve({"dataset": "sbm:n=80", "encoding": {"name": "lpe-flk", "dim": 16, "k": 4}})
        >>> found = dry_run(load_graph("sbm:n=80"), config)
        >>> found["columns"], found["fixed_columns"], found["fixed_bytes"]
        (16, 8, 2560)
    """
    if dataset.num_classes < 2:
        raise ValueError(f"{dataset.name}: training must have at least 2 classes, got {dataset.num_classes}.")
    encoding = config.make_encoding()
    columns = fixed_columns(encoding, dataset.num_nodes)
    return {
        "nodes": dataset.num_nodes,
        "edges": dataset.data.num_edges // 2,
        "features": dataset.num_features,
        "classes": dataset.num_classes,
        "encoding": repr(encoding),
        "columns": encoding.dim,
        "fixed_columns": columns,
        "fixed_bytes": 4 * dataset.num_nodes * columns,
    }


def fixed_columns(encoding: Encoding, num_nodes: int) -> int:
    """Numbers per node in the fixed part, from what the encoding says it keeps: a product such as n × 2k."""
    columns = 1
    for times, name in re.findall(r"(\d*)(\w*)(?: × |$)", encoding.keeps.removeprefix("n × ")):
        columns *= int(times or 1) * (num_nodes if name == "n" else getattr(encoding, name) if name else 1)
    return columns
