"""The eigenpairs of all components of a graph together: sorted, grouped into eigenspaces, in a fixed basis."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from llpe.probes import draw
from llpe.solvers import Pairs


class Pool:
    """The eigenpairs of all components together, sorted and grouped into eigenspaces."""

    def __init__(self, parts: list[tuple[np.ndarray, Pairs]], num_nodes: int, tolerance: float) -> None:
        self.parts, self.num_nodes = parts, num_nodes
        values = np.concatenate([pairs.values for _, pairs in parts])
        part = np.concatenate([np.full(pairs.values.size, i) for i, (_, pairs) in enumerate(parts)])
        column = np.concatenate([np.arange(pairs.values.size) for _, pairs in parts])
        order = np.argsort(values, kind="stable")
        self.values, self.part, self.column = values[order], part[order], column[order]
        self.spaces = np.concatenate([[0], np.cumsum(np.diff(self.values) > tolerance)])
        self.tolerance = tolerance

    def choose(self, low: int, high: int) -> tuple[np.ndarray, list[str]]:
        """Positions of the wanted pairs, and what was cut."""
        total = self.values.size
        chosen = np.concatenate([np.arange(low), np.arange(total - high, total)])
        cut = []
        for space in np.unique(self.spaces[chosen]):
            kept, all_of_it = int((self.spaces[chosen] == space).sum()), int((self.spaces == space).sum())
            if kept < all_of_it:
                value = self.values[self.spaces == space][0]
                cut.append(f"the eigenspace of {value:.6g} has dimension {all_of_it}, of which {kept} are kept")
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
        sizes = np.bincount(self.spaces)
        single = np.flatnonzero(sizes[self.spaces[chosen]] == 1)
        out = self._simple(chosen, single, draw(self.num_nodes, 1, seed)[:, 0].astype(np.float64))
        for where, members in self._repeated(chosen, sizes):
            basis = self._sparse(members)
            probes = draw(self.num_nodes, where.size, seed).astype(np.float64)
            if trivial is not None and abs(self.values[members[0]]) <= self.tolerance:
                probes = np.column_stack([trivial, probes[:, :-1]])
            rotation, upper = np.linalg.qr(basis.T @ probes)
            signs = np.where(np.diag(upper) < 0, -1.0, 1.0)
            out[:, where] = basis @ (rotation * signs)
        if trivial is not None and chosen.size and chosen[0] == 0 and sizes[0] == 1:
            out[:, 0] = trivial
        return out

    def _simple(self, chosen: np.ndarray, single: np.ndarray, probe: np.ndarray) -> np.ndarray:
        """The eigenvectors of simple eigenvalues, signed; zero columns elsewhere."""
        positions = chosen[single]
        whole = self.parts[0][1].vectors if len(self.parts) == 1 else None
        if whole is not None and single.size == whole.shape[1] == chosen.size:
            out = whole[:, self.column[positions]]
        else:
            out = np.zeros((self.num_nodes, chosen.size))
            for index in np.unique(self.part[positions]):
                nodes, pairs = self.parts[index]
                mine = self.part[positions] == index
                out[np.ix_(nodes, single[mine])] = pairs.vectors[:, self.column[positions[mine]]]
        out *= np.where(probe @ out < 0, -1.0, 1.0)
        return out

    def _repeated(self, chosen: np.ndarray, sizes: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """(columns of the output, positions in the pool) of each eigenspace of dimension two and more."""
        spaces = self.spaces[chosen]
        for space in np.unique(spaces[sizes[spaces] > 1]):
            yield np.flatnonzero(spaces == space), np.flatnonzero(self.spaces == space)

    def _sparse(self, positions: np.ndarray) -> sp.csc_array:
        """The eigenvectors at these positions as a sparse matrix: each lives on one component only."""
        rows, columns, entries = [], [], []
        for out_column, position in enumerate(positions):
            nodes, pairs = self.parts[self.part[position]]
            rows.append(nodes)
            columns.append(np.full(nodes.size, out_column))
            entries.append(pairs.vectors[:, self.column[position]])
        triple = (np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns)))
        return sp.csc_array(triple, shape=(self.num_nodes, positions.size))
