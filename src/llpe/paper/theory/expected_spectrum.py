"""Equations 12 and 27 of the paper: the eigenvalues of the mean Laplacian of a block model, in closed form.

Checked against LAPACK on the matrix from its definition, and against graphs: by Weyl's inequality no eigenvalue of a
sampled L is further than ‖L − ℒ‖ from its place in the closed form. Formulas in :mod:`llpe.paper.theory.blocks`.
"""

from __future__ import annotations

import numpy as np

from llpe.data.synthetic import sbm
from llpe.graph import Graph
from llpe.laplacian import laplacian
from llpe.paper.theory import blocks
from llpe.paper.theory.base import Check, Claim, Panel, Series, worst_ratio
from llpe.paper.theory.blocks import BlockModel

HOMOPHILY = {"p ≫ q": 0.9, "q ≫ p": 0.02}
ROUNDING = 1e-12
BINS = 80


def check_expected_spectrum(seed: int = 0) -> Check:
    models = [BlockModel(400, k, degree=48.0, homophily=h) for k in (2, 4) for h in HOMOPHILY.values()]
    with_loops, without, shifts, deviations = [], [], [], []
    sampled: dict[BlockModel, np.ndarray] = {}
    for model in models:
        mean = blocks.mean_laplacian(model, loops=False)
        known = blocks.values_without_loops(model)
        without.append(np.abs(np.linalg.eigvalsh(mean) - known).max())
        looped = np.linalg.eigvalsh(blocks.mean_laplacian(model, loops=True))
        with_loops.append(np.abs(looped - blocks.values_with_loops(model)).max())
        data = sbm(model.n, blocks=model.k, degree=model.degree, homophily=model.homophily, seed=seed)
        matrix = laplacian(Graph.from_data(data)).toarray()
        sampled[model] = np.linalg.eigvalsh(matrix)
        shifts.append(np.abs(sampled[model] - known).max())
        deviations.append(float(np.linalg.norm(matrix - mean, 2)))
    return Check(
        "expected-spectrum",
        "Eqs. 12 and 27: the mean Laplacian has the eigenvalues 0, 1 and kq/(p+(k−1)q)",
        (
            Claim("largest error of the closed form with loops", max(with_loops), "≤", ROUNDING),
            Claim("largest error of the closed form of simple graphs", max(without), "≤", ROUNDING),
            Claim("shift of sampled eigenvalues / ‖L − ℒ‖", worst_ratio(shifts, deviations), "≤", 1 + 1e-9),
        ),
        printed="the printed matrix has loops: a simple graph has 1 + p/d for 1 and μ = 1 − ((p−q)n/k − p)/d, O(1/n) "
        "away; D^(1/2) should read D^(−1/2)",
        panels=tuple(
            _panel(name, next(m for m in models if m.k == 4 and m.homophily == h), sampled)
            for name, h in HOMOPHILY.items()
        ),
    )


def _panel(name: str, model: BlockModel, sampled: dict[BlockModel, np.ndarray]) -> Panel:
    counts, edges = np.histogram(np.clip(sampled[model], 0, 2), bins=BINS, range=(0, 2))  # 0 may round below
    marks = (("0", 0.0), ("μ", blocks.informative_value(model)), ("1 + p/d", 1 + model.p / model.degree))
    return Panel(
        f"{name}: {model.n} nodes, {model.k} blocks, degree {model.degree:.0f}",
        "eigenvalue λ",
        "eigenvalues in a bin of 0.025",
        (Series("one sampled graph", edges, counts.astype(float), "steps"),),
        yscale="symlog",
        marks=marks,
    )
