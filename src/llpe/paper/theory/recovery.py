"""What Theorems 1 and 2 measure: how many nodes the eigenvectors at each end put into a wrong block.

From a subspace to a count. Let V be the block vectors (orthonormal), Ṽ the eigenvectors found, Q the best rotation and
ρ = ‖V − ṼQ‖_F. Rows of V of different blocks are √(2k/n) apart, so a node that is nearer to a wrong centre has moved
by at least half of that, and each such node takes k/(2n) of ρ²:

    misclassified ≤ (2n/k)·ρ² ≤ (4n/k)·‖sin Θ‖_F² ≤ 16·n·(1 − 1/k)·(‖L − ℒ‖/gap)².

NOTE[PAPER]: the paper bounds ρ by O(k^(3/2)) and reads it as a number of nodes. ρ never exceeds √(2(k−1)), and the
chain above bounds a *share* of the nodes: with degrees C·ln n it falls with C and not with n. That the number itself
is small for large C is true, but needs bounds for each entry of an eigenvector (Abbe, Fan, Wang and Zhong, 2020), not
only of their sum. For small C it is false, though nothing in the printed proof would notice: see ``theorem-2``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llpe.paper.theory import blocks
from llpe.paper.theory.base import Claim, Panel, bound, curve, worst_ratio
from llpe.paper.theory.blocks import BlockModel, Sample

SIZES = (240, 480, 960, 1920)
SEEDS = 3
CONSTANT = 10.0  # C of the mean degree C·ln n


@dataclass(frozen=True)
class Angles:
    """How far the eigenvectors at the end that theory names are from the block vectors V.

    Attributes:
        sine: ‖sin Θ‖_F.
        rho: ‖V − ṼQ‖_F.
        limit: 2·√(k−1)·‖L − ℒ‖/gap, what the sin Θ theorem allows for ``sine``.
        leak: ‖VᵀU‖_F² for the k vectors U at the other end; at most ‖sin Θ‖_F², as eigenvectors are orthogonal.
    """

    sine: float
    rho: float
    limit: float
    leak: float


@dataclass(frozen=True)
class Counts:
    """Misclassified nodes.

    Attributes:
        right: by the end that theory names (signs for two blocks, k-means for more).
        wrong: by the other end: one vector for two blocks, k for more.
        nearest: by the named end, each node to the nearest centre of the truth.
    """

    right: int
    wrong: int
    nearest: int


def sine_bound(dim: int, deviation: float, gap: float) -> float:
    """The sin Θ theorem: 2·√dim·‖X − X̃‖/gap; see :mod:`llpe.paper.theory.davis_kahan`."""
    return 2 * float(np.sqrt(dim)) * deviation / gap


def models(k: int, homophily: float, constant: float = CONSTANT) -> list[BlockModel]:
    """One model for each size, of mean degree ``constant``·ln n."""
    return [BlockModel(n, k, constant * float(np.log(n)), homophily) for n in SIZES]


def ends(model: BlockModel, drawn: Sample) -> tuple[np.ndarray, np.ndarray]:
    """The k − 1 eigenvectors that hold the blocks, and the k at the other end, outermost first."""
    last = drawn.last[:, ::-1]
    named, other = (drawn.first, last) if blocks.informative_value(model) < 1 else (last, drawn.first)
    return named[:, : model.k - 1], other


def angles(model: BlockModel, seed: int) -> Angles:
    drawn = blocks.sample(model, seed)
    named, other = ends(model, drawn)
    truth = blocks.block_vectors(model)
    cosines = blocks.cosines(named, truth)
    return Angles(
        sine=float(np.sqrt((1 - cosines**2).sum())),
        rho=float(np.sqrt(2 * (1 - cosines).sum())),
        limit=sine_bound(model.k - 1, drawn.deviation, blocks.gap(model)),
        leak=float(((truth.T @ other) ** 2).sum()),
    )


def counts(model: BlockModel, seed: int) -> Counts:
    drawn = blocks.sample(model, seed)
    named, other = ends(model, drawn)
    truth = blocks.block_vectors(model)
    centres = truth[:: model.n // model.k]
    nearest = ((blocks.align(named, truth)[:, None] - centres[None]) ** 2).sum(axis=2).argmin(axis=1)
    right, wrong = (blocks.misclassified(_groups(each, model.k), drawn.labels) for each in (named, other))
    return Counts(right, wrong, int((nearest != drawn.labels).sum()))


def _groups(vectors: np.ndarray, k: int) -> np.ndarray:
    return (vectors[:, 0] > 0).astype(np.int64) if k == 2 else blocks.cluster(vectors, k)


def compare(k: int, homophily: float, seed: int) -> tuple[tuple[Claim, ...], Panel]:
    """The claims about one end of homophily, and their figure: the worst of ``SEEDS`` graphs of each size."""
    low = homophily > 0.5
    right, wrong = ("first", "last") if low else ("last", "first")
    if k == 2:
        right, wrong = f"{right} eigenvector", f"{wrong} eigenvector"
    else:
        right, wrong = f"{right} {k - 1}", f"{wrong} {k}"
    found = [[(counts(m, seed + s), angles(m, seed + s)) for s in range(SEEDS)] for m in models(k, homophily)]
    nodes = np.array(SIZES, dtype=np.float64)
    number = {
        name: np.array([[getattr(c, name) for c, _ in row] for row in found]) for name in ("right", "wrong", "nearest")
    }
    angle = {
        name: np.array([[getattr(a, name) for _, a in row] for row in found])
        for name in ("sine", "rho", "limit", "leak")
    }
    by_rho = 2 * nodes[:, None] / k * angle["rho"] ** 2
    by_norm = 4 * nodes[:, None] / k * angle["limit"] ** 2
    lost = number["wrong"] / nodes[:, None]
    claims = (
        Claim(f"misclassified by the {right}, worst graph", number["right"].max(), "≤", k**1.5),
        Claim("nearest centre: misclassified / (2n/k)ρ²", worst_ratio(number["nearest"], by_rho), "≤", 1),
        Claim("(2n/k)ρ² / 16n(1−1/k)(‖L−ℒ‖/gap)²", worst_ratio(by_rho, by_norm), "≤", 1),
        Claim(f"share misclassified by the {wrong}, best graph", lost.min(), "≥", 0.75 * (1 - 1 / k)),
        Claim(
            f"block energy in {k} of the other end / ‖sin Θ‖²",
            worst_ratio(angle["leak"], angle["sine"] ** 2),
            "≤",
            1 + 1e-6,
        ),
    )
    lines = (
        curve(f"{right}, worst graph", nodes, number["right"].max(axis=1)),
        curve(f"{wrong}, best graph", nodes, number["wrong"].min(axis=1)),
        bound("(2n/k)·ρ², ρ measured", nodes, by_rho.max(axis=1)),
        bound("Davis–Kahan, ‖L − ℒ‖ measured", nodes, by_norm.max(axis=1)),
        bound("k^(3/2)", nodes, np.full(nodes.size, k**1.5)),
        bound("guessing", nodes, (1 - 1 / k) * nodes),
    )
    title = f"{'p ≫ q' if low else 'q ≫ p'}, k = {k}, degree {CONSTANT:.0f}·ln n"
    return claims, Panel(title, "nodes", "misclassified nodes", lines, "log", "symlog")
