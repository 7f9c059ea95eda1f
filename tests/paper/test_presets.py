"""The study of presets: both spaces over the same splits, and the table's searches used again."""

import pandas as pd

from llpe.paper import run_study, settings_of, tables

GRAPH = "sbm:n=60"
SMALL = {"graphs": [[GRAPH]], "config": {"encoding": {"dim": 8}, "training": {"epochs": 5}}}


def test_both_presets_are_searched_over_the_same_splits_and_the_papers_is_that_of_the_table(context):
    files = run_study("presets", context, settings_of("presets", "quick") | SMALL)
    rows = pd.read_csv(files[0])
    assert set(rows.encoding) == {"llpe-minmax", "llpe"}
    for preset in ("paper", "authors"):
        assert list(rows.split[rows.preset == preset]) == [0, 1, 2] * 2
    assert f"{GRAPH}, mlp, llpe-minmax" in files[1].read_text()
    searches = {path: path.read_text() for path in context.runs.rglob("search.toml")}
    assert sorted("authors" in text for text in searches.values()) == [False, False, True, True]
    table = settings_of("table-small", "quick") | {"config": SMALL["config"]}
    tables.compute(tables.Cell(GRAPH, "mlp", "llpe"), context.load(GRAPH), table, context)
    assert set(context.runs.rglob("search.toml")) == set(searches)
