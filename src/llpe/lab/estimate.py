"""What a config would cost, before it is run: sizes by formula, times by small measurements on this machine."""

from __future__ import annotations

import re
import time
from typing import Any

import numpy as np
import scipy.linalg
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from llpe.data import NodeDataset, sparse_features
from llpe.encodings import Encoding
from llpe.graph import Graph
from llpe.lab.config import Config
from llpe.lab.train import make_optimiser
from llpe.lab.workers import plan, using_threads
from llpe.models import Classifier
from llpe.probes import probe_features


class _StandIn(nn.Module):
    """As wide as the encoding, without the work of preparing it."""

    def __init__(self, rows: int, dim: int) -> None:
        super().__init__()
        self.dim = dim
        self.register_buffer("columns", torch.randn(rows, dim, generator=torch.Generator().manual_seed(0)))

    def forward(self, data: Data) -> Tensor:
        return self.get_buffer("columns")

    def penalty(self, data: Data) -> Tensor:
        return torch.zeros(())

    def reset_parameters(self) -> None:
        pass


def estimate(dataset: NodeDataset, config: Config, *, workers: int | None = None) -> dict[str, Any]:
    """Sizes, memory and time of a config on a data set, as numbers and a few words."""
    if dataset.num_classes < 2:
        raise ValueError(f"{dataset.name}: training must have at least 2 classes, got {dataset.num_classes}.")
    encoding = config.make_encoding()
    seconds, note, peak = _preparation(dataset, encoding)
    fixed = _fixed_bytes(dataset.num_nodes, encoding)
    layout = plan(config.splits.count, workers)
    with using_threads(layout.threads):
        epoch, parameters = _epoch(dataset, config, encoding)
    width = config.model.hidden + encoding.dim
    step = 4 * dataset.num_nodes * width * (6 * (config.model.layers or 1) + 6)
    features = dataset.data.x.numel() * 4
    steps = config.splits.count * config.training.epochs
    return {
        "nodes": dataset.num_nodes,
        "edges": dataset.data.num_edges // 2,
        "features": dataset.num_features,
        "encoding": repr(encoding),
        "parameters": parameters,
        "prepare_seconds": seconds,
        "prepare_note": note,
        "fixed_bytes": fixed,
        "memory_bytes": max(peak, fixed + features + layout.workers * step),
        "epoch_seconds": epoch,
        "training_seconds": steps * epoch / layout.workers,
        "training_note": f"{config.splits.count} splits of up to {config.training.epochs} epochs, {layout.workers} at "
        f"once; patience {config.training.patience} usually ends them earlier",
    }


def _fixed_bytes(n: int, encoding: Encoding) -> int:
    """float32 numbers, as many as the encoding says it keeps: a product such as n × 2k."""
    numbers = 1
    for times, name in re.findall(r"(\d*)(\w*)(?: × |$)", encoding.keeps):
        numbers *= int(times or 1) * (n if name == "n" else getattr(encoding, name) if name else 1)
    return 4 * numbers


def _preparation(dataset: NodeDataset, encoding: Encoding) -> tuple[float, str, int]:
    """(seconds, in words, bytes at the peak) of `prepare`; much less if the cache has it."""
    n = dataset.num_nodes
    if encoding.cost.startswith("O(n³)"):
        size = min(n, 500)
        matrix = np.random.default_rng(0).standard_normal((size, size))
        start = time.perf_counter()
        scipy.linalg.eigh(matrix + matrix.T)
        return (time.perf_counter() - start) * (n / size) ** 3, "dense, less if it is in the cache", 32 * n**2
    graph = Graph.from_data(dataset.data, warn=False)
    start = time.perf_counter()
    probe_features(graph, order=4, probes=4)
    product = (time.perf_counter() - start) / 16
    if encoding.cost.endswith("sparse products"):  # each gives the n numbers of a column
        size = _fixed_bytes(n, encoding)
        return product * size / (4 * n), "sparse products, less if it is in the cache", 3 * size // 2
    if encoding.name == "rwse":
        return product * n * getattr(encoding, "steps", 1) / 2, "sparse products", 2**28
    pairs = 2 * (getattr(encoding, "k", None) or 0)
    return product * pairs * 20, "sparse eigenpairs, very roughly", 24 * n * max(pairs, 1)


def _epoch(dataset: NodeDataset, config: Config, encoding: Encoding) -> tuple[float, int]:
    """Seconds of a step and a judgement, measured with a stand-in for the encoding; and the number of parameters."""
    data = Data(x=sparse_features(dataset.data.x), edge_index=dataset.data.edge_index, y=dataset.data.y)
    data.edge_weight = dataset.data.edge_weight
    stand_in: Any = _StandIn(dataset.num_nodes, encoding.dim)
    model = Classifier(
        stand_in,
        in_features=dataset.num_features,
        num_classes=dataset.num_classes,
        model=config.model.name,
        **config.model.model_dump(exclude={"name"}),
    )
    optimiser = make_optimiser(model, config.training)
    times = []
    for _ in range(4):
        start = time.perf_counter()
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(data), dataset.data.y.clamp_min(0)).backward()
        optimiser.step()
        times.append(time.perf_counter() - start)
    own = sum(p.numel() for p in encoding.parameters() if not isinstance(p, nn.UninitializedParameter))
    return min(times), sum(p.numel() for p in model.parameters()) + own
