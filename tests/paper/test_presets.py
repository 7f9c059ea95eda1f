"""The study of presets: both spaces over the same splits, and the table's searches used again."""

import pandas as pd

from llpe.paper import run_figure, tables
from llpe.paper.base import merge, settings_of
from llpe.paper.published import Cell

GRAPH = "sbm:n=60"
SMALL = {"graphs": [[GRAPH]], "config": {"encoding": {"dim": 8}, "training": {"epochs": 5}}}


def test_both_presets_are_searched_over_the_same_splits(context):
    files = run_figure("presets", context, settings_of("presets", "quick") | SMALL)
    rows = pd.read_csv(files[0])
    assert set(rows.encoding) == {"llpe-minmax", "llpe"}
    for preset in ("paper", "authors"):
        assert list(rows.split[rows.preset == preset]) == [0, 1, 2] * 2
    searches = [path.read_text() for path in context.runs.rglob("search.toml")]
    assert sorted("authors" in text for text in searches) == [False, False, True, True]
    assert f"{GRAPH}, mlp, llpe-minmax" in files[1].read_text()


def test_the_papers_protocol_is_the_search_of_the_table(context):
    run_figure("presets", context, settings_of("presets", "quick") | SMALL)
    before = set(context.runs.rglob("search-*"))
    plan, splits = tables.plan_of("quick", 60, Cell(GRAPH, "mlp", "llpe"))
    raw = merge(tables.config_of(Cell(GRAPH, "mlp", "llpe"), splits), SMALL["config"])
    tables.search(context.load(GRAPH), raw, plan, root=context.runs, workers=1)
    assert set(context.runs.rglob("search-*")) == before
