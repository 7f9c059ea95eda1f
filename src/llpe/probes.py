"""Chebyshev features of random probes: the whole spectrum without an eigenvector.

Take R probes S ∈ R^(n×R) with independent Gaussian entries of variance 1/R. For any filter h,

    E ‖(h(L)S)[i] − (h(L)S)[j]‖² = Σ_k h(λ_k)² (u_k[i] − u_k[j])²,

the distance f_r of the paper's Definition 1 with r = h²: because E[SSᵀ] = I, E[h(L)SSᵀh(L)] = h(L)². The relative
error falls as √(2/R). With h = Σ_m θ_m T_m, all that is needed are the products T_m(L̃)S: ``order`` sparse products,
O(order · probes · edges) time, and nothing of size n×n. The same products give the moments of the spectral density.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from llpe.checks import check_count
from llpe.graph import SMALL, Graph
from llpe.inputs import GraphLike
from llpe.laplacian import normalised_adjacency
from llpe.spmm import ROWS, row_products, torch_csr

Products = Callable[[Tensor], Iterable[tuple[slice, Tensor]]]  # L̃·block, one range of rows after another


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
    graph: GraphLike,
    *,
    order: int,
    probes: int,
    centred: bool = False,
    seed: int = 0,
    device: torch.device | str = "cpu",
) -> tuple[Tensor, np.ndarray]:
    """T_m(L̃)S for all m < order and all probes, and the moments of the spectrum.

    Works in blocks of probes, so that memory beyond the output stays a fraction of it. ``centred`` takes the trivial
    eigenvector √d out of the probes, and so out of all terms: it says nothing about a node's position, and a low pass
    keeps it best. ``device`` is where the sparse products are done; the result is on the CPU.

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
    features, inner = probe_range(
        Graph.from_data(graph), 0, probes, order=order, probes=probes, centred=centred, seed=seed, device=device
    )
    return features, moments(inner)


def probe_range(
    graph: Graph,
    first: int,
    stop: int,
    *,
    order: int,
    probes: int,
    centred: bool = False,
    seed: int = 0,
    device: torch.device | str = "cpu",
) -> tuple[Tensor, np.ndarray]:
    """The features of probes ``first`` … ``stop − 1`` of ``probes`` alone, and their inner products.

    No probe depends on another: ranges joined along dimension 1 of the features and the last axis of the inner products
    are those of the whole, bit for bit.

    Returns:
        The features (num_nodes, stop − first, order), and ⟨T_m s, T_m s⟩ and ⟨T_m s, T_{m−1} s⟩ of each probe s, shape
        (2, order, stop − first), from which :func:`moments` makes the moments.
    """
    n, count = graph.num_nodes, stop - first
    products = row_products(torch_csr(-normalised_adjacency(graph)).to(device))  # L̃ = L − I
    out = torch.empty(n, count, order)
    inner = np.empty((2, order, count))
    width = min(32, count) if n <= SMALL else max(1, min(32, count, count * order // 16))
    for begin in range(0, count, width):
        end = min(begin + width, count)
        start = probe_block(graph.degree, first + begin, first + end, probes=probes, centred=centred, seed=seed)
        inner[..., begin:end] = write_terms(out[:, begin:end], products, start.to(device))
    return out, inner


def probe_block(degree: np.ndarray, first: int, stop: int, *, probes: int, centred: bool, seed: int) -> Tensor:
    """Probes ``first`` … ``stop − 1`` of ``probes``, with entries of variance 1/probes, shape (num_nodes, …)."""
    block = torch.from_numpy(draw(degree.size, stop - first, seed, first=first)).mul_(probes**-0.5)
    return without_trivial(block, degree) if centred else block


def write_terms(out: Tensor, products: Products, start: Tensor) -> np.ndarray:
    """Writes T_m(L̃)·start for all m < order into ``out``, shape (num_nodes, width, order).

    Only two terms are kept, in place of ``start`` and another block like it. They are written to ``out`` as they come,
    a row of width numbers for each node, and transposed at the end, node by node.

    Args:
        out: on the CPU, the last two dimensions contiguous.
        products: gives L̃·block for a block like ``start``, in ranges of rows that begin at multiples of ``ROWS``.
        start: the signals, on the device and in the dtype of the computation; overwritten.

    Returns:
        ⟨T_m s, T_m s⟩ and ⟨T_m s, T_{m−1} s⟩ of each column s of ``start``, shape (2, order, width).
    """
    n, width, order = out.shape
    tiles = out.flatten(1).unflatten(1, (order, width))
    inner = np.empty((2, order, width))
    term, other = start, torch.empty_like(start)
    for m in range(order):
        sums = torch.zeros(2, min(n, ROWS), width, dtype=torch.float64, device=start.device)
        for rows, product in products(term) if m else ((slice(0, n), start),):
            new = product if m == 0 else other[rows]
            if m == 1:
                new.copy_(product)
            elif m > 1:  # 2·L̃·T_{m−1} − T_{m−2}, in place of T_{m−2}
                torch.add(product, new, alpha=-0.5, out=new).mul_(2)
            tiles[rows, m].copy_(new)
            for now, before in zip(new.split(ROWS), term[rows].split(ROWS), strict=True):
                sums[0, : len(now)] += now * now
                sums[1, : len(now)] += now * before
        if m:
            term, other = other, term
        inner[:, m] = sums.transpose(1, 2).contiguous().cpu().numpy().sum(axis=2)  # no column depends on the width
    for begin in range(0, n, ROWS):
        rows = slice(begin, begin + ROWS)
        out[rows] = tiles[rows].clone().transpose(1, 2)
    return inner


def without_trivial(block: Tensor, degree: np.ndarray) -> Tensor:
    """The columns of ``block``, changed in place, without their part along the trivial eigenvector √d."""
    trivial = torch.from_numpy(np.sqrt(degree / max(degree.sum(), np.finfo(np.float64).tiny)))
    return block.sub_(trivial[:, None] * (trivial @ block.double())[None])


def moments(inner: np.ndarray) -> np.ndarray:
    """μ_{2m} = 2⟨T_m s, T_m s⟩ − μ_0 and μ_{2m−1} = 2⟨T_m s, T_{m−1} s⟩ − μ_1, over ‖s‖², all added up over s.

    Args:
        inner: the inner products of :func:`probe_range`, shape (2, order, probes).
    """
    squares, neighbours = inner.sum(axis=2)
    out = np.empty(2 * squares.size - 1)
    out[0::2] = 2 * squares - squares[0]
    if squares.size > 1:
        out[1::2] = 2 * neighbours[1:] - neighbours[1]
    return out / squares[0]
