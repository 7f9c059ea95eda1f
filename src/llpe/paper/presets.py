"""Which settings give what: the paper's stated protocol, and the settings of its authors' published code.

Two spaces and patiences, see :mod:`llpe.lab.spaces`, each searched with as many trials as the cell has in the
paper's table, over the same splits; the searches of the paper's protocol are those of ``table-small``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from llpe.paper import tables
from llpe.paper.base import Context, Settings, settings_of
from llpe.paper.results import CELL, MISSING, number, paper_numbers
from llpe.paper.tables import Cell
from llpe.report.statistics import signed_rank
from llpe.report.tables import Table

PRESETS = ("paper", "authors")


def run(name: str, settings: Settings, context: Context) -> list[Path]:
    """Every graph, model and form of LLPE, searched with both presets; ``config`` changes what all of them share."""
    data = {dataset.name: dataset for dataset in context.load_groups(name, settings["graphs"])}
    cells = [
        Cell(graph, model, each) for graph in data for model in settings["models"] for each in settings["encodings"]
    ]
    table = settings_of("table-small", context.budget) | {"config": settings.get("config", {})}
    rows: list[dict[str, Any]] = []
    for cell in context.track(cells, "Presets", str):
        dataset = data[cell.dataset]
        plan, splits = tables.plan_of(table, dataset.num_nodes, cell)
        theirs = {"method": plan.method, "trials": plan.trials, "preset": "authors"}
        authors = table | {"plan": [], "search": theirs, "splits": splits}
        for preset, each in zip(PRESETS, (table, authors), strict=True):
            found = tables.compute(cell, dataset, each, context).splits
            rows += found.assign(preset=preset)[[*CELL, "preset", "split", "val", "test"]].to_dict("records")
    return context.write(name, rows, [grid(pd.DataFrame(rows))], {})


def grid(rows: pd.DataFrame) -> Table:
    """The table of both presets, from the rows of the CSV file."""
    lines = []
    for key, part in rows.groupby(CELL, sort=False):
        tests = [part["test"][part["preset"] == preset].to_numpy() for preset in PRESETS]
        gains = tests[1] - tests[0]
        published = paper_numbers().reindex([(*key[:2], "llpe")])
        known = MISSING if published["mean"].isna().all() else number(*published.iloc[0])
        texts = [number(each.mean(), each.std(ddof=1)) for each in tests]
        lines.append([", ".join(key), *texts, f"{gains.mean():+.2f}", f"{signed_rank(gains):.3f}", known])
    header = ["cell", "paper's protocol", "authors' settings", "gain", "p", "published"]
    remark = "p: Wilcoxon's signed-rank test over the splits, two-sided, not corrected for the number of tests."
    return Table("LLPE searched in two spaces: test accuracy in %", header, lines, [remark])
