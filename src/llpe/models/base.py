"""What all backbones share: the plain and the strong way to stack an operation, and the checks.

A *backbone* maps node states to node states of the same width, h → h, and knows nothing of features,
encodings or classes. It is made of one *operation* (a linear map, a mean over neighbours, attention, …),
which ends in a linear map to a width it is told. The operation is stacked in one of two ways:

* ``plain``, the paper's bases: layers × (operation → ReLU → dropout);
* ``strong``: layers × (h + feed-forward of the normalised h), where the operation is the first of the
  feed-forward's two layers: LayerNorm → operation → GELU → dropout → Linear → dropout, and a LayerNorm at
  the end. After Platonov et al., "A critical look at the evaluation of GNNs under heterophily" (2023). One
  wrapper for all, so that a comparison of operations is fair by construction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict

import torch.nn.functional as F
from torch import Tensor, nn

from llpe.models.dropout import dropout

VARIANTS = {"plain": 2, "strong": 4}
"""The ways to stack an operation, and how many layers each has unless told otherwise."""


class Shared(TypedDict, total=False):
    """The options that every backbone takes besides ``width``; see :class:`Backbone`."""

    layers: int | None
    dropout: float
    variant: str
    feedforward: int | None
    norm_eps: float


class Backbone(nn.Module):
    """A stack of one operation on node states.

    Args:
        operation: makes one operation, given the width of its output.
        width: width of the node states.
        layers: how many; by default 2 plain or 4 strong ones.
        dropout: share of entries dropped after each layer, while training.
        variant: ``"plain"`` or ``"strong"``.
        feedforward: inner width of feed-forward parts, by default ``width``. All strong layers have one; of
            the plain ones only those of ``gt``.
        norm_eps: ε of the layer norms, which are where the feed-forward parts are.

    Shapes: ``h`` [num_nodes, width], ``edge_index`` [2, num_edges], ``edge_weight`` [num_edges] or None →
    [num_nodes, width]. Where only some ``rows`` are asked for, [rows, width]: the last layer is computed for those
    alone.
    """

    whole_graph = False  # whether each node sees all rows, so that several graphs must not be mixed
    row_wise = False  # whether each node sees its own row only, so that any rows will do

    def __init__(
        self,
        operation: Callable[[int], nn.Module],
        *,
        width: int,
        layers: int | None = None,
        dropout: float = 0.0,
        variant: str = "plain",
        feedforward: int | None = None,
        norm_eps: float = 1e-5,
    ) -> None:
        super().__init__()
        if variant not in VARIANTS:
            raise ValueError(f"`variant` must be one of {', '.join(VARIANTS)}, got {variant!r}.")
        layers = VARIANTS[variant] if layers is None else layers
        self.operation = operation
        self.width = check_count("width", width)
        self.dropout = check_share("dropout", dropout)
        self.variant = variant
        self.feedforward = check_count("feedforward", width if feedforward is None else feedforward)
        self.norm_eps = check_eps(norm_eps)
        make = self.plain_layer if variant == "plain" else self.strong_layer
        self.layers = nn.ModuleList(layer for _ in range(check_count("layers", layers)) for layer in make())
        self.norm = nn.Identity() if variant == "plain" else nn.LayerNorm(width, eps=norm_eps)

    def plain_layer(self) -> list[nn.Module]:
        return [PlainLayer(self.operation(self.width), dropout=self.dropout)]

    def strong_layer(self) -> list[nn.Module]:
        return [self.residual(self.operation)]

    def residual(self, operation: Callable[[int], nn.Module]) -> nn.Module:
        return ResidualLayer(
            operation(self.feedforward),
            self.feedforward,
            self.width,
            dropout=self.dropout,
            norm_eps=self.norm_eps,
        )

    def forward(
        self, h: Tensor, edge_index: Tensor | None, edge_weight: Tensor | None = None, rows: Tensor | None = None
    ) -> Tensor:
        *inner, last = self.layers
        for layer in inner:
            h = layer(h, edge_index, edge_weight)
        return self.norm(last(h, edge_index, edge_weight, rows))

    def reset_parameters(self) -> None:
        for child in self.children():
            reset(child)


class PlainLayer(nn.Module):
    """Operation → ReLU → dropout."""

    def __init__(self, operation: nn.Module, *, dropout: float) -> None:
        super().__init__()
        self.operation = operation
        self.dropout = dropout

    def forward(
        self, h: Tensor, edge_index: Tensor | None, edge_weight: Tensor | None, rows: Tensor | None = None
    ) -> Tensor:
        h = self.operation(h, edge_index, edge_weight, rows).relu()
        return dropout(h, self.dropout, self.training)


class ResidualLayer(nn.Module):
    """h + dropout(Linear(dropout(GELU(operation(LayerNorm(h)))))); the operation gives ``inner`` columns."""

    def __init__(self, operation: nn.Module, inner: int, width: int, *, dropout: float, norm_eps: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=norm_eps)
        self.operation = operation
        self.linear = nn.Linear(inner, width)
        self.dropout = dropout

    def forward(
        self, h: Tensor, edge_index: Tensor | None, edge_weight: Tensor | None, rows: Tensor | None = None
    ) -> Tensor:
        inner = F.gelu(self.operation(self.norm(h), edge_index, edge_weight, rows))
        inner = dropout(inner, self.dropout, self.training)
        return pick(h, rows) + dropout(self.linear(inner), self.dropout, self.training)


def pick(h: Tensor, rows: Tensor | None) -> Tensor:
    """The rows asked for; all by default."""
    return h if rows is None else h[rows]


def reset(module: nn.Module) -> None:
    """Draws all parameters anew: by ``reset_parameters`` where a module has it, else in its children."""
    if callable(own := getattr(module, "reset_parameters", None)):
        own()
        return
    if any(True for _ in module.parameters(recurse=False)):
        raise ValueError(
            f"`{type(module).__name__}` must have a method reset_parameters, got none. "
            "It owns parameters: write one that draws them anew."
        )
    for child in module.children():
        reset(child)


def check_count(name: str, value: Any, *, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"`{name}` must be an integer of at least {least}, got {value!r}.")
    return value


def check_share(name: str, value: float) -> float:
    if not 0 <= value < 1:
        raise ValueError(f"`{name}` must be at least 0 and below 1, got {value!r}.")
    return float(value)


def check_eps(value: float) -> float:
    if not 0 <= value < float("inf"):
        raise ValueError(f"`norm_eps` must be a finite number of at least 0, got {value!r}.")
    return float(value)
