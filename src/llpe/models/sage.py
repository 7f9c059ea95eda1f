"""``sage``: GraphSAGE with the mean, h_i → W₁ mean_j(h_j) + W₂ h_i + b over edges (j, i).

Hamilton et al. (2017). A node without neighbours has the mean 0. With edge weights the mean is weighted.
"""

from __future__ import annotations

from functools import partial
from typing import Unpack, final

from torch import Tensor, nn

from llpe.models.base import Backbone, Shared, pick
from llpe.models.propagation import mean_adjacency


@final
class SAGE(Backbone):
    """Means over neighbours. Options: see :class:`~llpe.models.base.Backbone`.

    Example:
        >>> import torch
        >>> from llpe.graph import tiny
        >>> SAGE(width=8, layers=2)(torch.ones(5, 8), tiny("path").edge_index).shape
        torch.Size([5, 8])
    """

    def __init__(self, *, width: int, **shared: Unpack[Shared]) -> None:
        super().__init__(partial(SageOperation, width), width=width, **shared)


@final
class SageOperation(nn.Module):
    """W₁ D⁻¹A h + W₂ h + b."""

    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.neighbours = nn.Linear(width, out)
        self.own = nn.Linear(width, out, bias=False)

    def forward(
        self, h: Tensor, edge_index: Tensor | None, edge_weight: Tensor | None = None, rows: Tensor | None = None
    ) -> Tensor:
        return self.neighbours(mean_adjacency(edge_index, edge_weight, h, rows) @ h) + self.own(pick(h, rows))
