"""The study of presets: both spaces over the same splits, and the table's searches used again."""

import csv

import pytest

from llpe.data import load_graph
from llpe.lab import search
from llpe.paper import Context, find_study, presets, tables


@pytest.fixture
def context(tmp_path, monkeypatch):
    """A tiny graph instead of Texas, few epochs."""
    short = {"training": {"epochs": 5}}
    graph = load_graph("sbm:n=60")
    for encoding in presets.ENCODINGS:
        monkeypatch.setitem(tables.ENCODINGS, encoding, tables.ENCODINGS[encoding] | {"dim": 8})
    for module in (presets, tables):
        monkeypatch.setattr(module, "search", lambda data, raw, plan, **rest: search(data, raw | short, plan, **rest))
    monkeypatch.setattr(Context, "load", lambda self, name: graph)
    return Context("quick", tmp_path / "runs", tmp_path / "out", workers=1)


def test_both_presets_are_searched_over_the_same_splits(context):
    find_study("presets").run(context)
    with (context.out / "presets.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["encoding"] for row in rows} == set(presets.ENCODINGS)
    for preset in ("paper", "authors"):
        assert [row["split"] for row in rows if row["preset"] == preset] == ["0", "1", "2"] * 2
    searches = [path.read_text() for path in context.runs.rglob("search.toml")]
    assert sorted("authors" in text for text in searches) == [False, False, True, True]
    assert "texas, mlp, llpe-minmax" in (context.out / "presets.md").read_text()


def test_the_papers_protocol_is_the_search_of_the_table(context):
    find_study("presets").run(context)
    before = set(context.runs.rglob("search-*"))
    cell = tables.Cell("texas", "mlp", "llpe")
    tables._compute(cell, context.load("texas"), context)
    assert set(context.runs.rglob("search-*")) == before


def test_without_any_benchmark_it_says_so(context, monkeypatch):
    monkeypatch.setattr(Context, "load", lambda self, name: None)
    with pytest.raises(ValueError, match="presets must have a graph, got no benchmark"):
        find_study("presets").run(context)
