"""Many eigenpairs from one end of a spectrum: a block Krylov space of a Chebyshev filter of the matrix.

Lanczos for many pairs spends nearly all its time on keeping vectors orthogonal, one at a time. Here products are spent
instead, which are cheap and come in blocks. With T_d stretched to the unwanted part [−1, cut] of the spectrum, T_d of
the matrix is between −1 and 1 there and grows beyond it, in order, so that wanted pairs stand out. A few blocks of
columns X, T_d X, T_d² X, …, kept orthogonal by matrix products, hold them, and Rayleigh–Ritz brings them out.

The cut, which leaves so many eigenvalues outside, is estimated by Gauss quadrature from a few random vectors
(stochastic Lanczos), which is sharp at the ends. All in float64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from llpe.sparse import torch_csr

QUADRATURE = 60, 8  # steps of Lanczos, random vectors
BEYOND = 2.0  # the cut leaves so many times the wanted pairs outside
BASIS = 2.6  # columns of the basis for each wanted pair, in so many
STEPS = 10  # blocks;
LOOK = 1.7  # the same when it is first looked at,
MOST = 5.0  # and at most
NEED = 2.0  # how much more degree is needed in all than for one pair alone
HARD = 2000  # degree beyond which wanted and unwanted pairs are too close for this to pay
SPREAD = 1e11  # largest gain over that of the innermost wanted pair: what is between is lost to rounding
INNERMOST = 4  # wanted pairs that are looked at first, as they converge last


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
    """Gauss quadrature of the spectral density of a symmetric matrix, by Lanczos from random signs."""
    product, n = torch_csr(matrix, torch.float64), matrix.shape[0]
    steps, vectors = min(QUADRATURE[0], n), QUADRATURE[1]
    random = torch.from_numpy(np.random.default_rng([seed, n]).integers(0, 2, (n, vectors)) * 2.0 - 1.0)
    before, now = torch.zeros_like(random), random / math.sqrt(n)
    main, side = torch.zeros(vectors, steps, dtype=torch.float64), torch.zeros(vectors, steps, dtype=torch.float64)
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
    """Eigenpairs at the upper end of a symmetric matrix with its spectrum in [−1, 1].

    Args:
        spread: where its eigenvalues are.
        count: how many pairs the filter is made for.
        tolerance: of their residuals.

    Example:
        >>> ring = sp.csr_array(np.roll(np.eye(400), 1, axis=1) + np.roll(np.eye(400), -1, axis=1)) / 2
        >>> top = EndFilter(ring, quadrature(ring, 0), 5, 1e-9)
        >>> values, vectors = top.pairs(5, torch.empty(400, 0, dtype=torch.float64), 1e-9, seed=0)
        >>> np.round(values, 6).tolist()
        [1.0, 0.999877, 0.999877, 0.999507, 0.999507]
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
        self.degree = max(2, math.ceil(min(needed / STEPS, most)))
        self.steps = max(STEPS, math.ceil(needed / self.degree))

    def block(self, count: int) -> int:
        """Columns that a search for ``count`` pairs starts from: so many copies of an eigenvalue it does not miss."""
        return 8 * max(1, math.ceil(BASIS * count / self.steps / 8))

    def pairs(self, count: int, found: Tensor, tolerance: float, seed: int) -> tuple[np.ndarray, np.ndarray] | None:
        """The ``count`` largest pairs beyond the ``found`` vectors, descending; None if they are not to be had so."""
        if self.hard:
            return None
        n = self.product.shape[0]
        block = self.block(count)
        blocks = min(max(math.ceil(MOST * count / block), 2 * self.steps), (n - found.size(1)) // block)
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
            if end >= LOOK * count:
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
