"""Chebyshev features of random probes: the whole spectrum without an eigenvector.

Take R probes S ∈ R^(n×R) with independent Gaussian entries of variance 1/R. For any filter h,

    E ‖(h(L)S)[i] − (h(L)S)[j]‖² = Σ_k h(λ_k)² (u_k[i] − u_k[j])²,

the distance f_r of the paper's Definition 1 with r = h²: because E[SSᵀ] = I, E[h(L)SSᵀh(L)] = h(L)². The relative
error falls as √(2/R). With h = Σ_m θ_m T_m, all that is needed are the products T_m(L̃)S: ``order`` sparse products,
O(order · probes · edges) time, and nothing of size n×n. The same products give the moments of the spectral density.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from llpe.checks import check_count, check_seed, checked
from llpe.device import CPU, find_device
from llpe.graph import SMALL, Graph
from llpe.inputs import GraphLike
from llpe.laplacian import normalised_adjacency
from llpe.spmm import ROWS, Run, csr_arrays, multiply_rows, product, ranges, threads, torch_csr
from llpe.storage import require_memory

GROUP = 256  # rows whose inner products are added up first, eight of them in float32


def draw(num_nodes: int, count: int, seed: int) -> np.ndarray:
    """The first ``count`` standard Gaussian probes of a seed, shape (num_nodes, count), float32.

    Each probe has a stream of its own, so a probe does not depend on how many are drawn or in which blocks.
    """
    if num_nodes <= SMALL:
        columns = [_small_probe(seed, number, num_nodes) for number in range(count)]
        return np.array(columns, dtype=np.float32).reshape(count, num_nodes).T.copy()
    return _block(num_nodes, range(count), seed)


def probe_block(degree: np.ndarray, first: int, stop: int, *, variance: float, centred: bool, seed: int) -> Tensor:
    """Probes ``first`` … ``stop − 1`` with entries of this variance; ``centred`` removes the trivial eigenvector √d."""
    trivial = np.sqrt(degree / max(degree.sum(), np.finfo(np.float64).tiny)) if centred else None
    return torch.from_numpy(_block(degree.size, range(first, stop), seed, variance**0.5, trivial))


def _block(
    num_nodes: int, numbers: range, seed: int, size: float = 1.0, trivial: np.ndarray | None = None
) -> np.ndarray:
    out = torch.empty(num_nodes, len(numbers)).numpy()  # where torch's memory begins, so does a line of the cache
    probe = _small_probe if num_nodes <= SMALL else _probe

    def fill(columns: slice) -> None:  # eight at once: single numbers far apart are slow to write
        part = np.empty((columns.stop - columns.start, num_nodes), dtype=np.float32)
        for row, number in zip(part, numbers[columns], strict=True):
            np.multiply(probe(seed, number, num_nodes), np.float32(size), out=row)
            if trivial is not None:
                row -= np.einsum("v,v", trivial, row) * trivial
        out[:, columns] = part.T

    with threads(num_nodes) as run:
        run(fill, ranges(len(numbers), 8))
    return out


def _probe(seed: int, number: int, num_nodes: int) -> np.ndarray:
    return np.random.default_rng([seed, number]).standard_normal(num_nodes, dtype=np.float32)


_small_probe = lru_cache(maxsize=4096)(_probe)  # a generator takes longer to set up than a small probe to draw


def precision(order: int) -> torch.dtype:
    """The dtype in which ``order`` terms are computed; they are stored in float32.

    At the ends of the spectrum, the recurrence makes an error of one step up to m times as large after m more, so that
    errors add up to about m²·2⁻²⁴ of a term's norm. Measured in float32 with 64 terms: 0.1 % on stars of up to 10⁵
    nodes, whose energy is all there, and 10⁻⁶ on usual graphs.
    """
    return torch.float32 if order <= 64 else torch.float64


@checked
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
    keeps it best. ``device`` (``auto``, ``cpu``, ``cuda``, …) is where the sparse products are done; each term is
    written to the CPU as it comes, so that the result may be larger than a GPU's memory.

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
    check_seed(seed)
    where, view = find_device(device), Graph.from_data(graph)
    features, inner = probe_range(view, 0, probes, order=order, probes=probes, centred=centred, seed=seed, device=where)
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
    device: torch.device = CPU,
) -> tuple[Tensor, np.ndarray]:
    """The features of probes ``first`` … ``stop − 1`` of ``probes`` alone, and their inner products.

    No probe depends on another: ranges joined along dimension 1 of the features and the last axis of the inner products
    are those of the whole, bit for bit.

    Returns:
        The features (num_nodes, stop − first, order), and for :func:`moments` the inner products of neighbouring terms,
        ⟨T_m s, T_m s⟩ and ⟨T_m s, T_{m−1} s⟩ of each probe s, shape (2, order, stop − first).
    """
    n, count = graph.num_nodes, stop - first
    require_memory(5 * n * count * order, f"{order} terms of {count} probes", "Ask for fewer.")
    dtype = precision(order)
    twice = normalised_adjacency(graph)
    twice.data *= -2  # 2·L̃ = 2·(L − I)
    multiply = _operator(device, twice, dtype)
    out = torch.empty(n, count, order)
    inner = np.empty((2, order, count))
    width = min(32, count) if n <= SMALL else max(1, min(32, count, count * order // 16))
    with threads(n) as run:
        for begin in range(0, count, width):
            end = min(begin + width, count)
            ends = first + begin, first + end
            start = probe_block(graph.degree, *ends, variance=1 / probes, centred=centred, seed=seed)
            inner[..., begin:end] = _write_terms(out[:, begin:end], multiply, start.to(device, dtype), run)
    return out, inner


def _operator(device: torch.device, matrix: sp.csr_array, dtype: torch.dtype) -> Callable[[Tensor, slice], Tensor]:
    """Gives rows of matrix · block for a block on ``device``: on the CPU any range of them, elsewhere all."""
    if device.type == "cpu":
        return partial(multiply_rows, torch_csr(matrix, dtype))
    start, columns, values = (array.to(device) for array in csr_arrays(matrix, dtype))
    return lambda block, rows: product(start, columns, values, block)


def _write_terms(out: Tensor, multiply: Callable[[Tensor, slice], Tensor], start: Tensor, run: Run) -> np.ndarray:
    """Writes T_m(L̃)·start for all m < order into ``out``, shape (num_nodes, width, order), on the CPU.

    ``multiply`` gives rows of 2·L̃·block. Only two terms are kept, in place of ``start``, which is on the device of the
    products, and another block like it. They are written to ``out`` as they come, a row of width numbers for each node,
    and transposed at the end, node by node.

    Returns:
        ⟨T_m s, T_m s⟩ and ⟨T_m s, T_{m−1} s⟩ of each column s of ``start``, shape (2, order, width).
    """
    n, width, order = out.shape
    terms = out.flatten(1).unflatten(1, (order, width))
    blocks = [start, torch.empty_like(start)]
    length = n if start.device.type != "cpu" else min(max(ROWS, n // 64), 4 * ROWS)
    run(lambda rows: terms[rows, 0].copy_(start[rows]), ranges(n, length))  # in threads, as new memory is slow at first
    for m in range(1, order):
        term, other = blocks

        def step(rows: slice, m: int = m, term: Tensor = term, other: Tensor = other) -> None:
            new, before = multiply(term, rows), other[rows]
            if m > 1:
                torch.sub(new, before, out=before)  # 2·L̃·T_{m−1} − T_{m−2}
            else:
                torch.mul(new, 0.5, out=before)
            terms[rows, m].copy_(before)

        run(step, ranges(n, length))
        blocks = [other, term]
    sums = np.empty((-(-n // GROUP), 2, order, width))
    rows_of_terms, rows_of_out = terms.numpy(), out.numpy()

    def finish(rows: slice) -> None:  # in numpy, whose calls on small arrays take half as long
        part = rows_of_terms[rows].copy()
        sums[rows.start // GROUP : -(-rows.stop // GROUP)] = inner_products(part)
        rows_of_out[rows] = part.swapaxes(1, 2)

    run(finish, ranges(n, 2 * GROUP))
    return sums.sum(axis=0)


def inner_products(terms: np.ndarray) -> np.ndarray:
    """⟨T_m s, T_m s⟩ and ⟨T_m s, T_{m−1} s⟩ over each ``GROUP`` rows, shape (groups, 2, order, width), float64.

    ``terms`` are T_m(L̃)s, shape (rows, order, width). Rows are added one to another as a whole, so that no column
    depends on how many there are.
    """
    rows, *shape = terms.shape
    groups = -(-rows // GROUP)
    products = np.empty((2, groups * GROUP, *shape), dtype=terms.dtype)
    products[:, rows:] = products[1, :, 0] = 0
    np.multiply(terms, terms, out=products[0, :rows])
    np.multiply(terms[:, 1:], terms[:, :-1], out=products[1, :rows, 1:])
    products = products.reshape(2, groups, GROUP, *shape)
    for half in (GROUP // 2, GROUP // 4, GROUP // 8):
        products = products[:, :, :half] + products[:, :, half:]
    return products.sum(axis=2, dtype=np.float64).swapaxes(0, 1)


def moments(inner: np.ndarray) -> np.ndarray:
    """μ_{2m} = 2⟨T_m s, T_m s⟩ − μ_0 and μ_{2m−1} = 2⟨T_m s, T_{m−1} s⟩ − μ_1, over ‖s‖², all added up over s.

    ``inner`` are the inner products of :func:`probe_range`, shape (2, order, probes).
    """
    squares, neighbours = inner.sum(axis=2)
    out = np.empty(2 * squares.size - 1)
    out[0::2] = 2 * squares - squares[0]
    if squares.size > 1:
        out[1::2] = 2 * neighbours[1:] - neighbours[1]
    return out / squares[0]
