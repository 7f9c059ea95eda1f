"""SAN-PE (Kreuzer et al. 2021): a transformer over the k lowest eigenpairs of each node.

    P[v] = Σ_i Transformer(Linear([u_i(v), λ_i]))_i

Each node is a sequence of k pairs [u_i(v), λ_i], the trivial one included; pairs that a small graph does not have are
masked. In training every eigenvector's sign is flipped at random in each forward pass. Costs O(n·k²), in node chunks.
"""

from __future__ import annotations

from typing import ClassVar, final

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from torch_geometric.data import Data

from llpe.cache import Cache
from llpe.checks import check_count, refusal
from llpe.encodings.base import Encoding, seeded
from llpe.functional import padded
from llpe.graph import Graph
from llpe.spectrum import end_spectrum

CHUNK_ENTRIES = 2**24  # attention scores held at once


@final
class SANPE(Encoding):
    """Attention over the ``k`` lowest eigenpairs.

    Args:
        dim: width of the output, a multiple of ``heads``.
        k: number of eigenpairs.
        layers: transformer layers.
        heads: attention heads.
        seed: fixes signs and bases of the eigenvectors, and the initial parameters.

    Example:
        >>> from llpe.graph import tiny
        >>> encoding = SANPE(8, k=3).eval()
        >>> encoding(encoding.prepare(tiny("path"))).shape
        torch.Size([5, 8])
    """

    name = "san"
    from_spectrum = True
    fixed_by = ("k", "seed")
    choices: ClassVar = {"k": [8, 16, 32]}  # NOTE[PAPER]: to 512 there; attention over k pairs at every node costs k²
    needs = "the first k eigenpairs"
    keeps = "n × 2k"
    cost = "iterations · (edges + n·k), by Krylov spaces; n·k² in each forward pass"
    reference = "Kreuzer et al., Rethinking Graph Transformers with Spectral Attention, 2021"

    def __init__(self, dim: int, *, k: int = 16, layers: int = 1, heads: int = 4, seed: int = 0) -> None:
        super().__init__(dim, seed)
        for name, value in (("k", k), ("layers", layers), ("heads", heads)):
            check_count(name, value)
        if dim % heads:
            raise refusal("dim", f"be a multiple of heads={heads}", dim, "Change one of them.")
        self.k, self.layers, self.heads = k, layers, heads
        with seeded(seed, 8 * layers * dim**2):
            self.embed = nn.Linear(2, dim)
            layer = nn.TransformerEncoderLayer(dim, heads, 2 * dim, dropout=0.0, batch_first=True)
            self.transformer = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
            self.reset_parameters()

    def reset_parameters(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.LayerNorm):
                module.reset_parameters()
            elif isinstance(module, nn.MultiheadAttention):
                module._reset_parameters()

    def compute(self, graph: Graph, cache: bool | Cache) -> dict[str, Tensor]:
        spectrum = end_spectrum(graph, first=self.k, seed=self.seed, cache=cache)
        mask = (torch.arange(self.k) < spectrum.values.numel()).repeat(graph.num_nodes, 1)
        values = spectrum.values.expand(graph.num_nodes, -1)
        return {"vectors": padded(spectrum.vectors, self.k), "values": padded(values, self.k), "mask": mask}

    def forward(self, data: Data) -> Tensor:
        vectors, values = self.fixed(data, "vectors"), self.fixed(data, "values")
        dtype = self.embed.weight.dtype
        if self.training:
            vectors = vectors * (2 * torch.randint(2, (self.k,), device=vectors.device) - 1)
        pairs = torch.stack([vectors, values], dim=-1).to(dtype)
        rows = max(1, CHUNK_ENTRIES // (self.k * (self.heads * self.k + 8 * self.dim)))
        mask = self.fixed(data, "mask")
        if torch.compiler.is_compiling() or len(pairs) <= rows:
            return self._encode(pairs, mask).to(vectors.dtype)
        chunks = zip(pairs.split(rows), mask.split(rows), strict=True)  # each is computed again for its gradient
        parts = [checkpoint(self._encode, *c, use_reentrant=False, preserve_rng_state=False) for c in chunks]
        return torch.cat(parts).to(vectors.dtype)

    def _encode(self, pairs: Tensor, mask: Tensor) -> Tensor:
        hidden = self.transformer(self.embed(pairs), src_key_padding_mask=~mask)
        return (hidden * mask[..., None]).sum(dim=1)
