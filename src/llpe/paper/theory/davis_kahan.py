"""The sin Θ theorem (Yu, Wang and Samworth, 2015) and the step from angles to vectors.

For d = s − r + 1 eigenvectors number r … s of two symmetric matrices, of which the first has the eigenvalues λ:

    ‖sin Θ‖_F ≤ 2·√d·‖X − X̃‖ / gap,   ρ = min_Q ‖V − ṼQ‖_F ≤ √2·‖sin Θ‖_F,
    gap = the distance of λ_r … λ_s from the eigenvalues before and after them.

The second because ρ² = Σ 2(1 − cos θ) ≤ Σ 2(1 − cos² θ).

NOTE[PAPER]: the paper's gap has λ_(s−1) for λ_(s+1), and its proofs put ρ where the theorem has ‖sin Θ‖: √2 is
missing. That it is needed shows on two numbers: diag(0, 1) and diag(½ + η, ½ − η) differ by ½ + η and their last
vectors are orthogonal, so ρ = √2, above 2·(½ + η).
"""

from __future__ import annotations

import numpy as np

from llpe.paper.theory import blocks
from llpe.paper.theory.base import Check, Claim, Panel, bound, curve, worst_ratio
from llpe.paper.theory.recovery import SEEDS, SIZES, angles, models, sine_bound


def check_davis_kahan(seed: int = 0) -> Check:
    sines, limits, rhos, panels = [], [], [], []
    for homophily, end in ((0.9, "p ≫ q"), (0.02, "q ≫ p")):
        lines = []
        for k in (2, 4):
            found = [[angles(model, seed + s) for s in range(SEEDS)] for model in models(k, homophily)]
            for each in (each for row in found for each in row):
                sines.append(each.sine)
                rhos.append(each.rho)
                limits.append(each.limit)
            lines.append(curve(f"k = {k}, worst graph", SIZES, [max(each.sine for each in row) for row in found]))
            lines.append(bound(f"k = {k}, bound", SIZES, [max(each.limit for each in row) for row in found]))
            lines.append(bound(f"k = {k}, √(k−1): orthogonal", SIZES, [(k - 1) ** 0.5] * len(SIZES)))
        panels.append(Panel(end, "nodes", "‖sin Θ‖_F", tuple(lines), "log", "log"))
    eta = 0.01
    rho, distance = _swapped(eta)
    return Check(
        "davis-kahan",
        "sin Θ theorem: eigenspaces turn by at most 2·√d·‖L − ℒ‖/gap; ρ ≤ √2·‖sin Θ‖",
        (
            Claim("‖sin Θ‖ / bound, worst graph", worst_ratio(sines, limits), "≤", 1),
            Claim("ρ / √2·‖sin Θ‖, worst graph", worst_ratio(rhos, np.sqrt(2) * np.array(sines)), "≤", 1),
            Claim("ρ of two numbers that swap, with √2", rho, "≤", np.sqrt(2) * sine_bound(1, distance, 1.0)),
            Claim("ρ of two numbers that swap, as printed without √2", rho, "≥", sine_bound(1, distance, 1.0)),
        ),
        printed="the proofs drop the √2 between ρ and ‖sin Θ‖; λ_(s−1) should read λ_(s+1)",
        panels=tuple(panels),
    )


def _swapped(eta: float) -> tuple[float, float]:
    """ρ of the last eigenvectors of diag(0, 1) and diag(½ + η, ½ − η), and the distance of the two matrices."""
    before, after = np.diag([0.0, 1.0]), np.diag([0.5 + eta, 0.5 - eta])
    one, other = np.linalg.eigh(before)[1][:, 1:], np.linalg.eigh(after)[1][:, 1:]
    return float(np.linalg.norm(one - blocks.align(other, one))), float(np.linalg.norm(before - after, 2))
