"""The rows that a training step and an evaluation read, and the forward passes that they share.

A model that sees the whole graph is given all of it, and asked for some rows. A model that sees single rows is given
those rows alone: all at once, or in mini-batches where they are many.

The graph stays on the CPU. What a model on another device reads is sent there once, before the first step; mini-batches
one by one, so that the graph and its encoding may be larger than the device's memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor
from torch_geometric.data import Data

from llpe.data import Split
from llpe.device import CPU
from llpe.features import Features
from llpe.models import Classifier, Inputs, take_rows

MANY_ROWS = 100_000  # training rows above which mini-batches are the default
BATCH = 8192
SAMPLE = 65536  # rows by which an encoding in a folder is scaled

Scored = tuple[Tensor, Tensor]  # logits of some rows, and their classes


@dataclass(frozen=True)
class View:
    """Rows of a graph and their classes; their logits are ``rows`` of what the model gives for ``inputs``."""

    inputs: Inputs
    rows: slice
    target: Tensor


@dataclass(frozen=True)
class FullBatch:
    """One step on all training rows, and an evaluation on all validation rows.

    ``share`` is the part of the forward pass that gives the same in training and in evaluation (no dropout, no random
    sign flips), and so is computed once for both: weights do not change between an evaluation and the next step.
    ``graph`` has what a penalty reads.
    """

    graph: Data
    train: View
    val: View
    share: Literal["logits", "states"] | None = None

    def shared(self, model: Classifier) -> Tensor | None:
        if self.share == "logits":
            return model(self.train.inputs)
        return model.states(self.train.inputs) if self.share == "states" else None

    def training(self, model: Classifier, shared: Tensor | None) -> Iterator[Scored]:
        yield self._scored(self.train, model, shared)

    def validation(self, model: Classifier, shared: Tensor | None) -> Scored:
        return self._scored(self.val, model, shared)

    def _scored(self, view: View, model: Classifier, shared: Tensor | None) -> Scored:
        if shared is None:
            logits = model(view.inputs)
        else:
            logits = shared if self.share == "logits" else model.logits(shared, view.inputs)
        return logits[view.rows], view.target


@dataclass(frozen=True)
class MiniBatches:
    """Steps on ``size`` rows at a time, gathered when their turn comes; for models that see single rows."""

    data: Data
    split: Split
    size: int
    device: torch.device = CPU

    @cached_property
    def graph(self) -> Data:
        """What a penalty reads."""
        return whole_parts(self.data, self.device)

    def shared(self, model: Classifier) -> None:
        return None

    def training(self, model: Classifier, shared: Tensor | None) -> Iterator[Scored]:
        order = self.split.train[torch.randperm(len(self.split.train))]  # a checkpoint holds torch's generator
        for rows in order.split(self.size):
            yield model(self._inputs(model, rows)), self.data.y[rows].to(self.device)

    def validation(self, model: Classifier, shared: Tensor | None) -> Scored:
        logits = [model(self._inputs(model, rows)) for rows in self.split.val.split(self.size)]
        return torch.cat(logits), self.data.y[self.split.val].to(self.device)

    def _inputs(self, model: Classifier, rows: Tensor) -> Inputs:
        return model.inputs(rows_of(self.data, rows)).to(self.device)


def make_batches(
    model: Classifier, data: Data, inputs: Inputs | None, split: Split, size: int | None, device: torch.device = CPU
) -> FullBatch | MiniBatches:
    """The batches of a split: ``size`` rows each, or as many as suit the model.

    Args:
        inputs: what the model needs of ``data``; None for a model that sees single rows.
        device: where the model is, and the batches will be.
    """
    if inputs is not None and size is not None:
        raise ValueError(
            f"`batch` must be left out with a model whose nodes see each other, got {size} with {model.name}. "
            'Take model="mlp", or train on the whole graph.'
        )
    if inputs is None and len(split.train) > MANY_ROWS:
        size = size or BATCH
    if size is None:
        return full_batch(model, data, inputs, split, device)
    return MiniBatches(data, split, size, device)


def full_batch(
    model: Classifier, data: Data, inputs: Inputs | None, split: Split, device: torch.device = CPU
) -> FullBatch:
    """Reads no more rows than a split needs, and shares what is the same in training and in evaluation."""
    parts = split.train, split.val
    targets = [data.y[rows].to(device) for rows in parts]
    graph = whole_parts(data, device)
    if inputs is None:
        views = (model.inputs(rows_of(data, rows)).to(device) for rows in parts)
        train, val = (View(each, slice(None), target) for each, target in zip(views, targets, strict=True))
        return FullBatch(graph, train, val)
    together = inputs.to(device).take(torch.cat(parts).to(device))
    if same_in_training(model, lambda: model(together)):
        places = slice(len(split.train)), slice(len(split.train), None)
        train, val = (View(together, place, target) for place, target in zip(places, targets, strict=True))
        return FullBatch(graph, train, val, "logits")
    apart = (together.take(rows.to(device)) for rows in parts)
    train, val = (View(each, slice(None), target) for each, target in zip(apart, targets, strict=True))
    return FullBatch(graph, train, val, "states" if same_in_training(model, lambda: model.states(together)) else None)


@torch.no_grad()
def same_in_training(model: Classifier, forward: Callable[[], Tensor]) -> bool:
    """Whether a forward pass is not random in training, and gives the same as in evaluation.

    False on other devices than the CPU: the answer would have to be fetched from there.
    """
    if model.head.weight.device.type != "cpu":
        return False
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
    kept = {name: value for name, value in data if isinstance(value, Features)}  # rows of it are read by n_id
    return Data(num_nodes=rows.numel(), **{name: take_rows(data[name], rows) for name in names}, **kept)


def typical_rows(data: Data) -> Data:
    """The data itself or, where the encoding is in a folder, ``SAMPLE`` of its rows, evenly spread."""
    count = int(data.num_nodes or 0)
    if count <= SAMPLE or not any(isinstance(value, Features) for _, value in data):
        return data
    return rows_of(data, torch.arange(SAMPLE) * count // SAMPLE)


def whole_parts(data: Data, device: torch.device) -> Data:
    """What belongs to the whole graph, on a device; on the CPU ``data`` itself."""
    if device.type == "cpu":
        return data
    out = Data(num_nodes=data.num_nodes)
    for name, value in data.to_dict().items():
        if isinstance(value, Tensor) and not data.is_node_attr(name) and not name.startswith("edge_"):
            out[name] = value.to(device)
    return out


def all_logits(model: Classifier, data: Data, inputs: Inputs | None = None) -> Tensor:
    """The logits of every node, in mini-batches if there are many and the model sees single rows."""
    count, device = int(data.num_nodes or 0), model.head.weight.device
    if not model.backbone.row_wise or count <= MANY_ROWS:
        return model((inputs or model.inputs(data)).to(device))
    batches = torch.arange(count).split(BATCH)
    return torch.cat([model(model.inputs(rows_of(data, rows)).to(device)) for rows in batches])
