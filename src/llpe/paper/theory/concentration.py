"""Oliveira (2009), as the paper uses it: L stays near the Laplacian of the mean.

    P( ‖L − ℒ‖ ≤ 14·√(ln(4n/δ)/d) ) ≥ 1 − δ   with d the smallest *mean* degree, d ≥ C·ln n, n^(−c) ≤ δ ≤ 1/2.

NOTE[PAPER]: the paper writes min(d_i) as if of the sampled graph. The theorem is about the smallest expected degree.

How much it says: both matrices have their eigenvalues in [0, 2], up to p/d, so ‖L − ℒ‖ ≤ 2 whatever the graph. The
bound is below 2 only where d > 49·ln(4n/δ). At d = C·ln n it is a constant near 14/√C: for the sizes here it says
nothing, while what is measured is about 2/√d.
"""

from __future__ import annotations

import numpy as np

from llpe.paper.theory import blocks
from llpe.paper.theory.base import Check, Claim, Panel, bound, curve, worst_ratio
from llpe.paper.theory.blocks import BlockModel
from llpe.paper.theory.recovery import SEEDS, SIZES, models

DELTA = 0.05


def deviation_bound(num_nodes: int, degree: float, delta: float = DELTA) -> float:
    """14·√(ln(4n/δ)/d).

    Example:
        >>> round(deviation_bound(1000, 500.0), 2)
        2.1
    """
    return 14 * float(np.sqrt(np.log(4 * num_nodes / delta) / degree))


def check_concentration(seed: int = 0) -> Check:
    sparse = models(2, 0.9)
    dense = [BlockModel(n, 2, degree=n / 2, homophily=0.9) for n in SIZES]
    measured = {
        name: np.array([[blocks.sampled_deviation(m, seed + s) for s in range(SEEDS)] for m in group]).max(axis=1)
        for name, group in (("sparse", sparse), ("dense", dense))
    }
    bounds = {
        name: np.array([deviation_bound(m.n, m.degree) for m in group])
        for name, group in (("sparse", sparse), ("dense", dense))
    }
    lines = {
        name: (
            curve("measured, worst graph", SIZES, measured[name]),
            bound("14·√(ln(4n/δ)/d), δ = 0.05", SIZES, bounds[name]),
            bound("2, what always holds", SIZES, [2.0] * len(SIZES)),
            bound("2/√d", SIZES, [2 / np.sqrt(m.degree) for m in group]),
        )
        for name, group in (("sparse", sparse), ("dense", dense))
    }
    return Check(
        "concentration",
        "Concentration (Oliveira): ‖L − ℒ‖ ≤ 14·√(ln(4n/δ)/d) with probability 1 − δ",
        (
            Claim("‖L−ℒ‖ / bound, degree n/2, worst graph", worst_ratio(measured["dense"], bounds["dense"]), "≤", 1),
            Claim(
                "‖L−ℒ‖ / bound, degree 10·ln n, worst graph", worst_ratio(measured["sparse"], bounds["sparse"]), "≤", 1
            ),
            Claim("the bound at 1920 nodes, degree n/2, says something", bounds["dense"][-1], "≤", 2),
            Claim("the bound at degree 10·ln n says nothing", float(bounds["sparse"].min()), "≥", 2),
        ),
        printed="d is the smallest expected degree; below 49·ln(4n/δ) the bound is above 2 and empty",
        panels=(
            Panel("degree 10·ln n", "nodes", "‖L − ℒ‖", lines["sparse"], "log", "log"),
            Panel("degree n/2", "nodes", "‖L − ℒ‖", lines["dense"], "log", "log"),
        ),
    )
