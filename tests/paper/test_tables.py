"""The paper's tables: what they hold, that they resume, and that the page is made from their files."""

import csv
import json
from dataclasses import fields

import pytest

from llpe.lab import resolve, search
from llpe.lab.config import assign
from llpe.lab.spaces import assignments
from llpe.paper import Context, find_study, tables
from llpe.paper.experiments import experiments_page
from llpe.paper.published import Cell
from llpe.paper.results import Result, read_results
from llpe.paper.tables import BLOCKS, FIXED, LLPE, Block, cells_of, plan_of
from llpe.runs import load_runs

GRAPH = "sbm:n=100,homophily=1"


@pytest.fixture
def small(monkeypatch):
    """A table of four cells on a tiny graph."""
    block = Block(GRAPH, "mlp", ("none", "lpe-fk", "llpe-minmax", "llpe-probes"))
    monkeypatch.setitem(BLOCKS, "table-small", (block,))
    for options in tables.ENCODINGS.values():
        monkeypatch.setitem(options, "dim", 64 if options["name"] == "llpe-probes" else 8)
    monkeypatch.setattr(tables, "plan_of", lambda *_: (tables.SearchConfig(trials=1), 3))
    short = {"training": {"epochs": 5}}
    monkeypatch.setattr(tables, "search", lambda data, raw, plan, **rest: search(data, raw | short, plan, **rest))


@pytest.mark.parametrize("budget", ["quick", "standard", "paper"])
@pytest.mark.parametrize("num_nodes", [183, 2708, 7650])
def test_every_choice_of_every_plan_is_a_valid_config(budget, num_nodes):
    for cell in {cell for name in BLOCKS for cell in cells_of(name, budget)}:
        plan, splits = tables.plan_of(budget, num_nodes, cell)
        raw = tables.config_of(cell, splits)
        for key, choices in plan.space.items():
            for choice in choices:
                resolve(assign(raw, assignments({key: choice})))


def context_of(folder, **changes):
    return Context("standard", folder / "runs", folder / "out", workers=1, **changes)


def test_a_table_writes_every_cell_with_the_agreed_columns(small, tmp_path):
    files = find_study("table-small").run(context_of(tmp_path))
    assert {file.name for file in files} == {
        "table-small.csv",
        "table-small-splits.csv",
        "table-small-search.csv",
        "table-small.md",
        "table-small.tex",
    }
    with (tmp_path / "out" / "table-small.csv").open() as file:
        header = next(csv.reader(file))
    agreed = "dataset,model,encoding,metric,mean,std,splits,wins,rank,paper_mean,paper_std,trials,command"
    assert header == agreed.split(",") == [field.name for field in fields(Result)]
    results = read_results(tmp_path / "out" / "table-small.csv")
    assert [result.encoding for result in results] == ["none", "lpe-fk", "llpe-minmax", "llpe-probes"]
    assert all(result.splits == 3 and result.trials == 1 for result in results)
    assert sorted(result.rank for result in results)[0] >= 1
    assert results[1].wins is None
    assert "lpe-fk" in (tmp_path / "out" / "table-small.md").read_text()
    chosen = load_runs([tmp_path / "runs"])
    by_mean = sorted(round(100 * run.mean, 2) for run in chosen)
    assert by_mean == sorted(result.mean for result in results)


def test_a_stopped_table_goes_on_and_ends_the_same(small, tmp_path):
    class StopError(Exception):
        pass

    def stop_after_two(items, title, describe):
        for number, item in enumerate(items):
            if number == 2:
                raise StopError
            yield item

    with pytest.raises(StopError):
        find_study("table-small").run(context_of(tmp_path, track=stop_after_two))
    assert len(read_results(tmp_path / "out" / "table-small.csv")) == 2
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "runs").rglob("report.json")}
    find_study("table-small").run(context_of(tmp_path))
    assert all(file.stat().st_mtime_ns == time for file, time in before.items())
    find_study("table-small").run(context_of(tmp_path / "whole"))
    for name in ("table-small.csv", "table-small-splits.csv", "table-small.md"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / "out" / name).read_bytes()


def test_cells_that_stand_there_stay_until_they_are_computed_anew(small, monkeypatch, tmp_path):
    find_study("table-small").run(context_of(tmp_path))
    file = tmp_path / "out" / "table-small.csv"
    before = read_results(file)
    monkeypatch.setattr(tables, "plan_of", lambda *_: (tables.SearchConfig(trials=2), 3))
    said = []
    elsewhere = Context("standard", tmp_path / "other", tmp_path / "out", workers=1, say=said.append, track=first_only)
    find_study("table-small").run(elsewhere)
    after = read_results(file)
    assert "has 4 cells of `llpe reproduce table-small --budget standard`; each stays" in said[-1]
    assert [result.trials for result in before] == [1, 1, 1, 1]
    assert [result.trials for result in after] == [2, 1, 1, 1]
    assert [result.mean for result in after[1:]] == [result.mean for result in before[1:]]


def first_only(items, title, describe):
    yield items[0]


def test_cells_of_another_budget_do_not_stay(small, tmp_path):
    find_study("table-small").run(context_of(tmp_path))
    find_study("table-small").run(Context("quick", tmp_path / "runs", tmp_path / "out", workers=1, track=first_only))
    assert [result.command for result in read_results(tmp_path / "out" / "table-small.csv")] == [
        "llpe reproduce table-small --budget quick"
    ]


def test_the_page_is_made_from_the_files(small, tmp_path):
    find_study("table-small").run(context_of(tmp_path))
    page = experiments_page(tmp_path / "out", to=tmp_path / "docs" / "experiments.md")
    result = read_results(tmp_path / "out" / "table-small.csv")[0]
    assert f"{result.mean:.2f} ± {result.std:.2f}" in page
    assert "Paired comparison over the splits" in page
    assert "The search behind each cell" in page


def test_a_missing_data_set_is_said_and_left_out(monkeypatch, tmp_path):
    from llpe.data import DownloadError
    from llpe.paper import base

    def missing(name, data_root=None):
        raise DownloadError("no files")

    monkeypatch.setattr(base, "load_graph", missing)
    said = []
    with pytest.raises(ValueError, match="table-large must have a graph, got no benchmark"):
        find_study("table-large").run(context_of(tmp_path, say=said.append))
    assert any("penn94 is left out: no files" in line for line in said)
    said.clear()
    with pytest.raises(ValueError, match="table-medium must have a graph, got no benchmark"):
        find_study("table-medium").run(context_of(tmp_path, say=said.append))
    assert any("left to the budget `paper`" in line and "tolokers with sage (elastic)" in line for line in said)


def test_the_standard_table_holds_the_cells_of_the_paper_that_fit():
    cells = cells_of("table-small", "standard")
    for name in ("texas", "cornell", "cora-ml", "cora", "photo"):
        for model in ("mlp", "sage"):
            assert sum(cell.dataset == name and cell.model == model for cell in cells) == 11
    for name in ("texas", "cornell", "cora-ml", "cora"):
        assert sum(cell.model == "gt" and cell.dataset == name for cell in cells) == 13
    assert set(cells) < set(cells_of("table-small", "paper"))
    medium = [cell.encoding for cell in cells_of("table-medium", "standard") if cell.dataset == "tolokers"]
    assert medium == ["none", "lpe-fk", "san", "signnet", "rwse", *LLPE, *FIXED] * 2
    assert Cell("tolokers", "sage", "elastic") in cells_of("table-medium", "paper")


def test_unknown_studies_are_refused_with_the_choices():
    with pytest.raises(ValueError, match="`name` must be one of table-small"):
        find_study("table-tiny")


def test_search_rows_hold_valid_json(small, tmp_path):
    find_study("table-small").run(context_of(tmp_path))
    with (tmp_path / "out" / "table-small-search.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert all(json.loads(row["choice"])["lr"] == 0.01 for row in rows)


@pytest.mark.parametrize("num_nodes", [200, 3000, 8000])
@pytest.mark.parametrize("model", ["mlp", "gt"])
def test_every_encoding_of_a_block_has_the_same_number_of_settings_and_both_optimisers(num_nodes, model):
    plans = [plan_of("standard", num_nodes, Cell("any", model, encoding))[0] for encoding in tables.TABLE_1_GT]
    assert len({plan.trials for plan in plans}) == 1
    assert {plan.method for plan in plans} == {"stratified"}
    assert not any(key in plan.space for plan in plans for key in ("lr", "optimizer"))  # the paper's, all of them
