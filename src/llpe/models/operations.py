"""``mlp``, ``sage`` and ``gcn``: each an operation, stacked as :mod:`llpe.models.backbone` says.

Messages flow from source to target as in PyG: row i of Â·h gathers the nodes j with an edge (j, i). Parallel edges add
up. All options of a backbone are those of :class:`~llpe.models.backbone.Stack`.
"""

from __future__ import annotations

from typing import final

import torch
from torch import Tensor, nn

from llpe.models.backbone import Edges, Stack
from llpe.models.fixed_matrix import FixedMatrix, quiet


@final
class MLP(Stack):
    """Each node by itself, h_i → W h_i + b; edges are not used, ``edge_index`` may be None.

    Example:
        >>> MLP(width=8, layers=2)(torch.ones(5, 8), None).shape
        torch.Size([5, 8])
    """

    row_wise = True

    def operation(self, out: int) -> nn.Module:
        return LinearOperation(self.width, out)


@final
class LinearOperation(nn.Linear):
    """W h + b, without edges."""

    def forward(self, h: Tensor, edges: Edges) -> Tensor:  # type: ignore[override]
        return super().forward(edges.pick(h))


class _Propagating(Stack):
    """What multiplies with a normalised adjacency."""

    def edges(self, edge_index: Tensor | None, edge_weight: Tensor | None, num_nodes: int, dtype: torch.dtype) -> Edges:
        check_edges(edge_index, edge_weight, num_nodes)
        assert edge_index is not None
        given = torch.ones_like(edge_index[0]) if edge_weight is None else edge_weight.reshape(-1)
        row, column, value = self.normalise(edge_index[0], edge_index[1], given.double(), num_nodes)
        entries = torch.stack([row, column])
        with quiet():
            matrix = torch.sparse_coo_tensor(entries, value.to(dtype), (num_nodes, num_nodes))
        return Edges(edge_index, edge_weight, FixedMatrix(matrix))

    @staticmethod
    def normalise(source: Tensor, target: Tensor, weight: Tensor, num_nodes: int) -> tuple[Tensor, Tensor, Tensor]:
        """The entries of the normalised adjacency: row, column and value of each."""
        raise NotImplementedError


@final
class SAGE(_Propagating):
    """GraphSAGE with the mean (Hamilton et al., 2017): h_i → W₁ mean_j(h_j) + W₂ h_i + b over edges (j, i).

    A node without neighbours has the mean 0. With edge weights the mean is weighted.

    Example:
        >>> from llpe.graph import tiny
        >>> SAGE(width=8, layers=2)(torch.ones(5, 8), tiny("path").edge_index).shape
        torch.Size([5, 8])
    """

    def operation(self, out: int) -> nn.Module:
        return SageOperation(self.width, out)

    @staticmethod
    def normalise(source: Tensor, target: Tensor, weight: Tensor, num_nodes: int) -> tuple[Tensor, Tensor, Tensor]:
        """D⁻¹A."""
        degree = weight.new_zeros(num_nodes).index_add(0, target, weight)
        return target, source, weight * _inverse(degree)[target]


@final
class SageOperation(nn.Module):
    """W₁ D⁻¹A h + W₂ h + b."""

    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.neighbours = nn.Linear(width, out)
        self.own = nn.Linear(width, out, bias=False)

    def forward(self, h: Tensor, edges: Edges) -> Tensor:
        return self.neighbours(edges.propagate(h)) + self.own(edges.pick(h))


@final
class GCN(_Propagating):
    """Graph convolution (Kipf and Welling, 2017): h → D^(−1/2)(A + I)D^(−1/2) h W + b.

    A node that has self-loops keeps their weight instead of 1.

    Example:
        >>> from llpe.graph import tiny
        >>> GCN(width=8, layers=2)(torch.ones(5, 8), tiny("path").edge_index).shape
        torch.Size([5, 8])
    """

    def operation(self, out: int) -> nn.Module:
        return GcnOperation(self.width, out)

    @staticmethod
    def normalise(source: Tensor, target: Tensor, weight: Tensor, num_nodes: int) -> tuple[Tensor, Tensor, Tensor]:
        """D^(−1/2)(A + I)D^(−1/2)."""
        without_loop = torch.ones(num_nodes, dtype=torch.bool, device=source.device)
        without_loop[source[source == target]] = False
        loops = without_loop.nonzero().flatten()
        source, target = torch.cat([source, loops]), torch.cat([target, loops])
        weight = torch.cat([weight, weight.new_ones(loops.numel())])
        scale = _inverse(weight.new_zeros(num_nodes).index_add(0, target, weight)).sqrt()
        return target, source, scale[target] * weight * scale[source]


@final
class GcnOperation(nn.Module):
    """W Â h + b."""

    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, out)

    def forward(self, h: Tensor, edges: Edges) -> Tensor:
        return self.linear(edges.propagate(h))


def _inverse(degree: Tensor) -> Tensor:
    return torch.where(degree > 0, 1 / degree, 0)


def check_edges(edge_index: Tensor | None, edge_weight: Tensor | None, num_nodes: int) -> None:
    if edge_index is None:
        raise ValueError(
            "`edge_index` must be a [2, num_edges] tensor, got None. "
            'Give the edges, or use model="mlp", which needs none.'
        )
    if edge_index.dim() != 2 or edge_index.size(0) != 2 or edge_index.dtype != torch.int64:
        raise ValueError(
            f"`edge_index` must be an int64 tensor of shape [2, num_edges], got {edge_index.dtype} of shape "
            f"{list(edge_index.shape)}."
        )
    if edge_index.numel() and not 0 <= int(edge_index.min()) <= int(edge_index.max()) < num_nodes:
        raise ValueError(
            f"`edge_index` must name nodes 0 … {num_nodes - 1}, got {int(edge_index.min())} … "
            f"{int(edge_index.max())}. A part of a graph needs its own edges: take data.subgraph(rows), "
            'or model="mlp", which needs none.'
        )
    if edge_weight is None:
        return
    if edge_weight.requires_grad:
        raise ValueError(
            "`edge_weight` must not require gradients, got a tensor that does. "
            'The adjacency is fixed: detach the weights, or use a PyG model such as model="GCN".'
        )
    if edge_weight.numel() != edge_index.size(1):
        raise ValueError(
            f"`edge_weight` must have one weight for each of {edge_index.size(1)} edges, got {edge_weight.numel()}."
        )
