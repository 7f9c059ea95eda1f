"""Random graphs and arguments against naive formulas in NumPy: every encoding gives the right numbers, or refuses.

``make fuzz`` tries thousands for each encoding and prints what came of them; the test tries a few. Graphs are directed
or not, with self-loops, duplicates, isolated nodes, and weights from the smallest to the largest float64.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from llpe import Encoding, GraphWarning, SpectrumError, full_spectrum, make_encoding
from llpe.encodings import ENCODINGS
from llpe.encodings.signnet import SignNet

Options = dict[str, Any]
BAD = ("raw error", "non-finite", "difference")
EXTREME = (0.0, 5e-324, 1e-310, 1e-300, 1e-200, 1e-30, 1e-12, 1e-5, 0.5, 1.0, 3.7, 1e5, 1e12, 1e30, 1e200, 1e308)
JUNK = ("x", float("nan"), [1], object(), 1j, -3, 10**40)
SAME = 1e-8  # eigenvalues closer than this are one, in the library; where it is not clear, nothing is compared

COUNT, SEED, SHARE = st.integers(1, 6), st.integers(0, 3), st.sampled_from((0.1, 1.0))
FILTERED = {"share": SHARE, "l1": st.sampled_from((0.0, 0.1)), "seed": SEED, "order": st.integers(1, 12)}
SIGNALS = FILTERED | {"start": st.sampled_from(("heat", "step", "uniform")), "size": st.sampled_from((None, 1.0, 3.0))}
OPTIONS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "none": {"seed": SEED},
    **{name: {"dim": COUNT, "k": st.integers(1, 14), "seed": SEED} for name in ("lpe-fk", "lpe-lk", "lpe-flk")},
    **{name: {"dim": COUNT, "width": st.sampled_from((None, 12)), "seed": SEED} for name in ("lpe-full", "elastic")},
    "signnet": {"dim": COUNT, "k": st.integers(1, 14), "hidden": COUNT, "out": COUNT, "seed": SEED},
    "san": {"dim": st.sampled_from((4, 8)), "k": COUNT, "layers": st.integers(1, 2), "heads": st.sampled_from((1, 2))},
    "rwse": {"dim": COUNT, "steps": st.integers(1, 12), "seed": SEED},
    "fastrp": {"dim": COUNT, "powers": COUNT, "exponent": st.sampled_from((-1.0, -0.5, 0.0)), "seed": SEED},
    "llpe": SIGNALS | {"dim": COUNT},
    "llpe-ends": SIGNALS | {"dim": COUNT, "k": COUNT},
    "llpe-minmax": {"dim": COUNT, "order": st.integers(1, 12), "l1": st.sampled_from((0.0, 0.1)), "seed": SEED},
    "llpe-probes": SIGNALS | {"dim": COUNT, "frozen": st.just(False)},
    "llpe-invariant": FILTERED | {"dim": st.sampled_from((2, 4, 8)), "filters": st.integers(1, 2)},
}


@st.composite
def graphs(draw: st.DrawFn) -> Data:
    n = draw(st.integers(1, 12))
    node = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=24))
    if draw(st.booleans()):
        edges += [(target, source) for source, target in edges]
    kind = draw(st.sampled_from(("none", "plain", "scaled", "extreme")))
    out = Data(edge_index=torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).t().contiguous(), num_nodes=n)
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    if kind != "none":
        weight = rng.choice(EXTREME, len(edges)) if kind == "extreme" else rng.uniform(0.1, 10, len(edges))
        scale = draw(st.sampled_from(EXTREME[1:])) if kind == "scaled" else 1.0
        with np.errstate(over="ignore"):
            out.edge_weight = torch.from_numpy(np.minimum(weight * scale, 1.7e308))
    out.x = torch.from_numpy(rng.normal(size=(n, 2)))  # float64, and so is the fixed part
    return out


@st.composite
def cases(draw: st.DrawFn, name: str) -> tuple[Data, Options, str | None]:
    """A graph, options, and the option that is junk, if any."""
    options = {option: draw(values) for option, values in OPTIONS[name].items()}
    junk = None
    if draw(st.integers(0, 9)) == 0:
        junk = draw(st.sampled_from(sorted(options)))
        options[junk] = draw(st.sampled_from(JUNK))
    return draw(graphs()), options, junk


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
                return True  # the naive formula is no judge here
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


def outcome(name: str, data: Data, options: Options, junk: str | None) -> tuple[str, str]:
    """What came of one example, and why."""
    try:
        encoding = make_encoding(name, **options).eval()
        prepared = encoding.prepare(data, cache=False)
        rows = encoding(prepared)
        encoding.penalty(prepared)
        again = make_encoding(name, **options).eval()
        repeated = again(again.prepare(data, cache=False))
    except (ValueError, SpectrumError) as error:
        in_words = isinstance(error, SpectrumError) or re.search(r"must .*, got ", str(error))
        wrong = junk is None and data.edge_weight is None and "multiple" not in str(error) and "rows" not in str(error)
        return ("refused" if in_words and not wrong else "raw error"), repr(error)
    except Exception as error:
        return "raw error", repr(error)
    if junk is not None:
        return "difference", f"{junk} is taken"
    if not torch.isfinite(rows).all():
        return "non-finite", str(rows)
    if rows.shape != (data.num_nodes, encoding.dim) or not torch.equal(rows, repeated):
        return "difference", f"shape {list(rows.shape)}, or not the same twice"
    fixed = lambda part: prepared[encoding.attribute(part)].double().numpy()  # noqa: E731
    return (
        "right" if CHECKS[name](encoding, prepared, Naive(data), fixed) else "difference"
    ), "the naive formula differs"


def fuzz(name: str, examples: int) -> tuple[Counter[str], dict[str, str]]:
    """How many examples came out how, and the first of each bad kind."""
    counts: Counter[str] = Counter()
    first: dict[str, str] = {}

    @hypothesis.settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(case=cases(name))
    def attempt(case: tuple[Data, Options, str | None]) -> None:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", GraphWarning)
            kind, why = outcome(name, *case)
        counts[kind] += 1
        if kind in BAD:
            data, options, _ = case
            weight = None if data.edge_weight is None else data.edge_weight.tolist()
            first.setdefault(
                kind, f"{name} {options}, {data.num_nodes} nodes {data.edge_index.tolist()} {weight}: {why}"
            )

    attempt()
    return counts, first


@pytest.mark.parametrize("name", ENCODINGS)
def test_a_few_random_graphs_and_arguments(name: str) -> None:
    counts, first = fuzz(name, 25)
    assert not first
    assert counts["right"] > 10


def test_the_fuzzer_notices_a_wrong_number(monkeypatch: pytest.MonkeyPatch) -> None:
    forward = Encoding.fixed
    monkeypatch.setattr(Encoding, "fixed", lambda self, data, part: forward(self, data, part) * 1.01)
    assert "difference" in fuzz("rwse", 25)[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=2000)
    parser.add_argument("--encodings", nargs="*", default=list(ENCODINGS))
    arguments = parser.parse_args()
    heads = ("tried", "right", "refused", "raw errors", "non-finite", "differences", "seconds")
    print("encoding".ljust(16) + "".join(head.rjust(13) for head in heads))
    bad = 0
    for name in arguments.encodings:
        start = time.perf_counter()
        counts, first = fuzz(name, arguments.examples)
        row = [counts.total(), *(counts[kind] for kind in ("right", "refused", *BAD)), time.perf_counter() - start]
        print(name.ljust(16) + "".join(f"{number:13.0f}" for number in row), flush=True)
        for kind, text in first.items():
            print(f"  {kind}: {text}")
        bad += sum(counts[kind] for kind in BAD)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
