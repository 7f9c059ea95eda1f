"""Accuracy along one option: homophily of the graph, order M of LLPE's filters, number k of eigenpairs.

Every encoding is trained for every value of the option on every graph. The option is in the name of a graph, as ``{}``,
or else it is one of the encoding. Settings:

    graphs                       of each: names, of which the first whose files are there is taken; title, classes
    option, values, symbol       what varies, and its letter
    encodings, model, training, splits   the config of a run
    baseline                     an encoding without the option: one run, drawn as a level line
    heading, axis, columns, log, strong  how table, CSV file and figure are written
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llpe.data import NodeDataset
from llpe.paper.base import Context, Settings, config_of, remarks_of
from llpe.report.figures import plain_log_ticks
from llpe.report.plots import Point, line_plot
from llpe.report.tables import Table, percent
from llpe.runs import RunFolder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = dict[str, Any]


def run(name: str, settings: Settings, context: Context) -> list[Path]:
    """Trains every encoding for every value on every graph; writes the numbers, a table for each graph, the figure."""

    @lru_cache(maxsize=1)
    def load(*names: str) -> NodeDataset:
        return context.load_groups(name, [names])[0]

    if settings["option"] == "k":
        dataset = load(*settings["graphs"][0]["names"])
        settings = settings | {"values": _possible(settings["values"], dataset, context)}
    lines = [(value, encoding) for value in settings["values"] for encoding in settings["encodings"]]
    if "baseline" in settings:
        lines = [("", settings["baseline"]["name"]), *lines]
    cells = [(graph, *line) for graph in settings["graphs"] for line in lines]

    def describe(cell: tuple[Settings, Any, str]) -> str:
        graph, value, encoding = cell
        known = (graph.get("title"), encoding, value != "" and f"{settings['symbol']} = {value}")
        return ", ".join(each for each in known if each)

    rows = []
    for graph, value, encoding in context.track(cells, settings["title"], describe):
        dataset = load(*(each.format(value) for each in graph["names"]))
        trained = context.train(dataset, config_of(settings, dataset.name, _encoding(settings, value, encoding)))
        rows.append(_row(settings, graph.get("title", dataset.name), value, encoding, trained))
    grids = [_grid(settings, graph, rows) for graph in dict.fromkeys(row["graph"] for row in rows)]
    return context.write(name, rows, grids, {name: _figure(settings, rows)})


def _possible(counts: Sequence[int], dataset: NodeDataset, context: Context) -> list[int]:
    """The k that do not ask for more pairs than there are."""
    for k in counts:
        if 2 * k > dataset.num_nodes:
            context.say(f"k = {k} is left out: {dataset.name} has {dataset.num_nodes} eigenpairs in all.")
    return [k for k in counts if 2 * k <= dataset.num_nodes]


def _encoding(settings: Settings, value: Any, name: str) -> Settings:
    """The encoding of a run with its option; homophily is one of the graph."""
    if value == "":
        return dict(settings["baseline"])
    own = {} if settings["option"] == "homophily" else {settings["option"]: value}
    return settings["encodings"][name] | own


def _row(settings: Settings, graph: str, value: Any, encoding: str, run: RunFolder) -> Row:
    names = {"graph": graph, "model": settings["model"]["name"], "encoding": encoding, settings["option"]: value}
    scores = {"mean": run.mean, "std": run.std, "splits": len(run.scores), "failed": len(run.failed)}
    return {column: names[column] for column in settings["columns"]} | scores


def _grid(settings: Settings, graph: str, rows: Sequence[Row]) -> Table:
    values, mine, remarks = settings["values"], [row for row in rows if row["graph"] == graph], remarks_of(settings)
    texts = {(row["encoding"], row[settings["option"]]): percent(row["mean"], row["std"]) for row in mine}
    if "baseline" in settings:
        remarks = [f"Without an encoding: {texts[settings['baseline']['name'], '']}.", *remarks]
    if failed := sum(row["failed"] for row in mine):
        remarks.append(f"{failed} splits failed and enter no mean.")
    heading = settings["heading"].format(graph=graph, model=settings["model"]["name"].upper())
    title = f"{heading}, test accuracy in %, mean ± standard deviation over {settings['splits']} splits"
    header = ["encoding", *(f"{settings['symbol']} = {value:g}" for value in values)]
    return Table(title, header, [[e, *(texts[e, value] for value in values)] for e in settings["encodings"]], remarks)


def _figure(settings: Settings, rows: Sequence[Row]) -> Figure:
    """A line for each encoding, a level one for the baseline; with ``classes``, panels and what guessing gives."""
    chance = {graph["title"]: 100 / graph["classes"] for graph in settings["graphs"] if "classes" in graph}
    points = []
    for row in rows:
        if row["mean"] is None:
            continue
        level = row[settings["option"]] == ""
        where = (settings["values"][0], settings["values"][-1]) if level else (row[settings["option"]],)
        error = None if level else 100 * (row["std"] or 0.0)
        panel = row["graph"] if chance else ""
        points += [Point(row["encoding"], x, 100 * row["mean"], error, panel) for x in where]
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
        plain_log_ticks(figure, settings["values"])
    return figure
