"""Laplacians as sparse matrices, and what is known of their spectra without any solver.

With A the adjacency and D the degrees:

* ``sym``:  L = I − D^(−1/2) A D^(−1/2), eigenvalues in [0, 2]; an isolated node has eigenvalue 1
* ``rw``:   L = I − D^(−1) A, the same eigenvalues, right eigenvectors D^(−1/2) u
* ``comb``: L = D − A, eigenvalues in [0, max over edges of d_i + d_j], in the unit of the graph's weights

One null vector per connected component with an edge is known (√d or 1 on it); for ``sym`` and ``rw``, 2 is an
eigenvalue of a component exactly when the component is bipartite, with a known vector again.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
import scipy.sparse as sp

from llpe.checks import check_choice
from llpe.graph import Graph

Kind = Literal["sym", "rw", "comb"]
KINDS: tuple[str, ...] = get_args(Kind)


def inverse_sqrt(degree: np.ndarray) -> np.ndarray:
    """d^(−1/2), and 0 where d = 0."""
    return np.where(degree > 0, degree, np.inf) ** -0.5


def normalised_adjacency(graph: Graph) -> sp.csr_array:
    """N = D^(−1/2) A D^(−1/2), symmetric to the last bit."""
    scale, weights = inverse_sqrt(graph.degree), graph.adjacency
    data = np.repeat(scale, np.diff(weights.indptr))
    data *= scale.take(weights.indices)
    data *= weights.data
    return sp.csr_array((data, weights.indices, weights.indptr), shape=weights.shape)


def laplacian(graph: Graph, kind: Kind = "sym") -> sp.csr_array:
    """The Laplacian as a sparse matrix (float64).

    Example:
        >>> from llpe.graph import tiny
        >>> laplacian(Graph.from_data(tiny("path")), "comb").toarray()[1]
        array([-1.,  2., -1.,  0.,  0.])
    """
    check_choice("kind", kind, KINDS)
    if kind == "comb":
        return sp.csr_array(sp.diags_array(graph.degree) - graph.adjacency)
    identity = sp.eye_array(graph.num_nodes, format="csr")
    if kind == "sym":
        return sp.csr_array(identity - normalised_adjacency(graph))
    return sp.csr_array(identity - sp.diags_array(inverse_sqrt(graph.degree) ** 2) @ graph.adjacency)


def dense_laplacian(graph: Graph, kind: Kind = "sym") -> np.ndarray:
    """The same as an array: for small graphs."""
    if kind == "comb":
        out = -graph.dense
    else:
        scale = inverse_sqrt(graph.degree)
        out = graph.dense * (-scale[:, None] * scale if kind == "sym" else -(scale**2)[:, None])
    out.flat[:: len(out) + 1] = graph.degree if kind == "comb" else 1.0
    return out


def centre(graph: Graph, kind: Kind) -> float:
    """Half of an upper bound of the spectrum: where the Chebyshev variable is zero."""
    if kind != "comb":
        return 1.0
    rows, columns = graph.adjacency.nonzero()
    return float((graph.degree[rows] + graph.degree[columns]).max()) / 2 if rows.size else 1.0


def trivial_vector(graph: Graph, kind: Kind) -> np.ndarray | None:
    """The one null vector that says nothing about position (√d, or 1 for ``comb``), or None where there is none.

    For ``rw`` this is the vector of the ``sym`` problem, like every vector before the final D^(−1/2).
    """
    vector = np.ones(graph.num_nodes) if kind == "comb" else np.sqrt(graph.degree)
    norm = math.sqrt(vector @ vector)
    return vector / norm if norm > 0 else None


def known_pairs(degree: np.ndarray, sides: np.ndarray, kind: Kind) -> list[tuple[float, np.ndarray]]:
    """The eigenpairs of one connected component (of two or more nodes) that need no solver."""
    root = np.ones(degree.size) if kind == "comb" else np.sqrt(degree)
    root /= math.sqrt(root @ root)
    return [(0.0, root)] if kind == "comb" or not sides[0] else [(0.0, root), (2.0, root * sides)]
