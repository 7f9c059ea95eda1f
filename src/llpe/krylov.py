"""Eigenpairs at the ends of a spectrum where plain ARPACK is slow: a filter for many pairs, an inverse for close ones.

For many pairs ARPACK spends nearly all its time on keeping vectors orthogonal, one at a time; :class:`EndFilter` spends
products instead, which are cheap and come in blocks, where it can tell the pairs from the rest.

At the ends of long and thin graphs (paths, grids, roads, meshes) eigenvalues are clustered: products with L tell them
apart after thousands of steps, products with (L − shift)⁻¹ after a few. Such graphs have small separators too, so
that a sparse factorisation costs next to nothing. On graphs that expand it fills up, and nothing is clustered.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from scipy.linalg import eigh_tridiagonal
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import SuperLU, splu
from torch import Tensor

from llpe.spmm import torch_csr

STEPS, VECTORS = 60, 8  # of Lanczos, where eigenvalues are counted
BEYOND = 2.0  # eigenvalues outside the cut of a filter, for each wanted pair
BASIS = 2.6  # columns of a filter's basis for each wanted pair,
FIRST_TEST = 1.7  # when the pairs are first tested,
MOST = 5.0  # and at most
BLOCKS = 10  # that make up the basis
NEED = 2.0  # how much more degree is needed in all than for one pair alone
HARD = 2000  # degree beyond which wanted and unwanted pairs are too close for a filter to pay
SPREAD = 1e11  # largest gain over that of the innermost wanted pair: what is between is lost to rounding
INNERMOST = 4  # wanted pairs that are tested first, as they converge last
THIN = 16.0  # largest width² / nodes of a graph that counts as two-dimensional or less
CHEAP = 1000.0  # operations for each node that a factorisation may always cost


def lanczos(
    apply: Callable[[np.ndarray], np.ndarray], start: np.ndarray, steps: int, exact: float
) -> tuple[float, float, np.ndarray]:
    """The largest eigenvalue of a positive operator, its residual and its vector in the Krylov space of ``start``.

    Stops as soon as the residual is at most ``exact`` times the eigenvalue: later steps would bring in rounding errors,
    which grow to other vectors of the same eigenspace.
    """
    basis, main, side = np.empty((steps, start.size)), list[float](), list[float]()
    vector = start / np.linalg.norm(start)
    for step in range(steps):
        basis[step] = vector
        after = apply(vector)
        main.append(vector @ after)
        for _ in range(2):
            after = after - (basis[: step + 1] @ after) @ basis[: step + 1]
        size = float(np.linalg.norm(after))
        values, mixed = eigh_tridiagonal(main, side)
        residual = size * abs(mixed[-1, -1])
        if residual <= exact * values[-1]:
            break
        side.append(size)
        vector = after / size
    return values[-1], residual, mixed[:, -1] @ basis[: step + 1]


def eigenvalue_counter(matrix: sp.csr_array, seed: int) -> Callable[[float], float]:
    """A function that says about where eigenvalue number ``count`` of a symmetric matrix is, counted from above.

    By Gauss quadrature of the spectral density, which is sharp at its ends: Lanczos from vectors of random signs.
    """
    product, n = torch_csr(matrix, torch.float64), matrix.shape[0]
    steps = min(STEPS, n)
    random = torch.from_numpy(np.random.default_rng([seed, n]).integers(0, 2, (n, VECTORS)) * 2.0 - 1.0)
    before, now = torch.zeros_like(random), random / math.sqrt(n)
    main, side = torch.zeros(2, VECTORS, steps, dtype=torch.float64)
    for step in range(steps):
        after = torch.addmm(before, product, now, beta=-1) if step else product @ now
        main[:, step] = (after * now).sum(dim=0)
        after -= main[:, step] * now
        side[:, step] = after.norm(dim=0)
        before, now = now * side[:, step], after / side[:, step].clamp_min(1e-300)
    tridiagonal = torch.diag_embed(main) + torch.diag_embed(side[:, :-1], 1) + torch.diag_embed(side[:, :-1], -1)
    values, mixed = torch.linalg.eigh(tridiagonal)
    nodes, weights = values.flatten().numpy(), (mixed[:, 0].square() * n / VECTORS).flatten().numpy()
    order = np.argsort(-nodes, kind="stable")
    nodes, above = nodes[order], np.cumsum(weights[order])
    return lambda count: float(nodes[min(int(np.searchsorted(above, count)), nodes.size - 1)])


class EndFilter:
    """Eigenpairs at the upper end of a symmetric matrix with its spectrum in [−1, 1], by a filtered block Krylov space.

    With T_d stretched to the unwanted part [−1, cut] of the spectrum, T_d of the matrix is between −1 and 1 there and
    grows beyond it, in order, so that wanted pairs stand out. A few blocks of columns X, T_d X, T_d² X, …, kept
    orthogonal by matrix products, hold them, and Rayleigh–Ritz brings them out.

    Args:
        count: how many pairs the filter is made for; the cut leaves ``BEYOND`` times as many outside.
        tolerance: of their residuals.
    """

    def __init__(self, matrix: sp.csr_array, count: int, tolerance: float, seed: int) -> None:
        n, self.seed = matrix.shape[0], seed
        eigenvalue = eigenvalue_counter(matrix, seed)
        cut = eigenvalue(min(BEYOND * count, n / 2))
        self.middle, self.half = (cut - 1) / 2, (cut + 1) / 2
        scaled = sp.csr_array((matrix - self.middle * sp.eye_array(n)) / self.half)
        self.product = torch_csr(scaled, torch.float64)
        top, inner = (math.acosh(max(1 + 1e-9, (x - self.middle) / self.half)) for x in (1.0, eigenvalue(count)))
        needed = NEED * math.log(n / tolerance) / inner
        most = math.log(SPREAD) / max(top - inner, 1e-3)
        self.hard = needed > HARD
        self.degree = max(2, math.ceil(min(needed / BLOCKS, most)))
        self.blocks = max(BLOCKS, math.ceil(needed / self.degree))

    def block(self, count: int) -> int:
        """Columns that a search for ``count`` pairs starts from: it does not miss that many copies of an eigenvalue."""
        return 8 * max(1, math.ceil(BASIS * count / self.blocks / 8))

    def pairs(self, count: int, found: Tensor, tolerance: float) -> tuple[np.ndarray, np.ndarray] | None:
        """The ``count`` largest pairs beyond the ``found`` vectors, descending; None if they do not stand out."""
        if self.hard:
            return None
        n = self.product.shape[0]
        block = self.block(count)
        blocks = min(max(math.ceil(MOST * count / block), 2 * self.blocks), (n - found.size(1)) // block)
        basis = torch.empty(n, blocks * block, dtype=torch.float64)
        inner = torch.zeros(blocks * block, blocks * block, dtype=torch.float64)
        last = torch.from_numpy(np.random.default_rng([self.seed, n, count]).standard_normal((n, block)))
        last = _orthogonal(last, (found,))
        before, now = torch.empty(2, n, block, dtype=torch.float64)
        torch.mm(self.product, last, out=now)
        for end in range(block, blocks * block + 1, block):
            self._filter(before.copy_(last), now)
            last = _orthogonal(now, (found, basis[:, : end - block]))
            torch.mm(self.product, last, out=now)
            basis[:, end - block : end] = last
            inner[:end, end - block : end] = basis[:, :end].T @ now
            if end >= FIRST_TEST * count:
                values, mixed = torch.linalg.eigh(inner[:end, :end], UPLO="U")
                values, mixed = values[-count:].flip(0), mixed[:, -count:].flip(1)
                for some in (slice(-INNERMOST, None), slice(None)):
                    vectors = basis[:, :end] @ mixed[:, some]
                    residual = (self.product @ vectors).sub_(vectors * values[some]).norm(dim=0).max()
                    if residual * self.half > tolerance:
                        break
                else:
                    return (self.middle + self.half * values).numpy(), vectors.numpy()
        return None

    def _filter(self, before: Tensor, now: Tensor) -> None:
        """T_d of the matrix times x, in ``now``, from x and the matrix times x."""
        one, two = before, now
        for _ in range(1, self.degree):
            one.addmm_(self.product, two, beta=-1, alpha=2)
            one, two = two, one
        if two is not now:
            now.copy_(two)


def _orthogonal(x: Tensor, bases: tuple[Tensor, ...]) -> Tensor:
    x = x / x.norm(dim=0)
    for _ in range(2):
        for basis in bases:
            x = torch.addmm(x, basis, basis.T @ x, alpha=-1)
    return torch.linalg.qr(x).Q


class Cost(NamedTuple):
    """Operations of a factorisation, and whether the graph is ``thin``: they are few for its number of nodes."""

    work: float
    thin: bool


def factorisation_cost(matrix: sp.csr_array) -> Cost:
    """The cost for a symmetric matrix, from the graph of its entries off the diagonal.

    Trees that hang on the graph cost nothing. The nodes that are left are ordered in levels (reverse Cuthill–McKee), in
    which each is linked to others at most ``width`` places before it, on average.
    """
    kept = _without_trees(matrix)
    if not kept.size:
        return Cost(0.0, thin=True)
    core = sp.csr_array(matrix[kept][:, kept])
    order = reverse_cuthill_mckee(core, symmetric_mode=True)
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    first = np.minimum.reduceat(place[core.indices], core.indptr[:-1])
    width = float(np.maximum(place - first, 0).mean())
    work = order.size * width**2
    return Cost(work, thin=work <= max(THIN * order.size**2, CHEAP * matrix.shape[0]))


def _without_trees(matrix: sp.csr_array) -> np.ndarray:
    """The nodes that are left when nodes with a single link are removed, again and again."""
    links = np.diff(matrix.indptr) - (matrix.diagonal() != 0)
    ends = np.flatnonzero(links == 1).tolist()
    if not ends:
        return np.arange(links.size)
    starts, columns, links = matrix.indptr.tolist(), matrix.indices.tolist(), links.tolist()
    for node in ends:  # which grows in this loop
        if links[node] == 1:  # 0 is the last node of a tree
            for other in columns[starts[node] : starts[node + 1]]:
                if other != node and links[other] > 0:
                    links[other] -= 1
                    if links[other] == 1:
                        ends.append(other)
        links[node] = 0
    return np.flatnonzero(links)


def factorise(matrix: sp.csr_array, side: int, end: float, distance: float) -> tuple[SuperLU, float]:
    """The factors of side·(shift − L), and the shift, beyond ``end`` by ``distance`` or a multiple of it.

    All pivots are positive exactly if the shift is outside the spectrum; if not, it is moved farther out.
    """
    identity = sp.eye_array(matrix.shape[0], format="csc")
    symmetric = {"diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
    while True:
        shift = end + side * distance
        try:
            shifted = sp.csc_array(side * (shift * identity - matrix))
            factors = splu(shifted, permc_spec="MMD_AT_PLUS_A", **symmetric)
            if (factors.U.diagonal() > 0).all():
                return factors, shift
        except RuntimeError:  # exactly singular
            pass
        distance *= 4
