"""Theorem 4: the empirical Rademacher complexity of Chebyshev filters.

A filter h(λ) = Σ_m θ_m φ_m(λ) with ‖θ‖₂ ≤ C is a linear predictor on the features X[i, m] = φ_m(λ_i). The supremum
over θ is attained by Cauchy and Schwarz, so the complexity is exactly

    R = (C/n)·E_σ ‖Xᵀσ‖₂,   and   ‖X‖_F/√2 ≤ E‖Xᵀσ‖ ≤ ‖X‖_F   (Khintchine with Szarek's constant; Jensen).

For the monic T̃_0 = 1, T̃_m = 2^(1−m)T_m, m = 0 … M, a row of X has squared length between 1 (T̃_0 alone) and
1 + Σ_(m≥1) 4^(1−m) = 7/3, so

    C/√(2n) ≤ R ≤ √(7/3)·C/√n,   whatever M.

NOTE[PAPER]: printed with m = 1 … M and √2. Without m = 0 the lower bound is false: on a complete graph nearly all λ
are 1, and T̃_1 vanishes there. With m = 0 the constant √2 is false: the proof uses (2^(1−j))² ≤ 2^(1−j), which fails
at j = 0, and a single edge (λ = 0, 2) exceeds it from M = 2 on. LLPE is trained with plain T_m, not monic ones: ‖θ‖ ≤
C on the monic basis asks the plain coefficients to fall as 2^(−m). For plain T_m, R grows as √(M/2). And "better than
other polynomials" is about the worst spectrum, not about a given one: where nearly all eigenvalues are near 1 and n ≫
M, monomials have the smaller complexity, as (λ − 1)^m is smaller there than 2^(1−m)·T_m.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Literal

import numpy as np
import torch

from llpe.chebyshev import basis
from llpe.data.synthetic import sbm
from llpe.graph import Graph
from llpe.laplacian import laplacian
from llpe.paper.theory.base import Check, Claim, Panel, bound, curve

Family = Literal["monic", "plain", "monomial"]
NAMES: dict[Family, str] = {
    "monic": "2^(1−m)·T_m (the theorem)",
    "plain": "T_m (LLPE as trained)",
    "monomial": "(λ − 1)^m",
}
COMPARED: tuple[Family, Family] = ("monomial", "monic")
ORDERS = (1, 2, 4, 8, 16, 32, 64, 128)
LOWER, UPPER, PRINTED_UPPER = 0.5**0.5, (7 / 3) ** 0.5, 2**0.5  # of √n·R/C
NODES = 240
DRAWS = 1000


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


def complexity(matrix: np.ndarray, seed: int = 0, draws: int = DRAWS) -> tuple[float, float]:
    """√n·R/C = E‖Xᵀσ‖/√n and its standard error: from all 2^n signs if these are at most ``draws``."""
    n = matrix.shape[0]
    if 2**n <= draws:
        norms = np.linalg.norm(np.array(list(product((-1.0, 1.0), repeat=n))) @ matrix, axis=1) / np.sqrt(n)
        return float(norms.mean()), 0.0
    norms = np.linalg.norm(_signs(draws, n, seed) @ matrix, axis=1) / np.sqrt(n)
    return float(norms.mean()), float(norms.std(ddof=1) / np.sqrt(draws))


@lru_cache(maxsize=2)
def _signs(draws: int, n: int, seed: int) -> np.ndarray:
    return 2.0 * np.random.default_rng(seed).integers(0, 2, size=(draws, n)) - 1


def spectra(seed: int) -> dict[str, np.ndarray]:
    """Eigenvalues: a block model (around 1), a ring (mostly at the ends)."""
    blocks = laplacian(Graph.from_data(sbm(NODES, degree=10, homophily=0.1, seed=seed))).toarray()
    return {"block model": np.linalg.eigvalsh(blocks), "ring": 1 - np.cos(2 * np.pi * np.arange(NODES) / NODES)}


def check_theorem_4(seed: int = 0) -> Check:
    found: dict[str, dict[Family, np.ndarray]] = {}
    lower, upper = [], []
    errors = 0.0
    for name, values in spectra(seed).items():
        found[name] = {}
        for family in NAMES:
            row = []
            for order in ORDERS:
                matrix = features(values, order, family)
                mean, error = complexity(matrix, seed)
                norm = np.linalg.norm(matrix) / np.sqrt(values.size)
                lower.append((mean + 4 * error) / (norm * LOWER))
                upper.append((mean - 4 * error) / norm)
                errors = max(errors, error / mean)
                row.append(mean)
            found[name][family] = np.array(row)
    monic = np.concatenate([each["monic"] for each in found.values()])
    complete = np.r_[0.0, np.full(NODES - 1, NODES / (NODES - 1))]
    without_constant = complexity(features(complete, 64, "monic")[:, 1:], seed)[0]
    monomial, chebyshev = (complexity(features(complete, 16, each), seed)[0] for each in COMPARED)
    edge = complexity(features(np.array([0.0, 2.0]), 2, "monic"))[0]
    blocks = found["block model"]
    return Check(
        "theorem-4",
        "Theorem 4: C/√(2n) ≤ Rademacher complexity ≤ √(7/3)·C/√n for monic T_0 … T_M, whatever M",
        (
            Claim("√n·R/C, largest over M and spectra", monic.max(), "≤", UPPER),
            Claim("√n·R/C, smallest over M and spectra", monic.min(), "≥", LOWER),
            Claim("any basis: E‖Xᵀσ‖ / (‖X‖_F/√2), smallest", min(lower), "≥", 1),
            Claim("any basis: E‖Xᵀσ‖ / ‖X‖_F, largest", max(upper), "≤", 1),
            Claim("printed lower bound (m = 1 … M): complete graph", without_constant, "≤", LOWER),
            Claim("printed upper bound √2 (m = 0 … 2): one edge", edge, "≥", PRINTED_UPPER),
            Claim("plain T_m, M = 128, block model", blocks["plain"][-1], "≥", PRINTED_UPPER),
            Claim("monomials / monic, M = 16, complete graph", monomial / chebyshev, "≤", 1),
            Claim("relative standard error of the Monte Carlo", errors, "≤", 0.03),
        ),
        printed="m must begin at 0, and then the constant is √(7/3), not √2; plain T_m, which LLPE trains, grow as "
        "√(M/2); where eigenvalues gather around 1, monomials have the smaller complexity",
        panels=tuple(_panel(name, each) for name, each in found.items()),
    )


def _panel(name: str, found: dict[Family, np.ndarray]) -> Panel:
    lines = tuple(curve(label, ORDERS, found[family]) for family, label in NAMES.items())
    limits = (bound("√(7/3)", ORDERS, [UPPER] * len(ORDERS)), bound("1/√2", ORDERS, [LOWER] * len(ORDERS)))
    return Panel(f"eigenvalues of a {name}, {NODES} nodes", "order M", "√n · R / C", (*lines, *limits), "log", "log")
