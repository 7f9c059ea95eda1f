"""Theorem 3: distances between rows of LLPE approximate f_r, and what it takes.

The paper's construction has n filters: W = T·Θ ≈ diag(√r(λ)), so that P = U·W has rows with ‖P_i − P_j‖ ≈ f_r(i, j).
As U is orthogonal, ‖U_i − U_j‖ = √2 and

    | ‖P_i − P_j‖ − f_r(i, j) | ≤ √2·‖W − diag(√r)‖.

If all eigenvalues are different, order n is enough and exact, for any r at all: polynomials of degree n − 1
interpolate n values. A path shows it, as its eigenvalues 1 − cos(πj/(n−1)) are the extrema of T_(n−1). On other graphs
that interpolation has huge coefficients, and floating point needs some orders more. Less than n is not enough: W has
rank at most M, so by Eckart and Young ‖W − diag(√r)‖_F² ≥ the sum of all but the M largest r(λ_k).

One filter does better. h(L) with h ≈ √r has the distances f_(h²), and | … | ≤ √2·max_k |h(λ_k) − √r(λ_k)|: the error
of approximating one smooth function, which falls geometrically in M whatever n. U·W with one filter is h(L) applied to
one vector; applied to R random ones it is the probe form (:mod:`llpe.paper.theory.probe_distances`).

NOTE[PAPER]: the proof takes gains r(λ_j), which gives f_(r²); they must be √r. It counts the error of n² gains as if
of n. And the theorem is not true for an arbitrary graph: filters cannot tell repeated eigenvalues apart. On a complete
graph every LLPE puts all nodes on one line, while f_r is the same for all pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import torch
from torch_geometric.data import Data

from llpe.chebyshev import basis
from llpe.data.synthetic import sbm
from llpe.graph import Graph, tiny
from llpe.laplacian import laplacian
from llpe.paper.theory.base import Check, Claim, Panel, curve
from llpe.paper.theory.distances import squared_distances, squares
from llpe.spectrum import full_spectrum

Kernel = Callable[[np.ndarray], np.ndarray]
NODES = 48
MANY = (4, 8, 16, 32, 48, 64, 128, 256, 512, 1024)
ONE = (2, 4, 6, 8, 12, 16, 20, 24)
TIME = 2.0
ROUNDING = 1e-7  # squared distances lose half of the digits where two nodes are near
KERNELS: dict[str, Kernel] = {
    "commute time, 1/λ": lambda v: 1 / v,
    "biharmonic, 1/λ²": lambda v: v**-2.0,
    "diffusion, e^(−4λ)": lambda v: np.exp(-2 * TIME * v),
    "high pass, e^(−4(2−λ))": lambda v: np.exp(-2 * TIME * (2 - v)),
}


def reach(values: np.ndarray, order: int) -> np.ndarray:
    """T·T⁺, shape (K, K): what filters of this order make of a wanted gain at each eigenvalue, in least squares."""
    terms = basis(torch.from_numpy(values), order).numpy()
    return terms @ np.linalg.pinv(terms, rcond=1e-14)


def one_filter(values: np.ndarray, r: Kernel, order: int) -> np.ndarray:
    """h(λ_k) of the polynomial of degree order − 1 that equals √r at the Chebyshev nodes of [λ_min, λ_max]."""
    middle, half = (values[-1] + values[0]) / 2, (values[-1] - values[0]) / 2
    nodes = middle + half * np.cos(np.pi * (np.arange(order) + 0.5) / order)
    theta = np.polynomial.chebyshev.chebfit((nodes - middle) / half, np.sqrt(r(nodes)), order - 1)
    return np.polynomial.chebyshev.chebval((values - middle) / half, theta)


def check_theorem_3(seed: int = 0) -> Check:
    values, vectors = _pairs(Graph.from_data(sbm(NODES, degree=8, homophily=0.3, seed=seed)))
    reached = {order: reach(values, order) for order in MANY}
    many: dict[str, list[float]] = {}
    one: dict[str, list[float]] = {}
    of_norm, of_rank, of_sup = [], [], []
    for name, r in KERNELS.items():
        target = np.sqrt(squared_distances(values, vectors, r, null=True))
        root, top = np.sqrt(r(values)), target.max()
        many[name], one[name] = [], []
        for order in MANY:
            gains = reached[order] * root
            error, off = np.abs(np.sqrt(squares(vectors @ gains)) - target).max(), gains - np.diag(root)
            many[name].append(error / top)
            of_norm.append(error / (np.sqrt(2) * np.linalg.norm(off, 2) + ROUNDING * top))
            if order < values.size:
                least = np.sort(r(values))[: values.size - order].sum()
                of_rank.append(np.linalg.norm(off) / np.sqrt(least))
        for order in ONE:
            h = one_filter(values, r, order)
            error = np.abs(np.sqrt(squares(vectors * h)) - target).max()
            one[name].append(error / top)
            of_sup.append(error / (np.sqrt(2) * np.abs(h - root).max() + ROUNDING * top))
    return Check(
        "theorem-3",
        "Theorem 3: distances between rows of LLPE approximate f_r, if all eigenvalues are different",
        (
            Claim("n filters, order 1024: error / largest distance", max(e[-1] for e in many.values()), "≤", 1e-6),
            Claim(
                "n filters, order n, a path of 48 nodes: the same", max(map(path_error, KERNELS.values())), "≤", 1e-6
            ),
            Claim("n filters: error / √2·‖W − diag(√r)‖, largest", max(of_norm), "≤", 1),
            Claim("n filters, order < n: ‖W − diag(√r)‖_F / rank bound, smallest", min(of_rank), "≥", 1),
            Claim("one filter, order 24: error / largest distance", max(e[-1] for e in one.values()), "≤", 1e-6),
            Claim("one filter: error / √2·max|h − √r|, largest", max(of_sup), "≤", 1),
            Claim("gains r as printed, not √r: error, biharmonic", printed_error(values, vectors), "≥", 0.1),
            Claim("complete graph: smallest error of any LLPE", line_error(), "≥", 1 / 3),
        ),
        printed="gains must be √r, not r; false where eigenvalues repeat (complete graph); n filters need order n "
        "or more, one filter on probes does not",
        panels=(
            _panel("n filters, U·W", MANY, many, (("n", float(NODES)),)),
            _panel("one filter, h(L)", ONE, one, ()),
        ),
    )


def _pairs(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """The nontrivial eigenpairs; λ = 0 has no 1/λ."""
    values, vectors = np.linalg.eigh(laplacian(graph).toarray())
    return values[1:], vectors[:, 1:]


def path_error(r: Kernel, num_nodes: int = NODES) -> float:
    """The largest error on a path, by as many filters as there are nontrivial eigenvalues and of that order."""
    steps = torch.arange(num_nodes - 1)
    edges = torch.stack([torch.cat([steps, steps + 1]), torch.cat([steps + 1, steps])])
    values, vectors = _pairs(Graph.from_data(Data(edge_index=edges, num_nodes=num_nodes)))
    target = np.sqrt(squared_distances(values, vectors, r, null=True))
    found = np.sqrt(squares(vectors @ (reach(values, values.size) * np.sqrt(r(values)))))
    return float(np.abs(found - target).max() / target.max())


def printed_error(values: np.ndarray, vectors: np.ndarray) -> float:
    """What the printed gains diag(r) give for the biharmonic distance instead of diag(√r)."""
    r = KERNELS["biharmonic, 1/λ²"]
    target = np.sqrt(squared_distances(values, vectors, r, null=True))
    return float(np.abs(np.sqrt(squares(vectors * r(values))) - target).max() / target.max())


def line_error(name: str = "complete") -> float:
    """How far any LLPE of a graph with one nontrivial eigenvalue is from giving all pairs one distance, relatively.

    P_i − P_j = (s_i − s_j)·b with s the sum of the nontrivial eigenvectors, as √d is constant: points on a line.
    The best scale leaves (max − min)/(max + min) of the gaps, at least 1/3 for three points or more.
    """
    spectrum = full_spectrum(tiny(name), cache=False)
    s = spectrum.vectors[:, 1:].sum(dim=1).numpy()
    gaps = np.abs(s[:, None] - s[None, :])[np.triu_indices(s.size, 1)]
    return float((gaps.max() - gaps.min()) / (gaps.max() + gaps.min()))


def _panel(
    title: str, orders: tuple[int, ...], errors: dict[str, list[float]], marks: tuple[tuple[str, float], ...]
) -> Panel:
    lines = tuple(curve(name, orders, np.maximum(each, 1e-16)) for name, each in errors.items())
    scale: Literal["linear", "log"] = "log" if marks else "linear"
    return Panel(
        f"{title}: {NODES} nodes", "order M", "largest error / largest distance", lines, scale, "log", marks=marks
    )
