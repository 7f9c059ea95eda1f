"""Accuracy along one option: homophily of the graph, order M of LLPE's filters, number k of eigenpairs.

Every encoding is trained for every value of the option on every graph. The option is in the name of a graph, as ``{}``,
or else it is one of the encoding. Settings:

    graphs                       of each: names (the first that is at hand is taken), title, classes; and a model,
                                 training, splits or values of its own
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
from llpe.paper.base import Context, Settings, config_of, merge, remarks_of
from llpe.report.figures import Point, line_plot, plain_log_ticks
from llpe.report.tables import Table, percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = dict[str, Any]
OWN = ("model", "training", "splits", "values")  # settings that a graph may have of its own


def run(name: str, settings: Settings, context: Context) -> list[Path]:
    """Trains every encoding for every value on every graph; writes the numbers, a table for each graph, the figure."""

    @lru_cache(maxsize=1)
    def load(*names: str) -> NodeDataset:
        return context.load_groups(name, [names])[0]

    if settings["option"] == "k":  # leave out those for which the graph has too few eigenpairs
        dataset = load(*settings["graphs"][0]["names"])
        for k in settings["values"]:
            if 2 * k > dataset.num_nodes:
                context.say(f"k = {k} is left out: {dataset.name} has {dataset.num_nodes} eigenpairs in all.")
        settings = settings | {"values": [k for k in settings["values"] if 2 * k <= dataset.num_nodes]}
    points: list[tuple[Settings, Any, str]] = []
    for own in parts(settings):
        points += [(own, "", own["baseline"]["name"])] if "baseline" in own else []
        points += [(own, value, encoding) for value in own["values"] for encoding in own["encodings"]]

    def describe(point: tuple[Settings, Any, str]) -> str:
        own, value, encoding = point
        return ", ".join(filter(None, (own["title"], encoding, value != "" and f"{own['symbol']} = {value}")))

    rows = []
    for own, value, encoding in context.track(points, settings["title"], describe):
        dataset = load(*(each.format(value) for each in own["names"]))
        options = own["baseline"] if value == "" else own["encodings"][encoding]
        if value != "" and own["option"] != "homophily":  # which is one of the graph
            options = options | {own["option"]: value}
        trained = context.train(dataset, config_of(own, dataset.name, options))
        names = {"graph": own["title"] or dataset.name, "model": own["model"]["name"], "encoding": encoding}
        names |= {own["option"]: value}
        scores = {"mean": trained.mean, "std": trained.std, "splits": len(trained.scores)}
        scores |= {"failed": len(trained.failed)}
        rows.append({column: names[column] for column in own["columns"]} | scores)
    return context.write(name, rows, grids(settings, rows), {name: _figure(settings, rows)})


def parts(settings: Settings) -> list[Settings]:
    """The settings of each graph."""
    out = []
    for graph in settings["graphs"]:
        own = merge(settings, {key: graph[key] for key in OWN if key in graph})
        out.append(own | {"title": graph.get("title", ""), "names": graph["names"]})
    return out


def grids(settings: Settings, rows: Sequence[Row]) -> list[Table]:
    """A table for each graph, from the rows of the CSV file."""
    out = []
    for own in parts(settings):
        mine = [row for row in rows if row["model"] == own["model"]["name"] and own["title"] in ("", row["graph"])]
        texts = {(row["encoding"], row[own["option"]]): percent(row["mean"], row["std"]) for row in mine}
        remarks = remarks_of(settings)
        if "baseline" in own:
            remarks = [f"Without an encoding: {texts[own['baseline']['name'], '']}.", *remarks]
        if failed := sum(row["failed"] for row in mine):
            remarks.append(f"{failed} splits failed and enter no mean.")
        heading = own["heading"].format(graph=mine[0]["graph"], model=own["model"]["name"].upper())
        title = f"{heading}, test accuracy in %, mean ± standard deviation over {own['splits']} splits"
        header = ["encoding", *(f"{own['symbol']} = {value:g}" for value in own["values"])]
        lines = [[name, *(texts[name, value] for value in own["values"])] for name in own["encodings"]]
        out.append(Table(title, header, lines, remarks))
    return out


def _figure(settings: Settings, rows: Sequence[Row]) -> Figure:
    """A line for each encoding, a level one for the baseline; with ``classes``, panels and what guessing gives."""
    models = {row["model"] for row in rows}
    several = len(models) > 1
    chance = {
        _panel(graph["title"], own["model"]["name"], several): 100 / graph["classes"]
        for graph, own in zip(settings["graphs"], parts(settings), strict=True)
        if "classes" in graph
    }
    points = []
    for row in rows:
        if row["mean"] is None:
            continue
        level = row[settings["option"]] == ""
        where = (settings["values"][0], settings["values"][-1]) if level else (row[settings["option"]],)
        error = None if level else 100 * (row["std"] or 0.0)
        panel = _panel(row["graph"], row["model"], several) if chance else ""
        points += [Point(row["encoding"], x, 100 * row["mean"], error, panel) for x in where]
    figure = line_plot(
        points,
        xlabel=settings["axis"],
        ylabel="test accuracy in %" if several else f"test accuracy of {models.pop().upper()} in %",
        chance=chance,
        strong=settings["strong"],
        log=settings.get("log", ""),
        ylim=(min(chance.values()) - 10, 103) if chance else None,
    )
    if "log" in settings:
        plain_log_ticks(figure, settings["values"])
    return figure


def _panel(graph: str, model: str, several: bool) -> str:
    return f"{graph}: {model.upper()}" if several else graph
