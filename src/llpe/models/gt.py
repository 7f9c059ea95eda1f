"""``gt``: graph transformer with full attention, each node attending to every node (Dwivedi & Bresson, 2021).

Edges enter through the encoding only. The attention of head a is softmax(Q_a K_aᵀ / √(width / heads)) V_a; no n × n
matrix is kept, so memory is linear in the number of nodes, in training too.

The plain layer is the paper's, the post-norm layer of "Attention is all you need" as in
``torch.nn.TransformerEncoderLayer``: h ← LayerNorm(h + attention(h)), h ← LayerNorm(h + feed-forward(h)). The strong
layer is the residual wrapper of all backbones, twice: around attention, then around a linear map.
"""

from __future__ import annotations

from typing import Any, final

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from llpe.checks import check_count
from llpe.models.backbone import Edges, ResidualLayer, Stack, check_share
from llpe.models.dropout import dropout
from llpe.models.operations import LinearOperation

QUERY_ROWS = 512  # rows of the attention matrix held at once when its entries are dropped


@final
class GT(Stack):
    """Attention of all nodes to all nodes; ``edge_index`` may be None.

    Args:
        width: width of the node states, a multiple of ``heads``.
        heads: attention heads.
        attention_dropout: share of the attention's entries dropped in training. Memory stays linear, but a step takes
            three to six times as long.
        options: see :class:`~llpe.models.backbone.Stack`.

    Example:
        >>> GT(width=8, layers=1, heads=2)(torch.ones(5, 8), None).shape
        torch.Size([5, 8])
    """

    whole_graph = True

    # NOTE[PAPER]: torch's layer, and so the authors' code, also drops attention entries, at the rate
    # `dropout`. Their published settings for GT all have dropout 0, where nothing differs; elsewhere it makes a
    # step three to six times as long, so it is an option of its own.
    def __init__(self, *, width: int, heads: int = 4, attention_dropout: float = 0.0, **options: Any) -> None:
        check_count("width", width)
        check_count("heads", heads)
        if width % heads:
            raise ValueError(
                f"`width` must be a multiple of heads={heads}, got {width}. "
                "Change heads, the hidden width, or the encoding's dim (the width is their sum)."
            )
        check_share("attention_dropout", attention_dropout)
        self.heads, self.attention_dropout = heads, attention_dropout
        super().__init__(width=width, **options)

    def operation(self, out: int) -> nn.Module:
        return Attention(self.width, out, heads=self.heads, dropout=self.attention_dropout)

    def plain_layer(self) -> list[nn.Module]:
        return [EncoderLayer(self.operation(self.width), self)]

    def strong_layer(self) -> list[nn.Module]:
        linear = LinearOperation(self.width, self.feedforward)
        return [ResidualLayer(self.operation(self.feedforward), self), ResidualLayer(linear, self)]


@final
class EncoderLayer(nn.Module):
    """Post-norm: attention, then a feed-forward with ReLU, each added to its input and normalised."""

    def __init__(self, attention: nn.Module, stack: Stack) -> None:
        super().__init__()
        self.attention = attention
        self.first = nn.Linear(stack.width, stack.feedforward)
        self.second = nn.Linear(stack.feedforward, stack.width)
        self.attention_norm = nn.LayerNorm(stack.width, eps=stack.norm_eps)
        self.feedforward_norm = nn.LayerNorm(stack.width, eps=stack.norm_eps)
        self.dropout = stack.dropout

    def forward(self, h: Tensor, edges: Edges) -> Tensor:
        h = self.attention_norm(edges.pick(h) + self._drop(self.attention(h, edges)))
        inner = self._drop(self.first(h).relu())
        return self.feedforward_norm(h + self._drop(self.second(inner)))

    def _drop(self, h: Tensor) -> Tensor:
        return dropout(h, self.dropout, self.training)


@final
class Attention(nn.Module):
    """Multi-head attention of the rows asked for to all rows, [num_nodes, width] → [rows, out]."""

    def __init__(self, width: int, out: int, *, heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.project = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, out)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """As in torch's multi-head attention: Xavier for the projections, biases 0."""
        nn.init.xavier_uniform_(self.project.weight)
        nn.init.zeros_(self.project.bias)
        self.out.reset_parameters()
        nn.init.zeros_(self.out.bias)

    def forward(self, h: Tensor, edges: Edges) -> Tensor:
        states = self.project(h).view(1, h.size(0), 3, self.heads, -1)
        query, key, value = states.transpose(1, 3).unbind(2)  # each [1, heads, num_nodes, width / heads]
        query = query if edges.rows is None else query[:, :, edges.rows]
        if self.training and self.dropout > 0:
            seen = self._dropped(query, key, value)
        else:
            seen = F.scaled_dot_product_attention(query, key, value)
        return self.out(seen.transpose(1, 2).flatten(2)[0])

    def _dropped(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """A few query rows at a time, and again in backward: torch alone would hold the n × n matrix."""
        parts = [
            checkpoint(F.scaled_dot_product_attention, part, key, value, None, self.dropout, use_reentrant=False)
            for part in query.split(QUERY_ROWS, dim=2)
        ]
        return torch.cat(parts, dim=2)
