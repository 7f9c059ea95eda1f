"""``gt``: attention of every node to every node. Edges enter through the encoding only."""

from __future__ import annotations

from typing import final

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from llpe.checks import check_count, checked, refusal
from llpe.models.backbone import Edges, Operation, check_share

QUERY_ROWS = 512  # rows of the attention matrix held at once when its entries are dropped


@final
class Attention(Operation):
    """Graph transformer with full attention, each node attending to every node (Dwivedi & Bresson, 2021).

    The attention of head a is softmax(Q_a K_aᵀ / √(width / heads)) V_a, of the rows asked for to all rows:
    [num_nodes, width] → [rows, out]. No n × n matrix is kept, so memory is linear in the number of nodes, in training
    too.

    Args:
        width: width of the node states, a multiple of ``heads``.
        out: width of the result.
        heads: attention heads.
        attention_dropout: share of the attention's entries dropped in training. Memory stays linear, but a step takes
            three to six times as long.
    """

    whole_graph = True

    # NOTE[PAPER]: torch's layer, and so the authors' code, also drops attention entries, at the rate
    # `dropout`. Their published settings for GT all have dropout 0, where nothing differs; elsewhere it makes a
    # step three to six times as long, so it is an option of its own.
    @checked
    def __init__(self, width: int, out: int, *, heads: int = 4, attention_dropout: float = 0.0) -> None:
        super().__init__()
        check_count("heads", heads)
        if width % heads:
            instead = "Change heads, the hidden width, or the encoding's dim (the width is their sum)."
            raise refusal("width", f"be a multiple of heads={heads}", width, instead)
        check_share("attention_dropout", attention_dropout)
        self.heads, self.dropout = heads, attention_dropout
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
