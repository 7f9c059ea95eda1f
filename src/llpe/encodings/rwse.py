"""RWSE (Dwivedi et al. 2022): return probabilities of random walks with a learned projection.

P = R·Wᵀ + b,   R_im = ((D⁻¹A)^m)_ii,   m = 1 … steps
"""

from __future__ import annotations

from typing import ClassVar, final

from torch import Tensor

from llpe.cache import Cache
from llpe.checks import check_count
from llpe.encodings.linear import LinearEncoding
from llpe.functional import random_walk_return
from llpe.graph import Graph


@final
class RWSE(LinearEncoding):
    """The probabilities that a walk is back after 1 … ``steps`` steps, projected to ``dim`` columns.

    Args:
        dim: width of the output.
        steps: length of the longest walk.
        seed: fixes the initial projection.

    Example:
        >>> from llpe.graph import tiny
        >>> encoding = RWSE(4, steps=8)
        >>> encoding(encoding.prepare(tiny("path"))).shape
        torch.Size([5, 4])
    """

    name = "rwse"
    part = "returns"
    comparable = True
    invariances = frozenset({"sign", "basis"})
    fixed_by = ("steps",)
    choices: ClassVar = {"steps": [8, 16, 32, 64]}
    needs = "the diagonals of (D⁻¹A)^m"
    keeps = "n × steps"
    cost = "steps/2 · n · edges, sparse times dense"
    reference = "Dwivedi et al., Graph Neural Networks with Learnable Structural and Positional Representations, 2022"

    def __init__(self, dim: int, *, steps: int = 16, seed: int = 0) -> None:
        check_count("steps", steps)
        super().__init__(dim, steps, seed)
        self.steps = steps

    def compute(self, graph: Graph, cache: bool | Cache) -> dict[str, Tensor]:
        return {"returns": random_walk_return(graph, self.steps)}
