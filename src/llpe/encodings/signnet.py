"""SignNet with DeepSets (Lim et al. 2022): P = ρ(Σ_i [φ(u_i) + φ(−u_i)]), over the first k nontrivial eigenvectors.

φ is an MLP on one number, the node's entry of one eigenvector, and ρ an MLP on the sum, so the result does not depend
on signs; eigenvalues are unused.

NOTE[PAPER]: the paper does not say which φ it used, and common ones are a GIN or an MLP with batch normalisation. Here
φ is an MLP without it, so that a row of the output depends on that row of the input only.
"""

from __future__ import annotations

from typing import Any, final

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from llpe.cache import Cache
from llpe.encodings.base import Encoding, check_count, in_row_chunks, padded, seeded
from llpe.graph import Graph
from llpe.spectrum import end_spectrum

CHUNK_ENTRIES = 2**23  # (node, eigenvector, hidden) triples held at once


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
    invariances = frozenset({"sign"})
    from_spectrum = True
    needs = "the first k + 1 eigenpairs"
    keeps = "n × k"
    cost = "iterations · (edges + n·k), by Krylov spaces"
    reference = "Lim et al., Sign and Basis Invariant Networks for Spectral Graph Representation Learning, 2022"

    def __init__(self, dim: int, *, k: int = 16, hidden: int = 64, out: int = 4, seed: int = 0) -> None:
        super().__init__(dim, seed)
        for name, value in (("k", k), ("hidden", hidden), ("out", out)):
            check_count(name, value)
        self.k, self.hidden, self.out = k, hidden, out
        with seeded(seed):
            self.phi = nn.Sequential(nn.Linear(1, hidden), nn.ReLU(), nn.Linear(hidden, out))
            self.rho = nn.Sequential(nn.Linear(out, hidden), nn.ReLU(), nn.Linear(hidden, dim))

    def reset_parameters(self) -> None:
        for layer in (*self.phi, *self.rho):
            if isinstance(layer, nn.Linear):
                layer.reset_parameters()

    def fixed_arguments(self) -> dict[str, Any]:
        return {"k": self.k, "seed": self.seed}

    def compute(self, graph: Graph, cache: bool | Cache) -> dict[str, Tensor]:
        spectrum = end_spectrum(graph, first=self.k + 1, seed=self.seed, cache=cache)
        vectors = spectrum.vectors[:, int(spectrum.trivial) :][:, : self.k]
        mask = torch.zeros(graph.num_nodes, self.k, dtype=torch.bool)
        mask[:, : vectors.size(1)] = True
        return {"vectors": padded(vectors, self.k), "mask": mask}

    def forward(self, data: Data) -> Tensor:
        vectors = self.fixed(data, "vectors")
        dtype = next(self.parameters()).dtype
        rows = max(1, CHUNK_ENTRIES // (self.k * self.hidden))
        tensors = [vectors.to(dtype), self.fixed(data, "mask")]
        return in_row_chunks(self._encode, tensors, rows, list(self.parameters())).to(vectors.dtype)

    def _encode(self, vectors: Tensor, mask: Tensor) -> Tensor:
        signal = vectors[..., None]
        even = self.phi(signal) + self.phi(-signal)
        return self.rho((even * mask[..., None]).sum(dim=1))
