"""Eigenpairs of one symmetric matrix that belongs to one connected component: dense, or iterated from the ends.

The iteration works on C = L − centre, whose ends are the ends of the spectrum. Known eigenpairs are deflated to the
middle (C − Σ μ v vᵀ), not iterated for. A Krylov method may miss copies of a repeated eigenvalue, so what was found is
deflated as well, and the ends are searched again until nothing is left outside.

A few pairs are found by ARPACK. For many, it spends nearly all its time on keeping vectors orthogonal, one at a time;
:class:`EndFilter` spends products instead, which are cheap and come in blocks, where it can tell them from the rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from scipy.linalg.blas import dgemv
from scipy.linalg.lapack import dsyevd
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from torch import Tensor

from llpe.spmm import torch_csr
from llpe.storage import SpectrumError

LOW, HIGH = -1, 1  # the two ends
TOLERANCE = 1e-7  # of ARPACK's outermost pair, relative to the half-width; wanted pairs are far better, near 1e-11
FILTERED = 1e-8  # the same for all pairs that a filter finds
REPEATED = 1e-8  # eigenvalues this close, relative to the half-width, belong to one eigenspace
MANY = 32  # from this many pairs on a filter is faster than ARPACK
DENSE_BELOW = 600  # components up to this size are solved densely: LAPACK is faster, and misses nothing

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


@dataclass(frozen=True)
class Pairs:
    """Eigenpairs of one component: the ``low`` smallest and then the ``high`` largest, ascending."""

    values: np.ndarray
    vectors: np.ndarray
    low: int
    high: int
    solver: str


def dense_pairs(matrix: np.ndarray, known: list[tuple[float, np.ndarray]]) -> Pairs:
    """All eigenpairs by LAPACK, in the memory of ``matrix``; the known ones are put in exactly."""
    values, vectors, failed = dsyevd(matrix.T, lower=1, overwrite_a=1)
    if failed:
        raise SpectrumError(f"LAPACK did not converge on a component of {values.size} nodes (dsyevd: {failed}).")
    for value, vector in known:  # in a connected component 0 is simple and first, 2 (bipartite) simple and last
        column = 0 if value == 0 else -1
        values[column], vectors[:, column] = value, vector
    return Pairs(values, vectors, values.size, 0, "lapack")


def end_pairs(
    matrix: sp.csr_array, known: list[tuple[float, np.ndarray]], *, low: int, high: int, centre: float, seed: int
) -> Pairs:
    """The ``low`` smallest and ``high`` largest eigenpairs, iterated for, known pairs included, none missing."""
    search = _EndSearch(matrix, centre, seed)
    for value, vector in known:
        search.add(np.array([value - centre]), vector[:, None], HIGH if value > centre else LOW)
    known_high = sum(value > centre for value, _ in known)
    search.extend(low - (len(known) - known_high), LOW)
    search.extend(high - known_high, HIGH)
    search.complete(low > 0, high > 0)
    order = np.argsort(search.values, kind="stable")
    lows, highs = order[search.side[order] == LOW][:low], order[search.side[order] == HIGH]
    highs = highs[max(0, highs.size - high) :]
    chosen = np.concatenate([lows, highs])
    return Pairs(search.values[chosen] + centre, search.vectors[:, chosen], lows.size, highs.size, search.solver)


class _EndSearch:
    """Eigenpairs of C = L − centre found so far, the end each belongs to, and the search for more beyond them."""

    def __init__(self, matrix: sp.csr_array, centre: float, seed: int) -> None:
        self.matrix, self.centre, self.seed = matrix, centre, seed
        self.spread: Quadrature | None = None
        self.filters: dict[int, EndFilter] = {}
        self.copies: dict[int, int] = {}  # how many copies of an eigenvalue a search of that end could not miss
        self.solver = "filter"
        self.rng = np.random.default_rng([seed, matrix.shape[0]])
        self.values = np.empty(0)
        self.vectors = np.empty((matrix.shape[0], 0))
        self.side = np.empty(0, dtype=np.int64)

    def add(self, values: np.ndarray, vectors: np.ndarray, side: int) -> None:
        if (np.abs(values) <= 10 * REPEATED * self.centre).any():  # found pairs are deflated to there
            raise SpectrumError(
                f"the eigenvalue {self.centre:g} in the middle of the spectrum is repeated so often that the wanted "
                "pairs reach it. Ask for fewer pairs, or use the encoding 'llpe-probes'."
            )
        self.values = np.concatenate([self.values, values])
        self.vectors = np.hstack([self.vectors, vectors])
        self.side = np.concatenate([self.side, np.full(values.size, side)])

    def extend(self, count: int, side: int) -> None:
        """Searches ``count`` more pairs at one end. At both at once, ARPACK's larger basis costs more than it saves."""
        if count > 0:
            self.add(*self._solve(count, side), side)
            if self.solver == "filter":
                self.copies[side] = self.filters[side].block(count)

    def complete(self, low: bool, high: bool) -> None:
        """Searches beyond the found pairs of each wanted end, until none is left that was missed."""
        margin = 10 * REPEATED * self.centre
        for wanted, side in ((low, LOW), (high, HIGH)):
            mine = self.values[self.side == side]
            if not wanted or not mine.size or self._most_copies(mine) < self.copies.get(side, 0):
                continue
            innermost = max(side * -mine)
            while True:
                found, _ = self._solve(1, side, tol=1e-4)
                if side * -found[0] > innermost - margin:
                    break
                values, vectors = self._solve(min(8, self.matrix.shape[0] - 2), side)
                missed = side * -values < innermost - margin
                if not missed.any():
                    break
                self.add(values[missed], vectors[:, missed], side)

    def _most_copies(self, values: np.ndarray) -> int:
        """The largest number of these that share an eigenvalue."""
        steps = np.diff(np.sort(values)) > REPEATED * self.centre
        return int(np.bincount(np.concatenate([[0], np.cumsum(steps)])).max())

    def _solve(self, count: int, side: int, tol: float = TOLERANCE) -> tuple[np.ndarray, np.ndarray]:
        """``count`` pairs from one end, beyond those that were found there."""
        if count >= MANY and side not in self.filters:
            scaled = (self.matrix - self.centre * sp.eye_array(self.matrix.shape[0])) / self.centre
            self.spread = self.spread or quadrature(sp.csr_array(scaled), self.seed)
            spread = self.spread if side == HIGH else self.spread.reversed()
            self.filters[side] = EndFilter(sp.csr_array(side * scaled), spread, count, FILTERED)
        if side in self.filters:
            found = torch.from_numpy(self.vectors[:, self.side == side])
            pairs = self.filters[side].pairs(count, found, FILTERED if tol == TOLERANCE else tol, self.seed)
            if pairs is not None:
                return side * self.centre * pairs[0], pairs[1]
        self.solver = "arpack"
        return self._arpack(count, side, tol)

    def _arpack(self, count: int, side: int, tol: float) -> tuple[np.ndarray, np.ndarray]:
        n, which = self.matrix.shape[0], "SA" if side == LOW else "LA"
        there = self.side == side  # pairs of the other end are not in the way
        found, moved = np.asfortranarray(self.vectors[:, there]), self.values[there]

        def apply(x: np.ndarray) -> np.ndarray:
            # SciPy's BLAS, the one ARPACK uses: NumPy brings another, and their idle threads would fight for the cores
            x = x.reshape(-1)
            y = self.matrix @ x - self.centre * x
            return dgemv(-1.0, found, moved * dgemv(1.0, found, x, trans=1), 1.0, y) if moved.size else y

        operator = LinearOperator((n, n), matvec=apply, dtype=np.float64)
        start = self.rng.standard_normal(n)
        start -= found @ (found.T @ start)
        for ncv in (max(2 * count + 1, 20), max(4 * count + 1, 60)):
            try:
                return eigsh(operator, k=count, which=which, v0=start, ncv=min(n - 1, ncv), tol=tol)
            except ArpackNoConvergence as error:
                done = len(error.eigenvalues)
        raise SpectrumError(
            f"{count} eigenpairs ({which}) of a component of {n} nodes did not converge to {tol:g}: {done} did. "
            "Eigenvalues at this end are probably clustered; ask for fewer, or use the encoding 'llpe-probes'."
        )


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
