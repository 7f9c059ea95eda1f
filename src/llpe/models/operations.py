"""The operations that backbones are stacks of: ``mlp``, ``sage``, ``gcn`` and ``gt``; and the edges as they read them.

Messages flow from source to target as in PyG: row i of Â·h gathers the nodes j with an edge (j, i). Parallel edges add
up.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import final

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from llpe.checks import check_count, check_number, checked, refusal
from llpe.device import wide
from llpe.inputs import check_pairs, check_range, check_tensor
from llpe.models.fixed_matrix import FixedMatrix, check_rows
from llpe.spmm import quiet

QUERY_ROWS = 512  # rows of the attention matrix held at once when its entries are dropped
HELD_WEIGHTS = 1 << 29  # attention weights of 16 bits that may be held for the backward pass
Entries = tuple[Tensor, Tensor, Tensor]  # row, column and value of each entry of a matrix


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
        check_rows(rows)
        return replace(self, rows=rows, matrix=self.matrix and self.matrix.take(rows))

    def to(self, device: torch.device) -> Edges:
        there = {name: part.to(device) for name, part in vars(self).items() if part is not None}
        return replace(self, **there)

    def pick(self, h: Tensor) -> Tensor:
        """The rows of ``h`` that are asked for."""
        return h if self.rows is None else h[self.rows]


class Operation(nn.Module):
    """Made with the widths of its input and output, called with node states and :class:`Edges`."""

    row_wise: bool = False  # whether each node sees its own row only, so that a subset of the rows suffices
    whole_graph: bool = False  # whether each node sees all rows, so that graphs must not be batched

    @classmethod
    def edges(cls, edge_index: Tensor | None, edge_weight: Tensor | None, num_nodes: int, dtype: torch.dtype) -> Edges:
        """What the operation needs of a graph, which does not change in training."""
        return Edges(edge_index, edge_weight)


class LinearOperation(nn.Linear, Operation):
    """Each node by itself, h_i → W h_i + b. Edges are not used, so a subset of the rows of a graph suffices."""

    row_wise = True

    def forward(self, h: Tensor, edges: Edges) -> Tensor:  # type: ignore[override]
        return super().forward(edges.pick(h))


class _Propagation(Operation):
    @classmethod
    def edges(cls, edge_index: Tensor | None, edge_weight: Tensor | None, num_nodes: int, dtype: torch.dtype) -> Edges:
        source, target = check_edges(edge_index, edge_weight, num_nodes)
        given = torch.ones_like(source) if edge_weight is None else edge_weight.reshape(-1)
        row, column, value = cls.normalise(source, target, given.to(wide(source.device)), num_nodes)
        with quiet():
            entries, shape = torch.stack([row, column]), (num_nodes, num_nodes)
            matrix = torch.sparse_coo_tensor(entries, value.to(dtype), shape)
        return Edges(edge_index, edge_weight, FixedMatrix(matrix))

    @staticmethod
    @abstractmethod
    def normalise(source: Tensor, target: Tensor, weight: Tensor, num_nodes: int) -> Entries:
        """The entries of the normalised adjacency."""


@final
class SageOperation(_Propagation):
    """GraphSAGE with the mean, h_i → W₁ mean_j(h_j) + W₂ h_i + b over edges (j, i).

    Hamilton et al. (2017). A node without neighbours has the mean 0. With edge weights the mean is weighted.
    """

    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.neighbours = nn.Linear(width, out)
        self.own = nn.Linear(width, out, bias=False)

    def forward(self, h: Tensor, edges: Edges) -> Tensor:
        assert edges.matrix is not None
        return self.neighbours(edges.matrix @ h) + self.own(edges.pick(h))

    @staticmethod
    def normalise(source: Tensor, target: Tensor, weight: Tensor, num_nodes: int) -> Entries:
        """D⁻¹A."""
        degree = weight.new_zeros(num_nodes).index_add(0, target, weight)
        return target, source, weight * _inverse(degree)[target]


@final
class GcnOperation(_Propagation):
    """Graph convolution, h → D^(−1/2)(A + I)D^(−1/2) h W + b (Kipf & Welling, 2017).

    A node that has self-loops keeps their weight instead of 1.
    """

    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, out)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """As in PyG's GCNConv: Xavier, biases 0. The default of linear layers would fade in a deep stack."""
        nn.init.xavier_uniform_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, h: Tensor, edges: Edges) -> Tensor:
        assert edges.matrix is not None
        return self.linear(edges.matrix @ h)

    @staticmethod
    def normalise(source: Tensor, target: Tensor, weight: Tensor, num_nodes: int) -> Entries:
        """D^(−1/2)(A + I)D^(−1/2)."""
        without_loop = torch.ones(num_nodes, dtype=torch.bool, device=source.device)
        without_loop[source[source == target]] = False
        loops = without_loop.nonzero().flatten()
        source, target = torch.cat([source, loops]), torch.cat([target, loops])
        weight = torch.cat([weight, weight.new_ones(loops.numel())])
        scale = _inverse(weight.new_zeros(num_nodes).index_add(0, target, weight)).sqrt()
        return target, source, scale[target] * weight * scale[source]


@final
class Attention(Operation):
    """Graph transformer with full attention, each node attending to every node (Dwivedi & Bresson, 2021).

    The attention of head a is softmax(Q_a K_aᵀ / √(width / heads)) V_a, of the rows asked for to all rows:
    [num_nodes, width] → [rows, out]. No n × n matrix is kept, so memory is linear in the number of nodes, in training
    too. Only under autocast on the CPU, where torch's kernel is hardly faster than in 32 bits, up to 1 GB of weights
    are held instead: by one thread, a step takes about 0.7 of the time.

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
        # each [1, heads, num_nodes, width / heads], contiguous: a twentieth faster
        query, key, value = states.permute(2, 0, 3, 1, 4).contiguous().unbind(0)
        query = query if edges.rows is None else query[:, :, edges.rows]
        if self.training and self.dropout > 0:
            seen = self._dropped(query, key, value)
        elif _half_on_cpu(query) and query.numel() // query.size(3) * key.size(2) <= HELD_WEIGHTS:
            seen = _by_heads(query * query.size(3) ** -0.5, key, value)
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


def _half_on_cpu(tensor: Tensor) -> bool:
    return tensor.dtype == torch.bfloat16 and tensor.device.type == "cpu"


def _by_heads(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Attention as two products and a softmax, one head after the other."""
    heads = zip(*(each[0].unbind() for each in (query, key, value)), strict=True)
    return torch.stack([(q @ k.T).softmax(dim=1) @ v for q, k, v in heads]).unsqueeze(0)


def _inverse(degree: Tensor) -> Tensor:
    return torch.where(degree > 0, 1 / degree, 0)


def check_edges(edge_index: Tensor | None, edge_weight: Tensor | None, num_nodes: int) -> tuple[Tensor, Tensor]:
    """Sources and targets of the edges, refused if an operation cannot follow them."""
    if edge_index is None:
        instead = 'Give the edges, or use model="mlp", which needs none.'
        raise refusal("edge_index", "be an int64 tensor of shape [2, num_edges]", None, instead)
    check_pairs("edge_index", edge_index)
    instead = 'A part of a graph needs its own edges: take data.subgraph(rows), or model="mlp", which needs none.'
    check_range("edge_index", edge_index, num_nodes, instead)
    if edge_weight is not None:
        check_tensor("edge_weight", edge_weight)
        if edge_weight.requires_grad:
            instead = 'The adjacency is fixed: detach the weights, or use a PyG model such as model="GCN".'
            raise refusal("edge_weight", "not require gradients", "a tensor that does", instead)
        if edge_weight.numel() != edge_index.size(1):
            rule = f"have one weight for each of {edge_index.size(1)} edges"
            raise refusal("edge_weight", rule, edge_weight.numel())
    return edge_index[0], edge_index[1]


def check_share(name: str, value: float) -> None:
    if not 0 <= check_number(name, value) < 1:
        raise refusal(name, "be at least 0 and below 1", repr(value))
