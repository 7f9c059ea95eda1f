"""Tables 1–3: model × encoding × data set, each cell searched on validation and scored over the same splits.

Which cells a table has, and how each is searched, is in ``configs/table-*.toml``; what the keys mean, in
``configs/tables.toml``. Within a block (a graph and a model) every encoding has the same number of settings, spread
evenly over the learning rates and optimisers of the paper's grid.

Files are written after each cell. Processes that share the folder of runs share the work.

``presets`` asks which settings give what: the paper's stated protocol, and the settings of its authors' published code.
Two spaces and patiences, see :mod:`llpe.lab.spaces`, each searched with as many trials as the cell has in the paper's
table, over the same splits; the searches of the paper's protocol are those of ``table-small``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from llpe.data import NodeDataset
from llpe.lab import SearchConfig, assign, search
from llpe.lab.engine import each
from llpe.lab.search import BusyError
from llpe.lab.spaces import as_in_the_paper, replaced
from llpe.paper.base import Context, Settings, merge, settings_of
from llpe.paper.results import CELL, beside_the_paper, number, paper_numbers, read_results, read_table, score, tables
from llpe.report.statistics import signed_rank
from llpe.report.tables import MISSING, Table
from llpe.runs import RunFolder, read_best

BUSY_SECONDS = 10.0  # before looking again at what another process is computing
PIECES = 9  # of one cell at least, roughly: a wave of a search, or the splits of a run
PRESETS = ("paper", "authors")


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

    Cells that are in the files already, and were made by the same command, stay until they are computed again. So a
    table can be continued here if its run folders are on another machine.
    """
    cells = cells_of(settings)
    if context.budget == "standard":
        _say_left_out(name, cells, context)
    data = {graph: context.load(graph) for graph in dict.fromkeys(cell.dataset for cell in cells)}
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
            return compute(*item, settings, context, known)
        except (RuntimeError, MemoryError) as error:
            return error

    written: list[Path] = []
    while todo:
        busy = []
        results = each(context.engine, compute_or_say, todo, pieces=PIECES)
        for _ in context.track(todo, name, lambda item: str(item[0])):
            (cell, dataset), found = next(results)  # in the order of ``todo``, or as they come from a cluster
            if isinstance(found, BusyError):
                busy.append((cell, dataset))
            elif isinstance(found, Exception):
                context.say(f"{cell} is left out: {found}")
            else:
                known[cell] = found
                written = write(name, {one: known[one] for one in cells if one in known}, context)
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


def compute(
    cell: Cell, dataset: NodeDataset, settings: Settings, context: Context, known: Mapping[Cell, Scored]
) -> Scored:
    """Searches one cell, or goes on with its search, and scores it.

    Raises:
        BusyError: another process is searching it.
    """
    plan, splits = plan_of(settings, dataset.num_nodes, cell)
    raw = assign(config_of(settings, cell, splits), {"training.device": context.device})
    taken: dict[str, Any] = {}
    if like := _entry(settings, dataset.num_nodes, cell).get("like"):
        taken = _choice(replace(cell, **like), settings, context, known)
        taken = {key: value for key, value in taken.items() if key in replaced(taken, plan.space)}  # one name each
        taken = {f"model.{key}" if key in ("hidden", "layers") else key: value for key, value in taken.items()}
        raw, plan = as_in_the_paper(assign(raw, taken)), plan.model_copy(update={"preset": "own"})
    found = search(dataset, raw, plan, root=context.runs, workers=context.workers, engine=context.engine)
    trained = RunFolder.read(found.run)
    rows = [
        vars(cell) | {"split": report["split"]} | {part: round(100 * report[part], 4) for part in ("val", "test")}
        for report in trained.reports
    ]
    summary = read_best(found.run.parents[1] / "best.json")
    counts = {key: summary[key] for key in ("trials", "complete", "pruned", "failed", "space")}
    choice = {"val": round(100 * found.val, 2), "choice": json.dumps(replaced(taken, summary["choice"]))}
    return Scored(trained.metric or "", pd.DataFrame(rows), pd.DataFrame([vars(cell) | counts | choice]))


def _choice(cell: Cell, settings: Settings, context: Context, known: Mapping[Cell, Scored]) -> dict[str, Any]:
    """The settings that are found for a cell; if it is not known, it is computed first."""
    scored = known.get(cell)
    if scored is None:
        dataset = context.load(cell.dataset)
        if dataset is None:
            raise RuntimeError(f"it takes the settings that are found for {cell}, which cannot be computed")
        scored = compute(cell, dataset, settings, context, known)
    choice: dict[str, Any] = json.loads(scored.search["choice"].iloc[0])
    return choice


def plan_of(settings: Settings, num_nodes: int, cell: Cell) -> tuple[SearchConfig, int]:
    """The search and the number of splits of a cell."""
    entry = _entry(settings, num_nodes, cell)
    return SearchConfig(**entry["search"]), entry["splits"]


def _entry(settings: Settings, num_nodes: int, cell: Cell) -> Settings:
    """All entries of ``plan`` that fit a cell, as one."""
    out: Settings = {"search": settings["search"], "splits": settings["splits"]}
    for entry in settings["plan"]:
        fits = (
            num_nodes >= entry.get("nodes", 0)
            and cell.model in entry.get("models", [cell.model])
            and cell.encoding in entry.get("encodings", [cell.encoding])
        )
        if fits:
            out = merge(out | ({"like": {}} if "like" in entry else {}), entry)  # another cell replaces the one before
    return out


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
    splits, searches = (pd.concat(getattr(one, part) for one in cells.values()) for part in ("splits", "search"))
    metrics = [one.metric for one in cells.values()]
    results = score(splits, searches.assign(metric=metrics)).assign(command=context.command(name))
    return [
        context.write_csv(name, results),
        context.write_csv(f"{name}-splits", splits),
        context.write_csv(f"{name}-search", searches),
        *context.write_grids(name, [*tables(results), *beside_the_paper(results)]),
    ]


def presets(name: str, settings: Settings, context: Context) -> list[Path]:
    """Every graph, model and form of LLPE, searched with both presets; ``config`` changes what all of them share."""
    data = {dataset.name: dataset for dataset in context.load_groups(name, settings["graphs"])}
    cells = [
        Cell(graph, model, form) for graph in data for model in settings["models"] for form in settings["encodings"]
    ]
    table = settings_of("table-small", context.budget) | {"config": settings.get("config", {})}
    rows: list[dict[str, Any]] = []
    for cell in context.track(cells, "Presets", str):
        dataset = data[cell.dataset]
        plan, splits = plan_of(table, dataset.num_nodes, cell)
        theirs = {"method": plan.method, "trials": plan.trials, "preset": "authors"}
        authors = table | {"plan": [], "search": theirs, "splits": splits}
        for preset, how in zip(PRESETS, (table, authors), strict=True):
            found = compute(cell, dataset, how, context, {}).splits
            rows += found.assign(preset=preset)[[*CELL, "preset", "split", "val", "test"]].to_dict("records")
    return context.write(name, rows, [presets_table(pd.DataFrame(rows))], {})


def presets_table(rows: pd.DataFrame) -> Table:
    """Both presets side by side, from the rows of the CSV file."""
    lines = []
    for key, part in rows.groupby(CELL, sort=False):
        paper, authors = (part["test"][part["preset"] == preset].to_numpy() for preset in PRESETS)
        gains = authors - paper
        published = paper_numbers().reindex([(*key[:2], "llpe")])
        known = MISSING if published["mean"].isna().all() else number(*published.iloc[0])
        texts = [number(tests.mean(), tests.std(ddof=1)) for tests in (paper, authors)]
        lines.append([", ".join(key), *texts, f"{gains.mean():+.2f}", f"{signed_rank(gains):.3f}", known])
    header = ["cell", "paper's protocol", "authors' settings", "gain", "p", "published"]
    remark = "p: Wilcoxon's signed-rank test over the splits, two-sided, not corrected for the number of tests."
    return Table("LLPE searched in two spaces: test accuracy in %", header, lines, [remark])
