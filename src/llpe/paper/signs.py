"""How much the arbitrary signs of eigenvectors matter to LLPE. Not in the paper, nor, to our knowledge, elsewhere.

LLPE adds the eigenvectors of each filter up, so the sign of each matters, and an eigensolver's is arbitrary. In our
spectra a seed decides: u has the sign of u·g for a Gaussian g. Eigenvectors are orthonormal, so the signs are
independent fair coins, and inside a repeated eigenvalue the basis is a uniformly random one. Min-max scaling maps −u to
the negative of what it maps u to, so a draw multiplies the columns of the published form by random signs. The seed of
the encoding decides nothing else: everything learned starts from the seed of the training.

Four arms, each of several draws over the same splits:

* ``llpe-minmax``, as published, with other signs;
* ``llpe``, one direction for each eigenspace: independent of the solver, but other seeds give other directions;
* ``llpe-probes``, with other probes;
* ``llpe-minmax, other start``: the same signs, other initial weights. This much any training varies.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from llpe.paper.base import Context, Settings, config_of, merge, remarks_of
from llpe.report.figures import Point, line_plot
from llpe.report.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIGNS, START = "llpe-minmax", "llpe-minmax, other start"
FAR = 1000  # between the training seeds of two draws: a split adds its number
COLUMNS = ["mean", "worst draw", "best draw", "std over draws", "std over splits"]


def run(name: str, settings: Settings, context: Context) -> list[Path]:
    """All draws of all arms on all graphs."""
    datasets = context.load_groups(name, settings["graphs"])
    cells = [(data, arm, draw) for data in datasets for arm in settings["arms"] for draw in range(settings["draws"])]
    rows = []
    for dataset, arm, draw in context.track(cells, "Signs", lambda cell: f"{cell[0].name}, {cell[1]}, draw {cell[2]}"):
        trained = context.train(dataset, config_of_draw(dataset.name, arm, draw, settings))
        names = {"dataset": dataset.name, "arm": arm, "draw": draw}
        rows += [names | {"split": split, "test": score} for split, score in enumerate(trained.scores)]
    frame = pd.DataFrame(rows)
    spread = spread_of(frame)
    lines = [[f"{graph}, {arm}", *(f"{100 * each:.2f}" for each in row)] for (graph, arm), *row in spread.itertuples()]
    title = (
        f"Signs of eigenvectors: test accuracy in % of an MLP, {settings['draws']} draws over the same "
        f"{settings['splits']} splits"
    )
    grid = Table(title, ["graph, arm", *COLUMNS], lines, [*remarks_of(settings), summary(spread)])
    return context.write(name, rows, [grid], {name: _figure(frame)})


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
    return pd.concat(columns, axis=1, keys=COLUMNS)


def summary(spread: pd.DataFrame) -> str:
    """Whether other signs move LLPE as published more than other initial weights do."""
    moved = (100 * spread["std over draws"]).unstack("arm", sort=False)
    listed = "; ".join(f"{name} {row[SIGNS]:.1f} and {row[START]:.1f}" for name, row in moved.iterrows())
    return (
        "LLPE as published, standard deviation over draws, in points, of other signs and of other initial weights with "
        f"the same signs: {listed}. Only what the first exceeds the second by is the signs'."
    )


def _figure(frame: pd.DataFrame) -> Figure:
    points = [
        Point(arm, float(rank), 100 * score, None, graph)
        for (graph, arm), means in _means(frame, "draw")
        for rank, score in enumerate(sorted(means), start=1)
    ]
    xlabel, ylabel = "draw, from the worst to the best", "test accuracy in %, mean over splits"
    return line_plot(points, xlabel=xlabel, ylabel=ylabel, strong=(SIGNS,))
