"""ElasticPE (Liu et al. 2023, as used in the paper): electrostatic potentials with a learned projection.

    P = E·Wᵀ + b,   E_ij = L⁺_ij − L⁺_jj,   L = D − A

L⁺ is found per connected component of m nodes as (L + J/m)⁻¹ − J/m with J the all-ones matrix: L + J/m is positive
definite, and no eigenvalue has to be called zero by a threshold. Between components L⁺ is zero.
"""

from __future__ import annotations

from typing import Any, final

import numpy as np
import scipy.linalg
import torch
from torch import Tensor

from llpe.cache import Cache
from llpe.encodings.linear import LinearEncoding, square_columns
from llpe.graph import Graph
from llpe.laplacian import laplacian
from llpe.storage import require_memory


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
    needs = "the pseudo-inverse of D − A"
    keeps = "n × n"
    cost = "O(n³), by Cholesky"
    reference = "Liu et al., 2023, as in Ito et al., 2025"

    def __init__(self, dim: int, *, width: int | None = None, seed: int = 0) -> None:
        super().__init__(dim, width, seed)
        self.width = width

    def fixed_arguments(self) -> dict[str, Any]:
        return {"width": self.width}

    def compute(self, graph: Graph, cache: bool | Cache) -> dict[str, Tensor]:
        return {"potentials": square_columns(torch.from_numpy(potentials(graph)), self.width)}


def potentials(graph: Graph) -> np.ndarray:
    """E_ij = L⁺_ij − L⁺_jj, shape (num_nodes, num_nodes), float64."""
    n = graph.num_nodes
    require_memory(24 * n**2, f"the potentials of {n} nodes", "Use an encoding without an n×n matrix: 'llpe-probes'.")
    matrix = laplacian(graph, "comb")
    out = np.zeros((n, n))
    for nodes in graph.component_nodes:
        if nodes.size > 1:
            out[np.ix_(nodes, nodes)] = _pseudo_inverse(matrix[nodes][:, nodes].toarray())
    return out - np.diag(out)


def _pseudo_inverse(matrix: np.ndarray) -> np.ndarray:
    mean = 1.0 / matrix.shape[0]
    factor, _ = scipy.linalg.lapack.dpotrf(matrix + mean, lower=True, overwrite_a=True)
    inverse, _ = scipy.linalg.lapack.dpotri(factor, lower=True, overwrite_c=True)
    inverse = np.tril(inverse)
    return inverse + np.tril(inverse, -1).T - mean
