"""The rows of a graph that a step or a judgement looks at.

A model that sees the whole graph is given all of it, and its output is cut to the rows in question. A model that sees
single rows is given those rows alone: all at once, or in mini-batches where they are many.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data

from llpe.models import Classifier, take_rows

MANY_ROWS = 100_000  # training rows from which on batches are the default
BATCH = 8192


@dataclass(frozen=True)
class View:
    """Rows of the graph to be scored: ``rows`` of ``data``; and their classes."""

    data: Data
    rows: Tensor | slice
    target: Tensor

    def of(self, logits: Tensor) -> Tensor:
        return logits[self.rows]


def rows_of(data: Data, rows: Tensor) -> Data:
    """The given rows of every node attribute, without edges; what belongs to the whole graph is left out."""
    names = [name for name in data.node_attrs() if isinstance(data[name], Tensor)]
    return Data(num_nodes=rows.numel(), **{name: take_rows(data[name], rows) for name in names})


def batch_of(wanted: int | None, model: Classifier, rows: int) -> int | None:
    """How many rows a step takes; None for all."""
    if not model.backbone.row_wise:
        if wanted is not None:
            name = type(model.backbone).__name__
            raise ValueError(
                f"`batch` must be left out with a model whose nodes see each other, got {wanted} with {name}. "
                'Take model="mlp", or train on the whole graph.'
            )
        return None
    return wanted or (BATCH if rows > MANY_ROWS else None)


def batches(data: Data, rows: Tensor, size: int, *, shuffle: bool = False) -> Iterator[View]:
    """The rows in batches, gathered one at a time; shuffled by torch's generator, which a checkpoint holds."""
    order = rows[torch.randperm(len(rows))] if shuffle else rows
    for some in order.split(size):
        part = rows_of(data, some)
        yield View(part, slice(None), part.y)


def logits_of(model: Classifier, data: Data, rows: Tensor | None = None) -> Tensor:
    """The model's output for ``rows`` (all by default), in batches where the model sees single rows."""
    if not model.backbone.row_wise or (data.num_nodes or 0) <= MANY_ROWS:
        return model(data) if rows is None else model(data)[rows]
    rows = torch.arange(int(data.num_nodes or 0)) if rows is None else rows
    return torch.cat([model(view.data) for view in batches(data, rows, BATCH)])
