"""The files of a table: its cells as CSV, Markdown and LaTeX, the scores of every split, and the search behind each.

Cells that stand in the files already, and were made by the same command, stay until they are computed again: a table
whose run folders are on another machine is not lost by going on with it here.
"""

from __future__ import annotations

import csv
import json
import statistics
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from llpe.lab import Found
from llpe.paper.base import Context
from llpe.paper.results import BASELINE, Result, as_csv, beside_the_paper, ranks, read_results, read_rows, tables, wins
from llpe.runs import RunFolder, read_best

Row = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One cell of a table."""

    dataset: str
    model: str
    encoding: str

    def __str__(self) -> str:
        return f"{self.dataset}, {self.model}, {self.encoding}"


@dataclass(frozen=True)
class Scored:
    """What is known of a cell: its metric, a row for each split, and a row for its search."""

    metric: str
    splits: list[Row]
    search: Row

    @property
    def test(self) -> dict[int, float]:
        """The test score of each split in %."""
        return {int(row["split"]): float(row["test"]) for row in self.splits}


def scored(cell: Cell, found: Found) -> Scored:
    """What a search found."""
    run = RunFolder.read(found.run)
    splits = [
        vars(cell) | {"split": report["split"]} | {part: round(100 * report[part], 4) for part in ("val", "test")}
        for report in run.reports
    ]
    summary = read_best(found.run.parents[1] / "best.json")
    counts = {key: summary[key] for key in ("trials", "complete", "pruned", "failed", "space")}
    choice = {"val": round(100 * found.val, 2), "choice": json.dumps(summary["choice"])}
    return Scored(run.metric or "", splits, vars(cell) | counts | choice)


def standing(name: str, context: Context) -> dict[Cell, Scored]:
    """The cells that the same command has written before."""
    paths = [context.out / f"{name}{part}.csv" for part in ("", "-splits", "-search")]
    if not all(path.is_file() for path in paths):
        return {}
    splits: dict[Cell, list[Row]] = {}
    for row in read_rows(paths[1]):
        splits.setdefault(_cell(row), []).append(row)
    searches = {_cell(row): row for row in read_rows(paths[2])}
    out = {}
    for result in read_results(paths[0]):
        cell = _cell(vars(result))
        if result.command == context.command(name) and cell in splits and cell in searches:
            out[cell] = Scored(result.metric, splits[cell], searches[cell])
    return out


def _cell(row: Mapping[str, Any]) -> Cell:
    return Cell(row["dataset"], row["model"], row["encoding"])


def write(name: str, cells: Mapping[Cell, Scored], context: Context) -> list[Path]:
    """All files of a table."""
    results = list(_results(cells, context.command(name)))
    grids = [*tables(results), *beside_the_paper(results)]
    return [
        context.write_text(f"{name}.csv", as_csv(results)),
        context.write_csv(f"{name}-splits", [row for each in cells.values() for row in each.splits]),
        context.write_csv(f"{name}-search", [each.search for each in cells.values()]),
        context.write_text(f"{name}.md", "\n\n".join(grid.markdown() for grid in grids)),
        context.write_text(f"{name}.tex", "\n\n".join(grid.latex() for grid in grids)),
    ]


def _results(cells: Mapping[Cell, Scored], command: str) -> Iterator[Result]:
    paper = paper_numbers()
    means = {cell: round(statistics.fmean(each.test.values()), 2) for cell, each in cells.items()}  # ranked as printed
    for cell, each in cells.items():
        test = each.test
        baseline = cells.get(Cell(cell.dataset, cell.model, BASELINE))
        name = "llpe" if cell.encoding in ("llpe-minmax", "llpe-ends") else cell.encoding
        paper_mean, paper_std = paper.get(Cell(cell.dataset, cell.model, name), (None, None))
        yield Result(
            cell.dataset,
            cell.model,
            cell.encoding,
            each.metric,
            means[cell],
            round(statistics.stdev(test.values()), 2) if len(test) > 1 else None,
            len(test),
            None if baseline is None or cell.encoding == BASELINE else wins(test, baseline.test),
            ranks({rival.encoding: means[rival] for rival in _rivals(cell, cells)})[cell.encoding],
            paper_mean,
            paper_std,
            int(each.search["trials"]),
            command,
        )


def _rivals(cell: Cell, cells: Iterable[Cell]) -> list[Cell]:
    return [other for other in cells if (other.dataset, other.model) == (cell.dataset, cell.model)]


def paper_numbers() -> dict[Cell, tuple[float, float]]:
    """The paper's mean and standard deviation for each of its cells.

    Example:
        >>> paper_numbers()[Cell("texas", "mlp", "llpe")]
        (84.82, 6.05)
    """
    text = files("llpe.paper").joinpath("paper.csv").read_text(encoding="utf-8")
    return {_cell(row): (float(row["mean"]), float(row["std"])) for row in csv.DictReader(text.splitlines())}
