"""Eigenpairs of one symmetric matrix that belongs to one connected component: dense, or iterated from the ends.

The iteration works on C = L − centre, whose ends are the ends of the spectrum. Known eigenpairs are deflated to the
middle (C − Σ μ v vᵀ), not iterated for. A Krylov method may miss copies of a repeated eigenvalue, so what was found is
deflated as well and the ends are searched again until nothing is left outside. A few pairs are found by ARPACK, many by
a filter (:mod:`llpe.filtering`), where that can tell them from the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from scipy.linalg.blas import dgemv
from scipy.linalg.lapack import dsyevd
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from llpe.filtering import EndFilter, Quadrature, quadrature
from llpe.memory import SpectrumError

TOLERANCE = 1e-7  # of the outermost guard pair, relative to the half-width; wanted pairs are far better, near 1e-11
REPEATED = 1e-8  # eigenvalues this close, relative to the half-width, belong to one eigenspace
FILTERED = 1e-8  # the same of all pairs that a filter finds
MANY = 32  # pairs from which on a filter is faster than ARPACK
DENSE_BELOW = 600  # components up to this size are solved densely: LAPACK wins, and misses nothing


@dataclass(frozen=True)
class Pairs:
    """Eigenpairs of one component: the ``low`` smallest and then the ``high`` largest, ascending."""

    values: np.ndarray
    vectors: np.ndarray
    low: int
    high: int
    complete: bool
    solver: str


def dense_pairs(matrix: np.ndarray, known: list[tuple[float, np.ndarray]]) -> Pairs:
    """All eigenpairs by LAPACK, in the memory of ``matrix``; the known ones are put in exactly."""
    values, vectors, failed = dsyevd(matrix.T, lower=1, overwrite_a=1)
    if failed:
        raise SpectrumError(f"LAPACK did not converge on a component of {values.size} nodes (dsyevd: {failed}).")
    for value, vector in known:  # in a connected component 0 is simple and first, 2 (bipartite) simple and last
        column = 0 if value == 0 else -1
        values[column], vectors[:, column] = value, vector
    return Pairs(values, vectors, values.size, 0, True, "lapack")


def end_pairs(
    matrix: sp.csr_array,
    known: list[tuple[float, np.ndarray]],
    *,
    low: int,
    high: int,
    centre: float,
    seed: int,
) -> Pairs:
    """The ``low`` smallest and ``high`` largest eigenpairs, iterated for, known pairs included, none missing."""
    search = _EndSearch(matrix, centre, seed)
    for value, vector in known:
        search.add(np.array([value - centre]), vector[:, None], HIGH if value > centre else LOW)
    known_high = sum(value > centre for value, _ in known)
    search.extend(max(low - (len(known) - known_high), 0), max(high - known_high, 0))
    search.complete(low > 0, high > 0)
    order = np.argsort(search.values, kind="stable")
    lows, highs = order[search.side[order] == LOW][:low], order[search.side[order] == HIGH]
    highs = highs[max(0, highs.size - high) :]
    chosen = np.concatenate([lows, highs])
    values, vectors = search.values[chosen] + centre, search.vectors[:, chosen]
    return Pairs(values, vectors, lows.size, highs.size, False, search.solver)


LOW, HIGH = -1, 1


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

    def add(self, values: np.ndarray, vectors: np.ndarray, side: int | np.ndarray) -> None:
        if (np.abs(values) <= 10 * REPEATED * self.centre).any():  # found pairs are deflated to there
            raise SpectrumError(
                f"the eigenvalue {self.centre:g} in the middle of the spectrum is repeated so often that the wanted "
                "pairs reach it. Ask for fewer pairs, or use the encoding 'llpe-probes'."
            )
        self.values = np.concatenate([self.values, values])
        self.vectors = np.hstack([self.vectors, vectors])
        self.side = np.concatenate([self.side, np.broadcast_to(side, values.shape)])

    def extend(self, low: int, high: int) -> None:
        """Searches ``low`` more pairs at the low end, then ``high`` more at the high end.

        One call for both ends (ARPACK's ``BE``) needs fewer products, but its larger basis costs more than it saves.
        """
        for count, side in ((low, LOW), (high, HIGH)):
            if count:
                self.add(*self._solve(count, side), side)
                if self.solver == "filter":
                    self.copies[side] = self.filters[side].block(count)

    def complete(self, low: bool, high: bool) -> None:
        """Searches beyond the found pairs of each wanted end, until none is left that was missed."""
        margin = 10 * REPEATED * self.centre
        for wanted, side in ((low, LOW), (high, HIGH)):
            if self._copies(side) < self.copies.get(side, 0):
                continue
            innermost = max(side * -self.values[self.side == side], default=None) if wanted else None
            while innermost is not None:
                found, _ = self._solve(1, side, tol=1e-4)
                if side * -found[0] > innermost - margin:
                    break
                values, vectors = self._solve(min(8, self.matrix.shape[0] - 2), side)
                missed = side * -values < innermost - margin
                if not missed.any():
                    break
                self.add(values[missed], vectors[:, missed], side)

    def _copies(self, side: int) -> int:
        """The largest number of found pairs of one end that share an eigenvalue."""
        steps = np.diff(np.sort(self.values[self.side == side])) > REPEATED * self.centre
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
