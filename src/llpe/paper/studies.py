"""Three studies that show more than a mean of scores: accuracy by local homophily, signs of eigenvectors, encodings.

``local_homophily``: test nodes of all splits, grouped by the share of their neighbours that have their class, in fifths
of [0, 1]. A group's accuracy counts a node once for each split that tests it; its 95 % interval is a bootstrap over
nodes, since the tests of one node are not independent.

NOTE[PAPER]: the paper says "quintiles". Quintiles of the nodes do not exist where more than a fifth of them are alike,
as in Cora, where most nodes have a homophily of exactly 1; so our fifths are of the range, and have unequal sizes.

``signs``: how much the arbitrary signs of eigenvectors matter to LLPE. Not in the paper, nor, to our knowledge,
elsewhere. LLPE adds the eigenvectors of each filter up, so the sign of each matters, and an eigensolver's is arbitrary.
In our spectra a seed decides: u has the sign of u·g for a Gaussian g. Eigenvectors are orthonormal, so the signs are
independent fair coins, and inside a repeated eigenvalue the basis is a uniformly random one. Min-max scaling maps −u to
the negative of what it maps u to, so a draw multiplies the columns of the published form by random signs. The seed of
the encoding decides nothing else: everything learned starts from the seed of the training. Four arms, each of several
draws over the same splits:

* ``llpe-minmax``, as published, with other signs;
* ``llpe``, one direction for each eigenspace: independent of the solver, but other seeds give other directions;
* ``llpe-probes``, with other probes;
* ``llpe-minmax, other start``: the same signs, other initial weights. This much any training varies.

``intuition``: the two opening figures, where nodes of a block model lie in an encoding, coloured by class. The learned
encoding has many columns; shown are its two principal components, which see no labels. How far the two classes are
apart is also a number: the share of nodes on the correct side of the best line through the plane.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from llpe.data import NodeDataset
from llpe.paper.base import Context, Settings, config_of, merge, remarks_of
from llpe.report.charts import fifths
from llpe.report.figures import Cloud, Interval, Point, interval_plot, line_plot, scatter_plot
from llpe.report.tables import MISSING, Table, percent
from llpe.runs import RunFolder
from llpe.spectrum import end_spectrum

FIFTHS = ("0 – .2", ".2 – .4", ".4 – .6", ".6 – .8", ".8 – 1")
SIGNS, START = "llpe-minmax", "llpe-minmax, other start"
FAR = 1000  # between the training seeds of two draws: a split adds its number
SPREAD = ["mean", "worst draw", "best draw", "std over draws", "std over splits"]


def local_homophily(name: str, settings: Settings, context: Context) -> list[Path]:
    """The figure of all graphs, a table and all numbers."""
    datasets = context.load_groups(name, settings["graphs"])
    cells = [(dataset, encoding) for dataset in datasets for encoding in settings["encodings"]]
    found: dict[tuple[str, str], pd.DataFrame] = {}
    for dataset, encoding in context.track(cells, "Local homophily", lambda cell: f"{cell[0].name}, {cell[1]}"):
        config = config_of(settings, dataset.name, settings["encodings"][encoding])
        nodes = count_tests(context.train(dataset, config))
        found[dataset.name, encoding] = group_by_homophily(nodes, draws=settings["draws"])
    groups = pd.concat(found, names=["dataset", "encoding"]).reset_index(["dataset", "encoding"])
    shown = groups.assign(**(100 * groups[["accuracy", "low", "high"]]))
    figure = interval_plot(
        [
            Interval(g.encoding, f"{g.fifth}\n({g.nodes})", g.accuracy, g.low, g.high, g.dataset)
            for g in shown.itertuples()
        ],
        xlabel="local homophily of a node (number of test nodes)",
        ylabel="test accuracy in %, 95 % interval",
        strong=settings["strong"],
    )
    there = {dataset.name for dataset in datasets}
    used = [(wanted, other) for wanted, *others in settings["graphs"] for other in others if other in there]
    remarks = [f"{other} instead of {wanted} as the heterophilous graph." for wanted, other in used]
    texts: dict[str, dict[str, str]] = {}
    for g in shown.itertuples():
        texts.setdefault(f"{g.dataset}, {g.encoding}", {})[g.fifth] = f"{g.accuracy:.1f} [{g.low:.1f}, {g.high:.1f}]"
    grid = Table(
        f"{settings['model']['name'].upper()}: test accuracy in % by local homophily [95 % bootstrap interval over "
        f"nodes], {settings['splits']} splits",
        ["graph, encoding", *FIFTHS],
        [[row, *(each.get(fifth, MISSING) for fifth in FIFTHS)] for row, each in texts.items()],
        [*remarks_of(settings), *remarks],
    )
    return context.write(name, groups.to_dict("records"), [grid], {name: figure})


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


def bootstrap(right: np.ndarray, tested: np.ndarray, *, draws: int) -> tuple[float, float]:
    """The 95 % interval of Σ right / Σ tested when nodes are drawn with replacement.

    Example:
        >>> bootstrap(np.array([1, 1, 1]), np.array([1, 1, 1]), draws=10)
        (1.0, 1.0)
    """
    rng = np.random.default_rng(0)
    shares = np.empty(draws)
    for draw in range(draws):
        chosen = rng.integers(len(right), size=len(right))
        shares[draw] = right[chosen].sum() / tested[chosen].sum()
    low, high = np.quantile(shares, [0.025, 0.975])
    return float(low), float(high)


def signs(name: str, settings: Settings, context: Context) -> list[Path]:
    """All draws of all arms on all graphs; the figure has the draws of each arm from the worst to the best."""
    datasets = context.load_groups(name, settings["graphs"])
    cells = [(data, arm, draw) for data in datasets for arm in settings["arms"] for draw in range(settings["draws"])]
    rows = []
    for dataset, arm, draw in context.track(cells, "Signs", lambda cell: f"{cell[0].name}, {cell[1]}, draw {cell[2]}"):
        trained = context.train(dataset, config_of_draw(dataset.name, arm, draw, settings))
        names = {"dataset": dataset.name, "arm": arm, "draw": draw}
        rows += [names | {"split": split, "test": score} for split, score in enumerate(trained.scores)]
    frame = pd.DataFrame(rows)
    spread = spread_of(frame)
    grid = Table(
        f"Signs of eigenvectors: test accuracy in % of an MLP, {settings['draws']} draws over the same "
        f"{settings['splits']} splits",
        ["graph, arm", *SPREAD],
        [[f"{graph}, {arm}", *(f"{100 * each:.2f}" for each in row)] for (graph, arm), *row in spread.itertuples()],
        [*remarks_of(settings), summary(spread)],
    )
    points = [
        Point(arm, float(rank), 100 * score, None, graph)
        for (graph, arm), means in _means(frame, "draw")
        for rank, score in enumerate(sorted(means), start=1)
    ]
    xlabel, ylabel = "draw, from the worst to the best", "test accuracy in %, mean over splits"
    figure = line_plot(points, xlabel=xlabel, ylabel=ylabel, strong=(SIGNS,))
    return context.write(name, rows, [grid], {name: figure})


def config_of_draw(dataset: str, arm: str, draw: int, settings: Settings) -> Settings:
    """The config of one draw: another seed of the encoding, or of the training."""
    seeds = (0, FAR * draw) if arm == START else (draw, 0)
    config = config_of(settings, dataset, settings["arms"][arm] | {"seed": seeds[0]})
    return merge(config, {"training": {"seed": seeds[1]}})


def _means(frame: pd.DataFrame, unit: str) -> pd.core.groupby.SeriesGroupBy:
    """The mean score of each ``draw`` or ``split``, grouped by graph and arm."""
    means = frame.groupby(["dataset", "arm", unit], sort=False)["test"].mean()
    return means.groupby(["dataset", "arm"], sort=False)


def spread_of(frame: pd.DataFrame) -> pd.DataFrame:
    """For each graph and arm: mean, worst and best draw, and standard deviations over draws and over splits."""
    draws, splits = _means(frame, "draw"), _means(frame, "split")
    columns = (draws.mean(), draws.min(), draws.max(), draws.std(), splits.std())
    return pd.concat(columns, axis=1, keys=SPREAD)


def summary(spread: pd.DataFrame) -> str:
    """Whether other signs move LLPE as published more than other initial weights do."""
    moved = (100 * spread["std over draws"]).unstack("arm", sort=False)
    listed = "; ".join(f"{name} {row[SIGNS]:.1f} and {row[START]:.1f}" for name, row in moved.iterrows())
    return (
        "LLPE as published, standard deviation over draws, in points, of other signs and of other initial weights with "
        f"the same signs: {listed}. Only what the first exceeds the second by is the signs'."
    )


def intuition(name: str, settings: Settings, context: Context) -> list[Path]:
    """Eigenvectors of a homophilous and of a heterophilous graph, and LLPE of the second; how a line separates them."""
    same, differ = (settings["graph"].format(settings[kind]) for kind in ("homophilous", "heterophilous"))
    alike, unlike = context.load_groups(name, [[same], [differ]])
    trained = context.train(unlike, config_of(settings, unlike.name, settings["encoding"]))
    learned = (trained.arrays("picture", 0) or {})["points"]  # kept by training, up to 2000 nodes
    eigenvectors, components = ("eigenvector $u_2$", "eigenvector $u_3$"), ("component 1", "component 2")
    where = f"heterophilous (h = {settings['heterophilous']})"
    planes = [
        (f"homophilous (h = {settings['homophilous']}), LPE", alike, first_eigenvectors(alike), eigenvectors),
        (f"{where}, LPE", unlike, first_eigenvectors(unlike), eigenvectors),
        (f"{where}, learned LLPE", unlike, learned, components),
    ]
    clouds = [Cloud(title, points, dataset.data.y.numpy(), *axes) for title, dataset, points, axes in planes]
    grid = Table(
        "Share of the nodes that the best line through the plane tells apart, in %",
        ["plane", "share"],
        [[cloud.panel, percent(separated(cloud.points, cloud.classes))] for cloud in clouds],
        [f"The graph is {unlike.name}; 50 % is chance. LLPE was trained on 60 % of these nodes."],
    )
    rows = [
        {"plane": cloud.panel, "node": node, "class": int(cloud.classes[node]), "x": float(x), "y": float(y)}
        for cloud in clouds
        for node, (x, y) in enumerate(cloud.points)
    ]
    pairs = {f"{name}-lpe": clouds[:2], f"{name}-llpe": clouds[1:]}
    figures = {stem: scatter_plot(pair, class_names=["class 0", "class 1"]) for stem, pair in pairs.items()}
    return context.write(name, rows, [grid], figures)


def first_eigenvectors(dataset: NodeDataset) -> np.ndarray:
    """The first two nontrivial eigenvectors, shape (num_nodes, 2)."""
    return end_spectrum(dataset.data, first=3).vectors[:, 1:3].numpy()


def separated(points: np.ndarray, classes: np.ndarray) -> float:
    """The share of the points on the correct side of the best line, over 180 directions and all offsets.

    Example:
        >>> separated(np.array([[0.0, 0], [1, 0], [3, 0], [4, 0]]), np.array([0, 0, 1, 1]))
        1.0
    """
    sign = np.where(classes == 1, 1, -1)
    best = 0
    for angle in np.linspace(0, np.pi, 180, endpoint=False):
        order = np.argsort(points @ np.array([np.cos(angle), np.sin(angle)]), kind="stable")
        gained = np.abs(2 * np.concatenate([[0], np.cumsum(sign[order])]) - sign.sum())
        best = max(best, int(gained.max()))
    return (len(classes) + best) / (2 * len(classes))
