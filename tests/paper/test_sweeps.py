"""Promises of the sweeps: the paper's picture on a small scale, what is trained, and what is written."""

import pandas as pd
import pytest

from llpe.paper import run_study
from llpe.paper.base import merge, settings_of

SBM = settings_of("sbm", "quick")
CHANGES = {"none": {}, "lpe-fk": {"dim": 16, "k": 4}, "lpe-lk": {"dim": 16, "k": 4}, "llpe": {"dim": 16}}
CHANGES |= {"llpe-probes": {"dim": 16, "probes": 8}}
SMALL = {
    "graphs": [{"title": "two blocks", "names": ["sbm:n=160,degree=16,homophily={}"], "classes": 2}],
    "values": [0.0, 1.0],
    "encodings": {name: SBM["encodings"][name] | options for name, options in CHANGES.items()},
    "model": {"name": "mlp", "hidden": 16},
    "training": {"lr": 0.05, "epochs": 120, "patience": 120},
    "splits": 2,
}


@pytest.fixture(scope="module")
def written(context):
    return run_study("sbm", context, SBM | SMALL)


def test_first_eigenvectors_help_where_neighbours_agree_last_where_they_differ_llpe_at_both(written):
    assert [file.name for file in written] == [f"sbm.{suffix}" for suffix in ("csv", "md", "tex", "png", "pdf")]
    assert SBM["smaller"][0] in written[1].read_text()
    found = pd.read_csv(written[0]).pivot(index="encoding", columns="homophily", values="mean").T
    good, poor = 0.85, 0.78
    assert found["lpe-fk"][1.0] > good > poor > found["lpe-fk"][0.0]
    assert found["lpe-lk"][0.0] > good > poor > found["lpe-lk"][1.0]
    assert found["none"].max() < poor
    assert found[["llpe", "llpe-probes"]].min().min() > good


def test_a_sweep_that_is_run_again_trains_nothing_and_writes_the_same(written, context):
    def state():
        return {path: path.stat().st_mtime_ns for path in context.runs.rglob("report.json")}

    before, reports = [file.read_bytes() for file in written], state()
    again = run_study("sbm", context, SBM | SMALL)
    assert [file.read_bytes() for file in again] == before
    assert state() == reports


def test_without_cora_quick_takes_a_block_model_and_leaves_out_what_it_has_not(untrained):
    context = untrained(benchmarks=False)
    files = run_study("ends", context)
    instead = settings_of("ends", "quick")["graphs"][0]["names"][1]
    assert f"{instead} instead of giant:cora." in context.said
    assert f"k = 512 is left out: {instead} has 500 eigenpairs in all." in context.said
    assert "An MLP instead of GT; 3 splits instead of 10; 100 epochs at most." in context.said
    rows = pd.read_csv(files[0], keep_default_na=False)
    assert list(rows.encoding) == ["none", *["llpe-ends, scaling=minmax", "llpe-ends"] * 2]
    assert list(rows.k) == ["", "8", "8", "64", "64"]
    assert set(rows.graph) == {instead}
    text = files[1].read_text()
    assert "| encoding | k = 8 | k = 64 |" in text
    assert "Without an encoding: 55.0 ± 7.1." in text


@pytest.mark.parametrize(("name", "option", "lines"), [("order", "order", 3), ("ends", "k", 2)])
def test_along_a_line_nothing_else_differs(untrained, name, option, lines):
    context = untrained()
    run_study(name, context, merge(settings_of(name, "quick"), {"values": [8, 16, 24]}))
    values: dict[str, set[int]] = {}
    for config in context.asked:
        rest = merge(config, {"encoding": {option: None}})
        values.setdefault(str(rest), set()).add(config["encoding"].get(option))
    assert sorted(values.values(), key=len) == [{None}, *[{8, 16, 24}] * lines]


def test_a_graph_may_have_a_model_splits_and_values_of_its_own(untrained):
    context, settings = untrained("standard"), settings_of("sbm", "standard")
    small = [graph | {"names": ["sbm:n=60,homophily={}"]} for graph in settings["graphs"]]
    files = run_study("sbm", context, settings | {"graphs": small})
    asked = [(each["model"]["name"], each["splits"]["count"]) for each in context.asked]
    assert asked == [("gt", 5)] * 6 * 8 + [("mlp", 5)] * 6 * 8 + [("gt", 3)] * 2 * 8
    assert list(pd.read_csv(files[0]).homophily[-16:]) == [0.0] * 8 + [1.0] * 8
    tables = [line for line in files[1].read_text().splitlines() if line.startswith(("**Block", "| encoding"))]
    six = "| encoding | h = 0 | h = 0.2 | h = 0.4 | h = 0.6 | h = 0.8 | h = 1 |"
    score = "test accuracy in %, mean ± standard deviation over"
    assert tables == [
        f"**Block models: two blocks, n = 2000, degree 10; GT, {score} 5 splits**",
        six,
        f"**Block models: five blocks, n = 5000, degree 10; MLP, {score} 5 splits**",
        six,
        f"**Block models: five blocks, n = 5000, degree 10; GT, {score} 3 splits**",
        "| encoding | h = 0 | h = 1 |",
    ]
