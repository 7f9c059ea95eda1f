"""``gcn``: graph convolution, h → D^(−1/2)(A + I)D^(−1/2) h W + b (Kipf & Welling, 2017)."""

from __future__ import annotations

from functools import partial
from typing import Unpack, final

from torch import Tensor, nn

from llpe.models.base import Backbone, Shared
from llpe.models.propagation import gcn_adjacency


@final
class GCN(Backbone):
    """Symmetrically normalised sums over neighbours. Options: see :class:`~llpe.models.base.Backbone`.

    Example:
        >>> import torch
        >>> from llpe.graph import tiny
        >>> GCN(width=8, layers=2)(torch.ones(5, 8), tiny("path").edge_index).shape
        torch.Size([5, 8])
    """

    def __init__(self, *, width: int, **shared: Unpack[Shared]) -> None:
        super().__init__(partial(GcnOperation, width), width=width, **shared)


@final
class GcnOperation(nn.Module):
    """W Â h + b."""

    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, out)

    def forward(
        self, h: Tensor, edge_index: Tensor | None, edge_weight: Tensor | None = None, rows: Tensor | None = None
    ) -> Tensor:
        return self.linear(gcn_adjacency(edge_index, edge_weight, h, rows) @ h)
