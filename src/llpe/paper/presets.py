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
from llpe.lab.spaces import PRESETS
from llpe.paper import tables
from llpe.paper.base import Context, Study
from llpe.paper.published import Cell, paper_numbers
from llpe.report.statistics import signed_rank
from llpe.report.tables import Table
from llpe.runs import RunFolder

ENCODINGS = ("llpe-minmax", "llpe")
MODELS = ("mlp", "sage")


def run(context: Context) -> list[Path]:
    """Every graph, model and form of LLPE, searched with both presets."""
    names, models = (("texas",), MODELS[:1]) if context.budget == "quick" else (("texas", "cornell", "cora"), MODELS)
    if context.budget == "quick":
        context.say("Texas with an MLP instead of Texas, Cornell and Cora with MLP and SAGE; 2 trials and 3 splits.")
    data = {name: dataset for name in names if (dataset := context.load(name)) is not None}
    if not data:
        raise ValueError("presets must have a graph, got no benchmark. Fetch one, or give its folder.")
    cells = [Cell(name, model, encoding) for name in data for model in models for encoding in ENCODINGS]
    rows: list[dict[str, Any]] = []
    for cell in context.track(cells, "Presets", str):
        rows += [row for preset in PRESETS for row in _searched(cell, data[cell.dataset], preset, context)]
    grid = _grid(rows)
    return [
        context.write_results("presets", rows),
        context.write_text("presets.md", grid.markdown()),
        context.write_text("presets.tex", grid.latex()),
    ]


def _searched(cell: Cell, dataset: NodeDataset, preset: str, context: Context) -> Iterator[dict[str, Any]]:
    """The splits of the setting that was best on validation."""
    plan, splits = tables.plan_of(context.budget, dataset.num_nodes, cell)
    if preset != "paper":
        plan = SearchConfig(method=plan.method, trials=plan.trials, preset="authors")
    raw = tables.config_of(cell, splits)
    found = search(dataset, raw, plan, root=context.runs, workers=context.workers)
    names = {"dataset": cell.dataset, "model": cell.model, "encoding": cell.encoding, "preset": preset}
    for report in RunFolder.read(found.run).reports:
        yield names | {"split": report["split"]} | {part: round(100 * report[part], 4) for part in ("val", "test")}


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


STUDIES = {"presets": Study("presets", "The paper's protocol against the authors' settings", run)}
