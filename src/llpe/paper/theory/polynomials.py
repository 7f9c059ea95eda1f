"""Chebyshev polynomials: the smallest monic ones, series that are nearly best, and how much filters can fit.

Minimal norm (Rivlin): ‖p‖_∞ ≥ 2^(1−m) on [−1, 1] for monic p of degree m, and 2^(1−m)·T_m attains it. Why: the
alternating mean over the m + 1 extrema of T_m, see :func:`alternating_mean`, is the coefficient of T_m, 2^(1−m), and at
most ‖p‖_∞.

Near best: E_M is the smallest sup error of a polynomial of degree M, S_M that of the series cut after T_M.

    E_M ≤ S_M < (4 + (4/π²)·ln M)·E_M                         (Rivlin),
    S_M = O(M^(−d)) if f has d + 1 continuous derivatives     (Mason and Handscomb).

For f(λ) = 1/(λ + ε) both are closed, with a = 1 + ε, z = a − √(a² − 1): S_M = 2·z^(M+1)/((1 − z)·√(a² − 1)), the tail
at λ = 0, where all terms agree, and E_M = z^M/(a² − 1) (Chebyshev). From below, E_M is certified by the alternating
mean over the extrema of T_(M+1), which vanishes on degree M.

Theorem 4: filters Σ_m θ_m φ_m with ‖θ‖₂ ≤ C have the empirical Rademacher complexity R = (C/n)·E_σ ‖Xᵀσ‖₂ with
X[i, m] = φ_m(λ_i), and ‖X‖_F/√2 ≤ E‖Xᵀσ‖ ≤ ‖X‖_F (Khintchine with Szarek's constant; Jensen). For 2^(1−m)·T_m, m = 0
… M, a row of X has squared length between 1 and 1 + Σ_(m≥1) 4^(1−m) = 7/3, so C/√(2n) ≤ R ≤ √(7/3)·C/√n.

NOTE[PAPER]: "monic" is missing in print, and T_m has m zeros, not m + 1. The bound prints log n for log M, a_0 is half
of the printed integral, and the rate is exponential for analytic f only. Theorem 4 is printed with m = 1 … M, where the
lower bound is false, and √2, which is false with m = 0; LLPE is trained with plain T_m, for which R grows as √(M/2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Literal

import numpy as np
import torch
from numpy.polynomial import chebyshev as series

from llpe.chebyshev import basis, coefficients
from llpe.data.synthetic import sbm
from llpe.graph import Graph
from llpe.laplacian import laplacian
from llpe.paper.theory.base import Claim, Found, Panel, bound, curve, statement, worst_ratio

EPSILON = 0.1
Family = Literal["monic", "plain", "monomial"]
FAMILIES: dict[Family, str] = {
    "monic": "2^(1−m)·T_m (the theorem)",
    "plain": "T_m (LLPE as trained)",
    "monomial": "(λ − 1)^m",
}
LOWER, UPPER, PRINTED_UPPER = 0.5**0.5, (7 / 3) ** 0.5, 2**0.5  # of √n·R/C


def features(values: np.ndarray, order: int, family: Family) -> np.ndarray:
    """φ_0 … φ_order at each eigenvalue, shape (n, order + 1).

    Example:
        >>> features(np.array([0.0, 2.0]), 2, "monic").tolist()
        [[1.0, -1.0, 0.5], [1.0, 1.0, 0.5]]
    """
    if family == "monomial":
        return np.vander(values - 1, order + 1, increasing=True)
    terms = basis(torch.from_numpy(values), order + 1).numpy()
    return terms * np.r_[1.0, 2.0 ** -np.arange(order)] if family == "monic" else terms


def monic(degree: int, x: np.ndarray) -> np.ndarray:
    """T̃_m(x) = 2^(1−m)·T_m(x), and 1 for m = 0.

    Example:
        >>> monic(2, np.array([0.0, 1.0])).tolist()  # x² − ½
        [-0.5, 0.5]
    """
    return features(x + 1, degree, "monic")[:, degree]


def alternating_mean(samples: np.ndarray) -> float:
    """F(p) from the values of p at cos(jπ/m), j = 0 … m."""
    signs = (-1.0) ** np.arange(samples.size)
    signs[[0, -1]] /= 2
    return float(signs @ samples) / (samples.size - 1)


@statement(
    "Rivlin: a monic polynomial of degree m has ‖p‖_∞ ≥ 2^(1−m), and 2^(1−m)·T_m attains it",
    printed="only for leading coefficient 1; T_m has m zeros (and m + 1 extrema), not m + 1",
)
def minimal_norm(seed: int) -> Found:
    rng = np.random.default_rng(seed)
    degrees, grid, draws = range(1, 13), np.linspace(-1, 1, 2001), 200
    smallest, medians, certificates, norms, zeros = [], [], [], [], []
    for m in degrees:
        least = 2.0 ** (1 - m)
        extrema = np.cos(np.pi * np.arange(m + 1) / m)
        everywhere, there = monic(m, grid), monic(m, extrema)
        norms.append(np.abs(everywhere).max() / least)
        zeros.append(int((np.diff(np.sign(everywhere[np.abs(everywhere) > 1e-12])) != 0).sum()) - m)
        # T̃_m and a random polynomial of lower degree, small or large
        lower = rng.standard_normal((m, draws)) * least * 10 ** rng.uniform(-3, 1, draws)
        sizes = np.abs(everywhere + series.chebval(grid, lower)).max(axis=1) / least
        smallest.append(sizes.min())
        medians.append(float(np.median(sizes)))
        certificates += [alternating_mean(row) / least for row in there + series.chebval(extrema, lower)]
    lines = (
        curve("2^(1−m)·T_m + random lower terms, median", degrees, medians),
        curve("2^(1−m)·T_m", degrees, norms),
        curve("x^m", degrees, [2.0 ** (m - 1) for m in degrees]),
    )
    shapes = [curve(f"T_{m}", grid, monic(m, grid) * 2.0 ** (m - 1), "smooth") for m in (1, 2, 3)]
    yield Claim("smallest ‖p‖_∞ / 2^(1−m) of random monic p", min(smallest), "≥", 1 - 1e-9)
    yield Claim("largest ‖T̃_m‖_∞ / 2^(1−m)", max(norms), "≤", 1 + 1e-9)
    yield Claim("largest |F(p)/2^(1−m) − 1|", np.abs(np.array(certificates) - 1).max(), "≤", 1e-8)
    yield Claim("largest |zeros of T_m − m|", np.abs(zeros).max(), "≤", 0)
    yield Claim("‖x²/10‖_∞, not monic, against 2^(1−2)", 0.1 * np.abs(grid**2).max(), "≤", 0.5)
    yield Panel("monic polynomials on [−1, 1]", "degree m", "‖p‖_∞ / 2^(1−m)", lines, yscale="log")
    yield Panel("T_m for m = 3: three zeros, four extrema", "λ − 1", "value", shapes)


def best_error(degree: int) -> float:
    """E_M of 1/(λ + ε)."""
    a = 1 + EPSILON
    return (a - np.sqrt(a**2 - 1)) ** degree / (a**2 - 1)


def series_error(degree: int) -> float:
    """S_M of 1/(λ + ε)."""
    a = 1 + EPSILON
    z = a - np.sqrt(a**2 - 1)
    return 2 * z ** (degree + 1) / ((1 - z) * np.sqrt(a**2 - 1))


@statement(
    "Chebyshev series: E_M ≤ S_M < (4 + 4/π²·ln M)·E_M; S_M = O(M^(−d)) for d + 1 derivatives",
    printed="log n should read log M; a_0 is half of the printed integral; the rate is a power of M unless "
    "f is analytic",
)
def near_best(seed: int) -> Found:
    del seed  # nothing here is random
    degrees, rough_degrees = (1, 2, 4, 8, 16, 32), (4, 8, 16, 32, 64, 128)
    smooth = _series_errors(lambda v: 1 / (v + EPSILON), degrees)
    rough = _series_errors(lambda v: np.abs(v - 1) ** 3, rough_degrees)
    best = np.array([best_error(m) for m in degrees])
    limits = best * [4 + 4 / np.pi**2 * float(np.log(m)) for m in degrees]
    extrema = [np.cos(np.pi * np.arange(m + 2) / (m + 1)) for m in degrees]
    certified = [abs(alternating_mean(1 / (1 + EPSILON - nodes))) for nodes in extrema]  # from below
    slope = float(np.polyfit(np.log(rough_degrees), np.log(rough), 1)[0])
    lines = (
        curve("series cut after T_M", degrees, smooth),
        curve("best polynomial", degrees, best),
        bound("(4 + 4/π²·ln M)·E_M", degrees, limits),
    )
    rough_lines = (
        curve("series cut after T_M", rough_degrees, rough),
        bound("∝ M^(−1), the theorem's rate", rough_degrees, rough[0] * 4 / np.array(rough_degrees)),
    )
    labels = ("degree M", "largest error on [0, 2]")
    yield Claim("S_M/E_M / (4 + 4/π²·ln M)", worst_ratio(smooth, limits), "≤", 1)
    yield Claim("smallest S_M / E_M", float((smooth / best).min()), "≥", 1)
    yield Claim("certified E_M / its closed form", worst_ratio(certified, best), "≤", 1 + 1e-9)
    yield Claim("|S_M / its closed form − 1|", np.abs(smooth / [series_error(m) for m in degrees] - 1).max(), "≤", 1e-6)
    yield Claim("|λ − 1|³, two derivatives: slope of ln S_M against ln M", slope, "≤", -1)
    yield Claim("the same: a power of M, not exponential", slope, "≥", -4)
    yield Panel("1/(λ + 0.1), analytic", *labels, lines, yscale="log")
    yield Panel("|λ − 1|³, two continuous derivatives", *labels, rough_lines, "log", "log")


def _series_errors(function: Callable[[np.ndarray], np.ndarray], degrees: Sequence[int]) -> np.ndarray:
    """S_M on a grid, from one long list of coefficients."""
    grid, theta = np.linspace(0, 2, 8001), coefficients(function, 512)
    terms = basis(torch.from_numpy(grid), max(degrees) + 1)
    return np.array([np.abs((terms[:, : m + 1] @ theta[: m + 1]).numpy() - function(grid)).max() for m in degrees])


def complexity(matrix: np.ndarray, seed: int = 0, draws: int = 1000) -> tuple[float, float]:
    """√n·R/C = E‖Xᵀσ‖/√n and its standard error: from all 2^n signs if these are at most ``draws``."""
    n = matrix.shape[0]
    if 2**n <= draws:
        norms = np.linalg.norm(np.array(list(product((-1.0, 1.0), repeat=n))) @ matrix, axis=1) / np.sqrt(n)
        return float(norms.mean()), 0.0
    signs = 2.0 * np.random.default_rng(seed).integers(0, 2, size=(draws, n)) - 1
    norms = np.linalg.norm(signs @ matrix, axis=1) / np.sqrt(n)
    return float(norms.mean()), float(norms.std(ddof=1) / np.sqrt(draws))


@statement(
    "Theorem 4: C/√(2n) ≤ Rademacher complexity ≤ √(7/3)·C/√n for monic T_0 … T_M, whatever M",
    printed="m must begin at 0, and then the constant is √(7/3), not √2; plain T_m, which LLPE trains, grow as "
    "√(M/2); where eigenvalues gather around 1, monomials have the smaller complexity",
)
def theorem_4(seed: int) -> Found:
    nodes, orders = 240, (1, 2, 4, 8, 16, 32, 64, 128)
    around_1 = laplacian(Graph.from_data(sbm(nodes, degree=10, homophily=0.1, seed=seed))).toarray()
    spectra = {"block model": np.linalg.eigvalsh(around_1), "ring": 1 - np.cos(2 * np.pi * np.arange(nodes) / nodes)}
    found: dict[tuple[str, Family], list[float]] = {}
    lower, upper, errors = [], [], []
    for name, values in spectra.items():
        for family in FAMILIES:
            row = found[name, family] = []
            for order in orders:
                matrix = features(values, order, family)
                mean, error = complexity(matrix, seed)
                norm = np.linalg.norm(matrix) / np.sqrt(nodes)
                lower.append((mean + 4 * error) / (norm * LOWER))
                upper.append((mean - 4 * error) / norm)
                errors.append(error / mean)
                row.append(mean)
        lines = [curve(label, orders, found[name, family]) for family, label in FAMILIES.items()]
        lines += [bound("√(7/3)", orders, [UPPER] * len(orders)), bound("1/√2", orders, [LOWER] * len(orders))]
        title = f"eigenvalues of a {name}, {nodes} nodes"
        yield Panel(title, "order M", "√n · R / C", lines, "log", "log")
    of_monic = found["block model", "monic"] + found["ring", "monic"]
    complete = np.r_[0.0, np.full(nodes - 1, nodes / (nodes - 1))]
    without_constant = complexity(features(complete, 64, "monic")[:, 1:], seed)[0]
    monomial = complexity(features(complete, 16, "monomial"), seed)[0]
    chebyshev = complexity(features(complete, 16, "monic"), seed)[0]
    edge = complexity(features(np.array([0.0, 2.0]), 2, "monic"))[0]
    yield Claim("√n·R/C, largest over M and spectra", max(of_monic), "≤", UPPER)
    yield Claim("√n·R/C, smallest over M and spectra", min(of_monic), "≥", LOWER)
    yield Claim("any basis: E‖Xᵀσ‖ / (‖X‖_F/√2), smallest", min(lower), "≥", 1)
    yield Claim("any basis: E‖Xᵀσ‖ / ‖X‖_F, largest", max(upper), "≤", 1)
    yield Claim("printed lower bound (m = 1 … M): complete graph", without_constant, "≤", LOWER)
    yield Claim("printed upper bound √2 (m = 0 … 2): one edge", edge, "≥", PRINTED_UPPER)
    yield Claim("plain T_m, M = 128, block model", found["block model", "plain"][-1], "≥", PRINTED_UPPER)
    yield Claim("monomials / monic, M = 16, complete graph", monomial / chebyshev, "≤", 1)
    yield Claim("relative standard error of the Monte Carlo", max(errors), "≤", 0.03)
