"""Which settings give what: the paper's stated protocol, and the settings of its authors' published code.

Two spaces and patiences, see :mod:`llpe.lab.spaces`, each searched with as many trials as the cell has in the
paper's table, over the same splits; the searches of the paper's protocol are those of ``table-small``.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from llpe.data import NodeDataset
from llpe.lab import SearchConfig, search
from llpe.paper import tables
from llpe.paper.base import Context, Settings, merge
from llpe.paper.published import Cell, paper_numbers
from llpe.report.statistics import signed_rank
from llpe.report.tables import Table
from llpe.runs import RunFolder


def run(name: str, settings: Settings, context: Context) -> list[Path]:
    """Every graph, model and form of LLPE, searched with both presets; ``config`` changes what all of them share."""
    data = {dataset.name: dataset for dataset in context.load_groups(name, settings["graphs"])}
    cells = [
        Cell(graph, model, each) for graph in data for model in settings["models"] for each in settings["encodings"]
    ]
    rows: list[dict[str, Any]] = []
    for cell in context.track(cells, "Presets", str):
        for preset in ("paper", "authors"):
            rows += _searched(cell, data[cell.dataset], preset, settings.get("config", {}), context)
    return context.write(name, rows, [_grid(rows)], {})


def _searched(
    cell: Cell, dataset: NodeDataset, preset: str, changes: Settings, context: Context
) -> Iterator[dict[str, Any]]:
    """The splits of the setting that was best on validation."""
    plan, splits = tables.plan_of(context.budget, dataset.num_nodes, cell)
    if preset != "paper":
        plan = SearchConfig(method=plan.method, trials=plan.trials, preset="authors")
    raw = merge(tables.config_of(cell, splits), changes)
    found = search(dataset, raw, plan, root=context.runs, workers=context.workers)
    for report in RunFolder.read(found.run).reports:
        scores = {part: round(100 * report[part], 4) for part in ("val", "test")}
        yield vars(cell) | {"preset": preset, "split": report["split"]} | scores


def _grid(rows: list[dict[str, Any]]) -> Table:
    scores: dict[Cell, dict[str, list[float]]] = {}
    for row in rows:
        cell = Cell(row["dataset"], row["model"], row["encoding"])
        scores.setdefault(cell, {}).setdefault(row["preset"], []).append(row["test"])
    paper, lines = paper_numbers(), []
    for cell, by_preset in scores.items():
        texts = [f"{statistics.fmean(each):.2f} ± {statistics.stdev(each):.2f}" for each in by_preset.values()]
        gains = [theirs - stated for stated, theirs in zip(*by_preset.values(), strict=True)]
        published = paper.get(Cell(cell.dataset, cell.model, "llpe"))
        known = "–" if published is None else f"{published[0]:.2f} ± {published[1]:.2f}"
        lines.append([str(cell), *texts, f"{statistics.fmean(gains):+.2f}", f"{signed_rank(gains):.3f}", known])
    header = ["cell", "paper's protocol", "authors' settings", "gain", "p", "published"]
    remark = "p: Wilcoxon's signed-rank test over the splits, two-sided, not corrected for the number of tests."
    return Table("LLPE searched in two spaces: test accuracy in %", header, lines, [remark])
