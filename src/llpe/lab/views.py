"""The rows of a graph that a step or a judgement looks at.

A model that sees the whole graph is given all of it, and asked for the rows in question. A model that sees single rows
is given those rows alone: all at once, or in mini-batches where they are many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch_geometric.data import Data

from llpe.data import Split
from llpe.models import Classifier, take_rows

MANY_ROWS = 100_000  # training rows from which on batches are the default
BATCH = 8192
FEW_NODES = 1000  # up to here calls cost more than rows


@dataclass(frozen=True)
class View:
    """Rows of the graph to be scored, and their classes.

    The model is given ``data`` and asked for ``asked`` of it (None: all); ``rows`` of its output are those rows.
    """

    data: Data
    asked: Tensor | None
    rows: Tensor | slice
    target: Tensor


@dataclass(frozen=True)
class Looks:
    """What a step and a judgement look at, and what of their forward pass they share: see :func:`look`."""

    train: View
    val: View
    share: Literal["scores", "states", "nothing"]

    def begin(self, model: Classifier) -> Tensor | None:
        """What both need, computed once for both; weights do not change between a judgement and the next step."""
        if self.share == "scores":
            return model(self.train.data, self.train.asked)
        return model.states(self.train.data) if self.share == "states" else None

    def scores(self, view: View, model: Classifier, begun: Tensor | None) -> tuple[Tensor, Tensor]:
        """The model's output for the rows of ``view``, and their classes."""
        if begun is None:
            output = model(view.data, view.asked)
        else:
            output = begun if self.share == "scores" else model.judge(begun, view.data, view.asked)
        return output[view.rows], view.target


def look(model: Classifier, data: Data, split: Split) -> Looks:
    """Looks at no more rows than a split needs, and shares what is the same in training and in evaluation."""
    parts = split.train, split.val
    both, count = torch.cat(parts), len(split.train)
    halves = slice(count), slice(count, None)
    few = int(data.num_nodes or 0) < FEW_NODES
    alike = False  # whether the two could share everything
    if model.backbone.row_wise and few:
        part, alike = rows_of(data, both), True
        train, val = (View(part, None, half, part.y[half]) for half in halves)
    elif model.backbone.row_wise:
        train, val = (View(rows_of(data, rows), None, slice(None), data.y[rows]) for rows in parts)
    elif few:
        alike = True
        train, val = (View(data, None, rows, data.y[rows]) for rows in parts)
    elif same_in_training(model, lambda: model(data, both)):
        train, val = (View(data, both, half, data.y[both[half]]) for half in halves)
        return Looks(train, val, "scores")
    else:
        train, val = (View(data, rows, slice(None), data.y[rows]) for rows in parts)
        return Looks(train, val, "states" if same_in_training(model, lambda: model.states(data)) else "nothing")
    share = alike and same_in_training(model, lambda: model(train.data, None))
    return Looks(train, val, "scores" if share else "nothing")


@torch.no_grad()
def same_in_training(model: Classifier, forward: Callable[[], Tensor]) -> bool:
    """Whether a forward pass in training draws nothing at random and gives what evaluation gives."""
    random = torch.get_rng_state()
    model.train()
    training = forward()
    drawn = not torch.equal(random, torch.get_rng_state())
    torch.set_rng_state(random)
    model.eval()
    return not drawn and torch.equal(training, forward())


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
        yield View(part, None, slice(None), part.y)


def logits_of(model: Classifier, data: Data, rows: Tensor | None = None) -> Tensor:
    """The model's output for ``rows`` (all by default), in batches where the model sees single rows."""
    if not model.backbone.row_wise or (data.num_nodes or 0) <= MANY_ROWS:
        return model(data, rows)
    rows = torch.arange(int(data.num_nodes or 0)) if rows is None else rows
    return torch.cat([model(view.data) for view in batches(data, rows, BATCH)])
