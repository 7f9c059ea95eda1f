"""Encodings side by side: P = [P_1 ‖ P_2 ‖ …]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from llpe.cache import Cache
from llpe.checks import refusal
from llpe.encodings.base import Encoding
from llpe.graph import Graph


@final
class Concat(Encoding):
    """The columns of several encodings, one after the other. Each keeps its own fixed part, cache and parameters.

    Args:
        encodings: the encodings, in the order of their columns.

    Example:
        >>> from llpe import make_encoding, tiny
        >>> encoding = Concat([make_encoding("lpe-fk", dim=4, k=2), make_encoding("rwse", dim=3, steps=5)])
        >>> encoding
        Concat(encodings=[LPEFirst(dim=4, k=2, seed=0), RWSE(dim=3, steps=5, seed=0)])
        >>> encoding(encoding.prepare(tiny("path"))).shape
        torch.Size([5, 7])
    """

    name = "concat"
    encodings: Sequence[Encoding]
    from_spectrum = True  # each of them keeps its own

    def __init__(self, encodings: Sequence[Encoding]) -> None:
        encodings = encodings if isinstance(encodings, Sequence | nn.ModuleList) else [encodings]
        wrong = [type(each).__name__ for each in encodings if not isinstance(each, Encoding)]
        if wrong or not encodings:
            instead = "Build them with make_encoding(name, dim=…)."
            raise refusal("encodings", "be one llpe encoding or more", ", ".join(wrong) or "none", instead)
        super().__init__(dim=1, seed=0)
        self.dim = sum(each.dim for each in encodings)
        self.encodings = nn.ModuleList(encodings)  # type: ignore[assignment]

    @property
    def invariances(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset.intersection(*(each.invariances for each in self.encodings))

    @property
    def comparable(self) -> bool:  # type: ignore[override]
        return all(each.comparable for each in self.encodings)

    def reset_parameters(self) -> None:
        for each in self.encodings:
            each.reset_parameters()

    def fixed_arguments(self) -> dict[str, Any]:
        return {"encodings": [{"name": each.name, **each.fixed_arguments()} for each in self.encodings]}

    def compute(self, graph: Graph, cache: bool | Cache) -> dict[str, Tensor]:
        return {name: part for each in self.encodings for name, part in each.fixed_part(graph, cache).items()}

    def attribute(self, part: str) -> str:
        return part  # each of them has named its own

    def initialise(self, data: Data) -> None:
        for each in self.encodings:
            each.initialise(data)

    def forward(self, data: Data) -> Tensor:
        return torch.cat([each(data) for each in self.encodings], dim=1)

    def penalty(self, data: Data) -> Tensor:
        return sum((each.penalty(data) for each in self.encodings), start=torch.zeros(()))

    def __repr__(self) -> str:
        return f"Concat(encodings=[{', '.join(map(repr, self.encodings))}])"
