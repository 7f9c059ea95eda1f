"""Tables 1–3: model × encoding × data set, each cell searched on validation and scored over the same splits.

Which cells a table has, and how each is searched, is in ``configs/table-*.toml``; what the keys mean, in
``configs/tables.toml``. Within a block (a graph and a model) every encoding has the same number of settings, spread
evenly over the learning rates and optimisers of the paper's grid.

Files are written after each cell. Processes that share the folder of runs share the work.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from llpe.data import NodeDataset
from llpe.lab import SearchConfig, assign, search
from llpe.lab.search import BusyError
from llpe.paper.base import Context, Settings, merge, settings_of
from llpe.paper.results import CELL, beside_the_paper, read_results, read_table, score, tables
from llpe.runs import RunFolder, read_best

BUSY_SECONDS = 10.0  # before looking again at what another process is computing


@dataclass(frozen=True)
class Cell:
    """One cell of a table."""

    dataset: str
    model: str
    encoding: str

    def __str__(self) -> str:
        return ", ".join(astuple(self))


@dataclass(frozen=True, eq=False)
class Scored:
    """What is known of a cell: its metric, a row for each split, and a row for its search."""

    metric: str
    splits: pd.DataFrame
    search: pd.DataFrame


def run(name: str, settings: Settings, context: Context) -> list[Path]:
    """Computes what can be computed here and writes the table's files.

    Cells that are in the files already, and were made by the same command, stay until they are computed again: a table
    whose run folders are on another machine is not lost by going on with it here.
    """
    cells = cells_of(settings)
    if context.budget == "standard":
        _say_left_out(name, cells, context)
    data = {each: context.load(each) for each in dict.fromkeys(cell.dataset for cell in cells)}
    todo = [(cell, dataset) for cell in cells if (dataset := data[cell.dataset]) is not None]
    if not todo:
        raise ValueError(f"{name} must have a graph, got no benchmark. Fetch one, or give its folder.")
    known = read(name, context)
    if known:
        context.say(
            f"{context.out / name}.csv has {len(known)} cells of `{context.command(name)}`; each stays until it "
            "is computed again. For a table of your own give another --output."
        )

    def compute_or_say(item: tuple[Cell, NodeDataset]) -> Scored | Exception:
        """One cell, or why it was not computed."""
        try:
            return compute(*item, settings, context)
        except (RuntimeError, MemoryError) as error:
            return error

    written: list[Path] = []
    while todo:
        busy = []
        for (cell, dataset), found in context.each(compute_or_say, todo, name, lambda item: str(item[0])):
            if isinstance(found, BusyError):
                busy.append((cell, dataset))
            elif isinstance(found, Exception):
                context.say(f"{cell} is left out: {found}")
            else:
                known[cell] = found
                written = write(name, {each: known[each] for each in cells if each in known}, context)
        todo = busy
        time.sleep(BUSY_SECONDS if busy else 0)
    return written


def cells_of(settings: Settings) -> list[Cell]:
    """The cells of a table, cheapest first."""
    return [
        Cell(dataset, model, encoding)
        for block in (*settings["blocks"], *settings["expensive"])
        for dataset in block["datasets"]
        for model in block["models"]
        for encoding in settings["rows"][block["rows"]]
    ]


def _say_left_out(name: str, cells: list[Cell], context: Context) -> None:
    groups: dict[str, list[str]] = {}
    for cell in cells_of(settings_of(name, "paper")):
        if cell not in cells:
            groups.setdefault(f"{cell.dataset} with {cell.model}", []).append(cell.encoding)
    if groups:
        listed = "; ".join(f"{where} ({', '.join(encodings)})" for where, encodings in groups.items())
        context.say(f"left to the budget `paper`, as a step there takes long: {listed}")


def compute(cell: Cell, dataset: NodeDataset, settings: Settings, context: Context) -> Scored:
    """Searches one cell, or goes on with its search, and scores it.

    Raises:
        BusyError: another process is searching it.
    """
    plan, splits = plan_of(settings, dataset.num_nodes, cell)
    raw = assign(config_of(settings, cell, splits), {"training.device": context.device})
    found = search(dataset, raw, plan, root=context.runs, workers=context.workers, engine=context.engine)
    trained = RunFolder.read(found.run)
    rows = [
        vars(cell) | {"split": report["split"]} | {part: round(100 * report[part], 4) for part in ("val", "test")}
        for report in trained.reports
    ]
    summary = read_best(found.run.parents[1] / "best.json")
    counts = {key: summary[key] for key in ("trials", "complete", "pruned", "failed", "space")}
    choice = {"val": round(100 * found.val, 2), "choice": json.dumps(summary["choice"])}
    return Scored(trained.metric or "", pd.DataFrame(rows), pd.DataFrame([vars(cell) | counts | choice]))


def plan_of(settings: Settings, num_nodes: int, cell: Cell) -> tuple[SearchConfig, int]:
    """The search and the number of splits of a cell: all entries of ``plan`` that fit it."""
    out: Settings = {"search": settings["search"], "splits": settings["splits"]}
    for entry in settings["plan"]:
        fits = (
            num_nodes >= entry.get("nodes", 0)
            and cell.model in entry.get("models", [cell.model])
            and cell.encoding in entry.get("encodings", [cell.encoding])
        )
        out = merge(out, entry) if fits else out
    return SearchConfig(**out["search"]), out["splits"]


def config_of(settings: Settings, cell: Cell, splits: int) -> dict[str, Any]:
    """The config whose settings are searched."""
    encoding = settings["encodings"][cell.encoding]
    raw = {"dataset": cell.dataset, "encoding": encoding, "model": {"name": cell.model}, "splits": {"count": splits}}
    return merge(raw, settings.get("config", {}))


def read(name: str, context: Context) -> dict[Cell, Scored]:
    """The cells that the same command has written before."""
    paths = [context.out / f"{name}{part}.csv" for part in ("", "-splits", "-search")]
    if not all(path.is_file() for path in paths):
        return {}
    results = read_results(paths[0])
    metric = results[results["command"] == context.command(name)].set_index(CELL)["metric"]
    splits, searches = (dict(list(read_table(path).groupby(CELL))) for path in paths[1:])
    found = [key for key in metric.index if key in splits and key in searches]
    return {Cell(*key): Scored(metric[key], splits[key], searches[key]) for key in found}


def write(name: str, cells: Mapping[Cell, Scored], context: Context) -> list[Path]:
    """All files of a table: its cells as CSV, Markdown and LaTeX, the scores of every split, and every search."""
    splits, searches = (pd.concat(getattr(each, part) for each in cells.values()) for part in ("splits", "search"))
    metrics = [each.metric for each in cells.values()]
    results = score(splits, searches.assign(metric=metrics)).assign(command=context.command(name))
    return [
        context.write_csv(name, results),
        context.write_csv(f"{name}-splits", splits),
        context.write_csv(f"{name}-search", searches),
        *context.write_grids(name, [*tables(results), *beside_the_paper(results)]),
    ]
