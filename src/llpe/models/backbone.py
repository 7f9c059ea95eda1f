"""A backbone maps node states to node states of the same width, h → h, and does not see features, encodings or classes.

Ours are stacks of one *operation* (a linear map, a mean over neighbours, attention, …) in one of two ways:

* ``plain``, the paper's bases: layers × (operation → ReLU → dropout). Where all nodes see each other, the layer of a
  transformer instead, with a feed-forward part: see :class:`PostNormLayer`. With ``residual`` and ``normalise`` these
  are the tuned bases of Luo et al., "Classic GNNs are strong baselines" (2024): see :class:`PlainLayer`.
* ``strong``: layers × (h + feed-forward of the normalised h), where the operation is the first of the feed-forward's
  two layers: LayerNorm → operation → GELU → dropout → Linear → dropout, and a LayerNorm at the end. After Platonov et
  al., "A critical look at the evaluation of GNNs under heterophily" (2023). One wrapper for all, so that a comparison
  of operations is fair by construction. After attention it is applied again, to a linear map.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from llpe.checks import check_choice, check_count, check_number, checked, refusal
from llpe.models.fixed_matrix import dropout
from llpe.models.operations import Edges, LinearOperation, Operation, check_share
from llpe.storage import require_memory

VARIANTS = {"plain": 2, "strong": 4}
"""The ways to stack an operation, and the default number of layers of each."""

NORMS: dict[str, type[nn.Module]] = {"none": nn.Identity, "layer": nn.LayerNorm, "batch": nn.BatchNorm1d}


class Backbone(nn.Module):
    """Base of all backbones: layers, each called with node states and :class:`Edges`, and a norm at the end.

    Shapes: ``h`` [num_nodes, width], ``edge_index`` [2, num_edges], ``edge_weight`` [num_edges] or None →
    [num_nodes, width]. With ``rows``, [rows, width]: the last layer is computed for those rows alone.
    """

    row_wise: bool = False
    whole_graph: bool = False
    layers: nn.ModuleList
    norm: nn.Module
    edges: Callable[[Tensor | None, Tensor | None, int, torch.dtype], Edges] = Operation.edges

    def forward(
        self, h: Tensor, edge_index: Tensor | None, edge_weight: Tensor | None = None, rows: Tensor | None = None
    ) -> Tensor:
        edges = self.edges(edge_index, edge_weight, h.size(0), h.dtype)
        return self.run(h, edges, edges.take(rows))

    def run(self, h: Tensor, edges: Edges, asked: Edges, added: Callable[[int], Tensor] | None = None) -> Tensor:
        """The same with edges made before; ``asked`` are those of the last layer.

        ``added`` gives what is added to the node states before each layer, by its number.
        """
        for number, layer in enumerate(self.layers, start=1):
            h = h if added is None else h + added(number - 1)
            h = layer(h, asked if number == len(self.layers) else edges)
        return self.norm(h)

    def reset_parameters(self) -> None:
        for child in self.children():
            reset(child)


class Stack(Backbone):
    """A stack of one operation.

    Args:
        operation: its class.
        width: width of the node states.
        layers: how many; by default 2 plain or 4 strong ones.
        dropout: share of entries dropped after each layer, while training.
        variant: ``"plain"`` or ``"strong"``.
        feedforward: inner width of feed-forward parts, by default ``width``. All strong layers have one; of the plain
            ones only those of ``gt``.
        norm_eps: ε of the layer norms, which are where the feed-forward parts are.
        residual: add a linear map of its input to each plain layer, before the norm.
        normalise: the norm of a plain layer, before ReLU: ``"none"``, ``"layer"`` or ``"batch"``. The last layer is
            computed for the rows that are asked for alone, and a batch norm sees these.
        own: options of the operation.
    """

    @checked
    def __init__(
        self,
        operation: Any,
        *,
        width: int,
        layers: int | None = None,
        dropout: float = 0.0,
        variant: str = "plain",
        feedforward: int | None = None,
        norm_eps: float = 1e-5,
        residual: bool = False,
        normalise: str = "none",
        **own: Any,
    ) -> None:
        super().__init__()
        check_choice("variant", variant, tuple(VARIANTS))
        check_choice("normalise", normalise, tuple(NORMS))
        if (residual or normalise != "none") and (variant != "plain" or operation.whole_graph):
            got = f"residual={residual} and normalise={normalise!r}"
            raise refusal("residual", "be left out, as `normalise`, where layers have their own", got)
        layers = VARIANTS[variant] if layers is None else layers
        feedforward = width if feedforward is None else feedforward
        for name, count in (("width", width), ("layers", layers), ("feedforward", feedforward)):
            check_count(name, count)
        check_share("dropout", dropout)
        check_number("norm_eps", norm_eps, least=0.0)
        require_memory(
            4 * layers * width * (width + feedforward), f"{layers} layers of width {width}", "Choose smaller sizes."
        )
        self.width, self.feedforward, self.dropout = width, feedforward, dropout
        self.variant, self.norm_eps = variant, norm_eps
        self.residual, self.normalise = residual, normalise
        self.row_wise, self.whole_graph, self.edges = operation.row_wise, operation.whole_graph, operation.edges
        make = partial(operation, width, **own)
        self.layers = nn.ModuleList(layer for _ in range(layers) for layer in self._layer(make))
        self.norm = nn.Identity() if variant == "plain" else nn.LayerNorm(width, eps=norm_eps)

    def _layer(self, make: Callable[[int], Operation]) -> list[nn.Module]:
        inner = self.feedforward
        if self.variant == "plain":
            return [PostNormLayer(make(self.width), self) if self.whole_graph else PlainLayer(make(self.width), self)]
        residual = ResidualLayer(make(inner), self)
        return [residual, ResidualLayer(LinearOperation(self.width, inner), self)] if self.whole_graph else [residual]


class PlainLayer(nn.Module):
    """Operation → ReLU → dropout; with a residual and a norm dropout(ReLU(norm(operation(h) + Linear(h))))."""

    def __init__(self, operation: Operation, stack: Stack) -> None:
        super().__init__()
        self.operation, self.dropout = operation, stack.dropout
        self.residual = nn.Linear(stack.width, stack.width) if stack.residual else None
        self.norm = NORMS[stack.normalise](stack.width)

    def forward(self, h: Tensor, edges: Edges) -> Tensor:
        out = self.operation(h, edges)
        if self.residual is not None:
            out = out + self.residual(edges.pick(h))
        return dropout(self.norm(out).relu(), self.dropout, self.training)


class PostNormLayer(nn.Module):
    """Attention, then a feed-forward with ReLU, each added to its input and normalised.

    As in "Attention is all you need" and ``torch.nn.TransformerEncoderLayer``.
    """

    def __init__(self, attention: Operation, stack: Stack) -> None:
        super().__init__()
        self.attention = attention
        self.first = nn.Linear(stack.width, stack.feedforward)
        self.second = nn.Linear(stack.feedforward, stack.width)
        self.attention_norm = nn.LayerNorm(stack.width, eps=stack.norm_eps)
        self.feedforward_norm = nn.LayerNorm(stack.width, eps=stack.norm_eps)
        self.dropout = stack.dropout

    def forward(self, h: Tensor, edges: Edges) -> Tensor:
        drop = partial(dropout, share=self.dropout, training=self.training)
        h = self.attention_norm(edges.pick(h) + drop(self.attention(h, edges)))
        return self.feedforward_norm(h + drop(self.second(drop(self.first(h).relu()))))


class ResidualLayer(nn.Module):
    """h + dropout(Linear(dropout(GELU(operation(LayerNorm(h)))))); the operation gives ``feedforward`` columns."""

    def __init__(self, operation: Operation, stack: Stack) -> None:
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
        instead = "It owns parameters: write one that draws them again."
        raise refusal(type(module).__name__, "have a method reset_parameters", "none", instead)
    for child in module.children():
        reset(child)
