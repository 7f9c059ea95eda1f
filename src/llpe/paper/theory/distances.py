"""Distances from spectra: Definition 1, Theorem 3, and the same by probes. Proofs are in ``docs/theory.md``.

Definition 1: f_r(i, j)² = Σ_k r(λ_k)(u_k[i] − u_k[j])². For L = D − A, e = e_i − e_j and the sum over λ_k > 0,

    r = 1/λ         eᵀL⁺e         commute time / vol          (Lovász; vol = Σ degrees)
    r = 1/λ²        ‖L⁺e‖²        biharmonic distance²        (Lipman, Rustamov and Funkhouser)
    r = e^(−2tλ)    ‖e^(−tL)e‖²   diffusion distance²         (Coifman and Lafon)

Theorem 3: distances between rows of P = U·W approximate f_r. With n filters W ≈ diag(√r), or with one, h ≈ √r, on the
whole space:

    | ‖P_i − P_j‖ − f_r(i, j) | ≤ √2·‖W − diag(√r)‖   or   √2·max_k |h(λ_k) − √r(λ_k)|

Probes: for P = h(L)S with R Gaussian columns, R·‖P_i − P_j‖²/f_r² ~ χ²_R, and with probability 1 − δ

    | ‖P_i − P_j‖²/f_r² − 1 | ≤ 2·√(x/R) + 2x/R   for all pairs,   x = ln(n²/δ)   (Laurent and Massart).

NOTE[PAPER]: the paper has 1/λ and 1/λ² the other way round; with its normalised Laplacian the commute time needs
u[i]/√d_i. Its proof of Theorem 3 takes gains r instead of √r and counts the error of n² gains as if of n, and the
theorem is false where eigenvalues repeat.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.polynomial import chebyshev as series
from scipy.linalg import expm
from torch_geometric.data import Data

from llpe.chebyshev import basis, coefficients
from llpe.data.synthetic import sbm
from llpe.graph import Graph, tiny
from llpe.laplacian import laplacian
from llpe.paper.theory.base import Claim, Found, Panel, bound, curve, statement, worst_ratio
from llpe.probes import probe_features
from llpe.spectrum import full_spectrum

Kernel = Callable[[np.ndarray], np.ndarray]
KERNELS: dict[str, Kernel] = {
    "commute time, 1/λ": lambda v: 1 / v,
    "biharmonic, 1/λ²": lambda v: v**-2.0,
    "diffusion, e^(−4λ)": lambda v: np.exp(-4 * v),
    "high pass, e^(−4(2−λ))": lambda v: np.exp(-4 * (2 - v)),
}
NODES = 48  # of Theorem 3
MANY = (4, 8, 16, 32, 48, 64, 128, 256, 512, 1024)
ONE = (2, 4, 6, 8, 12, 16, 20, 24)
ROUNDING = 1e-7  # squared distances lose half of the digits where two nodes are near
FILTERS: dict[str, Kernel] = {
    "low pass, e^(−1.5λ)": lambda v: np.exp(-1.5 * v),
    "high pass, e^(−1.5(2−λ))": lambda v: np.exp(-1.5 * (2 - v)),
}


def squared_distances(values: np.ndarray, vectors: np.ndarray, r: Kernel, *, null: bool) -> np.ndarray:
    """f_r(i, j)² for all pairs, shape (n, n); eigenvalue 0 counts only with ``null``.

    Example:
        >>> values, vectors = np.linalg.eigh(np.array([[1.0, -1.0], [-1.0, 1.0]]))  # one edge
        >>> float(squared_distances(values, vectors, lambda v: 1 / v, null=False)[0, 1].round(12))
        1.0
    """
    kept = np.full(values.size, True) if null else values > 1e-9
    return squares(vectors[:, kept] * np.sqrt(r(values[kept])))


def squares(rows: np.ndarray) -> np.ndarray:
    """Squared Euclidean distances between all rows."""
    gram = rows @ rows.T
    diagonal = np.diag(gram)
    return np.maximum(diagonal[:, None] + diagonal[None, :] - 2 * gram, 0.0)


def commute_times(adjacency: np.ndarray) -> np.ndarray:
    """Expected steps of a random walk from i to j and back, from the linear equations of hitting times."""
    n = adjacency.shape[0]
    walk = adjacency / adjacency.sum(axis=1, keepdims=True)
    hitting = np.zeros((n, n))
    for target in range(n):
        others = np.arange(n) != target
        hitting[others, target] = np.linalg.solve(np.eye(n - 1) - walk[np.ix_(others, others)], np.ones(n - 1))
    return hitting + hitting.T


@statement(
    "Definition 1: r = 1/λ is the commute time, 1/λ² the biharmonic, e^(−2tλ) the diffusion distance",
    printed="1/λ is the commute time and 1/λ² the biharmonic distance, not the reverse; with the normalised "
    "Laplacian the commute time needs u[i]/√d_i",
)
def definition_1(seed: int) -> Found:
    graph = Graph.from_data(sbm(60, degree=10, homophily=0.3, seed=seed))
    adjacency = graph.adjacency.toarray()
    volume, commute = adjacency.sum(), commute_times(adjacency)
    plain = laplacian(graph, "comb").toarray()
    pairs = np.linalg.eigh(plain)
    inverse = np.linalg.pinv(plain, hermitian=True)
    by_inverse = volume * squared_distances(*pairs, lambda v: 1 / v, null=False)
    by_square = squared_distances(*pairs, lambda v: v**-2.0, null=False)
    heat = squared_distances(*pairs, lambda v: np.exp(-0.2 * v), null=True)
    values, vectors = np.linalg.eigh(laplacian(graph).toarray())
    scaled = vectors / np.sqrt(graph.degree)[:, None]
    walks = volume * squared_distances(values, scaled, lambda v: 1 / v, null=False)
    unscaled = _fit(squared_distances(values, vectors, lambda v: 1 / v, null=False), commute)
    printed = _fit(by_square, commute)
    upper = np.triu_indices(60, 1)
    steps = commute[upper]
    lines = (
        curve("r = 1/λ", steps, by_inverse[upper], "points"),
        curve("r = 1/λ², best scale", steps, printed[upper], "points"),
        curve("r = 1/λ, normalised L, best scale", steps, unscaled[upper], "points"),
        bound("equal", [steps.min(), steps.max()], [steps.min(), steps.max()]),
    )
    labels = ("commute time in steps, from hitting times", "vol · f_r(i, j)², steps")
    yield Claim("commute time: error of vol·f_r², r = 1/λ", _error(by_inverse, commute), "≤", 1e-9)
    yield Claim("biharmonic ‖L⁺e‖²: error of f_r², r = 1/λ²", _error(by_square, squares(inverse)), "≤", 1e-9)
    yield Claim("diffusion ‖e^(−tL)e‖²: error of f_r²", _error(heat, squares(expm(-0.1 * plain))), "≤", 1e-9)
    yield Claim("commute time: error with normalised L and √d", _error(walks, commute), "≤", 1e-9)
    yield Claim("commute time as printed, r = 1/λ², best scale", _error(printed, commute), "≥", 0.02)
    yield Claim("commute time with normalised L, no √d, best scale", _error(unscaled, commute), "≥", 0.02)
    yield Panel("60 nodes, all pairs", *labels, lines)


def _error(found: np.ndarray, truth: np.ndarray) -> float:
    """The largest error over the largest distance."""
    return float(np.abs(found - truth).max() / truth.max())


def _fit(found: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Under the best constant factor: a distance is its shape."""
    return found * ((found * truth).sum() / (found**2).sum())


def reach(values: np.ndarray, order: int) -> np.ndarray:
    """T·T⁺, shape (K, K): what filters of this order make of a wanted gain at each eigenvalue, in least squares."""
    terms = basis(torch.from_numpy(values), order).numpy()
    return terms @ np.linalg.pinv(terms, rcond=1e-14)


def one_filter(values: np.ndarray, r: Kernel, order: int) -> np.ndarray:
    """h(λ_k) of the polynomial of degree order − 1 that equals √r at the Chebyshev nodes of [λ_min, λ_max]."""
    middle, half = (values[-1] + values[0]) / 2, (values[-1] - values[0]) / 2
    nodes = middle + half * np.cos(np.pi * (np.arange(order) + 0.5) / order)
    theta = series.chebfit((nodes - middle) / half, np.sqrt(r(nodes)), order - 1)
    return series.chebval((values - middle) / half, theta)


@statement(
    "Theorem 3: distances between rows of LLPE approximate f_r, if all eigenvalues are different",
    printed="gains must be √r, not r; false where eigenvalues repeat (complete graph); n filters need order n "
    "or more, one filter on probes does not",
)
def theorem_3(seed: int) -> Found:
    values, vectors = _pairs(Graph.from_data(sbm(NODES, degree=8, homophily=0.3, seed=seed)))
    reached = {order: reach(values, order) for order in MANY}
    many: dict[str, list[float]] = {name: [] for name in KERNELS}
    one: dict[str, list[float]] = {name: [] for name in KERNELS}
    of_norm, of_rank, of_sup, on_path = [], [], [], []
    for name, r in KERNELS.items():
        root, target = np.sqrt(r(values)), np.sqrt(squared_distances(values, vectors, r, null=True))
        rounding = ROUNDING * target.max()
        for order in MANY:
            gains = reached[order] * root
            many[name].append(_error(np.sqrt(squares(vectors @ gains)), target))
            off = gains - np.diag(root)
            of_norm.append(many[name][-1] * target.max() / (np.sqrt(2) * np.linalg.norm(off, 2) + rounding))
            if order < values.size:
                least = np.sort(r(values))[: values.size - order].sum()
                of_rank.append(np.linalg.norm(off) / np.sqrt(least))
        for order in ONE:
            h = one_filter(values, r, order)
            one[name].append(_error(np.sqrt(squares(vectors * h)), target))
            of_sup.append(one[name][-1] * target.max() / (np.sqrt(2) * np.abs(h - root).max() + rounding))
        on_path.append(path_error(r))
    squared = KERNELS["biharmonic, 1/λ²"](values)
    printed = _error(np.sqrt(squares(vectors * squared)), np.sqrt(squares(vectors * np.sqrt(squared))))
    yield Claim("n filters, order 1024: error / largest distance", max(e[-1] for e in many.values()), "≤", 1e-6)
    yield Claim("n filters, order n, a path of 48 nodes: the same", max(on_path), "≤", 1e-6)
    yield Claim("n filters: error / √2·‖W − diag(√r)‖, largest", max(of_norm), "≤", 1)
    yield Claim("n filters, order < n: ‖W − diag(√r)‖_F / rank bound, smallest", min(of_rank), "≥", 1)
    yield Claim("one filter, order 24: error / largest distance", max(e[-1] for e in one.values()), "≤", 1e-6)
    yield Claim("one filter: error / √2·max|h − √r|, largest", max(of_sup), "≤", 1)
    yield Claim("gains r as printed, not √r: error, biharmonic", printed, "≥", 0.1)
    yield Claim("complete graph: smallest error of any LLPE", line_error(), "≥", 1 / 3)
    yield _errors("n filters, U·W", MANY, many, mark=True)
    yield _errors("one filter, h(L)", ONE, one, mark=False)


def _pairs(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """The nontrivial eigenpairs; λ = 0 has no 1/λ."""
    values, vectors = np.linalg.eigh(laplacian(graph).toarray())
    return values[1:], vectors[:, 1:]


def path_error(r: Kernel) -> float:
    """The largest error on a path, by as many filters as there are nontrivial eigenvalues and of that order."""
    steps = torch.arange(NODES - 1)
    edges = torch.stack([torch.cat([steps, steps + 1]), torch.cat([steps + 1, steps])])
    values, vectors = _pairs(Graph.from_data(Data(edge_index=edges, num_nodes=NODES)))
    found = np.sqrt(squares(vectors @ (reach(values, values.size) * np.sqrt(r(values)))))
    return _error(found, np.sqrt(squared_distances(values, vectors, r, null=True)))


def line_error() -> float:
    """How far any LLPE of a complete graph is from giving all pairs one distance, relatively.

    P_i − P_j = (s_i − s_j)·b with s the sum of the nontrivial eigenvectors, as √d is constant: points on a line.
    The best scale leaves (max − min)/(max + min) of the gaps, at least 1/3 for three points or more.
    """
    s = full_spectrum(tiny("complete"), cache=False).vectors[:, 1:].sum(dim=1).numpy()
    gaps = np.abs(s[:, None] - s[None, :])[np.triu_indices(s.size, 1)]
    return float((gaps.max() - gaps.min()) / (gaps.max() + gaps.min()))


def _errors(title: str, orders: Sequence[int], errors: dict[str, list[float]], *, mark: bool) -> Panel:
    lines = [curve(name, orders, np.maximum(each, 1e-16)) for name, each in errors.items()]
    labels = (f"{title}: {NODES} nodes", "order M", "largest error / largest distance")
    return Panel(*labels, lines, "log" if mark else "linear", "log", [("n", float(NODES))] if mark else [])


def pair_bound(num_nodes: int, probes: int, delta: float = 0.05) -> float:
    """2·√(x/R) + 2x/R with x = ln(n²/δ)."""
    x = float(np.log(num_nodes**2 / delta))
    return 2 * np.sqrt(x / probes) + 2 * x / probes


@statement(
    "Probes: ‖P_i − P_j‖² = f_r²·(1 ± √(2/R)), all pairs within 2√(x/R) + 2x/R",
)
def probes(seed: int, *, counts: Sequence[int] = (4, 16, 64, 256), draws: int = 6) -> Found:
    nodes, order = 100, 24
    graph = Graph.from_data(sbm(nodes, degree=8, homophily=0.2, seed=seed))
    values, vectors = np.linalg.eigh(laplacian(graph).toarray())
    upper = np.triu_indices(nodes, 1)
    spread: dict[str, list[float]] = {name: [] for name in FILTERS}
    worst: dict[str, list[float]] = {name: [] for name in FILTERS}
    means = []
    for number in counts:
        drawn = [probe_features(graph, order=order, probes=number, seed=seed + s)[0].double() for s in range(draws)]
        for name, h in FILTERS.items():
            theta = coefficients(h, order)
            truth = squares(vectors * h(values))[upper]  # Definition 1 with r = h²
            ratio = np.stack([squares((features @ theta).numpy())[upper] / truth for features in drawn])
            spread[name].append(float(np.sqrt(((ratio - 1) ** 2).mean())))
            worst[name].append(float(np.abs(ratio - 1).max()))
            means.append(abs(ratio.mean() - 1) * np.sqrt(number))
    expected = np.sqrt(2 / np.array(counts))
    relative = np.array(list(spread.values())) / expected
    limits = np.array([pair_bound(nodes, number) for number in counts])
    slope = np.polyfit(np.log(counts), np.log(np.mean(list(spread.values()), axis=0)), 1)[0]
    lines = (
        *(curve(f"{name}, r.m.s.", counts, each) for name, each in spread.items()),
        *(curve(f"{name}, worst pair", counts, each) for name, each in worst.items()),
        bound("√(2/R)", counts, expected),
        bound("2√(x/R) + 2x/R, δ = 0.05", counts, limits),
    )
    labels = (f"{nodes} nodes, order {order}, {draws} draws", "probes R", "relative error of ‖P_i − P_j‖²")
    yield Claim("worst pair's relative error / bound", worst_ratio(np.array(list(worst.values())), limits), "≤", 1)
    yield Claim("root mean square relative error / √(2/R), largest", relative.max(), "≤", 1.25)
    yield Claim("the same, smallest", relative.min(), "≥", 0.8)
    yield Claim("|slope of the error against R + ½|, logarithmic", abs(slope + 0.5), "≤", 0.06)
    yield Claim("bias: |mean ratio − 1|·√R, largest", max(means), "≤", 0.5)
    yield Panel(*labels, lines, "log", "log")
