"""Spectra of block models: the closed form, how near sampled graphs are to it, and what that does to eigenvectors.

    eigenvalues of ℒ (equations 12 and 27)   see :mod:`llpe.paper.theory.blocks`
    concentration (Oliveira)   ‖L − ℒ‖ ≤ 14·√(ln(4n/δ)/d) with probability 1 − δ, d the smallest *expected* degree
    sin Θ theorem (Yu, Wang and Samworth), for d eigenvectors V and those of another matrix, Ṽ:
        ‖sin Θ‖_F ≤ 2·√d·‖X − X̃‖ / gap,   ρ = min_Q ‖V − ṼQ‖_F ≤ √2·‖sin Θ‖_F

The last because ρ² = Σ 2(1 − cos θ) ≤ Σ 2(1 − cos² θ). Both Laplacians have their eigenvalues in [0, 2], up to p/d, so
‖L − ℒ‖ ≤ 2 whatever the graph, and the bound of concentration says something only where d > 49·ln(4n/δ).

NOTE[PAPER]: the paper takes the smallest degree of the sampled graph; its gap has λ_(s−1) for λ_(s+1); its proofs put
ρ where the theorem has ‖sin Θ‖. That √2 is needed shows on two numbers: diag(0, 1) and diag(½ + η, ½ − η) differ by
½ + η and their last vectors are orthogonal, so ρ = √2, above 2·(½ + η).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from llpe.laplacian import laplacian
from llpe.paper.theory import blocks
from llpe.paper.theory.base import Claim, Found, Panel, bound, curve, statement, worst_ratio
from llpe.paper.theory.blocks import GRAPHS, SIZES, BlockModel

HOMOPHILY = {"p ≫ q": 0.9, "q ≫ p": 0.02}
ROUNDING = 1e-12


@statement(
    "Eqs. 12 and 27: the mean Laplacian has the eigenvalues 0, 1 and kq/(p+(k−1)q)",
    printed="the printed matrix has loops: a simple graph has 1 + p/d for 1 and μ = 1 − ((p−q)n/k − p)/d, O(1/n) "
    "away; D^(1/2) should read D^(−1/2)",
)
def expected_spectrum(seed: int) -> Found:
    with_loops, without, shifts, deviations = [], [], [], []
    for k in (2, 4):
        for name, homophily in HOMOPHILY.items():
            model = BlockModel(400, k, degree=48.0, homophily=homophily)
            mean = blocks.mean_laplacian(model, loops=False)
            known = blocks.values_without_loops(model)
            without.append(np.abs(np.linalg.eigvalsh(mean) - known).max())
            looped = np.linalg.eigvalsh(blocks.mean_laplacian(model, loops=True))
            with_loops.append(np.abs(looped - blocks.values_with_loops(model)).max())
            matrix = laplacian(model.draw(seed)[0]).toarray()
            sampled = np.linalg.eigvalsh(matrix)
            shifts.append(np.abs(sampled - known).max())
            deviations.append(float(np.linalg.norm(matrix - mean, 2)))
            if k == 4:
                yield _histogram(name, model, sampled)
    yield Claim("largest error of the closed form with loops", max(with_loops), "≤", ROUNDING)
    yield Claim("largest error of the closed form of simple graphs", max(without), "≤", ROUNDING)
    yield Claim("shift of sampled eigenvalues / ‖L − ℒ‖", worst_ratio(shifts, deviations), "≤", 1 + 1e-9)


def _histogram(name: str, model: BlockModel, sampled: np.ndarray) -> Panel:
    counts, edges = np.histogram(np.clip(sampled, 0, 2), bins=80, range=(0, 2))  # 0 may round below
    title = f"{name}: {model.n} nodes, {model.k} blocks, degree {model.degree:.0f}"
    marks = (("0", 0.0), ("μ", blocks.informative_value(model)), ("1 + p/d", 1 + model.p / model.degree))
    steps = curve("one sampled graph", edges, counts, "steps")
    return Panel(title, "eigenvalue λ", "eigenvalues in a bin of 0.025", (steps,), yscale="symlog", marks=marks)


def deviation_bound(num_nodes: int, degree: float, delta: float = 0.05) -> float:
    """14·√(ln(4n/δ)/d).

    Example:
        >>> round(deviation_bound(1000, 500.0), 2)
        2.1
    """
    return 14 * float(np.sqrt(np.log(4 * num_nodes / delta) / degree))


@statement(
    "Concentration (Oliveira): ‖L − ℒ‖ ≤ 14·√(ln(4n/δ)/d) with probability 1 − δ",
    printed="d is the smallest expected degree; below 49·ln(4n/δ) the bound is above 2 and empty",
)
def concentration(seed: int, *, sizes: Sequence[int] = SIZES, graphs: int = GRAPHS) -> Found:
    ratio, least, last = {}, {}, {}
    sparse = blocks.models(2, 0.9, sizes)
    dense = [BlockModel(n, 2, degree=n / 2, homophily=0.9) for n in sizes]
    for degree, models in (("degree 10·ln n", sparse), ("degree n/2", dense)):
        measured = [max(blocks.deviation(model, seed + s) for s in range(graphs)) for model in models]
        bounds = [deviation_bound(model.n, model.degree) for model in models]
        lines = (
            curve("measured, worst graph", sizes, measured),
            bound("14·√(ln(4n/δ)/d), δ = 0.05", sizes, bounds),
            bound("2, what always holds", sizes, [2.0] * len(sizes)),
            bound("2/√d", sizes, [2 / np.sqrt(model.degree) for model in models]),
        )
        yield Panel(degree, "nodes", "‖L − ℒ‖", lines, "log", "log")
        ratio[degree], least[degree], last[degree] = worst_ratio(measured, bounds), min(bounds), bounds[-1]
    yield Claim("‖L−ℒ‖ / bound, degree n/2, worst graph", ratio["degree n/2"], "≤", 1)
    yield Claim("‖L−ℒ‖ / bound, degree 10·ln n, worst graph", ratio["degree 10·ln n"], "≤", 1)
    yield Claim(f"the bound at {sizes[-1]} nodes, degree n/2, says something", last["degree n/2"], "≤", 2)
    yield Claim("the bound at degree 10·ln n says nothing", least["degree 10·ln n"], "≥", 2)


@statement(
    "sin Θ theorem: eigenspaces turn by at most 2·√d·‖L − ℒ‖/gap; ρ ≤ √2·‖sin Θ‖",
    printed="the proofs drop the √2 between ρ and ‖sin Θ‖; λ_(s−1) should read λ_(s+1)",
)
def davis_kahan(seed: int, *, sizes: Sequence[int] = SIZES, graphs: int = GRAPHS) -> Found:
    every = []
    for name, homophily in HOMOPHILY.items():
        lines = []
        for k in (2, 4):
            models = blocks.models(k, homophily, sizes)
            found = [[blocks.recover(model, seed + s) for s in range(graphs)] for model in models]
            every += [each for row in found for each in row]
            lines.append(curve(f"k = {k}, worst graph", sizes, [max(each.sine for each in row) for row in found]))
            lines.append(bound(f"k = {k}, bound", sizes, [max(each.limit for each in row) for row in found]))
            lines.append(bound(f"k = {k}, √(k−1): orthogonal", sizes, [(k - 1) ** 0.5] * len(sizes)))
        yield Panel(name, "nodes", "‖sin Θ‖_F", lines, "log", "log")
    sines = np.array([each.sine for each in every])
    rho, distance = _swapped(0.01)
    limit = blocks.sine_bound(1, distance, 1.0)
    yield Claim("‖sin Θ‖ / bound, worst graph", worst_ratio(sines, [each.limit for each in every]), "≤", 1)
    yield Claim("ρ / √2·‖sin Θ‖, worst graph", worst_ratio([e.rho for e in every], np.sqrt(2) * sines), "≤", 1)
    yield Claim("ρ of two numbers that swap, with √2", rho, "≤", np.sqrt(2) * limit)
    yield Claim("ρ of two numbers that swap, as printed without √2", rho, "≥", limit)


def _swapped(eta: float) -> tuple[float, float]:
    """ρ of the last eigenvectors of diag(0, 1) and diag(½ + η, ½ − η), and the distance of the two matrices."""
    before, after = np.diag([0.0, 1.0]), np.diag([0.5 + eta, 0.5 - eta])
    one, other = np.linalg.eigh(before)[1][:, 1:], np.linalg.eigh(after)[1][:, 1:]
    return float(np.linalg.norm(one - blocks.align(other, one))), float(np.linalg.norm(before - after, 2))
