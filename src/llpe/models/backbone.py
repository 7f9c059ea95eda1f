"""What all backbones share, and the two ways to stack an operation: plain and strong.

A *backbone* maps node states to node states of the same width, h → h, and knows nothing of features, encodings or
classes. Ours are stacks of one *operation* (a linear map, a mean over neighbours, attention, …), which ends in a linear
map to a given width:

* ``plain``, the paper's bases: layers × (operation → ReLU → dropout);
* ``strong``: layers × (h + feed-forward of the normalised h), where the operation is the first of the feed-forward's
  two layers: LayerNorm → operation → GELU → dropout → Linear → dropout, and a LayerNorm at the end. After Platonov et
  al., "A critical look at the evaluation of GNNs under heterophily" (2023). One wrapper for all, so that a comparison
  of operations is fair by construction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from llpe.checks import check_count
from llpe.models.dropout import dropout
from llpe.models.fixed_matrix import FixedMatrix

VARIANTS = {"plain": 2, "strong": 4}
"""The ways to stack an operation, and the default number of layers of each."""


@dataclass(frozen=True)
class Edges:
    """The edges of a graph as a layer reads them.

    Attributes:
        index, weight: as in PyG.
        matrix: the normalised adjacency, for the operations that multiply with one.
        rows: the nodes whose states are asked for, None for all; ``matrix`` has these rows only.
    """

    index: Tensor | None
    weight: Tensor | None = None
    matrix: FixedMatrix | None = None
    rows: Tensor | None = None

    def take(self, rows: Tensor | None) -> Edges:
        """The edges for a layer that is asked for ``rows``."""
        if rows is None:
            return self
        return replace(self, rows=rows, matrix=self.matrix and self.matrix.take(rows))

    def propagate(self, h: Tensor) -> Tensor:
        """The product of the adjacency with ``h``."""
        assert self.matrix is not None
        return self.matrix @ h

    def pick(self, h: Tensor) -> Tensor:
        """The rows of ``h`` that are asked for."""
        return h if self.rows is None else h[self.rows]


class Backbone(nn.Module):
    """Base of all backbones: layers, each called with node states and :class:`Edges`, and a norm at the end.

    Shapes: ``h`` [num_nodes, width], ``edge_index`` [2, num_edges], ``edge_weight`` [num_edges] or None →
    [num_nodes, width]. With ``rows``, [rows, width]: the last layer is computed for those rows alone.
    """

    whole_graph: bool = False  # whether each node sees all rows, so that several graphs must not be mixed
    row_wise: bool = False  # whether each node sees its own row only, so that any rows will do
    layers: nn.ModuleList
    norm: nn.Module

    def edges(self, edge_index: Tensor | None, edge_weight: Tensor | None, num_nodes: int, dtype: torch.dtype) -> Edges:
        """What the layers need of a graph, which does not change in training."""
        return Edges(edge_index, edge_weight)

    def forward(
        self, h: Tensor, edge_index: Tensor | None, edge_weight: Tensor | None = None, rows: Tensor | None = None
    ) -> Tensor:
        edges = self.edges(edge_index, edge_weight, h.size(0), h.dtype)
        return self.run(h, edges, edges.take(rows))

    def run(self, h: Tensor, edges: Edges, asked: Edges) -> Tensor:
        """The same with edges made before; ``asked`` are those of the last layer."""
        *inner, last = self.layers
        for layer in inner:
            h = layer(h, edges)
        return self.norm(last(h, asked))

    def reset_parameters(self) -> None:
        for child in self.children():
            reset(child)


class Stack(Backbone):
    """A stack of one operation, which a subclass makes.

    Args:
        width: width of the node states.
        layers: how many; by default 2 plain or 4 strong ones.
        dropout: share of entries dropped after each layer, while training.
        variant: ``"plain"`` or ``"strong"``.
        feedforward: inner width of feed-forward parts, by default ``width``. All strong layers have one; of the plain
            ones only those of ``gt``.
        norm_eps: ε of the layer norms, which are where the feed-forward parts are.
    """

    def __init__(
        self,
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
        feedforward = width if feedforward is None else feedforward
        for name, count in (("width", width), ("layers", layers), ("feedforward", feedforward)):
            check_count(name, count)
        check_share("dropout", dropout)
        if not 0 <= norm_eps < float("inf"):
            raise ValueError(f"`norm_eps` must be a finite number of at least 0, got {norm_eps!r}.")
        self.width, self.feedforward, self.dropout, self.variant = width, feedforward, dropout, variant
        self.norm_eps = norm_eps
        make = self.plain_layer if variant == "plain" else self.strong_layer
        self.layers = nn.ModuleList(layer for _ in range(layers) for layer in make())
        self.norm = nn.Identity() if variant == "plain" else nn.LayerNorm(width, eps=norm_eps)

    def operation(self, out: int) -> nn.Module:
        """One operation from ``width`` to ``out`` columns."""
        raise NotImplementedError

    def plain_layer(self) -> list[nn.Module]:
        return [PlainLayer(self.operation(self.width), dropout=self.dropout)]

    def strong_layer(self) -> list[nn.Module]:
        return [ResidualLayer(self.operation(self.feedforward), self)]


class PlainLayer(nn.Module):
    """Operation → ReLU → dropout."""

    def __init__(self, operation: nn.Module, *, dropout: float) -> None:
        super().__init__()
        self.operation, self.dropout = operation, dropout

    def forward(self, h: Tensor, edges: Edges) -> Tensor:
        return dropout(self.operation(h, edges).relu(), self.dropout, self.training)


class ResidualLayer(nn.Module):
    """h + dropout(Linear(dropout(GELU(operation(LayerNorm(h)))))); the operation gives ``feedforward`` columns."""

    def __init__(self, operation: nn.Module, stack: Stack) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(stack.width, eps=stack.norm_eps)
        self.operation = operation
        self.linear = nn.Linear(stack.feedforward, stack.width)
        self.dropout = stack.dropout

    def forward(self, h: Tensor, edges: Edges) -> Tensor:
        inner = dropout(F.gelu(self.operation(self.norm(h), edges)), self.dropout, self.training)
        return edges.pick(h) + dropout(self.linear(inner), self.dropout, self.training)


def reset(module: nn.Module) -> None:
    """Draws all parameters again: by ``reset_parameters`` where a module has it, else in its children."""
    if callable(own := getattr(module, "reset_parameters", None)):
        own()
        return
    if any(True for _ in module.parameters(recurse=False)):
        raise ValueError(
            f"`{type(module).__name__}` must have a method reset_parameters, got none. "
            "It owns parameters: write one that draws them again."
        )
    for child in module.children():
        reset(child)


def check_share(name: str, value: float) -> None:
    if not 0 <= value < 1:
        raise ValueError(f"`{name}` must be at least 0 and below 1, got {value!r}.")
