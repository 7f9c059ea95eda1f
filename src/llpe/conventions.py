"""Order, sign and basis of the eigenpairs of all components together, which do not depend on the solver.

* values ascend; eigenvalues that agree to 1e-12, or to 1e-8 of their distance from the nearer end of the spectrum,
  form one *eigenspace*;
* inside an eigenspace E the basis is Gram–Schmidt of P_E g_1, P_E g_2, … for seeded Gaussian probes g (so a simple
  eigenvector has the sign that makes u·g_1 > 0), except that
* the first vector of the null space is the trivial one (√d, or 1 for the combinatorial Laplacian).

Of an eigenspace larger than what is wanted of it, only the projections P_E g are computed.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import dgeqrf, dorgqr

from llpe.eigensolvers import Pairs, eigenspaces
from llpe.probes import draw

BLOCK = 64  # columns that LAPACK may work on at once
Parts: TypeAlias = list[tuple[np.ndarray, Pairs]]  # the nodes and the eigenpairs of every component


class Merged:
    """The eigenpairs of all components together, sorted and grouped into eigenspaces."""

    def __init__(self, parts: Parts, num_nodes: int, centre: float) -> None:
        self.parts, self.num_nodes, self.centre = parts, num_nodes, centre
        values = np.concatenate([pairs.values for _, pairs in parts])
        order = values.argsort(kind="stable")
        self.values = values[order]
        self.part: np.ndarray = np.zeros_like(order)  # of each pair: its component,
        self.column: np.ndarray = order  # and its column there
        if len(parts) > 1:
            counts = [pairs.values.size for _, pairs in parts]
            self.part = np.repeat(np.arange(len(parts)), counts)[order]
            self.column = order - (np.cumsum(counts) - counts)[self.part]
        self.spaces = eigenspaces(self.values, centre)
        self.sizes = np.bincount(self.spaces)
        self.innermost = {  # of each iterated component: the last value found from either end
            index: pairs.values[[pairs.low - 1] * bool(pairs.low) + [pairs.low] * bool(pairs.high)]
            for index, (_, pairs) in enumerate(parts)
            if pairs.project
        }

    def choose(self, low: int, high: int) -> tuple[np.ndarray, list[str]]:
        """Positions of the wanted pairs, and what was cut."""
        total = self.values.size
        chosen = np.concatenate([np.arange(low), np.arange(total - high, total)])
        kept = np.bincount(self.spaces[chosen], minlength=self.sizes.size)
        cut = [
            f"the eigenspace of {self.values[self.spaces == space][0]:.6g} has dimension "
            f"{self.sizes[space]}{' or more' if self._unfinished(space) else ''}, of which {kept[space]} are kept"
            for space in np.flatnonzero((kept > 0) & (kept < self.sizes)).tolist()
        ]
        return chosen, cut

    def _unfinished(self, space: int) -> list[int]:
        """The components of which vectors of an eigenspace may be missing: the last that was found is one of it."""
        first, last = self.values[self.spaces == space][[0, -1]]
        within = [((first <= value) & (value <= last)).any() for value in self.innermost.values()]
        return [index for index, missing in zip(self.innermost, within, strict=True) if missing]

    def vectors(self, chosen: np.ndarray, trivial: np.ndarray | None, seed: int) -> np.ndarray:
        """The chosen eigenvectors in the convention of this module, shape (num_nodes, len(chosen))."""
        out = self._signed(chosen, draw(self.num_nodes, 1, seed)[:, 0].astype(np.float64))
        spaces = self.spaces[chosen]
        for space in np.flatnonzero((self.sizes > 1) & (np.bincount(spaces, minlength=self.sizes.size) > 0)).tolist():
            where, members = np.flatnonzero(spaces == space), np.flatnonzero(self.spaces == space)
            probes = draw(self.num_nodes, where.size, seed).astype(np.float64)
            if trivial is not None and space == 0:
                probes = np.column_stack([trivial, probes[:, :-1]])
            if unfinished := self._unfinished(space):
                projected = np.zeros_like(probes)
                if (finished := members[~np.isin(self.part[members], unfinished)]).size:
                    basis = self._basis(finished)
                    projected += basis @ (basis.T @ probes)
                for nodes, pairs in (self.parts[index] for index in unfinished):
                    assert pairs.project is not None
                    projected[nodes] = pairs.project(self.values[members[0]], probes[nodes])
                out[:, where] = _orthonormal(projected)
            else:
                basis = self._basis(members)
                out[:, where] = basis @ _orthonormal(basis.T @ probes)
        if trivial is not None and chosen[0] == 0 and self.sizes[0] == 1:
            out[:, 0] = trivial
        return out

    def _signed(self, chosen: np.ndarray, probe: np.ndarray) -> np.ndarray:
        """The chosen eigenvectors, signed; those of repeated eigenvalues are arbitrary."""
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
        """The eigenvectors at these positions; sparse where each lives on one component only."""
        if len(self.parts) == 1:
            return self.parts[0][1].vectors[:, self.column[positions]]
        members = [(*self.parts[self.part[position]], self.column[position]) for position in positions]
        entries = np.concatenate([pairs.vectors[:, column] for _, pairs, column in members])
        rows = np.concatenate([nodes for nodes, *_ in members])
        starts = np.cumsum([0, *(len(nodes) for nodes, *_ in members)])
        return sp.csc_array((entries, rows, starts), shape=(self.num_nodes, positions.size))


def _orthonormal(columns: np.ndarray) -> np.ndarray:
    """Gram–Schmidt of the columns, by LAPACK's reflections: for a few columns far faster than NumPy's QR."""
    upper, scale, *_ = dgeqrf(columns, lwork=BLOCK * columns.shape[1])
    rotation, *_ = dorgqr(upper, scale, lwork=BLOCK * columns.shape[1])
    return rotation * np.where(upper.diagonal() < 0, -1.0, 1.0)
