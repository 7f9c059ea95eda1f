"""The rows that a training step and an evaluation read, and the forward passes that they share.

A model that sees the whole graph is given all of it, and asked for some rows. A model that sees single rows is given
those rows alone: all at once, or in mini-batches where they are many.

The graph stays on the CPU. What a model on another device reads is sent there once, before the first step; mini-batches
one by one, so that the graph and its encoding may be larger than the device's memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch_geometric.data import Data

from llpe.data import Split
from llpe.device import CPU
from llpe.features import Features
from llpe.models import Classifier, Inputs, take_rows
from llpe.models.backbone import Stack

MANY_ROWS = 100_000  # training rows above which mini-batches are the default
BATCH = 8192
SAMPLE = 65536  # rows by which an encoding in a folder is scaled


@dataclass(frozen=True)
class View:
    """Rows of a graph and their classes; their logits are ``rows`` of what the model gives for ``inputs``."""

    inputs: Inputs
    rows: slice
    target: Tensor


@dataclass(frozen=True)
class MiniBatches:
    """Views of ``size`` of the given rows at a time, gathered when their turn comes; for models that see single rows.

    ``shuffled`` takes them in a random order, another one in each pass.
    """

    model: Classifier
    data: Data
    rows: Tensor
    size: int
    device: torch.device = CPU
    shuffled: bool = False

    def __iter__(self) -> Iterator[View]:
        order = self.rows
        if self.shuffled:
            order = order[torch.randperm(len(order))]  # a checkpoint holds torch's generator
        for rows in order.split(self.size):
            inputs = self.model.inputs(rows_of(self.data, rows)).to(self.device)
            yield View(inputs, slice(None), self.data.y[rows].to(self.device))


@dataclass(frozen=True)
class Batches:
    """What the steps of an epoch read, and what an evaluation on the validation rows reads.

    ``share`` is the part of the forward pass that gives the same in training and in evaluation (no dropout, no random
    sign flips), and so is computed once for both: weights do not change between an evaluation and the next step. It
    is computed from ``together``. In a single layer where every node sees all others, logits are not shared: the
    gradients of validation rows, which are 0, would cost more than their pass. ``graph`` has what a penalty reads.
    """

    graph: Data
    train: Iterable[View]
    val: Iterable[View]
    share: Literal["logits", "states"] | None = None
    together: Inputs | None = None


def make_batches(
    model: Classifier, data: Data, inputs: Inputs | None, split: Split, size: int | None, device: torch.device = CPU
) -> Batches:
    """The batches of a split: ``size`` rows each, or as many as suit the model.

    Args:
        inputs: what the model needs of ``data``; None for a model that sees single rows.
        device: where the model is, and the batches will be.
    """
    parts = split.train, split.val
    graph = data if device.type == "cpu" else whole_parts(data, device)
    if inputs is None:
        if size is None and len(split.train) <= MANY_ROWS:
            train, val = (list(MiniBatches(model, data, rows, len(rows), device)) for rows in parts)
            return Batches(graph, train, val)
        size = size or BATCH
        steps = MiniBatches(model, data, split.train, size, device, shuffled=True)
        return Batches(graph, steps, MiniBatches(model, data, split.val, size, device))
    if size is not None:
        raise ValueError(
            f"`batch` must be left out with a model whose nodes see each other, got {size} with {model.name}. "
            'Take model="mlp", or train on the whole graph.'
        )
    targets = [data.y[rows].to(device) for rows in parts]
    together = inputs.to(device).take(torch.cat(parts).to(device))
    backbone = model.backbone
    single = isinstance(backbone, Stack) and backbone.whole_graph and len(backbone.layers) == 1
    if not single and same_in_training(model, lambda: model(together)):
        places = slice(len(split.train)), slice(len(split.train), None)
        train, val = ([View(together, place, target)] for place, target in zip(places, targets, strict=True))
        return Batches(graph, train, val, "logits", together)
    apart = (together.take(rows.to(device)) for rows in parts)
    train, val = ([View(each, slice(None), target)] for each, target in zip(apart, targets, strict=True))
    share = same_in_training(model, lambda: model.states(together))
    return Batches(graph, train, val, "states" if share else None, together)


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
    """What belongs to the whole graph, on a device."""
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


@torch.no_grad()
def predict(model: Classifier, data: Data) -> Tensor:
    """Class probabilities of every row, in eval mode, shape (rows, num_classes)."""
    training = model.training
    probabilities = all_logits(model.eval(), data).softmax(dim=1)
    model.train(training)
    return probabilities
