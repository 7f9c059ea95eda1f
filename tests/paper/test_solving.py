"""Promises of the studies of time and memory: what is kept, what is left out, what is written."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from llpe.paper import Context, find_study, solving
from llpe.paper.solving import Case, Plan, cases, measure_all

PLAN = Plan((100, 200, 400), (2, 4), graphs=2, limit=5.0)


class Solver:
    """Stands for :func:`measure_apart`: n·k/200 seconds and 100 kB a node; more seconds than the limit are too long."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, file: Path, method: str, k: int, *, limit: float) -> dict[str, float] | str:
        self.calls += 1
        n, seed = (int("".join(filter(str.isdigit, part))) for part in file.stem.split("-")[1:])
        seconds = n * max(k, 1) * (1 + seed / 10) / 200
        return f"took more than {limit:g} s" if seconds > limit else {"seconds": seconds, "bytes": 1e5 * n}


@pytest.fixture
def solver(monkeypatch: pytest.MonkeyPatch) -> Solver:
    fake = Solver()
    monkeypatch.setattr(solving, "measure_apart", fake)
    monkeypatch.setattr(solving, "PLANS", {"quick": PLAN})
    return fake


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def context(tmp_path: Path, said: list[str]) -> Context:
    return Context("quick", tmp_path / "runs", tmp_path / "out", say=said.append)


def test_every_size_is_measured_for_every_k_and_once_for_probes():
    found = cases(PLAN)
    assert len(found) == len(set(found)) == 3 * 2 * (2 * 2 + 1)
    assert [case.n for case in found] == sorted(case.n for case in found)


def test_after_one_that_takes_too_long_the_larger_ones_are_left_out(solver, context, said):
    found = measure_all(context, PLAN)
    first = {case.n for case in found if case.method == "first" and case.k == 4}
    assert first == {100, 200}
    assert Case("first", 4, 200, 0) in found
    assert Case("probes", 0, 400, 1) in found
    assert "first k eigenpairs, k = 4, n = 400, graph 1 is left out: it took more than 5 s." in said
    longer = measure_all(context, Plan((100, 200, 400, 800), (2, 4), graphs=1, limit=5.0))
    assert all(case.n < 800 for case in longer if case.k == 4)
    assert "first k eigenpairs, k = 4, n = 800, graph 1 is left out, as n = 400 was." in said


def test_a_measurement_is_made_once_and_one_that_took_too_long_again_with_more_time(solver, context):
    before = measure_all(context, PLAN)
    calls = solver.calls
    assert measure_all(context, PLAN) == before
    assert solver.calls == calls
    patient = measure_all(context, Plan(PLAN.sizes, PLAN.counts, PLAN.graphs, limit=100.0))
    assert set(patient) == set(cases(PLAN))
    assert solver.calls == calls + len(patient) - len(before)


def test_a_failure_is_said_and_not_kept(monkeypatch, context, said):
    monkeypatch.setattr(solving, "measure_apart", lambda *_, **__: "failed: SpectrumError: no memory")
    plan = Plan((100,), (2,), graphs=1, limit=5.0)
    assert measure_all(context, plan) == {}
    assert said[0].endswith("is left out: it failed: SpectrumError: no memory.")
    assert not list((context.runs / "solving").glob("*.json"))


def test_time_and_memory_come_from_the_same_measurements(solver, context):
    files = find_study("solver-time").run(context)
    calls = solver.calls
    assert sorted(file.suffix for file in files) == [".csv", ".md", ".pdf", ".png", ".tex"]
    find_study("solver-memory").run(context)
    assert solver.calls == calls
    with (context.out / "solver-time.csv").open() as file:
        rows = list(csv.DictReader(file))
    lines = {(row["method"], row["k"], row["n"]): row for row in rows}
    assert float(lines["first", "2", "100"]["s"]) == pytest.approx(1.05)  # the mean of 1 and 1.1
    assert float(lines["first", "2", "100"]["std"]) == pytest.approx(0.1 / 2**0.5)
    assert (lines["both", "4", "400"]["s"], lines["both", "4", "400"]["graphs"]) == ("", "0")
    assert "40.0 ± 0.0" in (context.out / "solver-memory.md").read_text()
    text = (context.out / "solver-time.md").read_text()
    assert "| first and last k eigenpairs, k = 4 | 2.10 ± 0.14 | 4.20 ± 0.28 | – |" in text
    assert "–: took more than 5 s or failed, or a smaller graph did." in text
