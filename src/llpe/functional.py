"""Encodings without anything learned, as plain functions from a graph to a tensor with one row per node.

Each takes a graph in any form that :func:`llpe.inputs.as_data` takes, and returns a tensor on the CPU. Encodings and
transforms are made from them.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from llpe.cache import Cache
from llpe.chebyshev import BANKS, count_signals, recurrence, spread, to_unit_rows
from llpe.checks import check_choice, check_count, check_seed, checked
from llpe.graph import SMALL, Graph, edges_of
from llpe.inputs import GraphLike, as_data, check_data
from llpe.laplacian import Kind, normalised_adjacency
from llpe.probes import precision, probe_block
from llpe.spectrum import end_spectrum
from llpe.spmm import multiply, multiply_rows, torch_csr
from llpe.storage import require_memory

BLOCK_ENTRIES = 2**20  # of a dense block: 4 MB in float32, which stay in the cache
FEWEST, MOST = 32, 64  # columns of a block: fewer waste what a row fetches, more gain nothing
DEGREE_RANGE = 1e12  # largest over smallest degree for which D X D⁻¹ is safe in float32


def laplacian_eigenvectors(
    graph: GraphLike,
    k: int,
    *,
    ends: Literal["first", "last", "both"] = "first",
    laplacian: Kind = "sym",
    seed: int = 0,
    cache: bool | Cache = True,
) -> Tensor:
    """The first ``k`` nontrivial eigenvectors of the Laplacian, the last ``k``, or both, ascending, in float64.

    "Nontrivial" leaves out the one vector √d; the further null vectors of a disconnected graph tell its components
    apart and stay. On a small graph each eigenvector appears once, and columns that it does not have are zero.

    Args:
        graph: any graph.
        k: number of eigenvectors, from each end.
        ends: which; with ``"both"`` the first k columns are the first, the other k the last.
        laplacian: ``"sym"``, ``"rw"`` or ``"comb"``, see :mod:`llpe.laplacian`.
        seed: fixes signs and the basis of repeated eigenvalues.
        cache: keep the spectrum on disk, and find it there.

    Returns:
        Shape (num_nodes, k), with ``"both"`` (num_nodes, 2k).

    Example:
        >>> from llpe.graph import tiny
        >>> laplacian_eigenvectors(tiny("path"), 2).shape
        torch.Size([5, 2])
        >>> last = laplacian_eigenvectors(tiny("bipartite"), 1, ends="last")  # tells the two sides apart
        >>> (last[:3] * last[3]).sign().flatten().tolist()
        [-1.0, -1.0, -1.0]
    """
    k = check_count("k", k)
    check_choice("ends", ends, ("first", "last", "both"))
    counts = {"first": 0 if ends == "last" else k + 1, "last": 0 if ends == "first" else k}
    spectrum = end_spectrum(Graph.from_data(graph), **counts, laplacian=laplacian, seed=seed, cache=cache)
    vectors = spectrum.vectors[:, int(spectrum.trivial) :]
    parts = {"first": [vectors[:, :k]], "last": [vectors[:, -k:]], "both": [vectors[:, :k], vectors[:, k:][:, -k:]]}
    return torch.cat([padded(part, k) for part in parts[ends]], dim=1)


@checked
def random_walk_return(graph: GraphLike, steps: int) -> Tensor:
    """The probabilities that a random walk is back after 1 … ``steps`` steps, shape (num_nodes, steps), float32.

    Walks follow the edges as they are given: directions, self-loops and duplicates count, and so do weights. Those on a
    :class:`~llpe.Graph` follow its undirected view. A node without edges never returns: 0.

    No power of the transition matrix P = D⁻¹A is formed. With X_a = P^a E and Y_b = (Pᵀ)^b E for a block E of unit
    vectors, (P^(a+b))_ii = ⟨Y_b e_i, X_a e_i⟩, so m steps cost m/2 products with a thin block.

    Example:
        >>> from llpe.graph import tiny
        >>> random_walk_return(tiny("two-triangles"), 3)[0].tolist()
        [0.0, 0.5, 0.25]
    """
    check_count("steps", steps)
    adjacency = graph.adjacency if isinstance(graph, Graph) else _as_given(as_data(graph))
    n = adjacency.shape[0]
    require_memory(4 * steps * n * (n if n <= SMALL else 1), f"{steps} steps", "Ask for fewer.")
    if n <= SMALL:
        return _dense_returns(adjacency if isinstance(adjacency, np.ndarray) else adjacency.toarray(), steps)
    return _sparse_returns(sp.csr_array(adjacency), steps)


@checked
def filtered_probes(
    graph: GraphLike, dim: int, *, probes: int | None = None, order: int = 16, bank: str = "heat", seed: int = 0
) -> Tensor:
    """Random probes through a bank of low and high passes: both ends of the spectrum without an eigenvector.

    The same as ``ProbeLLPE(dim, size=1.0, frozen=True)``, at a fraction of its memory: Σ_m C[m, f]·T_m(L̃)S is added up
    term by term. See :mod:`llpe.probes` and :mod:`llpe.chebyshev`.

    Args:
        graph: any graph.
        dim: number of columns, probes × filters.
        probes: how many, by default as many as ``dim``, at most 128. A filter's output at a node, one number for each
            probe, is scaled to mean square 1 (not for a single probe, of which only the sign would be left; its columns
            have variance 1).
        order: number of Chebyshev terms of a filter: the sharpest one resolves about 1/order² of the spectrum.
        bank: ``"heat"`` or ``"step"``.
        seed: of the probes.

    Returns:
        Shape (num_nodes, dim), float32; column p·filters + f is probe p through filter f.

    Example:
        >>> from llpe.graph import tiny
        >>> columns = filtered_probes(tiny("grid"), 16, probes=8)
        >>> columns.shape, columns[0, ::2].square().mean().round(decimals=3)  # the first node, the first filter
        (torch.Size([12, 16]), tensor(1.))
    """
    check_count("dim", dim)
    probes = count_signals("probes", probes, dim)
    check_count("order", order)
    check_choice("bank", bank, tuple(BANKS))
    check_seed(seed)
    view = Graph.from_data(graph)
    require_memory(8 * dim * (view.num_nodes + order), f"{dim} filtered probes", "Ask for fewer.")
    coefficients = BANKS[bank](order, dim // probes).float()
    dtype = precision(order)
    operator = torch_csr(-normalised_adjacency(view), dtype)  # L̃ = L − I
    start = probe_block(view.degree, 0, probes, variance=1.0, centred=probes > 1, seed=seed)
    terms = recurrence(partial(multiply_rows, operator), start.to(dtype), order)
    out = torch.zeros(dim // probes, view.num_nodes, probes)
    for weights, term in zip(coefficients.tolist(), terms, strict=True):
        for column, weight in zip(out, weights, strict=True):
            column.add_(term, alpha=weight)
    filtered = out.permute(1, 2, 0)
    filtered *= 1 / spread(filtered) if probes == 1 else to_unit_rows(filtered, coefficients, start[..., None])
    return filtered.flatten(1)


def padded(tensor: Tensor, width: int) -> Tensor:
    """The same columns and zeros up to ``width`` of them."""
    missing = width - tensor.size(1)
    require_memory(8 * tensor.size(0) * width, f"{width} columns", "Ask for fewer.")
    return torch.nn.functional.pad(tensor, (0, missing)) if missing else tensor


def _as_given(data: Data) -> np.ndarray | sp.csr_array:
    """The weighted adjacency of the edges as they are: parallel edges add up. An array for small graphs."""
    n = check_data(data)
    source, target, weight, _ = edges_of(data)
    if n <= SMALL:
        return np.bincount(source * n + target, weight, n**2).reshape(n, n).astype(np.float64)
    return sp.csr_array((np.ones(source.size) if weight is None else weight, (source, target)), shape=(n, n))


def _sparse_returns(adjacency: sp.csr_array, steps: int) -> Tensor:
    """diag(P^m) for m = 1 … steps, block by block.

    Where the graph is undirected, Y_b = D X_b D⁻¹ needs no product (unless degrees are too far apart for float32).
    """
    degree = np.asarray(adjacency.sum(axis=1)).reshape(-1)
    n = degree.size
    inverse = np.zeros(n)
    np.divide(1.0, degree, out=inverse, where=degree > 0)
    transition = sp.csr_array(sp.diags_array(inverse) @ adjacency)
    forward = torch_csr(transition)
    largest, smallest = degree.max(), degree.min(where=degree > 0, initial=np.inf)
    shortcut = largest < DEGREE_RANGE * smallest and (adjacency != adjacency.T).nnz == 0
    backward = None if shortcut else torch_csr(sp.csr_array(transition.T))
    exponent = np.frexp(largest)[1]  # degrees in units of a power of two: exact, and in the range of float32
    weight = torch.from_numpy(np.ldexp(degree, -exponent)).float()[:, None]
    unweight = torch.from_numpy(np.ldexp(inverse, exponent)).float()

    out = torch.zeros(n, steps)
    block = min(n, MOST, max(FEWEST, BLOCK_ENTRIES // n))
    for begin in range(0, n, block):
        nodes = torch.arange(begin, min(begin + block, n))
        x = torch.zeros(n, nodes.numel())
        x[nodes, torch.arange(nodes.numel())] = 1.0
        y = x
        for m in range(1, steps + 1):
            if m % 2:  # X grows at odd m, Y catches up at even m
                x = multiply(forward, x)
            elif backward is not None:
                y = multiply(backward, y)
            else:
                y = weight * x * unweight[nodes]
            out[nodes, m - 1] = (x * y).sum(dim=0)
    return out


def _dense_returns(adjacency: np.ndarray, steps: int) -> Tensor:
    """The same for a small graph, from the powers P, P², …, P^h of half the steps: they double with each product."""
    degree = adjacency.sum(axis=1)
    degree[degree == 0] = 1.0
    half = (steps + 1) // 2
    powers = (adjacency / degree[:, None])[None]
    while len(powers) < half:
        powers = np.concatenate([powers, powers[: half - len(powers)] @ powers[-1]])
    out = np.empty((2 * half, len(degree)))
    out[:half] = powers.diagonal(axis1=1, axis2=2)
    out[half:] = np.einsum("ik,jki->ji", powers[-1], powers)
    return torch.from_numpy(out[:steps].T.astype(np.float32, order="C"))
