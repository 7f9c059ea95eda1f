"""Accuracy by local homophily: where in a graph does an encoding help?

Test nodes of all splits are grouped by the share of their neighbours that have their class, in fifths of [0, 1]. A
group's accuracy counts a node once for each split that tests it; its 95 % interval is a bootstrap over nodes, since
the tests of one node are not independent.

NOTE[PAPER]: the paper says "quintiles". Quintiles of the nodes do not exist where more than a fifth of them are alike,
as in Cora, where most nodes have a homophily of exactly 1; so our fifths are of the range, and have unequal sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from llpe.paper.base import Context, Settings, config_of, remarks_of
from llpe.report.charts import fifths
from llpe.report.figures import Interval, interval_plot
from llpe.report.tables import Table
from llpe.runs import RunFolder

FIFTHS = ("0 – .2", ".2 – .4", ".4 – .6", ".6 – .8", ".8 – 1")


def run(name: str, settings: Settings, context: Context) -> list[Path]:
    """The figure of all graphs, a table and all numbers."""
    datasets = context.load_groups(name, settings["graphs"])
    cells = [(dataset, encoding) for dataset in datasets for encoding in settings["encodings"]]
    found: dict[tuple[str, str], pd.DataFrame] = {}
    for dataset, encoding in context.track(cells, "Local homophily", lambda cell: f"{cell[0].name}, {cell[1]}"):
        config = config_of(settings, dataset.name, settings["encodings"][encoding])
        nodes = count_tests(context.train(dataset, config))
        found[dataset.name, encoding] = group_by_homophily(nodes, draws=settings["draws"])
    groups = pd.concat(found, names=["dataset", "encoding"]).reset_index(["dataset", "encoding"])
    there = {dataset.name for dataset in datasets}
    used = [(wanted, other) for wanted, *others in settings["graphs"] for other in others if other in there]
    remarks = [
        *remarks_of(settings),
        *(f"{other} instead of {wanted} as the heterophilous graph." for wanted, other in used),
    ]
    figure = interval_plot(
        [
            Interval(g.encoding, f"{g.fifth}\n({g.nodes})", 100 * g.accuracy, 100 * g.low, 100 * g.high, g.dataset)
            for g in groups.itertuples()
        ],
        xlabel="local homophily of a node (number of test nodes)",
        ylabel="test accuracy in %, 95 % interval",
        strong=settings["strong"],
    )
    return context.write(name, groups.to_dict("records"), [_grid(groups, settings, remarks)], {name: figure})


def count_tests(run: RunFolder) -> pd.DataFrame:
    """For each node that a split tests: its local homophily, how often it was tested, and how often it was right."""
    tests = []
    for report in run.reports:
        masks, predictions = (run.arrays(name, report["split"]) or {} for name in ("split", "predictions"))
        tests.append(pd.DataFrame(predictions).assign(node=np.flatnonzero(masks["test"])))
    nodes = pd.concat(tests).groupby("node")
    return nodes.agg(homophily=("homophily", "first"), tested=("correct", "size"), right=("correct", "sum"))


def group_by_homophily(nodes: pd.DataFrame, *, draws: int) -> pd.DataFrame:
    """The accuracy of each fifth that has test nodes, with its interval."""
    groups = []
    for fifth, part in nodes.groupby(fifths(nodes["homophily"])):
        if fifth >= 0:  # else without a labelled neighbour
            tested, right = part["tested"].to_numpy(), part["right"].to_numpy()
            low, high = bootstrap(right, tested, draws=draws)
            groups.append((FIFTHS[fifth], len(part), right.sum() / tested.sum(), low, high))
    return pd.DataFrame(groups, columns=["fifth", "nodes", "accuracy", "low", "high"])


def bootstrap(right: np.ndarray, tested: np.ndarray, *, draws: int, seed: int = 0) -> tuple[float, float]:
    """The 95 % interval of Σ right / Σ tested when nodes are drawn with replacement.

    Example:
        >>> bootstrap(np.array([1, 1, 1]), np.array([1, 1, 1]), draws=10)
        (1.0, 1.0)
    """
    rng = np.random.default_rng(seed)
    shares = np.empty(draws)
    for draw in range(draws):
        chosen = rng.integers(len(right), size=len(right))
        shares[draw] = right[chosen].sum() / tested[chosen].sum()
    low, high = np.quantile(shares, [0.025, 0.975])
    return float(low), float(high)


def _grid(groups: pd.DataFrame, settings: Settings, remarks: Sequence[str]) -> Table:
    rows: dict[str, dict[str, str]] = {}
    for g in groups.itertuples():
        text = f"{100 * g.accuracy:.1f} [{100 * g.low:.1f}, {100 * g.high:.1f}]"
        rows.setdefault(f"{g.dataset}, {g.encoding}", {})[g.fifth] = text
    model, splits = settings["model"]["name"].upper(), settings["splits"]
    title = f"{model}: test accuracy in % by local homophily [95 % bootstrap interval over nodes], {splits} splits"
    lines = [[name, *(cells.get(fifth, "–") for fifth in FIFTHS)] for name, cells in rows.items()]
    return Table(title, ["graph, encoding", *FIFTHS], lines, remarks)
