"""The eigenpairs of all components of a graph together: sorted, grouped into eigenspaces, in a fixed basis."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import dgeqrf, dorgqr

from llpe.probes import draw
from llpe.solvers import Pairs

BLOCK = 64  # columns that LAPACK may work on at once


class Pool:
    """The eigenpairs of all components together, sorted and grouped into eigenspaces."""

    def __init__(self, parts: list[tuple[np.ndarray, Pairs]], num_nodes: int, tolerance: float) -> None:
        self.parts, self.num_nodes = parts, num_nodes
        values = np.concatenate([pairs.values for _, pairs in parts])
        order = values.argsort(kind="stable")
        self.values = values[order]
        self.part, self.column = np.zeros(order.size, dtype=np.int64), order
        if len(parts) > 1:
            counts = [pairs.values.size for _, pairs in parts]
            self.part = np.repeat(np.arange(len(parts)), counts)[order]
            before = np.concatenate([[0], np.cumsum(counts[:-1])]).astype(np.int64)
            self.column = order - before[self.part]
        self.spaces = numbered(self.values, tolerance)
        self.sizes = np.bincount(self.spaces)
        self.tolerance = tolerance

    def choose(self, low: int, high: int) -> tuple[np.ndarray, list[str]]:
        """Positions of the wanted pairs, and what was cut."""
        total = self.values.size
        chosen = np.concatenate([np.arange(low), np.arange(total - high, total)]) if high else np.arange(low)
        kept = np.bincount(self.spaces[chosen], minlength=self.sizes.size)
        cut = [
            f"the eigenspace of {self.values[self.spaces == space][0]:.6g} has dimension {self.sizes[space]}, "
            f"of which {kept[space]} are kept"
            for space in np.flatnonzero((kept > 0) & (kept < self.sizes))
        ]
        return chosen, cut

    def covers(self, low: int, high: int, iterated: list[int]) -> bool:
        """Whether the eigenspaces at the two cuts end inside what every iterated component has delivered."""
        for index in iterated:
            pairs = self.parts[index][1]
            if low and pairs.values[pairs.low - 1] <= self._end_of_space(low - 1, -1) + self.tolerance:
                return False
            if high and pairs.values[pairs.low] >= self._end_of_space(self.values.size - high, 0) - self.tolerance:
                return False
        return True

    def _end_of_space(self, position: int, end: int) -> float:
        return float(self.values[self.spaces == self.spaces[position]][end])

    def vectors(self, chosen: np.ndarray, trivial: np.ndarray | None, seed: int) -> np.ndarray:
        """The chosen eigenvectors in the convention of this module, shape (num_nodes, len(chosen))."""
        out = self._signed(chosen, draw(self.num_nodes, 1, seed)[:, 0].astype(np.float64))
        spaces = self.spaces[chosen]
        for space in np.flatnonzero((self.sizes > 1) & (np.bincount(spaces, minlength=self.sizes.size) > 0)):
            where, members = np.flatnonzero(spaces == space), np.flatnonzero(self.spaces == space)
            basis = self._basis(members)
            probes = draw(self.num_nodes, where.size, seed).astype(np.float64)
            if trivial is not None and abs(self.values[members[0]]) <= self.tolerance:
                probes = np.column_stack([trivial, probes[:, :-1]])
            out[:, where] = basis @ _orthonormal(basis.T @ probes)
        if trivial is not None and chosen.size and chosen[0] == 0 and self.sizes[0] == 1:
            out[:, 0] = trivial
        return out

    def _signed(self, chosen: np.ndarray, probe: np.ndarray) -> np.ndarray:
        """The chosen eigenvectors, signed; of repeated eigenvalues anything."""
        if len(self.parts) == 1:
            out = self.parts[0][1].vectors[:, self.column[chosen]]
        else:
            out = np.zeros((self.num_nodes, chosen.size))
            single = np.flatnonzero(self.sizes[self.spaces[chosen]] == 1)
            part = self.part[chosen[single]]
            for index in np.unique(part):
                nodes, pairs = self.parts[index]
                mine = single[part == index]
                out[np.ix_(nodes, mine)] = pairs.vectors[:, self.column[chosen[mine]]]
        out *= np.where(probe @ out < 0, -1.0, 1.0)
        return out

    def _basis(self, positions: np.ndarray) -> np.ndarray | sp.csc_array:
        """The eigenvectors at these positions; as a sparse matrix where each lives on one component only."""
        if len(self.parts) == 1:
            return self.parts[0][1].vectors[:, self.column[positions]]
        rows, columns, entries = [], [], []
        for out_column, position in enumerate(positions):
            nodes, pairs = self.parts[self.part[position]]
            rows.append(nodes)
            columns.append(np.full(nodes.size, out_column))
            entries.append(pairs.vectors[:, self.column[position]])
        triple = (np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns)))
        return sp.csc_array(triple, shape=(self.num_nodes, positions.size))


def _orthonormal(columns: np.ndarray) -> np.ndarray:
    """Gram–Schmidt of the columns, by LAPACK's reflections: NumPy's QR takes far longer to call on a few."""
    upper, scale, *_ = dgeqrf(columns, lwork=BLOCK * columns.shape[1])
    rotation, *_ = dorgqr(upper, scale, lwork=BLOCK * columns.shape[1])
    return rotation * np.where(upper.diagonal() < 0, -1.0, 1.0)


def numbered(values: np.ndarray, tolerance: float) -> np.ndarray:
    """The number of the group of each of these ascending values, where a step above ``tolerance`` begins a new one."""
    out = np.zeros(values.size, dtype=np.int64)
    (values[1:] - values[:-1] > tolerance).cumsum(out=out[1:])
    return out
