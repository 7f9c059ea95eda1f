"""The reference formulation, written from the paper's formulas: what the library is measured against.

Dense eigendecomposition; then, in every step, min-max scaling of all n×n eigenvectors, U·(TΘ), and the penalty.
"""

import numpy as np
import scipy.linalg
import torch
from torch import Tensor

from llpe import Graph
from llpe.laplacian import laplacian


def eigendecomposition(graph: Graph) -> tuple[Tensor, Tensor]:
    values, vectors = scipy.linalg.eigh(laplacian(graph).toarray())
    return torch.from_numpy(values), torch.from_numpy(vectors)


def random_orthogonal(n: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Stands in for an eigendecomposition where only the cost of a step is measured: float32 columns of noise."""
    rng = np.random.default_rng(seed)
    values = np.sort(rng.uniform(0, 2, n)).astype(np.float32)
    return torch.from_numpy(values), torch.from_numpy(rng.standard_normal((n, n), dtype=np.float32))


def step(values: Tensor, vectors: Tensor, theta: Tensor, penalty: float) -> Tensor:
    """P and the penalty of one training step."""
    low, high = vectors.min(dim=0).values, vectors.max(dim=0).values
    scaled = 2 * (vectors - low) / (high - low) - 1
    normal = 2 * (values - values.min()) / (values.max() - values.min()) - 1
    terms = torch.cos(torch.arange(theta.size(0)) * torch.arccos(normal.clamp(-1, 1))[:, None])
    gains = terms @ theta
    return (scaled @ gains).sum() + penalty * gains.abs().sum() + penalty * torch.linalg.norm(gains)
