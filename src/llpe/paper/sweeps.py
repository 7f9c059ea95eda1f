"""Accuracy along one option: homophily of the graph, order M of LLPE's filters, number k of eigenpairs.

Every encoding is trained for every value of the option on every graph. The option stands in the name of a graph, as
``{}``, or else it is one of the encoding. Settings:

    graphs                       of each: names, of which the first whose files are there is taken; title, classes
    option, values, symbol       what varies, and its letter
    encodings, model, training, splits   the config of a run
    baseline                     an encoding without the option: one run, drawn as a level line
    heading, axis, columns, log, strong  how table, CSV file and figure are written
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llpe.data import NodeDataset
from llpe.paper.base import Context, Settings, remarks_of
from llpe.report.collect import Run
from llpe.report.grid import Grid, percent
from llpe.report.plots import Point, line_plot
from llpe.report.ticks import plain_log_ticks

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Cell:
    """One run of a sweep; ``value`` is None for the baseline."""

    graph: str
    value: float | None
    encoding: str


Found = dict[Cell, Run]


def run(name: str, settings: Settings, context: Context) -> list[Path]:
    """Trains all cells, and writes the numbers, a table for each graph and the figure."""

    @lru_cache(maxsize=1)
    def load(names: tuple[str, ...]) -> NodeDataset:
        return context.load_groups(name, [names])[0]

    graphs = [
        graph if "title" in graph else graph | {"title": load(tuple(graph["names"])).name}
        for graph in settings["graphs"]
    ]
    settings = settings | {"graphs": graphs}
    if settings["option"] == "k":
        settings["values"] = _possible(settings["values"], load(tuple(graphs[0]["names"])), context)
    found: Found = {}
    cells = _cells(settings)
    for cell in context.track(cells, settings["title"], lambda cell: _describe(cell, settings["symbol"])):
        names = next(graph["names"] for graph in graphs if graph["title"] == cell.graph)
        dataset = load(tuple(each.format(cell.value) for each in names))
        found[cell] = context.train(dataset, config_of(cell, dataset.name, settings))
    grids = [_grid(graph["title"], settings, found) for graph in graphs]
    rows = [_row(cell, run, settings) for cell, run in found.items()]
    return context.write(name, rows, grids, {name: _figure(settings, found)})


def _possible(counts: Sequence[int], dataset: NodeDataset, context: Context) -> list[int]:
    """The k that do not ask for more pairs than there are."""
    for k in counts:
        if 2 * k > dataset.num_nodes:
            context.say(f"k = {k} is left out: {dataset.name} has {dataset.num_nodes} eigenpairs in all.")
    return [k for k in counts if 2 * k <= dataset.num_nodes]


def _cells(settings: Settings) -> list[Cell]:
    cells = []
    for graph in settings["graphs"]:
        if "baseline" in settings:
            cells.append(Cell(graph["title"], None, settings["baseline"]["name"]))
        cells += [Cell(graph["title"], x, each) for x in settings["values"] for each in settings["encodings"]]
    return cells


def _describe(cell: Cell, symbol: str) -> str:
    return f"{cell.graph}, {cell.encoding}" + ("" if cell.value is None else f", {symbol} = {cell.value:g}")


def config_of(cell: Cell, dataset: str, settings: Settings) -> Settings:
    """The config of one run. Homophily is an option of the graph, any other one of the encoding."""
    if cell.value is None:
        encoding = settings["baseline"]
    else:
        own = {} if settings["option"] == "homophily" else {settings["option"]: cell.value}
        encoding = settings["encodings"][cell.encoding] | own
    rest = {"model": settings["model"], "training": settings["training"], "splits": {"count": settings["splits"]}}
    return {"dataset": dataset, "encoding": encoding, **rest}


def _row(cell: Cell, run: Run, settings: Settings) -> dict[str, Any]:
    named = {
        "graph": cell.graph,
        "model": settings["model"]["name"],
        "encoding": cell.encoding,
        settings["option"]: "" if cell.value is None else cell.value,
    }
    scores = {"mean": run.mean, "std": run.std, "splits": len(run.scores), "failed": len(run.failed)}
    return {column: named[column] for column in settings["columns"]} | scores


def _grid(graph: str, settings: Settings, found: Found) -> Grid:
    values, rows, remarks = settings["values"], [], remarks_of(settings)
    for encoding in settings["encodings"]:
        runs = [found[Cell(graph, value, encoding)] for value in values]
        rows.append([encoding, *(percent(run.mean, run.std) for run in runs)])
    if "baseline" in settings:
        without = found[Cell(graph, None, settings["baseline"]["name"])]
        remarks = [f"Without an encoding: {percent(without.mean, without.std)}.", *remarks]
    failed = sum(len(run.failed) for cell, run in found.items() if cell.graph == graph)
    if failed:
        remarks.append(f"{failed} splits failed and enter no mean.")
    heading = settings["heading"].format(graph=graph, model=settings["model"]["name"].upper())
    title = f"{heading}, test accuracy in %, mean ± standard deviation over {settings['splits']} splits"
    return Grid(title, ["encoding", *(f"{settings['symbol']} = {value:g}" for value in values)], rows, remarks)


def _figure(settings: Settings, found: Found) -> Figure:
    """A line for each encoding, a level one for the baseline, and a dashed one for chance if classes are equal."""
    values, points = settings["values"], []
    chance = {graph["title"]: 100 / graph["classes"] for graph in settings["graphs"] if "classes" in graph}
    for cell, run in found.items():
        panel = cell.graph if chance else ""
        if run.mean is None:
            continue
        if cell.value is None:
            points += [Point(cell.encoding, value, 100 * run.mean, None, panel) for value in (values[0], values[-1])]
        else:
            points.append(Point(cell.encoding, cell.value, 100 * run.mean, 100 * (run.std or 0.0), panel))
    figure = line_plot(
        points,
        xlabel=settings["axis"],
        ylabel=f"test accuracy of {settings['model']['name'].upper()} in %",
        chance=chance,
        strong=settings["strong"],
        log=settings.get("log", ""),
        ylim=(min(chance.values()) - 10, 103) if chance else None,
    )
    if "log" in settings:
        plain_log_ticks(figure, values)
    return figure
