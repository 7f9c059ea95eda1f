"""SignNet with DeepSets (Lim et al. 2022): P = ρ(Σ_i [φ(u_i) + φ(−u_i)]), over the first k nontrivial eigenvectors.

φ is an MLP on one number, the node's entry of one eigenvector, and ρ an MLP on the sum, so the result does not depend
on signs; eigenvalues are unused.

φ is never evaluated. A hidden unit w·relu(a·x + b) adds to φ(x) + φ(−x), with y = |x|, 2w·relu(b) up to a bend at
y = |b/a|, and w·(|a|·y + b) beyond. So between two of the H bends the sum over units is one line α_j·y + β_j, and
all that a node needs is how many of its entries are there and their sum: n × 2(H + 1) numbers times a small table of
α and β instead of n × k × H activations. Values and gradients are the same.

NOTE[PAPER]: the paper does not say which φ it used, and common ones are a GIN or an MLP with batch normalisation. Here
φ is an MLP without it, so that a row of the output depends on that row of the input only.
"""

from __future__ import annotations

from typing import ClassVar, cast, final

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Data

from llpe.cache import Cache
from llpe.checks import check_count
from llpe.encodings.base import Encoding, seeded
from llpe.functional import padded
from llpe.graph import Graph
from llpe.spectrum import end_spectrum


@final
class SignNet(Encoding):
    """Sign-invariant encoding of the first ``k`` nontrivial eigenvectors.

    Args:
        dim: width of the output.
        k: number of eigenvectors; those that a small graph does not have are masked.
        hidden: width of the hidden layers of φ and ρ.
        out: width of φ's output.
        seed: fixes the basis of repeated eigenvalues, and the initial parameters.

    Example:
        >>> from llpe.graph import tiny
        >>> encoding = SignNet(4, k=3)
        >>> encoding(encoding.prepare(tiny("path"))).shape
        torch.Size([5, 4])
    """

    name = "signnet"
    comparable = True
    invariances = frozenset({"sign"})
    from_spectrum = True
    fixed_by = ("k", "seed")
    choices: ClassVar = {"k": [8, 16, 32, 64, 128, 256, 512]}
    needs = "the first k + 1 eigenpairs"
    keeps = "n × k"
    cost = "iterations · (edges + n·k), by Krylov spaces; n·k·log(hidden) in each forward pass"
    reference = "Lim et al., Sign and Basis Invariant Networks for Spectral Graph Representation Learning, 2022"

    def __init__(self, dim: int, *, k: int = 16, hidden: int = 64, out: int = 4, seed: int = 0) -> None:
        super().__init__(dim, seed)
        for name, value in (("k", k), ("hidden", hidden), ("out", out)):
            check_count(name, value)
        self.k, self.hidden, self.out = k, hidden, out
        with seeded(seed, hidden * (out + dim)):
            self.phi = nn.Sequential(nn.Linear(1, hidden), nn.ReLU(), nn.Linear(hidden, out))
            self.rho = nn.Sequential(nn.Linear(out, hidden), nn.ReLU(), nn.Linear(hidden, dim))

    def reset_parameters(self) -> None:
        for layer in (*self.phi, *self.rho):
            if isinstance(layer, nn.Linear):
                layer.reset_parameters()

    def compute(self, graph: Graph, cache: bool | Cache) -> dict[str, Tensor]:
        spectrum = end_spectrum(graph, first=self.k + 1, seed=self.seed, cache=cache)
        vectors = spectrum.vectors[:, int(spectrum.trivial) :][:, : self.k]
        mask = (torch.arange(self.k) < vectors.size(1)).repeat(graph.num_nodes, 1)
        return {"vectors": padded(vectors, self.k), "mask": mask}

    def forward(self, data: Data) -> Tensor:
        vectors, mask = self.fixed(data, "vectors"), self.fixed(data, "mask")
        first, second = (cast(nn.Linear, self.phi[at]) for at in (0, 2))
        slope, offset = first.weight[:, 0].abs(), first.bias
        bends, order = (offset / slope).detach().abs().nan_to_num(torch.inf).sort()
        totals = _totals(vectors.to(slope.dtype).abs(), mask, bends)
        lines = _lines(slope[order, None], offset[order, None], second.weight.T[order], second.bias)
        return self.rho(totals @ lines).to(vectors.dtype)


def _lines(slope: Tensor, offset: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """φ(x) + φ(−x) between any two bends, first all α_j, then all β_j: [2(hidden + 1), out]."""
    before = 2 * offset.relu() * weight
    gained = torch.stack([slope * weight, offset * weight - before])
    alpha, beta = F.pad(gained.cumsum(dim=1), (0, 0, 1, 0))
    return torch.cat([alpha, beta + before.sum(dim=0) + 2 * bias])


def _totals(sizes: Tensor, mask: Tensor, bends: Tensor) -> Tensor:
    """For each row, between any two bends, the sum of its entries and how many: [rows, 2(hidden + 1)]."""
    intervals = bends.numel() + 1
    interval = torch.searchsorted(bends, sizes)
    out = sizes.new_zeros(sizes.size(0), 2 * intervals)
    out.scatter_add_(1, interval, sizes * mask)
    return out.scatter_add_(1, interval + intervals, mask.to(sizes.dtype))
