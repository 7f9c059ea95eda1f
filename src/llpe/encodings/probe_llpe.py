"""LLPE without eigenvectors: the same learned filters over the whole spectrum, applied to random probes.

    P[v] = [h_1(L)S[v], …, h_F(L)S[v]],   h_f(L)S = Σ_m Θ[m, f]·T_m(L̃)S

with probes S ∈ R^(n × probes), and Θ ∈ R^(order × filters) all that is learned: the filters are shared by all probes,
so that dim = probes × filters. The products T_m(L̃)S ∈ R^(n × probes × order) are computed once. What the distances
between rows mean: :mod:`llpe.probes`.
"""

from __future__ import annotations

from typing import Any, Literal, final

from torch import Tensor
from torch_geometric.data import Data

from llpe import chebyshev
from llpe.cache import Cache
from llpe.encodings.base import check_choice, check_count
from llpe.encodings.filtered import LEVELS, FilteredEncoding, penalty_parts
from llpe.graph import Graph
from llpe.probes import probe_features

FAINT = 1e-12  # mean square below which a row is left as it is
MOST = 64  # probes, unless said otherwise


@final
class ProbeLLPE(FilteredEncoding):
    """Learnable Laplacian positional encoding from random probes, without an eigenvector.

    Args:
        dim: width of the output, a multiple of ``probes``.
        order: number of Chebyshev terms of a filter.
        probes: how many random probes; default ``dim``, at most 64.
        start: how the filters begin: ``"heat"`` is a bank of low-pass e^(−tλ) and high-pass e^(−t(2−λ)) kernels,
            ``"step"`` one of sharp cutoffs (for few large blocks; needs a high order); both are scaled to unit variance
            on the first graph that is seen. ``"uniform"`` draws Θ from ±1/√order, and begins with noise.
        rows: ``"unit"`` scales what a filter gives a node, one number for each probe, to mean square 1: its direction
            says where the node is, its length how well connected. ``"plain"`` keeps the length, and with it the
            distances of :mod:`llpe.probes`. Default: ``unit`` with two probes or more, else ``plain``.
        size: what the encoding is multiplied with: a setting to search.
        l1, l2: coefficients of ‖W‖₁ and ‖W‖_F in :meth:`penalty`, over the estimated density of the spectrum.
        seed: of the probes and of the initial filters.

    Attributes:
        theta: the filters' Chebyshev coefficients, shape (order, dim / probes).

    Example:
        >>> from llpe.graph import tiny
        >>> encoding = ProbeLLPE(8, order=16, probes=4)
        >>> data = encoding.prepare(tiny("ring"))
        >>> encoding(data).shape, encoding.theta.shape
        (torch.Size([8, 8]), torch.Size([16, 2]))
    """

    name = "llpe-probes"
    invariances = frozenset({"sign", "basis"})
    needs = "T_m(L̃)S, no eigenvector"
    keeps = "n × probes × order"
    cost = "order · probes · edges, sparse products"
    reference = "ours, after Ito et al., 2025"

    def __init__(
        self,
        dim: int,
        *,
        order: int = 64,
        probes: int | None = None,
        start: Literal["uniform", "heat", "step"] = "heat",
        rows: Literal["plain", "unit"] | None = None,
        size: float = 1.0,
        l1: float = 0.0,
        l2: float = 0.0,
        seed: int = 0,
    ) -> None:
        check_count("dim", dim)
        probes = min(dim, MOST) if probes is None else probes
        check_count("probes", probes)
        if dim % probes:
            raise ValueError(
                f"`dim` must be probes × filters, a multiple of probes={probes}, got {dim}. "
                f"Take dim={probes}, {2 * probes}, … or another number of probes."
            )
        super().__init__(dim, dim // probes, order=order, start=start, size=size, l1=l1, l2=l2, seed=seed)
        self.probes = probes
        self.rows = rows or ("unit" if probes > 1 else "plain")
        check_choice("rows", self.rows, ("plain", "unit"))

    def fixed_arguments(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("order", "probes", "seed")} | {"levels": LEVELS}

    def compute(self, graph: Graph, cache: bool | Cache) -> dict[str, Tensor]:
        basis, moments = probe_features(graph, order=self.order, probes=self.probes, seed=self.seed)
        values, share = chebyshev.density(moments, LEVELS)
        return {"basis": basis, **penalty_parts(values, graph.num_nodes * share, self.order)}

    def forward(self, data: Data) -> Tensor:
        if self.rows == "plain":
            return super().forward(data)
        basis = self.fixed(data, "basis")
        self.meet(data)
        filtered = basis @ self.theta.to(basis.dtype)
        filtered = filtered * (self.size * (filtered.square().mean(dim=1, keepdim=True) + FAINT).rsqrt())
        return filtered.flatten(1)
