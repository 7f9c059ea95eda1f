"""How much accuracy depends on the order M of LLPE's filters, and on the number k of eigenpairs from each end.

The paper's two sensitivity figures, on the giant component of Cora. LLPE is trained as published (min-max scaling) and
with our default (one direction per eigenspace); the order also with probes. No search: one setting for all, written
here, so that nothing but M or k differs along a line.

NOTE[PAPER]: the paper trains GT; the budgets ``quick`` and ``standard`` train an MLP, in which an encoding is all that
is known of the graph. It does not give the other settings of these figures. Weight decay is ours: it is not in the
paper's grid, and Cora needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from llpe.data import NodeDataset
from llpe.paper.base import Budget, Context, Study
from llpe.report.figures import plain_log_ticks
from llpe.report.plots import Point, line_plot
from llpe.report.tables import Table, percent
from llpe.runs import RunFolder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CORA = "giant:cora"
INSTEAD = "sbm:n=500,homophily=0.1"
DIM = 128
NONE = "none"
STRONG = ("llpe", "llpe-ends", "llpe-probes")


@dataclass(frozen=True)
class Sweep:
    """One of the two figures.

    Attributes:
        name: of the study.
        title: what it shows.
        option: of LLPE, the one that varies.
        symbol: the paper's letter for it.
        axis: what the x axis says.
        lines: the config of each line by its label.
        values: of the option, for each budget.
        log: whether the x axis is logarithmic.
    """

    name: str
    title: str
    option: str
    symbol: str
    axis: str
    lines: dict[str, dict[str, Any]]
    values: dict[Budget, tuple[int, ...]]
    log: Literal["", "x"] = ""


ORDERS = (25, 50, 75, 100, 200, 300, 400, 500)
COUNTS = (8, 16, 32, 64, 128, 256, 512, 1024)
SWEEPS = (
    Sweep(
        "order",
        "Sensitivity to the order M of LLPE",
        "order",
        "M",
        "order M of the filters",
        {
            "llpe-minmax": {"name": "llpe-minmax", "dim": DIM},
            "llpe": {"name": "llpe", "dim": DIM},
            "llpe-probes": {"name": "llpe-probes", "dim": DIM, "probes": 32},
        },
        {"quick": (25, 100, 500), "standard": ORDERS, "paper": ORDERS},
    ),
    Sweep(
        "ends",
        "Sensitivity to the number k of eigenpairs from each end",
        "k",
        "k",
        "eigenpairs k from each end",
        {
            "llpe-ends, scaling=minmax": {"name": "llpe-ends", "dim": DIM, "scaling": "minmax"},
            "llpe-ends": {"name": "llpe-ends", "dim": DIM},
        },
        {"quick": (8, 64, 512), "standard": COUNTS, "paper": COUNTS},
        log="x",
    ),
)


@dataclass(frozen=True)
class Setting:
    """What is the same along all lines, for one budget; ``differs`` says what is not as in the paper."""

    model: dict[str, Any]
    training: dict[str, Any]
    splits: int
    differs: tuple[str, ...]


MLP = {"name": "mlp", "hidden": 128, "layers": 1, "dropout": 0.5}
GT = {"name": "gt", "hidden": 128, "layers": 1, "dropout": 0.5}
TRAINING = {"lr": 0.01, "weight_decay": 5e-3}
NOT_SEARCHED = "One setting for all instead of a search."
SETTINGS: dict[Budget, Setting] = {
    "quick": Setting(
        MLP,
        TRAINING | {"epochs": 100, "patience": 30},
        3,
        ("An MLP instead of GT; 3 splits instead of 10; 100 epochs at most.", NOT_SEARCHED),
    ),
    "standard": Setting(
        MLP,
        TRAINING | {"epochs": 500, "patience": 100},
        10,
        ("An MLP instead of GT; 500 epochs at most and patience 100 instead of 200.", NOT_SEARCHED),
    ),
    "paper": Setting(GT, TRAINING | {"epochs": 2000, "patience": 200}, 10, (NOT_SEARCHED,)),
}


@dataclass(frozen=True)
class Cell:
    """One run of a sweep: a line, and the value of the option that varies; None for no encoding at all."""

    line: str
    value: int | None


def open_cora(context: Context) -> NodeDataset:
    """Cora's giant component; where its files are not at hand, ``quick`` takes a heterophilous block model."""
    dataset = context.load(CORA)
    if dataset is not None:
        return dataset
    if context.budget != "quick":
        raise ValueError(
            f"the budget {context.budget!r} must have the files of Cora, got none. "
            "Download them, or ask for --budget quick, which does without."
        )
    context.say(f"{INSTEAD} is taken instead of Cora.")
    instead = context.load(INSTEAD)
    assert instead is not None  # it is made here
    return instead


def reproduce(sweep: Sweep, context: Context) -> list[Path]:
    """Trains all values of all lines and writes the table and the figure."""
    setting = SETTINGS[context.budget]
    dataset = open_cora(context)
    for line in setting.differs:
        context.say(line)
    values = _possible(sweep, dataset, context)
    cells = [Cell(NONE, None), *(Cell(line, value) for value in values for line in sweep.lines)]
    found: dict[Cell, RunFolder] = {}
    for cell in context.track(cells, sweep.title, partial(_describe, sweep)):
        found[cell] = context.train(dataset, _config(sweep, setting, dataset, cell))
    grid = _grid(sweep, setting, dataset, values, found)
    return [
        context.write_results(sweep.name, [_row(sweep, setting, dataset, cell, run) for cell, run in found.items()]),
        context.write_text(f"{sweep.name}.md", grid.markdown()),
        context.write_text(f"{sweep.name}.tex", grid.latex()),
        *context.write_figure(sweep.name, _figure(sweep, setting, values, found)),
    ]


def _possible(sweep: Sweep, dataset: NodeDataset, context: Context) -> tuple[int, ...]:
    """The values of a sweep; of k only those that do not ask for more pairs than there are."""
    values = sweep.values[context.budget]
    if sweep.option != "k":
        return values
    possible = tuple(k for k in values if 2 * k <= dataset.num_nodes)
    for k in values[len(possible) :]:
        context.say(f"k = {k} is left out: {dataset.name} has {dataset.num_nodes} eigenpairs in all.")
    return possible


def _config(sweep: Sweep, setting: Setting, dataset: NodeDataset, cell: Cell) -> dict[str, Any]:
    encoding: dict[str, Any] = {"name": "none"}
    if cell.value is not None:
        encoding = sweep.lines[cell.line] | {sweep.option: cell.value}
    return {
        "dataset": dataset.name,
        "encoding": encoding,
        "model": setting.model,
        "training": setting.training,
        "splits": {"count": setting.splits},
    }


def _describe(sweep: Sweep, cell: Cell) -> str:
    return cell.line if cell.value is None else f"{cell.line}, {sweep.symbol} = {cell.value}"


def _row(sweep: Sweep, setting: Setting, dataset: NodeDataset, cell: Cell, run: RunFolder) -> dict[str, Any]:
    return {
        "graph": dataset.name,
        "model": setting.model["name"],
        "encoding": cell.line,
        sweep.option: "" if cell.value is None else cell.value,
        "mean": run.mean,
        "std": run.std,
        "splits": len(run.scores),
        "failed": len(run.failed),
    }


def _grid(
    sweep: Sweep, setting: Setting, dataset: NodeDataset, values: Sequence[int], found: dict[Cell, RunFolder]
) -> Table:
    rows = []
    for line in sweep.lines:
        runs = [found[Cell(line, value)] for value in values]
        rows.append([line, *(percent(run.mean, run.std) for run in runs)])
    none = found[Cell(NONE, None)]
    failed = sum(len(run.failed) for run in found.values())
    what = f"{dataset.name}, {setting.model['name'].upper()}, test accuracy in %, mean ± standard deviation"
    remarks = [
        f"Without an encoding: {percent(none.mean, none.std)}.",
        *setting.differs,
        *([f"{failed} splits failed and enter no mean."] if failed else []),
    ]
    header = ["encoding", *(f"{sweep.symbol} = {value}" for value in values)]
    return Table(f"{sweep.title}: {what} over {setting.splits} splits", header, rows, remarks)


def _figure(sweep: Sweep, setting: Setting, values: Sequence[int], found: dict[Cell, RunFolder]) -> Figure:
    """A line for each form of LLPE, and a level one where no encoding is."""
    points = []
    for cell, run in found.items():
        if run.mean is None:
            continue
        if cell.value is None:
            points += [Point(cell.line, value, 100 * run.mean) for value in (values[0], values[-1])]
        else:
            points.append(Point(cell.line, cell.value, 100 * run.mean, 100 * (run.std or 0.0)))
    figure = line_plot(
        points,
        xlabel=sweep.axis,
        ylabel=f"test accuracy of {setting.model['name'].upper()} in %",
        strong=STRONG,
        log=sweep.log,
    )
    if sweep.log:
        plain_log_ticks(figure, values)
    return figure


STUDIES: dict[str, Study] = {sweep.name: Study(sweep.name, sweep.title, partial(reproduce, sweep)) for sweep in SWEEPS}
