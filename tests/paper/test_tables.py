"""The paper's tables: what is written, and that they resume."""

import json

import pandas as pd
import pytest

from llpe.lab import Dask
from llpe.paper import Context, run_study, settings_of, tables
from llpe.paper.results import COLUMNS, read_results
from llpe.runs import load_runs

ROWS = ["none", "lpe-fk", "llpe-minmax", "llpe-probes"]
SMALL = settings_of("table-small") | {
    "blocks": [{"datasets": ["sbm:n=100,homophily=1"], "models": ["mlp"], "rows": "all"}],
    "rows": {"all": ROWS},
    "plan": [{"search": {"trials": 1}, "splits": 3}],
    "config": {"encoding": {"dim": 64}, "training": {"epochs": 5}},
}


def context_of(folder, budget="standard", **changes):
    return Context(budget, folder / "runs", folder / "out", workers=1, **changes)


def results_of(folder):
    return read_results(folder / "out" / "table-small.csv")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The files of a table of four cells, and the folder they are in; for reading only."""
    folder = tmp_path_factory.mktemp("table")
    return run_study("table-small", context_of(folder), SMALL), folder


@pytest.fixture
def copied(written, tmp_path):
    """The same table without its run folders, to be changed."""
    (tmp_path / "out").mkdir()
    for file in written[0]:
        (tmp_path / "out" / file.name).write_bytes(file.read_bytes())
    return tmp_path


def test_a_table_writes_every_cell_with_the_agreed_columns(written):
    files, folder = written
    parts = (".csv", "-splits.csv", "-search.csv", ".md", ".tex")
    assert [file.name for file in files] == [f"table-small{part}" for part in parts]
    agreed = "dataset,model,encoding,metric,mean,std,splits,wins,rank,paper_mean,paper_std,trials,command"
    assert files[0].read_text().splitlines()[0] == agreed == ",".join(COLUMNS)
    results = results_of(folder)
    assert list(results.encoding) == ROWS
    assert set(zip(results.splits, results.trials, strict=True)) == {(3, 1)}
    assert list(results.wins.isna()) == [False, True, False, False]
    assert "lpe-fk" in files[3].read_text()
    assert sorted(round(100 * run.mean, 2) for run in load_runs([folder / "runs"])) == sorted(results["mean"])
    assert all(json.loads(choice)["lr"] == 0.01 for choice in pd.read_csv(files[2]).choice)


def test_a_table_from_a_cluster_is_the_same(written, tmp_path):
    distributed = pytest.importorskip("distributed", reason="needs dask: pip install llpe[cluster]")
    here = {"processes": True, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(1, **here) as cluster, Dask(cluster.scheduler_address) as engine:
        files = run_study("table-small", context_of(tmp_path, engine=engine), SMALL)
    assert [file.read_text() for file in files] == [file.read_text() for file in written[0]]


def test_a_stopped_table_goes_on_and_ends_the_same(written, tmp_path):
    class StopError(Exception):
        pass

    def stop_after_two(items, title, describe):
        yield from items[:2]
        raise StopError

    with pytest.raises(StopError):
        run_study("table-small", context_of(tmp_path, track=stop_after_two), SMALL)
    assert len(results_of(tmp_path)) == 2
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "runs").rglob("report.json")}
    run_study("table-small", context_of(tmp_path), SMALL)
    assert all(file.stat().st_mtime_ns == time for file, time in before.items())
    for file in written[0]:
        assert (tmp_path / "out" / file.name).read_bytes() == file.read_bytes()


def first_only(items, title, describe):
    yield items[0]


def test_cells_that_are_there_stay_until_they_are_computed_again(written, copied):
    said = []
    twice = SMALL | {"plan": [{"search": {"trials": 2}, "splits": 3}]}
    run_study("table-small", context_of(copied, say=said.append, track=first_only), twice)
    assert "has 4 cells of `llpe reproduce table-small --budget standard`; each stays" in said[-1]
    before, after = results_of(written[1]), results_of(copied)
    assert list(after.trials) == [2, 1, 1, 1]
    assert list(after["mean"][1:]) == list(before["mean"][1:])


def test_a_cell_may_take_the_settings_found_for_another_one(copied):
    here, there = SMALL["blocks"][0]["datasets"][0], "sbm:n=120,homophily=0"
    like = SMALL | {
        "blocks": [*SMALL["blocks"], {"datasets": [there], "models": ["mlp"], "rows": "all"}],
        "rows": {"all": ["none", "llpe-probes"]},
        "plan": [{"search": {"trials": 2}, "splits": 3}, {"nodes": 110, "like": {"dataset": here}, "splits": 2}],
    }
    run_study("table-small", context_of(copied), like)
    results = results_of(copied)
    assert list(zip(results.dataset, results.trials, results.splits, strict=True)) == [
        *[(here, 2, 3)] * 2,
        *[(there, 1, 2)] * 2,
    ]
    search = pd.read_csv(copied / "out" / "table-small-search.csv").set_index(["dataset", "encoding"]).choice
    (run,) = (run for run in load_runs([copied / "runs"]) if "n=120" in str(run.path) and "probes" in str(run.path))
    for encoding in ("none", "llpe-probes"):
        assert search[here, encoding] == search[there, encoding].replace("model.", "")
    chosen = json.loads(search[there, "llpe-probes"])
    config = run.config
    assert (config["training"]["lr"], config["encoding"]["probes"]) == (chosen["lr"], chosen["probes"])
    assert config["training"]["features"] == "raw", "as in the paper"


def test_of_a_cell_that_is_like_another_only_what_its_space_names_is_searched(tmp_path):
    rates = {"lr": [0.02, 0.03], "model.layers": [1]}
    like = SMALL | {
        "blocks": [{"datasets": ["sbm:n=90"], "models": ["sage"], "rows": "all"}],
        "rows": {"all": ["lpe-fk", "signnet"]},
        "plan": [
            {"search": {"trials": 2}, "splits": 2},
            {"models": ["sage"], "like": {"model": "mlp"}, "search": {"method": "grid", "space": rates}},
            {"encodings": ["signnet"], "models": ["sage"], "like": {"model": "mlp", "encoding": "lpe-fk"}},
        ],
    }
    run_study("table-small", context_of(tmp_path), like)
    assert list(results_of(tmp_path).trials) == [2, 2]
    searches = pd.read_csv(tmp_path / "out" / "table-small-search.csv")
    searched = {path.parents[1].name: path.read_text() for path in tmp_path.rglob("search.toml")}
    assert set(searched) == {"lpe-fk+mlp", "lpe-fk+sage", "signnet+sage"}, "one of them for the two others"
    for choice in map(json.loads, searches.choice):
        assert choice["lr"] in (0.02, 0.03)
        assert choice["model.layers"] == 1
        assert not {"layers", "hidden"} & choice.keys(), "SignNet has both, too"
        assert {"optimizer", "dropout", "k", "model.hidden"} <= choice.keys(), "found with the MLP"


def test_a_cell_that_is_like_one_of_a_missing_graph_is_left_out(untrained):
    context = untrained("standard", benchmarks=False)
    settings = SMALL | {"plan": [{"like": {"dataset": "cora"}}]}
    assert run_study("table-small", context, settings) == []
    assert any("settings that are found for cora, mlp, none, which cannot be computed" in line for line in context.said)


def test_cells_of_another_budget_do_not_stay(copied):
    run_study("table-small", context_of(copied, "quick", track=first_only), SMALL)
    assert list(results_of(copied).command) == ["llpe reproduce table-small --budget quick"]


def test_what_is_missing_or_left_to_another_budget_is_said(untrained):
    context = untrained("standard", benchmarks=False)
    with pytest.raises(ValueError, match="table-medium must have a graph, got no benchmark"):
        run_study("table-medium", context)
    assert any("left to the budget `paper`" in line and "tolokers with sage (elastic)" in line for line in context.said)


def test_both_presets_are_searched_over_the_same_splits_and_the_papers_is_that_of_the_table(context):
    graph, config = "sbm:n=60", {"encoding": {"dim": 8}, "training": {"epochs": 5}}
    files = run_study("presets", context, settings_of("presets", "quick") | {"graphs": [[graph]], "config": config})
    rows = pd.read_csv(files[0])
    assert set(rows.encoding) == {"llpe-minmax", "llpe"}
    for preset in ("paper", "authors"):
        assert list(rows.split[rows.preset == preset]) == [0, 1, 2] * 2
    assert f"{graph}, mlp, llpe-minmax" in files[1].read_text()
    searches = {path: path.read_text() for path in context.runs.rglob("search.toml")}
    assert sorted("authors" in text for text in searches.values()) == [False, False, True, True]
    table = settings_of("table-small", "quick") | {"config": config}
    tables.compute(tables.Cell(graph, "mlp", "llpe"), context.load(graph), table, context, {})
    assert set(context.runs.rglob("search.toml")) == set(searches)
