"""Chebyshev polynomials are the smallest monic ones (Rivlin), and T_m has m zeros.

    ‖p‖_∞ ≥ ‖2^(1−m)·T_m‖_∞ = 2^(1−m) on [−1, 1], for every p of degree m ≥ 1 with leading coefficient 1.

Why: at the m + 1 extrema x_j = cos(jπ/m) of T_m take the alternating mean

    F(p) = (1/m)·Σ_j (−1)^j p(x_j),   the two end points with weight ½.

F is the coefficient of T_m, so F(p) = 2^(1−m) for every monic p of degree m, and |F(p)| ≤ max_j |p(x_j)|: the weights
add up to one.

NOTE[PAPER]: the paper forgets "with leading coefficient 1", without which the statement is false (take p/10), and
gives T_m m + 1 zeros. It has m zeros, cos((j − ½)π/m), and m + 1 extrema.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.polynomial import chebyshev as series

from llpe.chebyshev import basis
from llpe.paper.theory.base import Check, Claim, Panel, Series, curve

DEGREES = range(1, 13)
GRID = np.linspace(-1, 1, 2001)
DRAWS = 200


def monic(degree: int, x: np.ndarray) -> np.ndarray:
    """T̃_m(x) = 2^(1−m)·T_m(x), and 1 for m = 0.

    Example:
        >>> monic(2, np.array([0.0, 1.0])).tolist()  # x² − ½
        [-0.5, 0.5]
    """
    terms = basis(torch.from_numpy(np.asarray(x, dtype=np.float64) + 1), degree + 1)[:, degree].numpy()
    return terms * 2.0 ** (1 - degree) if degree else terms


def alternating_mean(samples: np.ndarray) -> float:
    """F(p) from the values of p at cos(jπ/m), j = 0 … m."""
    signs = (-1.0) ** np.arange(samples.size)
    signs[[0, -1]] /= 2
    return float(signs @ samples) / (samples.size - 1)


def check_minimal_norm(seed: int = 0) -> Check:
    rng = np.random.default_rng(seed)
    smallest, medians, certificates, norms, zeros = [], [], [], [], []
    for m in DEGREES:
        least = 2.0 ** (1 - m)
        extrema = np.cos(np.pi * np.arange(m + 1) / m)
        everywhere, there = monic(m, GRID), monic(m, extrema)
        norms.append(np.abs(everywhere).max() / least)
        zeros.append(int((np.diff(np.sign(everywhere[np.abs(everywhere) > 1e-12])) != 0).sum()))
        # T̃_m and a random polynomial of lower degree, small or large
        lower = rng.standard_normal((m, DRAWS)) * least * 10 ** rng.uniform(-3, 1, DRAWS)
        sizes = np.abs(everywhere + series.chebval(GRID, lower)).max(axis=1) / least
        smallest.append(sizes.min())
        medians.append(float(np.median(sizes)))
        certificates += [alternating_mean(row) / least for row in there + series.chebval(extrema, lower)]
    tenth = 0.1 * float(np.abs(GRID**2).max())
    return Check(
        "minimal-norm",
        "Rivlin: a monic polynomial of degree m has ‖p‖_∞ ≥ 2^(1−m), and 2^(1−m)·T_m attains it",
        (
            Claim("smallest ‖p‖_∞ / 2^(1−m) of random monic p", min(smallest), "≥", 1 - 1e-9),
            Claim("largest ‖T̃_m‖_∞ / 2^(1−m)", max(norms), "≤", 1 + 1e-9),
            Claim("largest |F(p)/2^(1−m) − 1|", np.abs(np.array(certificates) - 1).max(), "≤", 1e-8),
            Claim("largest |zeros of T_m − m|", max(abs(z - m) for z, m in zip(zeros, DEGREES, strict=True)), "≤", 0),
            Claim("‖x²/10‖_∞, not monic, against 2^(1−2)", tenth, "≤", 0.5),
        ),
        printed="only for leading coefficient 1; T_m has m zeros (and m + 1 extrema), not m + 1",
        panels=(
            Panel(
                "monic polynomials on [−1, 1]",
                "degree m",
                "‖p‖_∞ / 2^(1−m)",
                (
                    curve("2^(1−m)·T_m + random lower terms, median", list(DEGREES), medians),
                    curve("2^(1−m)·T_m", list(DEGREES), norms),
                    curve("x^m", list(DEGREES), [2.0 ** (m - 1) for m in DEGREES]),
                ),
                yscale="log",
            ),
            Panel(
                "T_m for m = 3: three zeros, four extrema",
                "λ − 1",
                "value",
                tuple(Series(f"T_{m}", GRID, monic(m, GRID) * 2.0 ** (m - 1), "smooth") for m in (1, 2, 3)),
            ),
        ),
    )
