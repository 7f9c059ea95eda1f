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
from typing import Any

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from llpe import Encoding, GraphWarning, SpectrumError, make_encoding
from llpe.encodings import ENCODINGS
from naive_formulas import CHECKS, Naive

Options = dict[str, Any]
BAD = ("raw error", "non-finite", "difference")
EXTREME = (0.0, 5e-324, 1e-310, 1e-300, 1e-200, 1e-30, 1e-12, 1e-5, 0.5, 1.0, 3.7, 1e5, 1e12, 1e30, 1e200, 1e308)
JUNK = ("x", float("nan"), [1], object(), 1j, -3, 10**40)

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
