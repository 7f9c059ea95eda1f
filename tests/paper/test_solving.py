"""Promises of the studies of time and memory: what is measured, kept, left out and written."""

from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from llpe.measuring import measure
from llpe.paper import settings_of, solving
from llpe.paper.solving import Case, cases, measure_all, run, write_graph

SMALL = {"sizes": [100, 200, 400], "counts": [2, 4], "graphs": 2, "limit": 5.0}
TIME = settings_of("solver-time", "quick") | SMALL
MEMORY = settings_of("solver-memory", "quick") | SMALL


class Solver:
    """Stands for :func:`measure`: n·k/200 seconds and 100 kB a node; more seconds than the limit are too long."""

    def __init__(self):
        self.calls = 0

    def __call__(self, module, function, *, limit, file, options):
        self.calls += 1
        n, seed = (int("".join(filter(str.isdigit, part))) for part in Path(file).stem.split("-")[1:])
        seconds = n * options.get("first", 1) * (1 + seed / 10) / 200
        late = {"failed": f"took more than {limit:g} s", "after": limit}
        return late if seconds > limit else {"seconds": seconds, "bytes": 1e5 * n}


@pytest.fixture
def solver(monkeypatch):
    solver = Solver()
    monkeypatch.setattr(solving, "measure", solver)
    return solver


@pytest.fixture
def context(untrained):
    return untrained()


@pytest.mark.usefixtures("solver")
def test_after_one_that_takes_too_long_the_larger_ones_are_left_out(context):
    found = measure_all(TIME, context)
    assert {case.n for case in found if case.method == "first" and case.k == 4} == {100, 200}
    assert {Case("first", 4, 200, 0), Case("probes", 0, 400, 1)} <= found.keys()
    assert "first k eigenpairs, k = 4, n = 400, graph 1 is left out: it took more than 5 s." in context.said
    longer = measure_all(TIME | {"sizes": [100, 200, 400, 800], "graphs": 1}, context)
    assert all(case.n < 800 for case in longer if case.k == 4)
    assert "first k eigenpairs, k = 4, n = 800, graph 1 is left out, as n = 400 was." in context.said


def test_a_measurement_is_made_once_and_one_that_took_too_long_again_with_more_time(solver, context):
    before = measure_all(TIME, context)
    calls = solver.calls
    assert measure_all(TIME, context) == before
    assert solver.calls == calls
    patient = measure_all(TIME | {"limit": 100.0}, context)
    assert set(patient) == set(cases(TIME))
    assert len(patient) == 3 * 2 * (2 * 2 + 1), "every size for every k, and once for probes"
    assert solver.calls == calls + len(patient) - len(before)


def test_a_failure_is_said_and_not_kept(context, monkeypatch):
    monkeypatch.setattr(solving, "measure", lambda *_, **__: {"failed": "failed: SpectrumError: no memory"})
    assert measure_all(TIME | {"sizes": [100], "counts": [2], "graphs": 1}, context) == {}
    assert context.said[0].endswith("is left out: it failed: SpectrumError: no memory.")
    assert not list((context.runs / "solving").glob("*.json"))


def test_time_and_memory_come_from_the_same_measurements(solver, context):
    files = run("solver-time", TIME, context)
    calls = solver.calls
    assert sorted(file.suffix for file in files) == [".csv", ".md", ".pdf", ".png", ".tex"]
    memory = run("solver-memory", MEMORY, context)
    assert solver.calls == calls
    rows = pd.read_csv(files[0]).set_index(["method", "k", "n"])
    assert list(rows.loc["first", 2, 100][["s", "std"]]) == pytest.approx([1.05, 0.1 / 2**0.5])  # of 1 and 1.1
    assert rows.loc["both", 4, 400].graphs == 0
    assert pd.isna(rows.loc["both", 4, 400].s)
    assert "40.0 ± 0.0" in memory[1].read_text()
    text = files[1].read_text()
    assert "| first and last k eigenpairs, k = 4 | 2.10 ± 0.14 | 4.20 ± 0.28 | – |" in text
    assert "–: took more than 5 s or failed, or a smaller graph did." in text


def test_a_process_measures_the_result_and_not_the_libraries_and_ends_when_it_must(tmp_path):
    graph = tmp_path / "graphs" / "sbm.npz"
    write_graph(graph, 3000, degree=10, homophily=0.8, seed=0)
    solve = partial(measure, "llpe.paper.solving", "solver", file=str(graph))
    result = solve(options=TIME["probes"], limit=300)
    features = 3000 * 32 * 64 * 4
    assert features <= result["bytes"] < 3 * features  # importing torch alone takes more than that
    assert result["seconds"] > 0
    late = {"failed": "took more than 0.01 s", "after": 0.01}
    assert solve(options={"first": 256, "last": 256}, limit=0.01) == late
    missing = measure("llpe.paper.solving", "solver", file=str(tmp_path / "none.npz"), options={"first": 2})
    assert missing["failed"].startswith("failed: FileNotFoundError")
