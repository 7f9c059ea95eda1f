"""ElasticPE (Liu et al. 2023, as used in the paper): electrostatic potentials with a learned projection.

    P = E·Wᵀ + b,   E_ij = L⁺_ij − L⁺_jj,   L = D − A

L⁺ is found per connected component from L_sym, which does not know the scale of the weights: with its null vector u,
H = L_sym + uuᵀ is positive definite, so that no eigenvalue has to be called zero by a threshold, and
G = D^(−1/2) H⁻¹ D^(−1/2) without the means of its rows and columns is L⁺. Between components L⁺ is zero.
"""

from __future__ import annotations

from typing import final

import numpy as np
import torch
from scipy.linalg.lapack import dlange, dpocon, dpotrf, dpotri
from torch import Tensor

from llpe.cache import Cache
from llpe.checks import refusal
from llpe.encodings.linear import LinearEncoding, square_columns
from llpe.graph import Graph
from llpe.laplacian import laplacian
from llpe.storage import SpectrumError, require_memory

RANGE = np.finfo(np.float32)  # in which encodings are kept
WORST = 1e-11  # reciprocal condition; 1e-16 over it is the relative error


@final
class ElasticPE(LinearEncoding):
    """The n×n matrix of potentials, projected to ``dim`` columns. The projection has a row per node.

    Args:
        dim: width of the output.
        width: columns to pad to, for several graphs of at most that many nodes; None: the nodes of the first graph.
        seed: fixes the initial projection.

    Example:
        >>> from llpe.graph import tiny
        >>> encoding = ElasticPE(4)
        >>> encoding(encoding.prepare(tiny("path"))).shape
        torch.Size([5, 4])
    """

    name = "elastic"
    part = "potentials"
    invariances = frozenset({"sign", "basis"})
    fixed_by = ("width",)
    needs = "the pseudo-inverse of D − A"
    keeps = "n × n"
    cost = "O(n³), by Cholesky"
    reference = "Liu et al., 2023, as in Ito et al., 2025"

    def __init__(self, dim: int, *, width: int | None = None, seed: int = 0) -> None:
        super().__init__(dim, width, seed)
        self.width = width

    def compute(self, graph: Graph, cache: bool | Cache) -> dict[str, Tensor]:
        return {"potentials": square_columns(torch.from_numpy(potentials(graph)), self.width)}


def potentials(graph: Graph) -> np.ndarray:
    """E_ij = L⁺_ij − L⁺_jj, shape (num_nodes, num_nodes), float64."""
    n = graph.num_nodes
    require_memory(24 * n**2, f"the potentials of {n} nodes", "Use an encoding without an n×n matrix: 'llpe-probes'.")
    matrix = laplacian(graph)
    out = np.zeros((n, n))
    for nodes in graph.component_nodes:
        if nodes.size > 1:
            out[np.ix_(nodes, nodes)] = _pseudo_inverse(matrix[nodes][:, nodes].toarray(), graph.degree[nodes])
    out -= out.diagonal().copy()
    with np.errstate(over="ignore", under="ignore"):
        np.ldexp(out, -graph.exponent, out=out)
    if graph.num_edges and not RANGE.tiny <= (largest := np.abs(out).max()) <= RANGE.max:
        rule = f"give potentials between {RANGE.tiny:.0e} and {RANGE.max:.0e}"
        raise refusal("data.edge_weight", rule, f"{largest:g}", "They are inverse to the weights: scale these.")
    return out


def _pseudo_inverse(matrix: np.ndarray, degree: np.ndarray) -> np.ndarray:
    """L⁺ of a connected component, from its normalised Laplacian, which is overwritten."""
    root = np.sqrt(degree)
    matrix += np.outer(root, root / degree.sum())
    size = dlange("1", matrix.T)
    factor, failed = dpotrf(matrix.T, lower=1, overwrite_a=1)
    if failed or dpocon(factor, size, uplo="L")[0] < WORST:
        raise SpectrumError(
            f"the potentials of a component of {degree.size} nodes would be mostly rounding errors: parts of it hang "
            "together by edges of next to no weight. Drop these, or use another encoding, like 'llpe-probes'."
        )
    inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
    inverse = np.tril(inverse)
    inverse += np.tril(inverse, -1).T
    inverse /= np.outer(root, root)
    mean = inverse.mean(axis=0)
    return inverse - mean - (mean - mean.mean())[:, None]
