"""The inverse of a Laplacian shifted by a number just outside its spectrum, whose largest eigenvalues are at that end.

At the ends of long and thin graphs (paths, grids, roads, meshes) eigenvalues are clustered: products with L tell them
apart after thousands of steps, products with (L − shift)⁻¹ after a few. Such graphs have small separators too, so
that a sparse factorisation costs next to nothing. On graphs that expand it fills up, and nothing is clustered.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import SuperLU, splu

NEAREST = 1e-12  # distance of the shift from a known end, relative to the half-width of the spectrum
THIN = 16.0  # largest width² / nodes of a graph that counts as two-dimensional or less
CHEAP = 1000.0  # operations for each node that a factorisation may always cost
MOST_WORK = 3e10  # operations, about half a minute, that it may cost where nothing else succeeds


@dataclass(frozen=True)
class Shape:
    """What a factorisation would cost: trees that hang on the graph cost nothing; ``core`` nodes are left, and ordered
    in levels (reverse Cuthill–McKee) each is linked to others at most ``width`` places before it, on average."""

    nodes: int
    core: int
    width: float

    @property
    def work(self) -> float:
        return self.core * self.width**2

    @property
    def thin(self) -> bool:
        return self.work <= max(THIN * self.core**2, CHEAP * self.nodes)


def shape(matrix: sp.csr_array) -> Shape:
    """Of the graph with the entries of a symmetric matrix off its diagonal as edges."""
    core = sp.csr_array(matrix[kept][:, kept]) if (kept := _without_trees(matrix)).size else None
    if core is None:
        return Shape(matrix.shape[0], 0, 0.0)
    order = reverse_cuthill_mckee(core, symmetric_mode=True)
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    first = np.minimum.reduceat(place[core.indices], core.indptr[:-1])
    return Shape(matrix.shape[0], order.size, float(np.maximum(place - first, 0).mean()))


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
    while True:
        shift = end + side * distance
        try:
            factors = splu(
                sp.csc_array(side * (shift * identity - matrix)),
                permc_spec="MMD_AT_PLUS_A",
                diag_pivot_thresh=0.0,
                options={"SymmetricMode": True},
            )
        except RuntimeError:  # exactly singular
            factors = None
        if factors is not None and (factors.U.diagonal() > 0).all():
            return factors, shift
        distance *= 4
