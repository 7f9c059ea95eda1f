"""LLPE that means the same on every graph: learned filters over the whole spectrum, applied to the node features.

    P[v] = [h_1(L)S[v], …, h_F(L)S[v]],   h_f(L)S = Σ_m C[m, f]·T_m(L̃)S,   S = X·G − mean

This is :class:`~llpe.encodings.probe_llpe.ProbeLLPE` with signals S that other graphs have too: the features X, mixed
to a few columns by a seeded G ∈ R^(features × signals) with entries of variance 1/signals, in place of noise drawn for
each node. h(L) depends on no sign, no basis and no probe, so the same C and the same model can be used on another
graph with the same features. What tells two symmetric blocks apart is in X, however weakly; a filter at the right
place of the spectrum averages it over a block.

L = I − D⁻¹A, so that filters average over neighbours. Its one trivial eigenvector, constant, is left out by taking
S relative to its mean, each node weighted by its degree: sharp low passes would otherwise leave little but that mean,
which says which graph it is and not where in it. A graph without features has one, log(1 + degree).
Rows keep their length (``rows="plain"``), and what they are multiplied with is set on the first graph and stored.

The diagonal Σ_k h(λ_k)u_k[v]² of a filter is invariant as well; it is a linear map of what ``rwse`` gives.
"""

from __future__ import annotations

import hashlib
from functools import partial
from typing import Any, final

import numpy as np
import torch
from torch import Tensor

from llpe import chebyshev
from llpe.cache import Cache, Result, fetch
from llpe.checks import check_count, refusal
from llpe.encodings.filtered import SHARE, FilteredEncoding, density_parts
from llpe.graph import Graph
from llpe.laplacian import laplacian
from llpe.probes import draw, precision, probe_features
from llpe.spmm import multiply_rows, torch_csr

CONSTANT = 1e-6  # relative range below which a signal says nothing
PROBES = 8  # for the density of the spectrum, which the penalty is taken over


@final
class InvariantLLPE(FilteredEncoding):
    """Learnable Laplacian positional encoding from the node features, comparable between graphs.

    Args:
        dim: width of the output, a multiple of ``filters``.
        order: number of Chebyshev terms of a filter.
        filters: how many, each applied to dim / filters mixtures of the features. They start as low passes e^(−tλ) and
            high passes e^(−t(2−λ)), scaled to unit variance on the first graph that is seen.
        share: mean length of the rows, relative to that of the features' rows.
        size: a fixed factor of the encoding instead.
        l1, l2: coefficients of the :meth:`penalty`. Default: 0 and 0.01.
        frozen: the filters stay as they start; nothing is learned.
        seed: of the mixtures; use the same on all graphs.

    Attributes:
        signals: the number of mixtures, dim / filters.

    Example:
        >>> from llpe.data import sbm
        >>> encoding = InvariantLLPE(8)
        >>> [tuple(encoding(encoding.prepare(sbm(n))).shape) for n in (100, 200)]
        [(100, 8), (200, 8)]
    """

    name = "llpe-invariant"
    comparable = True
    invariances = frozenset({"sign", "basis"})
    from_spectrum = True  # kept by `compute` itself, as it depends on the features too
    fixed_by = ("order", "signals", "seed")
    needs = "T_m(L̃)S of the features, no eigenvector"
    keeps = "n × signals × order"
    cost = "order · signals · edges, sparse products"
    reference = "ours, after Ito et al., 2025"

    def __init__(
        self,
        dim: int,
        *,
        order: int = 16,
        filters: int = 4,
        share: float = SHARE,
        size: float | None = None,
        l1: float = 0.0,
        l2: float | None = None,
        frozen: bool = False,
        seed: int = 0,
    ) -> None:
        check_count("dim", dim)
        check_count("filters", filters)
        if dim % filters:
            raise refusal("dim", f"be a multiple of filters={filters}", dim, "Change one of them.")
        signals = dim // filters
        shared: dict[str, Any] = {"share": share, "size": size, "l1": l1, "l2": l2, "frozen": frozen, "seed": seed}
        super().__init__(dim, signals, order=order, start="heat", rows="plain", **shared)
        self.filters, self.signals = filters, signals

    def compute(self, graph: Graph, cache: bool | Cache) -> dict[str, Tensor]:
        signals = mixtures(graph, self.signals, self.seed)
        content = hashlib.sha256(signals.numpy().tobytes()).hexdigest()
        arguments = self.fixed_arguments() | {"signals": content}

        def fixed_part() -> Result:
            _, moments = probe_features(graph, order=self.order, probes=PROBES, seed=self.seed)
            penalty = density_parts(moments, self.order, graph.num_nodes)
            return Result({"basis": _terms(graph, signals, self.order), **penalty}, {})

        return fetch("filtered-features", graph, arguments, fixed_part, cache=cache).tensors


def mixtures(graph: Graph, count: int, seed: int) -> Tensor:
    """S: seeded mixtures of the features relative to their mean, shape (num_nodes, count), float32."""
    features = graph.features
    if features is None:
        features = torch.from_numpy(np.log1p(graph.degree))[:, None]
    features = features.detach().cpu().float()
    if features.dim() != 2:
        features = features.reshape(graph.num_nodes, -1)
    mixed = features @ torch.from_numpy(draw(features.size(1), count, seed)) * count**-0.5
    weight = torch.from_numpy(graph.degree if graph.num_edges else np.ones(graph.num_nodes))
    centred = (mixed - weight / weight.sum() @ mixed.double()).float()
    return torch.where(centred.abs().amax(dim=0) > CONSTANT * mixed.abs().amax(dim=0), centred, 0.0)


def _terms(graph: Graph, signals: Tensor, order: int) -> Tensor:
    """T_m(L̃)S, shape (num_nodes, signals, order)."""
    operator = laplacian(graph, "rw")
    operator.setdiag(0.0)  # L̃ = L − I
    dtype = precision(order)
    product = partial(multiply_rows, torch_csr(operator, dtype))
    return torch.stack([t.float() for t in chebyshev.recurrence(product, signals.to(dtype), order)], dim=-1)
