"""Eigenpairs of one symmetric matrix that belongs to one connected component: dense, or iterated from the ends.

Each end is searched for itself, by the largest eigenvalues of a positive operator: L, 2·centre − L, or the inverse of L
shifted to just outside that end. Known eigenpairs are projected out, not iterated for. A Krylov method may miss copies
of a repeated eigenvalue, so what was found is projected out too, and the end is searched until nothing is left outside.
Which method finds the pairs depends on the graph alone:

* ``inverse``: ARPACK on the inverse, where the graph is thin or nothing else converges (:mod:`llpe.krylov`);
* ``filter``: for many pairs that stand out from the rest (:class:`llpe.krylov.EndFilter`);
* ``arpack``: ARPACK on L.

Of an eigenspace with more copies than were asked for only projections of given vectors are needed, never a whole basis:
the Krylov space of a vector holds exactly one vector of each eigenspace, which is the projection.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
import torch
from scipy.linalg.blas import dgemv
from scipy.linalg.lapack import dsyevd
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from llpe.krylov import Cost, EndFilter, factorisation_cost, factorise, lanczos
from llpe.storage import SpectrumError

LOW, HIGH = -1, 1  # the two ends
TOLERANCE = 5e-8  # of ARPACK's outermost pair, relative to the half-width; wanted pairs are far better, near 1e-11
INVERTED = 1e-11  # the same for the inverse, whose pairs converge in a few steps
FILTERED = 1e-8  # the same for all pairs that a filter finds
REPEATED = 1e-8  # eigenvalues this close, relative to their distance from the end of the spectrum, are one,
CLOSEST = 1e-12  # and so are those this close, relative to the half-width
MANY = 32  # from this many pairs on a filter is faster than ARPACK
ROUGH = 1e-4  # of a pair that only shows whether one was missed
MISSED = 8  # pairs searched at once if one was
PATIENCE, IMPATIENCE = 300, 10  # restarts of ARPACK before a factorisation is tried; on thin graphs
CONVERGED = 6  # restarts on an inverse
MOST_WORK = 3e10  # operations, about half a minute, that a factorisation may cost where nothing else succeeds
NEAREST = 1e-12  # distance of the shift from a known end, relative to the half-width of the spectrum
FAR, CLOSER = 1e-3, 1000.0  # distance of the first shift from an end that is not known; how much closer the next one is
DENSE_BELOW = 600  # components up to this size are solved densely: LAPACK is faster, and misses nothing
STEPS, RESTARTS, EXACT = 120, 20, 1e-13  # of a projection on an eigenspace; its residual
NEAR = 1e-5  # distance of eigenvalues, as a share of the largest, from which on vectors are mixed by 1e-11 at most
SEEDED = "rng" in inspect.signature(eigsh).parameters  # newer ARPACK draws vectors where a Krylov space ends early

Pair: TypeAlias = tuple[float, np.ndarray]  # an eigenvalue and its vector


@dataclass(frozen=True)
class Pairs:
    """Eigenpairs of one component: the ``low`` smallest and then the ``high`` largest, ascending.

    ``project`` projects a block of columns on the whole eigenspace of an eigenvalue at an end; None where all pairs are
    known.
    """

    values: np.ndarray
    vectors: np.ndarray
    low: int
    high: int
    solver: str
    project: Callable[[float, np.ndarray], np.ndarray] | None = None


def tolerance(values: np.ndarray | float, centre: float) -> np.ndarray:
    """How close an eigenvalue must be to these to count as the same."""
    return REPEATED * np.minimum(values, 2 * centre - np.asarray(values)) + CLOSEST * centre


def eigenspaces(values: np.ndarray, centre: float) -> np.ndarray:
    """The eigenspace of each of these ascending eigenvalues, numbered 0, 1, …"""
    spaces = np.zeros(values.size, dtype=np.int64)
    np.cumsum(values[1:] - values[:-1] > tolerance((values[1:] + values[:-1]) / 2, centre), out=spaces[1:])
    return spaces


def dense_pairs(matrix: np.ndarray, known: list[Pair]) -> Pairs:
    """All eigenpairs by LAPACK, in the memory of ``matrix``; the known ones are put in exactly."""
    values, vectors, failed = dsyevd(matrix.T, lower=1, overwrite_a=1)
    if failed:
        raise SpectrumError(f"LAPACK did not converge on a component of {values.size} nodes (dsyevd: {failed}).")
    for value, vector in known:  # in a connected component 0 is simple and first, 2 (bipartite) simple and last
        column, beside = (0, 1) if value == 0 else (-1, -2)
        if abs(values[beside] - value) < NEAR * values[-1]:
            _turn(vectors, column, vector)
        values[column], vectors[:, column] = value, vector
    return Pairs(values, vectors, values.size, 0, "lapack")


def _turn(vectors: np.ndarray, column: int, vector: np.ndarray) -> None:
    """Reflects orthonormal columns so that one is ± ``vector``: LAPACK mixes those of nearly equal eigenvalues."""
    normal = vector @ vectors
    normal[column] -= 1 if normal[column] > 0 else -1  # a reflection along c ∓ e takes the column to ± the vector
    mixed = np.abs(normal) > 1e-10
    if mixed.any():
        along = normal[mixed]
        vectors[:, mixed] -= np.outer(vectors[:, mixed] @ along, along * (2 / (along @ along)))


def end_pairs(matrix: sp.csr_array, known: list[Pair], low: int, high: int, *, centre: float, seed: int) -> Pairs:
    """The ``low`` smallest and ``high`` largest eigenpairs, iterated for, known pairs included, none missing."""
    cost = factorisation_cost(matrix)
    lower = End(matrix, known[:1], LOW, cost, centre=centre, seed=seed)
    upper = End(matrix, [], HIGH, cost, centre=centre, seed=seed)
    if len(known) == 2:  # bipartite
        lower.extend(max(low, high))
        upper = lower.mirrored(np.sign(known[1][1]))
    else:
        lower.extend(low)
        upper.extend(high)

    def project(value: float, columns: np.ndarray) -> np.ndarray:
        near = low and np.abs(lower.values - value).min() <= 2 * tolerance(value, centre)
        return (lower if near else upper).project(value, columns)

    values, vectors = zip(lower.outermost(low), upper.outermost(high), strict=True)
    solver = "+".join(sorted({end.solver for end, count in ((lower, low), (upper, high)) if count}))
    return Pairs(np.concatenate(values), np.hstack(vectors), low, high, solver, project)


class End:
    """Eigenpairs found at one end of the spectrum, and the search for more beyond them.

    Args:
        known: the outermost eigenpair, in a list, where it is known.
    """

    def __init__(
        self, matrix: sp.csr_array, known: list[Pair], side: int, cost: Cost, *, centre: float, seed: int
    ) -> None:
        self.matrix, self.side, self.cost, self.centre, self.seed = matrix, side, cost, centre, seed
        self.known = bool(known)
        self.values = np.array([value for value, _ in known])
        self.vectors = np.column_stack([np.empty((matrix.shape[0], 0)), *(vector for _, vector in known)])
        self.rng = np.random.default_rng([seed, matrix.shape[0]])
        self.filter: EndFilter | None = None
        self.solver = "arpack"
        self.shift: float | None = None
        self.operator: Callable[[np.ndarray], np.ndarray] = self._product

    def mirrored(self, sides: np.ndarray) -> End:
        """The other end of a bipartite graph: λ becomes 2·centre − λ, and vectors change sign on one side."""
        other = copy(self)
        other.side, other.operator = -self.side, other._product
        other.values, other.vectors = 2 * self.centre - self.values, self.vectors * sides[:, None]
        if self.shift is not None:
            other.shift, other.operator = 2 * self.centre - self.shift, lambda x: sides * self.operator(sides * x)
        return other

    def outermost(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        order = np.argsort(self._depth(self.values), kind="stable")[:count][:: -self.side]
        return self.values[order], self.vectors[:, order]

    def extend(self, count: int) -> None:
        """Searches until ``count`` pairs are known, and beyond them until none is left that was missed."""
        if not count:
            return
        if self.cost.thin and self.known:
            self._invert()
        while True:
            if (missing := count - self.values.size) <= 0:
                last = np.partition(self._depth(self.values), count - 1)[count - 1]
                copies = np.bincount(eigenspaces(np.sort(self.values), self.centre)).max()
                block = self.filter.block(count) if self.filter and self.solver == "filter" else 0
                if copies < block or self._beyond(self._solve(1, rough=True)[0], last).all():
                    return
            values, vectors = self._solve(missing if missing > 0 else MISSED)
            self.values, self.vectors = np.concatenate([self.values, values]), np.hstack([self.vectors, vectors])
            if missing <= 0 and self._beyond(values, last).all():
                return

    def project(self, value: float, columns: np.ndarray) -> np.ndarray:
        """The projections of these columns on the eigenspace of ``value``, all pairs before which are known."""
        before = self.vectors[:, ~self._beyond(self.values, self._depth(value))]
        out = np.empty_like(columns)
        for number, column in enumerate(columns.T):
            vector = column - before @ (before.T @ column)
            for _ in range(RESTARTS):
                top, residual, vector = lanczos(self._without(before), vector, STEPS, EXACT)
                if residual <= EXACT * top:
                    break
            found = self._value(top)
            if residual > EXACT * top or abs(found - value) > 10 * tolerance(value, self.centre):
                if self.shift is None and self._invert(MOST_WORK):
                    return self.project(value, columns)
                raise SpectrumError(
                    f"the eigenvalue {value:.6g} of a component of {len(columns)} nodes is repeated often, and others "
                    "are too close to tell its vectors apart. Ask for fewer pairs, or use the encoding 'llpe-probes'."
                )
            out[:, number] = vector * (vector @ column)
        return out

    def _depth(self, values: np.ndarray | float) -> np.ndarray:
        """How far from this end: an order of eigenvalues, not a distance."""
        return -self.side * np.asarray(values)

    def _beyond(self, values: np.ndarray, depth: np.ndarray) -> np.ndarray:
        """Which of these are as deep as ``depth`` or deeper, up to rounding."""
        return self._depth(values) > depth - 10 * tolerance(values, self.centre)

    def _solve(self, count: int, *, rough: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """``count`` pairs beyond those that were found, or some of them."""
        if self.shift is None and count >= MANY and self.filter is None:
            scaled = (self.matrix - self.centre * sp.eye_array(self.matrix.shape[0])) * (self.side / self.centre)
            self.filter = EndFilter(sp.csr_array(scaled), count, FILTERED, self.seed)
        if self.shift is None and self.filter is not None:
            pairs = self.filter.pairs(count, torch.from_numpy(self.vectors), ROUGH if rough else FILTERED)
            if pairs is not None:
                self.solver = "filter"
                return self.centre + self.side * self.centre * pairs[0], pairs[1]
        while True:
            self.solver, tol, restarts = "arpack", TOLERANCE, IMPATIENCE if self.cost.thin else PATIENCE
            if self.shift is not None:
                self.solver, tol, restarts = "inverse", INVERTED, CONVERGED
            tol = ROUGH if rough else tol
            try:
                return self._arpack(count, tol, restarts)
            except SpectrumError:
                if not self._invert(MOST_WORK):
                    return self._arpack(count, tol, None)

    def _arpack(self, count: int, tol: float, restarts: int | None) -> tuple[np.ndarray, np.ndarray]:
        """``count`` pairs; of an inverse, those that converge: the others are searched without them."""
        n, apply = self.matrix.shape[0], self._without(self.vectors)
        start = self.rng.standard_normal(n)
        start -= self.vectors @ (self.vectors.T @ start)
        operator = LinearOperator((n, n), matvec=lambda x: apply(x.reshape(-1)), dtype=np.float64)
        ncv = min(n - 1, max(2 * count + 1, 20) if restarts else max(4 * count + 1, 60))
        options: dict[str, Any] = {"v0": start, "ncv": ncv, "tol": tol, "maxiter": restarts}
        try:
            top, vectors = eigsh(operator, count, which="LA", **options, **({"rng": self.rng} if SEEDED else {}))
        except ArpackNoConvergence as error:
            if self.shift is None or not error.eigenvalues.size:
                done = len(error.eigenvalues)
                raise SpectrumError(
                    f"{count} eigenpairs of a component of {n} nodes did not converge to {tol:g}: {done} did. "
                    "Eigenvalues at this end are probably clustered; ask for fewer, or use the encoding 'llpe-probes'."
                ) from error
            top, vectors = error.eigenvalues, error.eigenvectors
        return self._value(top), vectors

    def _product(self, x: np.ndarray) -> np.ndarray:
        return self.matrix @ x if self.side == HIGH else 2 * self.centre * x - self.matrix @ x

    def _value(self, top: Any) -> Any:
        """Eigenvalues of L from those of the operator."""
        if self.shift is not None:
            return self.shift - self.side / top
        return top if self.side == HIGH else 2 * self.centre - top

    def _without(self, found: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """The operator with these eigenvectors projected out, before it too: the inverse of 0 would drown all else."""
        found = np.asfortranarray(found)

        def project(x: np.ndarray) -> np.ndarray:
            # SciPy's BLAS, the one ARPACK uses: NumPy brings another, and their idle threads would fight for the cores
            return dgemv(-1.0, found, dgemv(1.0, found, x, trans=1), 1.0, x) if found.size else x

        return lambda x: project(self.operator(project(x)))

    def _invert(self, most: float = math.inf) -> bool:
        """Searches with an inverse from now on, if it costs at most ``most``; with one closer if there is one."""
        if (self.shift is not None and self.known) or self.cost.work > most:
            return False
        if self.known:
            end, distance = self.values[0], NEAREST * self.centre
        else:
            top, residual, _ = lanczos(self.operator, self.rng.standard_normal(self.matrix.shape[0]), 60, EXACT)
            end = float(self._value(top))
            distance = max(residual, FAR * self.centre) if self.shift is None else abs(self.shift - end) / CLOSER
        if distance < NEAREST * self.centre:
            return False
        limit = 2 * self.centre if self.side == HIGH else 0.0  # of any spectrum
        distance = min(distance, abs(limit - end) + NEAREST * self.centre)
        try:
            factors, self.shift = factorise(self.matrix, self.side, end, distance)
        except MemoryError:
            return False
        self.operator = factors.solve
        return True
