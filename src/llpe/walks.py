"""Return probabilities of random walks, exactly, without forming a power of the transition matrix.

With P = D⁻¹A, X_a = P^a E and Y_b = (Pᵀ)^b E for a block E of unit vectors,

    (P^(a+b))_ii = ⟨Y_b e_i, X_a e_i⟩,

so m steps cost m/2 products with a thin block instead of m products of filling-in n×n matrices. On an undirected
graph Y_b = D X_b D⁻¹, which needs no product at all (and is not used where degrees are too far apart for float32).
On a small graph E is the whole identity, and the powers of P double with each product.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from llpe.graph import SMALL
from llpe.spmm import multiply, torch_csr
from llpe.storage import require_memory

BLOCK_ENTRIES = 2**20  # of a dense block: 4 MB in float32, which stay in the cache
FEWEST, MOST = 32, 64  # columns of a block: fewer waste what a row fetches, more gain nothing
DEGREE_RANGE = 1e12  # largest over smallest degree for which D X D⁻¹ is safe in float32


def return_probabilities(adjacency: np.ndarray | sp.csr_array, steps: int) -> Tensor:
    """diag(P^m) for m = 1 … steps, shape (num_nodes, steps), float32. A node without edges never returns: 0.

    Args:
        adjacency: non-negative weights; may be directed and may have self-loops.
        steps: length of the longest walk.

    Example:
        >>> triangle = sp.csr_array(np.ones((3, 3)) - np.eye(3))
        >>> return_probabilities(triangle, 3)[0].tolist()
        [0.0, 0.5, 0.25]
    """
    n = adjacency.shape[0]
    require_memory(4 * steps * n * (n if n <= SMALL else 1), f"{steps} steps", "Ask for fewer.")
    if n <= SMALL:
        return _dense(adjacency if isinstance(adjacency, np.ndarray) else adjacency.toarray(), steps)
    adjacency = sp.csr_array(adjacency)
    degree = np.asarray(adjacency.sum(axis=1)).reshape(-1)
    inverse = np.zeros(n)
    np.divide(1.0, degree, out=inverse, where=degree > 0)
    transition = sp.csr_array(sp.diags_array(inverse) @ adjacency)
    forward = torch_csr(transition)
    largest, smallest = degree.max(), degree.min(where=degree > 0, initial=np.inf)
    shortcut = largest < DEGREE_RANGE * smallest and (adjacency != adjacency.T).nnz == 0
    backward = None if shortcut else torch_csr(sp.csr_array(transition.T))
    exponent = np.frexp(largest)[1]  # degrees in units of a power of two: exact, and in the range of float32
    weight = torch.from_numpy(np.ldexp(degree, -exponent)).float()[:, None]
    unweight = torch.from_numpy(np.ldexp(inverse, exponent)).float()

    out = torch.zeros(n, steps)
    block = min(n, MOST, max(FEWEST, BLOCK_ENTRIES // n))
    for begin in range(0, n, block):
        nodes = torch.arange(begin, min(begin + block, n))
        x = torch.zeros(n, nodes.numel())
        x[nodes, torch.arange(nodes.numel())] = 1.0
        y = x
        for m in range(1, steps + 1):
            if m % 2:  # X grows at odd m, Y catches up at even m
                x = multiply(forward, x)
            elif backward is not None:
                y = multiply(backward, y)
            else:
                y = weight * x * unweight[nodes]
            out[nodes, m - 1] = (x * y).sum(dim=0)
    return out


def _dense(adjacency: np.ndarray, steps: int) -> Tensor:
    """The same from the powers P, P², …, P^h of half the steps."""
    degree = adjacency.sum(axis=1)
    degree[degree == 0] = 1.0
    half = (steps + 1) // 2
    powers = (adjacency / degree[:, None])[None]
    while len(powers) < half:
        powers = np.concatenate([powers, powers[: half - len(powers)] @ powers[-1]])
    out = np.empty((2 * half, len(degree)))
    out[:half] = powers.diagonal(axis1=1, axis2=2)
    out[half:] = np.einsum("ik,jki->ji", powers[-1], powers)
    return torch.from_numpy(out[:steps].T.astype(np.float32, order="C"))
