"""No encoding: P has no columns. The baseline of every comparison."""

from __future__ import annotations

from typing import final

import torch
from torch import Tensor
from torch_geometric.data import Data

from llpe.cache import Cache
from llpe.encodings.base import Encoding
from llpe.graph import Graph


@final
class NoEncoding(Encoding):
    """Encodes nothing, in 0 columns.

    Args:
        dim: accepted so that a sweep over encodings needs no special case; the output has 0 columns anyway.
        seed: accepted for the same reason.

    Example:
        >>> from llpe.graph import tiny
        >>> encoding = NoEncoding()
        >>> encoding(encoding.prepare(tiny("path"))).shape
        torch.Size([5, 0])
    """

    name = "none"
    comparable = True
    invariances = frozenset({"sign", "basis"})
    from_spectrum = True  # there is nothing to keep
    fixed_by = ()

    def __init__(self, dim: int = 1, *, seed: int = 0) -> None:
        super().__init__(dim, seed)
        self.dim = 0

    def reset_parameters(self) -> None:
        pass

    def compute(self, graph: Graph, cache: bool | Cache) -> dict[str, Tensor]:
        return {"rows": torch.empty(graph.num_nodes, 0)}

    def forward(self, data: Data) -> Tensor:
        return self.fixed(data, "rows")
