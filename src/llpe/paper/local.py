"""Accuracy by local homophily: where in a graph does an encoding help?

Test nodes of all splits are grouped by the share of their neighbours that have their class, in fifths of [0, 1]. A
group's accuracy counts a node once for each split that tests it; its 95 % interval is a bootstrap over nodes, since
the tests of one node are not independent.

NOTE[PAPER]: the paper says "quintiles". Quintiles of the nodes do not exist where more than a fifth of them are alike,
as in Cora, where most nodes have a homophily of exactly 1; so our fifths are of the range, and have unequal sizes.
NOTE[PAPER]: the paper's model is GT; ours is an MLP unless the budget is ``paper``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from llpe.data import NodeDataset, make_splits
from llpe.graph import local_homophily
from llpe.lab.predict import predict_graph
from llpe.paper.base import Context, Study
from llpe.report.collect import Run
from llpe.report.grid import Grid
from llpe.report.plots import Interval, interval_plot

FIFTHS = ("0 – .2", ".2 – .4", ".4 – .6", ".6 – .8", ".8 – 1")
HOMOPHILOUS = ("cora",)
HETEROPHILOUS = ("amazon-ratings", "texas")  # the first at hand; of Tolokers a share of 78 % is right without a look
DRAWS = 2000
ENCODINGS: dict[str, dict[str, Any]] = {
    "none": {"name": "none"},
    "lpe-fk": {"name": "lpe-fk", "dim": 64, "k": 16},
    "llpe": {"name": "llpe", "dim": 64, "order": 64},
    "llpe-probes": {"name": "llpe-probes", "dim": 128, "probes": 64, "order": 16},
}
TRAINING: dict[str, Any] = {"lr": 0.01, "weight_decay": 5e-3}


@dataclass(frozen=True)
class Group:
    """The test nodes of one fifth: their accuracy with one encoding, and its interval."""

    dataset: str
    encoding: str
    fifth: str
    nodes: int
    accuracy: float
    low: float
    high: float


def run(context: Context) -> list[Path]:
    """The figure of both graphs, a table and all numbers."""
    quick, paper = context.budget == "quick", context.budget == "paper"
    model = {"name": "gt", "hidden": 64} if paper else {"name": "mlp", "hidden": 64, "dropout": 0.5}
    training = TRAINING | ({"epochs": 150, "patience": 30} if quick else {} if paper else {"patience": 100})
    splits = 3 if quick else 10
    remarks = ["One setting for all encodings instead of a search for each."]
    remarks += [] if paper else ["An MLP instead of GT."]
    remarks += ["3 splits instead of 10; at most 150 epochs."] if quick else []
    datasets = [_first_loaded(context, names) for names in (HOMOPHILOUS, HETEROPHILOUS[-1 if quick else 0 :])]
    if datasets[1] is not None and datasets[1].name != HETEROPHILOUS[0]:
        remarks.append(f"{datasets[1].name} instead of {HETEROPHILOUS[0]} as the heterophilous graph.")
    for remark in remarks:
        context.say(remark)
    cells = [(dataset, encoding) for dataset in datasets if dataset is not None for encoding in ENCODINGS]
    if not cells:
        raise ValueError("local-homophily must have a graph, got no benchmark. Fetch one, or give its folder.")
    groups: list[Group] = []
    for dataset, encoding in context.track(cells, "Local homophily", lambda cell: f"{cell[0].name}, {cell[1]}"):
        config = {"dataset": dataset.name, "encoding": ENCODINGS[encoding], "model": model, "training": training}
        trained = context.train(dataset, config | {"splits": {"count": splits}})
        groups += group_by_homophily(dataset, encoding, *tested_and_right(dataset, trained))
    grid = _grid(groups, str(model["name"]).upper(), splits, remarks)
    intervals = [
        Interval(g.encoding, g.fifth, 100 * g.accuracy, 100 * g.low, 100 * g.high, g.dataset)
        for g in (_with_count(group) for group in groups)
    ]
    figure = interval_plot(
        intervals,
        xlabel="local homophily of a node (number of test nodes)",
        ylabel="test accuracy in %, 95 % interval",
        strong=("llpe", "llpe-probes"),
    )
    return [
        context.write_results("local-homophily", [vars(group) for group in groups]),
        context.write_text("local-homophily.md", grid.markdown()),
        context.write_text("local-homophily.tex", grid.latex()),
        *context.write_figure("local-homophily", figure),
    ]


def _first_loaded(context: Context, names: Sequence[str]) -> NodeDataset | None:
    return next((dataset for name in names if (dataset := context.load(name)) is not None), None)


def tested_and_right(dataset: NodeDataset, run: Run) -> tuple[np.ndarray, np.ndarray]:
    """How often each node was tested, and how often it was classified rightly, shape (num_nodes,) each."""
    options = run.config["splits"]
    splits = make_splits(dataset, options["kind"], count=options["count"], seed=options["seed"])
    y = dataset.data.y.numpy()
    tested, right = np.zeros(len(y), dtype=int), np.zeros(len(y), dtype=int)
    for report in run.reports:
        test = splits[report["split"]].test.numpy()
        guess = predict_graph(run.path, dataset, split=report["split"]).probabilities.argmax(axis=1)
        tested[test] += 1
        right[test] += guess[test] == y[test]
    return tested, right


def group_by_homophily(dataset: NodeDataset, encoding: str, tested: np.ndarray, right: np.ndarray) -> list[Group]:
    """The fifths that have test nodes; nodes without a labelled neighbour are in none."""
    share = local_homophily(dataset.data.edge_index, dataset.data.y).numpy()
    fifth = np.where(np.isnan(share), -1, np.minimum(np.nan_to_num(share) * 5 + 1e-9, 4)).astype(int)
    groups = []
    for index, name in enumerate(FIFTHS):
        nodes = np.flatnonzero((fifth == index) & (tested > 0))
        if nodes.size:
            low, high = bootstrap(right[nodes], tested[nodes])
            accuracy = float(right[nodes].sum() / tested[nodes].sum())
            groups.append(Group(dataset.name, encoding, name, int(nodes.size), accuracy, low, high))
    return groups


def bootstrap(right: np.ndarray, tested: np.ndarray, *, draws: int = DRAWS, seed: int = 0) -> tuple[float, float]:
    """The 95 % interval of Σ right / Σ tested when nodes are drawn anew with replacement.

    Example:
        >>> bootstrap(np.array([1, 1, 1]), np.array([1, 1, 1]))
        (1.0, 1.0)
    """
    rng = np.random.default_rng(seed)
    shares = np.empty(draws)
    for draw in range(draws):
        chosen = rng.integers(len(right), size=len(right))
        shares[draw] = right[chosen].sum() / tested[chosen].sum()
    low, high = np.quantile(shares, [0.025, 0.975])
    return float(low), float(high)


def _with_count(group: Group) -> Group:
    return Group(**{**vars(group), "fifth": f"{group.fifth}\n({group.nodes})"})


def _grid(groups: Sequence[Group], model: str, splits: int, remarks: Sequence[str]) -> Grid:
    placed = {(group.dataset, group.encoding, group.fifth): group for group in groups}
    rows = []
    for dataset, encoding in dict.fromkeys((group.dataset, group.encoding) for group in groups):
        cells = [placed.get((dataset, encoding, fifth)) for fifth in FIFTHS]
        rows.append([f"{dataset}, {encoding}", *(_text(cell) for cell in cells)])
    title = f"{model}: test accuracy in % by local homophily [95 % bootstrap interval over nodes], {splits} splits"
    return Grid(title, ["graph, encoding", *FIFTHS], rows, remarks)


def _text(group: Group | None) -> str:
    return "–" if group is None else f"{100 * group.accuracy:.1f} [{100 * group.low:.1f}, {100 * group.high:.1f}]"


STUDIES = {"local-homophily": Study("local-homophily", "Accuracy by local homophily", run)}
