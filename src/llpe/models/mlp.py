"""``mlp``: each node by itself, h_i → W h_i + b. Edges are not used, so any rows of a graph will do."""

from __future__ import annotations

from functools import partial
from typing import Unpack, final

from torch import Tensor, nn

from llpe.models.base import Backbone, Shared, pick


@final
class MLP(Backbone):
    """Linear maps; ``edge_index`` may be None. Options: see :class:`~llpe.models.base.Backbone`.

    Example:
        >>> import torch
        >>> MLP(width=8, layers=2)(torch.ones(5, 8), None).shape
        torch.Size([5, 8])
    """

    row_wise = True

    def __init__(self, *, width: int, **shared: Unpack[Shared]) -> None:
        super().__init__(partial(LinearOperation, width), width=width, **shared)


@final
class LinearOperation(nn.Linear):
    """W h + b, deaf to edges."""

    def forward(
        self,
        h: Tensor,
        edge_index: Tensor | None = None,
        edge_weight: Tensor | None = None,
        rows: Tensor | None = None,
    ) -> Tensor:
        return super().forward(pick(h, rows))
