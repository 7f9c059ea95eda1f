"""The block model of Theorems 1 and 2: its mean Laplacian in closed form, samples, and how well they show the blocks.

G(n, k, p, q) has k blocks of n/k nodes; a pair inside a block is an edge with probability p, a pair across with q.
With Ā = E[A] and d the mean degree, the Laplacian of the mean is

    ℒ = I − Ā/d,   Ā = p inside blocks, q across, 0 on the diagonal,   d = (n/k − 1)p + (n − n/k)q.

ℒ commutes with every permutation that respects the blocks, so its eigenspaces are the constants, the block-constant
vectors of mean zero, and all that sums to zero in each block:

    0 (once),   μ = 1 − ((p − q)n/k − p)/d (k − 1 times),   1 + p/d (n − k times).

NOTE[PAPER]: the paper fills the diagonal of Ā with p, as if nodes had loops; then d = pn/k + q(n − n/k), the last
eigenvalue is 1 and μ = kq/(p + (k−1)q). The two differ by O(1/n). It calls this matrix E[L]; L is not linear in A, and
the true mean of L has no eigenvalue 0 unless degrees are constant. It also prints D^(1/2)AD^(1/2) for
D^(−1/2)AD^(−1/2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd
from scipy.cluster.vq import kmeans2
from scipy.optimize import linear_sum_assignment
from scipy.sparse.linalg import eigsh

from llpe.data.synthetic import sbm
from llpe.graph import Graph
from llpe.laplacian import laplacian
from llpe.spectrum import end_spectrum

SIZES, GRAPHS = (240, 480, 960, 1920), 3  # nodes, and graphs of each size, of the statements on sampled graphs


@dataclass(frozen=True)
class BlockModel:
    """G(n, k, p, q), given by mean degree and homophily (the share of neighbours in the own block).

    Example:
        >>> model = BlockModel(100, 2, degree=10, homophily=0.1)
        >>> round(model.q / model.p, 3)
        8.82
    """

    n: int
    k: int
    degree: float
    homophily: float

    @property
    def p(self) -> float:
        return self.homophily * self.degree / (self.n / self.k - 1)

    @property
    def q(self) -> float:
        return (1 - self.homophily) * self.degree / (self.n - self.n / self.k)

    def draw(self, seed: int) -> tuple[Graph, np.ndarray]:
        """A graph, and the block of each node."""
        data = sbm(self.n, blocks=self.k, degree=self.degree, homophily=self.homophily, seed=seed)
        return Graph.from_data(data), data.y.numpy()


def models(k: int, homophily: float, sizes: Sequence[int], constant: float = 10.0) -> list[BlockModel]:
    """One model for each size, of mean degree ``constant``·ln n."""
    return [BlockModel(n, k, constant * float(np.log(n)), homophily) for n in sizes]


def values_with_loops(model: BlockModel) -> np.ndarray:
    """The paper's eigenvalues, ascending: 0, 1 (n − k times), kq/(p + (k−1)q) (k − 1 times)."""
    n, k, p, q = model.n, model.k, model.p, model.q
    return np.sort(np.r_[0.0, np.ones(n - k), np.full(k - 1, k * q / (p + (k - 1) * q))])


def values_without_loops(model: BlockModel) -> np.ndarray:
    """Those of a simple graph, ascending: 0, 1 + p/d (n − k times), μ (k − 1 times)."""
    n, k, p, d = model.n, model.k, model.p, model.degree
    return np.sort(np.r_[0.0, np.full(n - k, 1 + p / d), np.full(k - 1, informative_value(model))])


def informative_value(model: BlockModel) -> float:
    """μ = 1 − ((p − q)n/k − p)/d, the eigenvalue whose vectors are the blocks."""
    return 1 - ((model.p - model.q) * model.n / model.k - model.p) / model.degree


def gap(model: BlockModel) -> float:
    """How far μ is from the nearest other eigenvalue of ℒ.

    NOTE[PAPER]: the paper takes |μ − 1|. Below 1 the other neighbour is the trivial eigenvalue 0, and p ≫ q brings μ
    near to it: the gap is min(μ, 1 − μ). At q = 0 it is zero, and the first nontrivial vectors are not determined.
    """
    mu, bulk = informative_value(model), 1 + model.p / model.degree
    return min(abs(mu - bulk), mu)


def mean_laplacian(model: BlockModel, *, loops: bool) -> np.ndarray:
    """ℒ as a dense matrix, from its definition."""
    block = np.arange(model.n) * model.k // model.n
    mean = np.where(block[:, None] == block[None, :], model.p, model.q)
    if not loops:
        np.fill_diagonal(mean, 0.0)
    scale = mean.sum(axis=1) ** -0.5
    return np.eye(model.n) - scale[:, None] * mean * scale[None, :]


def block_vectors(model: BlockModel) -> np.ndarray:
    """An orthonormal basis V of the block-constant vectors of mean zero, shape (n, k − 1).

    Rows of different blocks are √(2k/n) apart.
    NOTE[PAPER]: the columns printed in the paper (−1 on the first block, 1 on another) are not orthogonal for k > 2 nor
    of length 1, as the sin Θ theorem needs them.
    """
    corners = np.eye(model.k) - 1 / model.k
    basis = np.linalg.svd(corners)[0][:, : model.k - 1]
    return np.repeat(basis, model.n // model.k, axis=0) * np.sqrt(model.k / model.n)


@lru_cache(maxsize=128)
def deviation(model: BlockModel, seed: int) -> float:
    """‖L − ℒ‖ of one graph by Lanczos, from below and to four digits."""
    difference = laplacian(model.draw(seed)[0]).toarray() - mean_laplacian(model, loops=False)
    start = np.random.default_rng(seed).standard_normal(model.n)
    return float(abs(eigsh(difference, k=1, which="LM", tol=1e-4, v0=start, return_eigenvectors=False)[0]))


@dataclass(frozen=True)
class Recovery:
    """How well the eigenvectors of one graph show the blocks.

    Ṽ are the k − 1 eigenvectors at the end that theory names, U the k at the other end, V the block vectors.
    """

    right: int  # nodes misclassified by Ṽ: signs for two blocks, k-means for more
    wrong: int  # nodes misclassified by U: one vector for two blocks, k for more
    nearest: int  # nodes misclassified by Ṽ, each node to the nearest centre of V
    sine: float  # ‖sin Θ‖_F between Ṽ and V
    rho: float  # min_Q ‖V − ṼQ‖_F
    limit: float  # 2·√(k−1)·‖L − ℒ‖/gap, what the sin Θ theorem allows for ``sine``
    leak: float  # ‖VᵀU‖_F²; at most ‖sin Θ‖_F², as eigenvectors are orthogonal


@lru_cache(maxsize=128)
def recover(model: BlockModel, seed: int) -> Recovery:
    """Draws a graph and solves for the ends of its spectrum; remembered, as several statements use it."""
    graph, labels = model.draw(seed)
    ends = end_spectrum(graph, first=model.k + 1, last=model.k, cache=False).vectors.numpy()
    named, other = named_and_other(model, ends)
    truth = block_vectors(model)
    centres = truth[:: model.n // model.k]
    nearest = ((align(named, truth)[:, None] - centres[None]) ** 2).sum(axis=2).argmin(axis=1)
    cos = cosines(named, truth)
    return Recovery(
        right=misclassified(_groups(named, model.k), labels),
        wrong=misclassified(_groups(other, model.k), labels),
        nearest=int((nearest != labels).sum()),
        sine=float(np.sqrt((1 - cos**2).sum())),
        rho=float(np.sqrt(2 * (1 - cos).sum())),
        limit=sine_bound(model.k - 1, deviation(model, seed), gap(model)),
        leak=float(((truth.T @ other) ** 2).sum()),
    )


def named_and_other(model: BlockModel, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of the first k + 1 and last k eigenvectors the k − 1 that hold the blocks, and the k at the other end."""
    first, last = ends[:, 1 : model.k + 1], ends[:, : -model.k - 1 : -1]
    named, other = (first, last) if informative_value(model) < 1 else (last, first)
    return named[:, : model.k - 1], other


def _groups(vectors: np.ndarray, k: int) -> np.ndarray:
    return (vectors[:, 0] > 0).astype(np.int64) if k == 2 else cluster(vectors, k)


def sine_bound(dim: int, distance: float, gap: float) -> float:
    """The sin Θ theorem: 2·√dim·‖X − X̃‖/gap; see :mod:`llpe.paper.theory.spectra`."""
    return 2 * float(np.sqrt(dim)) * distance / gap


def cosines(found: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """cos θ of the canonical angles between two subspaces, given by orthonormal columns."""
    return np.minimum(np.linalg.svd(truth.T @ found, compute_uv=False), 1.0)


def align(found: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """``found``·Q with the orthogonal Q that brings it nearest to ``truth``."""
    left, _, right = np.linalg.svd(found.T @ truth)
    return found @ (left @ right)


def misclassified(groups: np.ndarray, labels: np.ndarray) -> int:
    """Nodes outside their block, under the best naming of the groups.

    Example:
        >>> misclassified(np.array([1, 1, 0, 0]), np.array([0, 0, 0, 1]))
        1
    """
    counts = pd.crosstab(groups, labels).to_numpy()
    return int(labels.size - counts[linear_sum_assignment(-counts)].sum())


def cluster(rows: np.ndarray, k: int, *, seed: int = 0, restarts: int = 8) -> np.ndarray:
    """k-means of the rows from centres drawn far apart (k-means++), the best of some restarts."""
    rng = np.random.default_rng(seed)
    found = [kmeans2(rows, k, iter=50, minit="++", seed=rng) for _ in range(restarts)]
    return min(found, key=lambda each: float(((rows - each[0][each[1]]) ** 2).sum()))[1]
