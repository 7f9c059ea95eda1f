"""Krylov spaces besides ARPACK's: of one vector, of a few for the spectral density, and filtered ones for many pairs.

For many pairs ARPACK spends nearly all its time on keeping vectors orthogonal, one at a time; :class:`EndFilter` spends
products instead, which are cheap and come in blocks, where it can tell the pairs from the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from scipy.linalg import eigh_tridiagonal
from torch import Tensor

from llpe.spmm import torch_csr

QUADRATURE = 60, 8  # steps of Lanczos, random vectors
BEYOND = 2.0  # eigenvalues outside the cut of a filter, for each wanted pair
BASIS = 2.6  # columns of a filter's basis for each wanted pair,
FIRST_TEST = 1.7  # when the pairs are first tested,
MOST = 5.0  # and at most
BLOCKS = 10  # that make up the basis
NEED = 2.0  # how much more degree is needed in all than for one pair alone
HARD = 2000  # degree beyond which wanted and unwanted pairs are too close for a filter to pay
SPREAD = 1e11  # largest gain over that of the innermost wanted pair: what is between is lost to rounding
INNERMOST = 4  # wanted pairs that are tested first, as they converge last


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


@dataclass(frozen=True)
class Quadrature:
    """Where the eigenvalues of a matrix are: nodes, descending, and how many eigenvalues lie at them or above."""

    nodes: np.ndarray
    above: np.ndarray

    def value(self, count: float) -> float:
        """About the eigenvalue number ``count`` from above."""
        return float(self.nodes[min(int(np.searchsorted(self.above, count)), self.nodes.size - 1)])

    def reversed(self) -> Quadrature:
        """The same for the negative matrix."""
        weights = np.diff(self.above, prepend=0.0)[::-1]
        return Quadrature(-self.nodes[::-1], np.cumsum(weights))


def quadrature(matrix: sp.csr_array, seed: int) -> Quadrature:
    """Gauss quadrature of the spectral density of a symmetric matrix, sharp at its ends: Lanczos from random signs."""
    product, n = torch_csr(matrix, torch.float64), matrix.shape[0]
    steps, vectors = min(QUADRATURE[0], n), QUADRATURE[1]
    random = torch.from_numpy(np.random.default_rng([seed, n]).integers(0, 2, (n, vectors)) * 2.0 - 1.0)
    before, now = torch.zeros_like(random), random / math.sqrt(n)
    main, side = torch.zeros(2, vectors, steps, dtype=torch.float64)
    for step in range(steps):
        after = torch.addmm(before, product, now, beta=-1) if step else product @ now
        main[:, step] = (after * now).sum(dim=0)
        after -= main[:, step] * now
        side[:, step] = after.norm(dim=0)
        before, now = now * side[:, step], after / side[:, step].clamp_min(1e-300)
    tridiagonal = torch.diag_embed(main) + torch.diag_embed(side[:, :-1], 1) + torch.diag_embed(side[:, :-1], -1)
    values, mixed = torch.linalg.eigh(tridiagonal)
    nodes, weights = values.flatten().numpy(), (mixed[:, 0].square() * n / vectors).flatten().numpy()
    order = np.argsort(-nodes, kind="stable")
    return Quadrature(nodes[order], np.cumsum(weights[order]))


class EndFilter:
    """Eigenpairs at the upper end of a symmetric matrix with its spectrum in [−1, 1], by a filtered block Krylov space.

    With T_d stretched to the unwanted part [−1, cut] of the spectrum, T_d of the matrix is between −1 and 1 there and
    grows beyond it, in order, so that wanted pairs stand out. A few blocks of columns X, T_d X, T_d² X, …, kept
    orthogonal by matrix products, hold them, and Rayleigh–Ritz brings them out.

    Args:
        spread: where its eigenvalues are: the cut leaves ``BEYOND`` times ``count`` of them outside.
        count: how many pairs the filter is made for.
        tolerance: of their residuals.
    """

    def __init__(self, matrix: sp.csr_array, spread: Quadrature, count: int, tolerance: float) -> None:
        n = matrix.shape[0]
        cut = spread.value(min(BEYOND * count, n / 2))
        self.middle, self.half = (cut - 1) / 2, (cut + 1) / 2
        scaled = sp.csr_array((matrix - self.middle * sp.eye_array(n)) / self.half)
        self.product = torch_csr(scaled, torch.float64)
        top, inner = (math.acosh(max(1 + 1e-9, (x - self.middle) / self.half)) for x in (1.0, spread.value(count)))
        needed = NEED * math.log(n / tolerance) / inner
        most = math.log(SPREAD) / max(top - inner, 1e-3)
        self.hard = needed > HARD
        self.degree = max(2, math.ceil(min(needed / BLOCKS, most)))
        self.blocks = max(BLOCKS, math.ceil(needed / self.degree))

    def block(self, count: int) -> int:
        """Columns that a search for ``count`` pairs starts from: it does not miss that many copies of an eigenvalue."""
        return 8 * max(1, math.ceil(BASIS * count / self.blocks / 8))

    def pairs(self, count: int, found: Tensor, tolerance: float, seed: int) -> tuple[np.ndarray, np.ndarray] | None:
        """The ``count`` largest pairs beyond the ``found`` vectors, descending; None if they do not stand out."""
        if self.hard:
            return None
        n = self.product.shape[0]
        block = self.block(count)
        blocks = min(max(math.ceil(MOST * count / block), 2 * self.blocks), (n - found.size(1)) // block)
        basis = torch.empty(n, blocks * block, dtype=torch.float64)
        inner = torch.zeros(blocks * block, blocks * block, dtype=torch.float64)
        last = torch.from_numpy(np.random.default_rng([seed, n, count]).standard_normal((n, block)))
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
