"""The formulas of the encodings, written out naively with dense matrices: what the tests compare with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from llpe import full_spectrum
from llpe.encodings.signnet import SignNet

SAME = 1e-8  # eigenvalues closer than this are one, in the library; where it is not clear, nothing is compared


def naive_gains(values: Tensor, theta: Tensor) -> Tensor:
    """W[i, j] = Σ_m θ_j[m]·cos(m·arccos(λ_i − 1))."""
    m = torch.arange(theta.size(0))
    return torch.cos(m * torch.arccos((values - 1).clamp(-1, 1))[:, None]) @ theta


class Naive:
    """The undirected view and its normalised Laplacian as dense matrices; weights are in units of the largest."""

    def __init__(self, data: Data) -> None:
        n, pairs = data.num_nodes, data.edge_index.t().tolist()
        given = np.ones(len(pairs)) if data.edge_weight is None else data.edge_weight.numpy()
        self.unit = float(given.max(initial=0.0)) or 1.0
        total, present = np.zeros((n, n)), np.zeros((n, n), dtype=bool)
        for (source, target), weight in zip(pairs, given / self.unit, strict=True):
            if source != target and weight > 0:
                total[source, target] = weight + (total[source, target] if data.edge_weight is not None else 0)
                present[source, target] = True
        self.A = (total + total.T) / np.where(present & present.T, 2, 1)
        self.degree = self.A.sum(axis=1)
        root = np.sqrt(np.where(self.degree > 0, self.degree, np.inf))
        self.N = self.A / root[:, None] / root
        self.values, self.vectors = np.linalg.eigh(np.eye(n) - self.N)
        self.edges = bool(self.A.any())
        self.trivial = np.sqrt(self.degree / self.degree.sum()) if self.edges else np.zeros(n)
        gaps = np.diff(self.values)
        self.clear = not ((gaps > SAME / 1e3) & (gaps < SAME * 1e3)).any()
        self.spaces = np.cumsum(np.concatenate([[0], gaps > SAME]))

    def terms(self, order: int) -> np.ndarray:
        return np.cos(np.arange(order) * np.arccos(np.clip(self.values - 1, -1, 1))[:, None])

    def signals(self, count: int, seed: int, chosen: np.ndarray) -> np.ndarray:
        """Σ_E √dim(E)·P_E g / ‖P_E g‖ as coefficients of the eigenvectors, over the chosen ones."""
        inner = self.vectors.T @ probes(self.values.size, count, seed)
        out = np.zeros_like(inner)
        for space in np.unique(self.spaces[chosen]):
            own = self.spaces == space
            out[own] = inner[own] * np.sqrt(own.sum()) / np.linalg.norm(inner[own], axis=0)
        return out


def probes(n: int, count: int, seed: int) -> np.ndarray:
    draws = [np.random.default_rng([seed, r]).standard_normal(n, dtype=np.float32) for r in range(count)]
    return np.stack(draws, axis=1).astype(np.float64)


def same(found: np.ndarray, expected: np.ndarray, tolerance: float = 2e-5) -> bool:
    size = max(1e-30, float(np.abs(expected).max(initial=0.0)))
    return found.shape == expected.shape and bool((np.abs(found - expected) <= tolerance * size).all())


def eigenvectors(graph: Naive, found: np.ndarray, expected: np.ndarray) -> bool:
    """Whether the columns are orthonormal eigenvectors of these eigenvalues, and zero beyond."""
    mine = found[:, : expected.size]
    residual = mine - graph.N @ mine - mine * expected
    return (
        same(mine.T @ mine, np.eye(expected.size), 1e-7)
        and not found[:, expected.size :].any()
        and np.abs(residual).max(initial=0.0) < 1e-6
    )


def check_ends(encoding: Any, data: Data, graph: Naive, fixed: Callable[[str], np.ndarray]) -> bool:
    found, k, values = fixed("vectors"), encoding.k, graph.values[int(graph.edges) :]  # but for the trivial one
    ends = {"lpe-fk": "first", "lpe-lk": "last", "signnet": "first"}.get(encoding.name, "both")
    fits = True
    if ends != "last":
        fits &= eigenvectors(graph, found[:, :k], values[:k]) and np.abs(graph.trivial @ found[:, :k]).max() < 1e-6
    rest = graph.values if ends == "last" else values[k:]
    if ends != "first":
        fits &= eigenvectors(graph, found[:, -k:], rest[max(0, rest.size - k) :])
    if isinstance(encoding, SignNet):
        entries, there = torch.from_numpy(found).float()[..., None], torch.arange(k) < values.size
        summed = ((encoding.phi(entries) + encoding.phi(-entries)) * there[:, None]).sum(dim=1)
        fits &= same(encoding(data).detach().numpy(), encoding.rho(summed).detach().numpy(), 1e-3)
    return fits


def check_full(encoding: Any, data: Data, graph: Naive, fixed: Callable[[str], np.ndarray]) -> bool:
    return eigenvectors(graph, fixed("vectors"), graph.values)


def check_san(encoding: Any, data: Data, graph: Naive, fixed: Callable[[str], np.ndarray]) -> bool:
    k = min(encoding.k, graph.values.size)
    vectors, values = fixed("vectors"), fixed("values")
    pairs = torch.from_numpy(np.stack([vectors[:, :k], values[:, :k]], axis=-1)).float()
    expected = encoding.transformer(encoding.embed(pairs)).sum(dim=1).detach().numpy()
    return (
        eigenvectors(graph, vectors, graph.values[:k])
        and np.abs(values[0, :k] - graph.values[:k]).max() < 1e-7
        and same(encoding(data).detach().numpy(), expected, 1e-4)
    )


def check_elastic(encoding: Any, data: Data, graph: Naive, fixed: Callable[[str], np.ndarray]) -> bool:
    L = np.diag(graph.degree) - graph.A
    expected = np.zeros_like(L)
    linked = np.linalg.matrix_power((graph.A > 0) + np.eye(len(L)), len(L)) > 0
    for nodes in {tuple(np.flatnonzero(row)) for row in linked}:
        part, mean = np.ix_(nodes, nodes), 1 / len(nodes)
        size = L[part].max()
        if len(nodes) > 1:
            matrix = L[part] / size + mean
            if np.linalg.cond(matrix) > 1e10:
                return True  # the naive formula is not accurate here
            expected[part] = (np.linalg.inv(matrix) - mean) / size
    with np.errstate(over="ignore", under="ignore"):
        expected = (expected - np.diag(expected)) / graph.unit
    return same(fixed("potentials")[:, : len(L)], expected)


def check_rwse(encoding: Any, data: Data, graph: Naive, fixed: Callable[[str], np.ndarray]) -> bool:
    P = graph.A / np.where(graph.degree > 0, graph.degree, 1.0)[:, None]
    powers = [np.linalg.matrix_power(P, m).diagonal() for m in range(1, encoding.steps + 1)]
    expected = np.stack(powers, axis=1)
    layer = encoding.project
    projected = expected @ layer.weight.detach().double().numpy().T + layer.bias.detach().double().numpy()
    return same(fixed("returns"), expected) and same(encoding(data).detach().numpy(), projected)


def check_fastrp(encoding: Any, data: Data, graph: Naive, fixed: Callable[[str], np.ndarray]) -> bool:
    degree = np.where(graph.degree > 0, graph.degree, 1.0)
    largest = degree.max()  # rows are scaled to unit length: the unit of weights does not matter
    signal = probes(degree.size, encoding.dim, encoding.seed) * ((degree / largest) ** encoding.exponent)[:, None]
    signal[graph.degree == 0] = 0.0
    total = np.zeros_like(signal)
    for _ in range(encoding.powers):
        signal = graph.A / degree[:, None] @ signal
        length = np.linalg.norm(signal, axis=1, keepdims=True)
        total += signal / np.where(length > 0, length, 1.0)
    length = np.linalg.norm(total, axis=1, keepdims=True)
    clear = (length > 1e-3) | (length == 0)  # where the terms cancel, rounding errors are scaled to length 1
    rows = total / np.where(length > 0, length, 1.0) * encoding.dim**0.5
    return same(fixed("rows") * clear, rows * clear, 1e-3)


def check_llpe(encoding: Any, data: Data, graph: Naive, fixed: Callable[[str], np.ndarray]) -> bool:
    n, k = graph.values.size, encoding.k or graph.values.size
    chosen = np.array(sorted({*range(n)[:k], *range(n)[max(0, n - k) :]}))
    cut = np.isin(np.setdiff1d(np.arange(n), chosen), chosen).any() or set(graph.spaces[chosen]) & set(
        np.delete(graph.spaces, chosen)
    )
    if not graph.clear or cut:
        return True  # which basis is taken is the library's convention
    if encoding.scaling == "minmax":
        vectors = full_spectrum(data, seed=encoding.seed, cache=False).vectors.numpy()
        low, high = vectors.min(axis=0), vectors.max(axis=0)
        constant = high - low <= 1e-8 * np.maximum(np.abs(high), np.abs(low))
        scaled = np.where(constant, 0.0, 2 * (vectors - low) / np.where(constant, 1.0, high - low) - 1)
        return check_filtered(encoding, data, fixed("basis"), scaled @ graph.terms(encoding.order))
    weights = graph.signals(encoding.directions, encoding.seed, chosen)
    expected = np.einsum("vi,is,im->vsm", graph.vectors, weights, graph.terms(encoding.order))
    if encoding.rows == "unit":
        expected -= np.einsum("v,w,wsm->vsm", graph.trivial, graph.trivial, expected)
    expected = expected[:, 0] if encoding.directions == 1 else expected
    return check_filtered(encoding, data, fixed("basis"), expected)


def check_probes(encoding: Any, data: Data, graph: Naive, fixed: Callable[[str], np.ndarray]) -> bool:
    S = probes(graph.values.size, encoding.probes, encoding.seed) * encoding.probes**-0.5
    if encoding.rows == "unit":
        S -= np.outer(graph.trivial, graph.trivial @ S)
    inner = graph.vectors.T @ S
    expected = np.einsum("vi,is,im->vsm", graph.vectors, inner, graph.terms(encoding.order))
    return check_filtered(encoding, data, fixed("basis"), expected)


def check_invariant(encoding: Any, data: Data, graph: Naive, fixed: Callable[[str], np.ndarray]) -> bool:
    mixed = data.x.float().numpy() @ probes(2, encoding.signals, encoding.seed) * encoding.signals**-0.5
    weight = graph.degree if graph.edges else np.ones(len(mixed))
    S = mixed - weight / weight.sum() @ mixed
    S = np.where(np.abs(S).max(axis=0) > 1e-6 * np.abs(mixed).max(axis=0), S, 0.0)
    X = -graph.A / np.where(graph.degree > 0, graph.degree, 1.0)[:, None]
    terms = [S, X @ S]
    while len(terms) < encoding.order:
        terms.append(2 * X @ terms[-1] - terms[-2])
    return check_filtered(encoding, data, fixed("basis"), np.stack(terms[: encoding.order], axis=-1), 1e-4)


def check_filtered(encoding: Any, data: Data, found: np.ndarray, expected: np.ndarray, tolerance: float = 2e-5) -> bool:
    """The Chebyshev terms of the signals, and what the filters make of them."""
    if not same(found, expected, tolerance):
        return False
    if encoding.rows == "unit":
        return True
    coefficients = encoding.coefficients.detach().double().numpy() * float(encoding.scale)
    rounding = 1e-5 * (np.abs(found) @ np.abs(coefficients)).max(initial=0.0)  # terms may cancel
    result = encoding(data).detach().numpy()
    return bool((np.abs(result - (found @ coefficients).reshape(result.shape)) <= rounding).all())


CHECKS: dict[str, Callable[..., bool]] = {
    **dict.fromkeys(("lpe-fk", "lpe-lk", "lpe-flk", "signnet"), check_ends),
    **dict.fromkeys(("llpe", "llpe-ends", "llpe-minmax"), check_llpe),
    "none": lambda *_: True,
    "lpe-full": check_full,
    "san": check_san,
    "elastic": check_elastic,
    "rwse": check_rwse,
    "fastrp": check_fastrp,
    "llpe-probes": check_probes,
    "llpe-invariant": check_invariant,
}
