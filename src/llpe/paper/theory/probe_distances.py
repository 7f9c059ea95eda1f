"""Theorem 3 by probes: one filter, R random vectors, no eigenvector.

Let S ∈ R^(n×R) have independent Gaussian entries of variance 1/R and P = h(L)S. With e = e_i − e_j, the row difference
eᵀh(L)S is Gaussian with R independent entries of variance eᵀh(L)²e/R = f_r(i, j)²/R for r = h², so

    R·‖P_i − P_j‖² / f_r(i, j)² ~ χ²_R:   mean 1, relative standard deviation √(2/R),

and, by the tail of χ² (Laurent and Massart) over all n(n−1)/2 pairs, with probability 1 − δ

    | ‖P_i − P_j‖²/f_r² − 1 | ≤ 2·√(x/R) + 2x/R   for all pairs,   x = ln(n²/δ).

This is Johnson and Lindenstrauss: R = O(ln n/ε²) probes do what n filters do. It needs no different eigenvalues. The
filter is a Chebyshev series, whose own error adds √2·max|h − √r| as in :mod:`llpe.paper.theory.approximation`.
"""

from __future__ import annotations

import numpy as np

from llpe.chebyshev import coefficients
from llpe.data.synthetic import sbm
from llpe.graph import Graph
from llpe.laplacian import laplacian
from llpe.paper.theory.base import Check, Claim, Panel, bound, curve, worst_ratio
from llpe.paper.theory.distances import squares
from llpe.probes import probe_features

NODES = 100
PROBES = (4, 16, 64, 256)
SEEDS = 6
TIME = 1.5
ORDER = 24
DELTA = 0.05
FILTERS = {
    "low pass, e^(−1.5λ)": lambda v: np.exp(-TIME * v),
    "high pass, e^(−1.5(2−λ))": lambda v: np.exp(-TIME * (2 - v)),
}


def pair_bound(num_nodes: int, probes: int, delta: float = DELTA) -> float:
    """2·√(x/R) + 2x/R with x = ln(n²/δ)."""
    x = float(np.log(num_nodes**2 / delta))
    return 2 * np.sqrt(x / probes) + 2 * x / probes


def check_probes(seed: int = 0) -> Check:
    graph = Graph.from_data(sbm(NODES, degree=8, homophily=0.2, seed=seed))
    values, vectors = np.linalg.eigh(laplacian(graph).toarray())
    pairs = np.triu_indices(NODES, 1)
    spread: dict[str, list[float]] = {name: [] for name in FILTERS}
    worst: dict[str, list[float]] = {name: [] for name in FILTERS}
    means = []
    for probes in PROBES:
        drawn = [probe_features(graph, order=ORDER, probes=probes, seed=seed + s)[0].double() for s in range(SEEDS)]
        for name, h in FILTERS.items():
            theta = coefficients(h, ORDER)
            truth = squares(vectors * h(values))[pairs]  # Definition 1 with r = h²
            ratio = np.stack([squares((features @ theta).numpy())[pairs] / truth for features in drawn])
            spread[name].append(float(np.sqrt(((ratio - 1) ** 2).mean())))
            worst[name].append(float(np.abs(ratio - 1).max()))
            means.append(abs(ratio.mean() - 1) * np.sqrt(probes))
    expected = np.sqrt(2 / np.array(PROBES))
    relative = np.array([np.array(each) / expected for each in spread.values()])
    limits = np.array([pair_bound(NODES, probes) for probes in PROBES])
    slope = np.polyfit(np.log(PROBES), np.log(np.mean(list(spread.values()), axis=0)), 1)[0]
    return Check(
        "probes",
        "Probes: ‖P_i − P_j‖² = f_r²·(1 ± √(2/R)), all pairs within 2√(x/R) + 2x/R",
        (
            Claim("worst pair's relative error / bound", worst_ratio(np.array(list(worst.values())), limits), "≤", 1),
            Claim("root mean square relative error / √(2/R), largest", relative.max(), "≤", 1.25),
            Claim("the same, smallest", relative.min(), "≥", 0.8),
            Claim("|slope of the error against R + ½|, logarithmic", abs(slope + 0.5), "≤", 0.06),
            Claim("bias: |mean ratio − 1|·√R, largest", max(means), "≤", 0.5),
        ),
        panels=(
            Panel(
                f"{NODES} nodes, order {ORDER}, {SEEDS} draws",
                "probes R",
                "relative error of ‖P_i − P_j‖²",
                (
                    *(curve(f"{name}, r.m.s.", PROBES, each) for name, each in spread.items()),
                    *(curve(f"{name}, worst pair", PROBES, each) for name, each in worst.items()),
                    bound("√(2/R)", PROBES, expected),
                    bound("2√(x/R) + 2x/R, δ = 0.05", PROBES, limits),
                ),
                "log",
                "log",
            ),
        ),
    )
