"""The reference formulation, written from the paper's formulas: what the library is measured against.

Dense eigendecomposition; then, in every step, min-max scaling of all n×n eigenvectors, P = U·(TΘ), and the penalty
l1·‖TΘ‖₁ + l2·‖TΘ‖_F. A test holds it to ``LLPE(scaling="minmax")``: the same P, penalty and gradients.
"""

import scipy.linalg
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from llpe import Graph
from llpe.laplacian import laplacian


def eigendecomposition(graph: Graph) -> tuple[Tensor, Tensor]:
    """All eigenvalues and eigenvectors of the symmetric normalised Laplacian, by LAPACK."""
    values, vectors = scipy.linalg.eigh(laplacian(graph).toarray())
    return torch.from_numpy(values), torch.from_numpy(vectors)


def noise(n: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """In place of an eigendecomposition, where only the cost of a step is measured: it is the same."""
    generator = torch.Generator().manual_seed(seed)
    return 2 * torch.rand(n, generator=generator).sort().values, torch.randn(n, n, generator=generator)


class Reference(nn.Module):
    """LLPE as one would write it first; a classifier takes it like an encoding of the library.

    Args:
        values, vectors: the eigendecomposition, in the dtype to compute in.
        dim, order: width of the output and number of Chebyshev terms.
        l1, l2: coefficients of the penalty.
    """

    def __init__(
        self, values: Tensor, vectors: Tensor, *, dim: int, order: int, l1: float = 1e-3, l2: float = 1e-3
    ) -> None:
        super().__init__()
        self.dim, self.order, self.l1, self.l2 = dim, order, l1, l2
        self.vectors = vectors
        angle = torch.arccos((values - 1).clamp(-1, 1))
        self.terms = torch.cos(torch.arange(order) * angle[:, None])
        self.theta = nn.Parameter(torch.empty(order, dim, dtype=vectors.dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        with torch.no_grad():
            self.theta.uniform_(-(self.order**-0.5), self.order**-0.5)

    def forward(self, data: Data) -> Tensor:
        low, high = self.vectors.min(dim=0).values, self.vectors.max(dim=0).values
        scaled = 2 * (self.vectors - low) / (high - low) - 1
        return scaled @ (self.terms @ self.theta)

    def penalty(self, data: Data) -> Tensor:
        gains = self.terms @ self.theta
        return self.l1 * gains.abs().sum() + self.l2 * torch.linalg.norm(gains)
