"""A fixed matrix with one row per node, and a learned linear map: P = F·Wᵀ + b.

The shared half of the encodings that differ only in F. Where F has as many columns as the graph has nodes, the
width is taken from the first graph that is prepared.
"""

from __future__ import annotations

import warnings

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from llpe.checks import check_count, refusal
from llpe.encodings.base import Encoding, seeded


class LinearEncoding(Encoding):
    """Base of the encodings whose fixed part is one matrix, called ``part``, that is projected linearly.

    Args:
        dim: width of the output.
        width: columns of the fixed matrix; None: as many as the first prepared graph has nodes.
    """

    part: str

    def __init__(self, dim: int, width: int | None, seed: int) -> None:
        super().__init__(dim, seed)
        if width is not None:
            check_count("width", width)
        with seeded(seed, dim * (width or 1)), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # torch calls its lazy modules a new feature
            self.project = nn.LazyLinear(dim) if width is None else nn.Linear(width, dim)

    def reset_parameters(self) -> None:
        self.project.reset_parameters()

    def initialise(self, data: Data) -> None:
        if isinstance(self.project, nn.LazyLinear):
            with seeded(self.seed), torch.no_grad():
                matrix = self.fixed(data, self.part)
                self.project(matrix[:1].to(self.project.weight.device, self.project.weight.dtype))

    def forward(self, data: Data) -> Tensor:
        matrix = self.fixed(data, self.part)
        self.initialise(data)
        if matrix.size(1) != self.project.in_features:
            rule = f"see {self.project.in_features} columns, as on the graph it was first prepared with"
            instead = "Its projection grows with the graph: build another one, or pass `width`."
            raise refusal(self.name, rule, matrix.size(1), instead)
        return nn.functional.linear(matrix, self.project.weight.to(matrix.dtype), self.project.bias.to(matrix.dtype))


def square_columns(matrix: Tensor, width: int | None) -> Tensor:
    """An n×n matrix padded with zero columns to ``width``; refuses a graph that is larger."""
    if width is None:
        return matrix
    if matrix.size(1) > width:
        got = f"{width} for a graph of {matrix.size(1)} nodes"
        raise refusal("width", "be at least the number of nodes", got, "Choose the largest graph's.")
    return nn.functional.pad(matrix, (0, width - matrix.size(1)))
