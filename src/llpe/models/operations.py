"""The operations that multiply with a normalised adjacency: ``sage`` and ``gcn``.

Messages flow from source to target as in PyG: row i of Â·h gathers the nodes j with an edge (j, i). Parallel edges add
up.
"""

from __future__ import annotations

from typing import final

import torch
from torch import Tensor, nn

from llpe.checks import refusal
from llpe.device import wide
from llpe.inputs import check_pairs, check_range, check_tensor
from llpe.models.backbone import Edges, Operation
from llpe.models.fixed_matrix import FixedMatrix
from llpe.spmm import quiet

Entries = tuple[Tensor, Tensor, Tensor]  # row, column and value of each entry of a matrix


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
    def normalise(source: Tensor, target: Tensor, weight: Tensor, num_nodes: int) -> Entries:
        """The entries of the normalised adjacency."""
        raise NotImplementedError


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
