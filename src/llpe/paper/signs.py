"""How much the arbitrary signs of eigenvectors matter to LLPE. Not in the paper, nor, to our knowledge, elsewhere.

LLPE adds the eigenvectors of each filter up, so the sign of each matters, and an eigensolver's is arbitrary. In our
spectra a seed decides: u has the sign of u·g for a Gaussian g. Eigenvectors are orthonormal, so the signs are
independent fair coins, and inside a repeated eigenvalue the basis is a uniformly random one. Min-max scaling maps −u to
the negative of what it maps u to, so a draw multiplies the columns of the published form by random signs. The seed of
the encoding decides nothing else: all that is learned starts from the seed of the training.

Four arms, each of several draws over the same splits:

* ``llpe-minmax``, as published, with other signs;
* ``llpe``, one direction for each eigenspace: independent of the solver, but other seeds give other directions;
* ``llpe-probes``, with other probes;
* ``llpe-minmax, other start``: signs as they are, other initial weights. What any training shows.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llpe.paper.base import Context, Study
from llpe.report.plots import Point, line_plot
from llpe.report.tables import Table
from llpe.runs import RunFolder

SIGNS, START = "llpe-minmax", "llpe-minmax, other start"
ARMS: dict[str, dict[str, Any]] = {
    SIGNS: {"name": "llpe-minmax", "dim": 64, "order": 64},
    "llpe": {"name": "llpe", "dim": 64, "order": 64},
    "llpe-probes": {"name": "llpe-probes", "dim": 64, "order": 64, "probes": 32},
    START: {"name": "llpe-minmax", "dim": 64, "order": 64},
}
MODEL: dict[str, Any] = {"name": "mlp", "hidden": 64, "dropout": 0.2}
TRAINING: dict[str, Any] = {"lr": 0.01, "weight_decay": 5e-3}
FAR = 1000  # between the training seeds of two draws: a split adds its number


@dataclass(frozen=True)
class Spread:
    """What the draws of one arm on one graph did.

    Attributes:
        scores: for each draw the test accuracy of each split.
        mean: of all.
        over_draws: standard deviation, over draws, of the mean over splits.
        over_splits: standard deviation, over splits, of the mean over draws.
        lowest, highest: mean over splits of the worst and of the best draw.
    """

    dataset: str
    arm: str
    scores: tuple[tuple[float, ...], ...]

    @property
    def by_draw(self) -> list[float]:
        return [statistics.fmean(draw) for draw in self.scores]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.by_draw)

    @property
    def over_draws(self) -> float:
        return statistics.stdev(self.by_draw)

    @property
    def over_splits(self) -> float:
        return statistics.stdev(statistics.fmean(split) for split in zip(*self.scores, strict=True))

    @property
    def lowest(self) -> float:
        return min(self.by_draw)

    @property
    def highest(self) -> float:
        return max(self.by_draw)


def run(context: Context) -> list[Path]:
    """All draws of all arms on all graphs."""
    quick = context.budget == "quick"
    names = ("sbm:n=400,homophily=0.1", "texas") if quick else ("texas", "cora")
    draws, splits = (4, 5) if quick else (10, 10)
    training = TRAINING | ({"epochs": 200, "patience": 30} if quick else {"epochs": 1000, "patience": 100})
    remarks = ["One setting for all arms, no search."]
    if quick:
        remarks.append("A block model and Texas instead of Texas and Cora; 4 draws and 5 splits instead of 10 and 10.")
    for remark in remarks:
        context.say(remark)
    datasets = [dataset for name in names if (dataset := context.load(name)) is not None]
    if not datasets:
        raise ValueError("signs must have a graph, got no benchmark. Fetch one, or give its folder.")
    cells = [(dataset, arm, draw) for dataset in datasets for arm in ARMS for draw in range(draws)]
    runs: dict[tuple[str, str], list[RunFolder]] = {}
    for dataset, arm, draw in context.track(cells, "Signs", lambda cell: f"{cell[0].name}, {cell[1]}, draw {cell[2]}"):
        config = config_of_draw(dataset.name, arm, draw, training, splits)
        runs.setdefault((dataset.name, arm), []).append(context.train(dataset, config))
    spreads = [Spread(name, arm, tuple(run.scores for run in each)) for (name, arm), each in runs.items()]
    grid = _grid(spreads, draws, splits, remarks)
    return [
        context.write_results("signs", _rows(spreads)),
        context.write_text("signs.md", grid.markdown()),
        context.write_text("signs.tex", grid.latex()),
        *context.write_figure("signs", _figure(spreads)),
    ]


def config_of_draw(dataset: str, arm: str, draw: int, training: dict[str, Any], splits: int) -> dict[str, Any]:
    """The config of one draw: another seed of the encoding, or of the training."""
    seeds = (0, FAR * draw) if arm == START else (draw, 0)
    return {
        "dataset": dataset,
        "encoding": ARMS[arm] | {"seed": seeds[0]},
        "model": MODEL,
        "training": training | {"seed": seeds[1]},
        "splits": {"count": splits},
    }


def _rows(spreads: Sequence[Spread]) -> list[dict[str, Any]]:
    return [
        {"dataset": spread.dataset, "arm": spread.arm, "draw": draw, "split": split, "test": score}
        for spread in spreads
        for draw, scores in enumerate(spread.scores)
        for split, score in enumerate(scores)
    ]


def _grid(spreads: Sequence[Spread], draws: int, splits: int, remarks: Sequence[str]) -> Table:
    header = ["graph, arm", "mean", "worst draw", "best draw", "std over draws", "std over splits"]
    rows = []
    for each in spreads:
        numbers = (each.mean, each.lowest, each.highest, each.over_draws, each.over_splits)
        rows.append([f"{each.dataset}, {each.arm}", *(f"{100 * number:.2f}" for number in numbers)])
    title = f"Signs of eigenvectors: test accuracy in % of an MLP, {draws} draws over the same {splits} splits"
    return Table(title, header, rows, [*remarks, _reading(spreads)])


def _reading(spreads: Sequence[Spread]) -> str:
    """Whether other signs move LLPE as published more than other initial weights do."""
    moved = {(each.dataset, each.arm): f"{100 * each.over_draws:.1f}" for each in spreads}
    datasets = dict.fromkeys(each.dataset for each in spreads)
    listed = "; ".join(f"{name} {moved[name, SIGNS]} and {moved[name, START]}" for name in datasets)
    return (
        "LLPE as published, standard deviation over draws, in points, of other signs and of other initial weights with "
        f"the same signs: {listed}. Only what the first exceeds the second by is the signs'."
    )


def _figure(spreads: Sequence[Spread]) -> Any:
    points = [
        Point(spread.arm, float(rank), 100 * score, None, spread.dataset)
        for spread in spreads
        for rank, score in enumerate(sorted(spread.by_draw), start=1)
    ]
    return line_plot(
        points,
        xlabel="draw, from the worst to the best",
        ylabel="test accuracy in %, mean over splits",
        strong=(SIGNS,),
    )


STUDIES = {"signs": Study("signs", "How much the arbitrary signs of eigenvectors matter", run)}
