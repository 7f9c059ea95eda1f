"""FastRP (Chen et al. 2019): random projections of fixed powers of the random walk. Nothing is learned.

    P = size·√dim · Σ_k unit((D⁻¹A)^k · D^exponent · S) / ‖…‖,   k = 1 … powers,   S[v, j] ~ N(0, 1)

where unit(·) scales each row of a power to length 1, and the rows of the sum are scaled to length 1 again. It is the
fixed counterpart of :class:`~llpe.encodings.probe_llpe.ProbeLLPE`: random signals too, but powers instead of
filters, equal weights, and the low end of the spectrum alone.
"""

from __future__ import annotations

from typing import ClassVar, final

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Data

from llpe.cache import Cache
from llpe.checks import check_count, check_number, refusal
from llpe.encodings.base import Encoding
from llpe.graph import Graph
from llpe.probes import draw
from llpe.spmm import multiply, torch_csr
from llpe.storage import require_memory

FAINTEST = 1e-150  # the square of a smaller one may be 0


@final
class FastRP(Encoding):
    """Random projections of powers of D⁻¹A, each with rows of unit length, added up.

    Args:
        dim: width of the output, the number of random signals.
        powers: how many powers of D⁻¹A, from the first on.
        exponent: of the degrees that scale the random signals before the first product.
        size: factor of the rows, which have mean square 1 without it.
        seed: of the random signals.

    Example:
        >>> from llpe.graph import tiny
        >>> encoding = FastRP(4)
        >>> encoding(encoding.prepare(tiny("path"))).shape
        torch.Size([5, 4])
    """

    name = "fastrp"
    invariances = frozenset({"sign", "basis"})
    fixed_by = ("dim", "powers", "exponent", "seed")
    choices: ClassVar = {"powers": [2, 3, 5, 8], "exponent": [-1.0, -0.5, 0.0], "size": [0.1, 1.0]}
    needs = "(D⁻¹A)^k·S, no eigenvector"
    keeps = "n × dim"
    cost = "powers · dim · edges, sparse products"
    reference = "Chen et al., Fast and Accurate Network Embeddings via Very Sparse Random Projection, 2019"

    def __init__(self, dim: int, *, powers: int = 3, exponent: float = -0.5, size: float = 1.0, seed: int = 0) -> None:
        super().__init__(dim, seed)
        check_count("powers", powers)
        check_number("exponent", exponent)
        check_number("size", size, above=0.0)
        self.powers, self.exponent, self.size = powers, exponent, size

    def reset_parameters(self) -> None:
        """There are none."""

    def compute(self, graph: Graph, cache: bool | Cache) -> dict[str, Tensor]:
        require_memory(16 * graph.num_nodes * self.dim, f"{self.dim} random signals", "Ask for fewer.")
        degree = np.where(graph.degree > 0, graph.degree, 1.0)
        walk = graph.adjacency.copy()
        walk.data = walk.data / np.repeat(degree, np.diff(walk.indptr))
        scale = self._scale(degree, graph.degree > 0)
        least = min(scale.min(), walk.data.min(initial=1.0))
        dtype = torch.float32 if least > 1e-12 else torch.float64
        operator = torch_csr(walk, dtype)
        signal = torch.from_numpy(draw(graph.num_nodes, self.dim, self.seed) * scale[:, None]).to(dtype)
        total = torch.zeros_like(signal)
        for _ in range(self.powers):
            signal = multiply(operator, signal)
            total += F.normalize(signal, dim=1, eps=torch.finfo(dtype).tiny)
        return {"rows": F.normalize(total, dim=1).float() * self.dim**0.5}

    def _scale(self, degree: np.ndarray, linked: np.ndarray) -> np.ndarray:
        """D^exponent in units of about the largest, which rows of unit length do not depend on."""
        with np.errstate(over="ignore", under="ignore"):
            scale = np.where(linked, degree**self.exponent, 0.0)
            scale = np.where(linked, np.ldexp(scale, -np.frexp(scale.max())[1]), 1.0)
        if not scale.min() > FAINTEST:
            rule = f"be such that no power of the degrees, to {self.exponent:g}, is below {FAINTEST:g} of the largest"
            raise refusal("data.edge_weight", rule, f"{scale.min():g}", "Drop edges of negligible weight.")
        return scale

    def forward(self, data: Data) -> Tensor:
        return self.size * self.fixed(data, "rows")
