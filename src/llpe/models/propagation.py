"""Normalised adjacencies, built once per graph.

Messages flow from source to target as in PyG: row i of Â·h gathers the nodes j with an edge (j, i).
Parallel edges add up.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from llpe.models.sparse import FixedMatrix, remember, take_rows

Scaling = Callable[[Tensor, Tensor, Tensor, int], tuple[Tensor, Tensor, Tensor]]
"""(source, target, weight, num_nodes) → the entries of the normalised adjacency: (row, column, value)."""


def mean_adjacency(
    edge_index: Tensor | None, edge_weight: Tensor | None, h: Tensor, rows: Tensor | None = None
) -> FixedMatrix:
    """D⁻¹A: each node takes the (weighted) mean of its sources; a node without any takes 0.

    Made once per ``edge_index``, ``edge_weight`` and ``rows`` (those of the matrix asked for, by default all), in the
    dtype of the node states ``h``.

    Example:
        >>> edge_index = torch.tensor([[0, 1, 2], [2, 2, 1]])
        >>> mean_adjacency(edge_index, None, torch.zeros(3, 1)).csr.to_dense()
        tensor([[0.0000, 0.0000, 0.0000],
                [0.0000, 0.0000, 1.0000],
                [0.5000, 0.5000, 0.0000]])
    """
    return _rows(_remembered(_mean, edge_index, edge_weight, h), rows)


def gcn_adjacency(
    edge_index: Tensor | None, edge_weight: Tensor | None, h: Tensor, rows: Tensor | None = None
) -> FixedMatrix:
    """D^(−1/2)(A + I)D^(−1/2) of Kipf & Welling; a node that has self-loops keeps their weight instead of 1.

    Made once per ``edge_index``, ``edge_weight`` and ``rows`` (those of the matrix asked for, by default all), in the
    dtype of the node states ``h``.

    Example:
        >>> edge_index = torch.tensor([[0, 1], [1, 0]])
        >>> gcn_adjacency(edge_index, None, torch.zeros(3, 1)).csr.to_dense()
        tensor([[0.5000, 0.5000, 0.0000],
                [0.5000, 0.5000, 0.0000],
                [0.0000, 0.0000, 1.0000]])
    """
    return _rows(_remembered(_gcn, edge_index, edge_weight, h), rows)


def _rows(matrix: FixedMatrix, rows: Tensor | None) -> FixedMatrix:
    if rows is None:
        return matrix
    return remember("rows", (matrix.csr, rows), lambda: FixedMatrix(lambda: take_rows(matrix.csr, rows)))


def _remembered(scaling: Scaling, edge_index: Tensor | None, edge_weight: Tensor | None, h: Tensor) -> FixedMatrix:
    if edge_index is None:
        raise ValueError(
            "`edge_index` must be a [2, num_edges] tensor, got None. "
            'Give the edges, or use model="mlp", which needs none.'
        )
    if edge_weight is not None and edge_weight.requires_grad:
        raise ValueError(
            "`edge_weight` must not require gradients, got a tensor that does. "
            'The adjacency is prepared once: detach the weights, or use a PyG model such as model="GCN".'
        )
    num_nodes, dtype = h.size(0), h.dtype

    def build() -> Tensor:
        source, target = edge_index
        given = torch.ones_like(source) if edge_weight is None else edge_weight.reshape(-1)
        row, column, value = scaling(source, target, given.double(), num_nodes)
        entries = torch.stack([row, column])
        return torch.sparse_coo_tensor(entries, value.to(dtype), (num_nodes, num_nodes))

    def make() -> FixedMatrix:
        _check(edge_index, edge_weight, num_nodes)
        return FixedMatrix(build)

    return remember((scaling, num_nodes, dtype), (edge_index, edge_weight), make)


def _mean(source: Tensor, target: Tensor, weight: Tensor, num_nodes: int) -> tuple[Tensor, Tensor, Tensor]:
    degree = weight.new_zeros(num_nodes).index_add(0, target, weight)
    return target, source, weight * _inverse(degree)[target]


def _gcn(source: Tensor, target: Tensor, weight: Tensor, num_nodes: int) -> tuple[Tensor, Tensor, Tensor]:
    without_loop = torch.ones(num_nodes, dtype=torch.bool, device=source.device)
    without_loop[source[source == target]] = False
    loops = without_loop.nonzero().flatten()
    source, target = torch.cat([source, loops]), torch.cat([target, loops])
    weight = torch.cat([weight, weight.new_ones(loops.numel())])
    degree = weight.new_zeros(num_nodes).index_add(0, target, weight)
    scale = _inverse(degree).sqrt()
    return target, source, scale[target] * weight * scale[source]


def _inverse(degree: Tensor) -> Tensor:
    return torch.where(degree > 0, 1 / degree, 0)


def _check(edge_index: Tensor, edge_weight: Tensor | None, num_nodes: int) -> None:
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
    if edge_weight.numel() != edge_index.size(1):
        raise ValueError(
            f"`edge_weight` must have one weight for each of {edge_index.size(1)} edges, got {edge_weight.numel()}."
        )
