"""Chebyshev features of random probes: the whole spectrum without an eigenvector.

Take R probes S ∈ R^(n×R) with independent Gaussian entries of variance 1/R. For any filter h,

    E ‖(h(L)S)[i] − (h(L)S)[j]‖² = Σ_k h(λ_k)² (u_k[i] − u_k[j])²,

the distance f_r of the paper's Definition 1 with r = h²: because E[SSᵀ] = I, E[h(L)SSᵀh(L)] = h(L)². The relative
error falls as √(2/R). With h = Σ_m θ_m T_m, all that is needed are the products T_m(L̃)S: ``order`` sparse products,
O(order · probes · edges) time, and nothing of size n×n. The same products give the moments of the spectral density.
"""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np
import torch
from torch import Tensor

from llpe.chebyshev import recurrence
from llpe.checks import check_count
from llpe.graph import SMALL, Graph
from llpe.inputs import GraphLike
from llpe.laplacian import normalised_adjacency
from llpe.spmm import multiply, torch_csr

CHUNK = 16  # Chebyshev terms gathered before they are written out: one cache line of float32
ROWS = 4096  # of a block that are multiplied at once in an inner product: all at once would need another block


def draw(num_nodes: int, count: int, seed: int, *, first: int = 0) -> np.ndarray:
    """Standard Gaussian probes number ``first`` … ``first + count − 1`` of a seed, shape (num_nodes, count), float32.

    Each probe has a stream of its own, so a probe does not depend on how many are drawn or in which blocks.
    """
    probe = _small_probe if num_nodes <= SMALL else _probe
    out = np.empty((num_nodes, count), dtype=np.float32)
    for column in range(count):
        out[:, column] = probe(seed, first + column, num_nodes)
    return out


def _probe(seed: int, number: int, num_nodes: int) -> np.ndarray:
    return np.random.default_rng([seed, number]).standard_normal(num_nodes, dtype=np.float32)


_small_probe = lru_cache(maxsize=4096)(_probe)  # a generator takes longer to set up than a small probe to draw


def probe_features(
    graph: GraphLike, *, order: int, probes: int, centred: bool = False, seed: int = 0
) -> tuple[Tensor, np.ndarray]:
    """T_m(L̃)S for all m < order and all probes, and the moments of the spectrum.

    Works in blocks of probes, so that memory beyond the output stays a fraction of it. ``centred`` takes the trivial
    eigenvector √d out of the probes, and so out of all terms: it says nothing about a node's position, and a low pass
    keeps it best.

    Returns:
        The features (num_nodes, probes, order) in float32, and the estimated moments μ_0 … μ_{2·order−2} in float64:
        2·T_a·T_b = T_{a+b} + T_{|a−b|} gives twice as many moments as products.

    Example:
        >>> from llpe.graph import tiny
        >>> features, moments = probe_features(tiny("ring"), order=4, probes=2)
        >>> features.shape, moments.shape
        (torch.Size([8, 2, 4]), (7,))
    """
    check_count("order", order)
    check_count("probes", probes)
    graph = Graph.from_data(graph)
    n = graph.num_nodes
    operator = torch_csr(-normalised_adjacency(graph))  # L̃ = L − I
    out = torch.empty(n, probes, order)
    inner = np.zeros((2, order))  # Σ over probes of ⟨T_m s, T_m s⟩ and ⟨T_m s, T_{m−1} s⟩
    width = min(32, probes) if n <= SMALL else max(1, min(32, probes, probes * order // 64))
    chunk = max(1, min(CHUNK, order, probes * order // (8 * width)))  # the buffer is an eighth of the output at most
    buffer = torch.empty(chunk, n, width)
    for first in range(0, probes, width):
        count = min(width, probes - first)
        start = torch.from_numpy(draw(n, count, seed, first=first)).mul_(probes**-0.5)
        if centred:
            start = without_trivial(start, graph.degree)
        before = start
        for m, term in enumerate(recurrence(partial(multiply, operator), start, order)):
            inner[0, m] += _inner(term, term)
            inner[1, m] += _inner(term, before)
            before = term
            buffer[m % chunk, :, :count] = term
            if (m + 1) % chunk == 0 or m + 1 == order:
                done = m % chunk + 1
                out[:, first : first + count, m + 1 - done : m + 1] = buffer[:done, :, :count].permute(1, 2, 0)
    return out, _moments(inner)


def without_trivial(block: Tensor, degree: np.ndarray) -> Tensor:
    """The columns of ``block``, changed in place, without their part along the trivial eigenvector √d."""
    trivial = torch.from_numpy(np.sqrt(degree / max(degree.sum(), np.finfo(np.float64).tiny)))
    return block.sub_(trivial[:, None] * (trivial @ block.double())[None])


def _moments(inner: np.ndarray) -> np.ndarray:
    """μ_{2m} = 2⟨T_m s, T_m s⟩ − μ_0 and μ_{2m−1} = 2⟨T_m s, T_{m−1} s⟩ − μ_1, over ‖s‖²."""
    order = inner.shape[1]
    out = np.empty(2 * order - 1)
    out[0::2] = 2 * inner[0] - inner[0, 0]
    if order > 1:
        out[1::2] = 2 * inner[1, 1:] - inner[1, 1]
    return out / inner[0, 0]


def _inner(a: Tensor, b: Tensor) -> float:
    """⟨a, b⟩ in float64, a few rows at a time."""
    slices = zip(a.split(ROWS), b.split(ROWS), strict=True)
    return sum(float((x * y).sum(dtype=torch.float64)) for x, y in slices)
