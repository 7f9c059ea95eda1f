"""Truncated Chebyshev series are nearly the best polynomials, and how fast they converge.

For f continuous on [−1, 1], E_M the smallest sup error of a polynomial of degree M, S_M that of the series cut after
T_M:

    E_M ≤ S_M < (4 + (4/π²)·ln M)·E_M                       (Rivlin),
    S_M = O(M^(−d)) if f has d + 1 continuous derivatives     (Mason and Handscomb).

Both are closed for f(λ) = 1/(λ + ε), the filter of a commute time. With x = 1 − λ, a = 1 + ε, z = a − √(a² − 1):

    1/(a − x) = (1 + 2·Σ_m z^m T_m(x))/√(a² − 1),   S_M = 2·z^(M+1)/((1 − z)·√(a² − 1)),   E_M = z^M/(a² − 1).

S_M is the tail at x = 1, where all terms agree; E_M is Chebyshev's own result. From below, E_M is certified by the
alternating mean over the M + 2 extrema of T_(M+1): it vanishes on degree M, so it sees the error only.

NOTE[PAPER]: the bound prints log(n) for log(M). The coefficient a_0 is half of the printed integral. A continuous f
need not have a convergent series at every point (Dini–Lipschitz is needed there too, not only for uniform
convergence). The rate is called exponential; for d + 1 derivatives it is a power of M, and it is exponential for
analytic f only.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from llpe.chebyshev import basis, coefficients
from llpe.paper.theory.base import Check, Claim, Panel, bound, curve, worst_ratio
from llpe.paper.theory.minimal_norm import alternating_mean

DEGREES = (1, 2, 4, 8, 16, 32)
ROUGH_DEGREES = (4, 8, 16, 32, 64, 128)
EPSILON = 0.1
GRID = np.linspace(0, 2, 8001)


def best_error(degree: int, epsilon: float = EPSILON) -> float:
    """E_M of 1/(λ + ε)."""
    a = 1 + epsilon
    return (a - np.sqrt(a**2 - 1)) ** degree / (a**2 - 1)


def series_error(degree: int, epsilon: float = EPSILON) -> float:
    """S_M of 1/(λ + ε)."""
    a = 1 + epsilon
    z = a - np.sqrt(a**2 - 1)
    return 2 * z ** (degree + 1) / ((1 - z) * np.sqrt(a**2 - 1))


def lebesgue_bound(degree: int) -> float:
    """4 + (4/π²)·ln M."""
    return 4 + 4 / np.pi**2 * float(np.log(degree))


def check_near_best(seed: int = 0) -> Check:
    del seed  # nothing here is random
    smooth = _errors(lambda v: 1 / (v + EPSILON), DEGREES)
    rough = _errors(lambda v: np.abs(v - 1) ** 3, ROUGH_DEGREES)
    best = np.array([best_error(m) for m in DEGREES])
    certified = [_certificate(m) for m in DEGREES]
    slope = float(np.polyfit(np.log(ROUGH_DEGREES), np.log(rough), 1)[0])
    exact = [series_error(m) for m in DEGREES]
    return Check(
        "near-best",
        "Chebyshev series: E_M ≤ S_M < (4 + 4/π²·ln M)·E_M; S_M = O(M^(−d)) for d + 1 derivatives",
        (
            Claim(
                "S_M/E_M / (4 + 4/π²·ln M)", worst_ratio(smooth, best * [lebesgue_bound(m) for m in DEGREES]), "≤", 1
            ),
            Claim("smallest S_M / E_M", float((smooth / best).min()), "≥", 1),
            Claim("certified E_M / its closed form", worst_ratio(certified, best), "≤", 1 + 1e-9),
            Claim("|S_M / its closed form − 1|", float(np.abs(smooth / exact - 1).max()), "≤", 1e-6),
            Claim("|λ − 1|³, two derivatives: slope of ln S_M against ln M", slope, "≤", -1),
            Claim("the same: a power of M, not exponential", slope, "≥", -4),
        ),
        printed="log n should read log M; a_0 is half of the printed integral; the rate is a power of M unless "
        "f is analytic",
        panels=(
            Panel(
                "1/(λ + 0.1), analytic",
                "degree M",
                "largest error on [0, 2]",
                (
                    curve("series cut after T_M", DEGREES, smooth),
                    curve("best polynomial", DEGREES, best),
                    bound("(4 + 4/π²·ln M)·E_M", DEGREES, best * [lebesgue_bound(m) for m in DEGREES]),
                ),
                yscale="log",
            ),
            Panel(
                "|λ − 1|³, two continuous derivatives",
                "degree M",
                "largest error on [0, 2]",
                (
                    curve("series cut after T_M", ROUGH_DEGREES, rough),
                    bound("∝ M^(−1), the theorem's rate", ROUGH_DEGREES, rough[0] * 4 / np.array(ROUGH_DEGREES)),
                ),
                "log",
                "log",
            ),
        ),
    )


def _errors(function: Callable[[np.ndarray], np.ndarray], degrees: tuple[int, ...]) -> np.ndarray:
    """S_M on a grid, from one long list of coefficients."""
    theta = coefficients(function, 512)
    terms = basis(torch.from_numpy(GRID), max(degrees) + 1)
    return np.array([np.abs((terms[:, : m + 1] @ theta[: m + 1]).numpy() - function(GRID)).max() for m in degrees])


def _certificate(degree: int) -> float:
    """A lower bound of E_M: the alternating mean of f over the extrema of T_(M+1)."""
    nodes = np.cos(np.pi * np.arange(degree + 2) / (degree + 1))
    return abs(alternating_mean(1 / (1 + EPSILON - nodes)))
