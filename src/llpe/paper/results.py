"""A published table: a frame with one row for each cell, our number and the paper's; its Markdown and LaTeX.

Scores are in percent here, as tables print them. ``wins`` counts the splits on which an encoding is above ``lpe-fk``;
``rank`` is its place among all encodings with the same data set and model, 1 is best, ties share the mean.
``paper_mean`` and ``paper_std`` are empty where the paper has no such cell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from llpe.report.tables import MISSING, Table

BASELINE = "lpe-fk"
PUBLISHED = "llpe-minmax"
OURS = ("llpe", "llpe-ends", PUBLISHED, "llpe-probes")
CELL = ["dataset", "model", "encoding"]
COLUMNS = [*CELL, "metric", "mean", "std", "splits", "wins", "rank", "paper_mean", "paper_std", "trials", "command"]
AS_PUBLISHED = {PUBLISHED: "llpe", "llpe-ends": "llpe"}  # rows to compare with the paper's LLPE


def read_table(path: Any) -> pd.DataFrame:
    """A CSV file in which only an empty field is a missing value."""
    return pd.read_csv(path, keep_default_na=False, na_values=[""])


def read_results(path: str | Path) -> pd.DataFrame:
    """The cells of a CSV file."""
    found = read_table(path)
    if not set(COLUMNS) <= set(found):
        raise ValueError(
            f"{path}: must have the columns {', '.join(COLUMNS)}, got {', '.join(found)}. "
            "Give a file that `llpe reproduce table-small` wrote."
        )
    return found[COLUMNS].astype({"mean": float, "std": float, "rank": float, "wins": "Int64"})


def score(splits: pd.DataFrame, searches: pd.DataFrame) -> pd.DataFrame:
    """The numbers of each cell of ``searches``, from the test scores of its splits; all columns but the command."""
    by_split = splits.pivot(index=CELL, columns="split", values="test")
    out = searches.set_index(CELL)[["metric", "trials"]]
    of = by_split.loc[out.index]
    out = out.assign(mean=of.mean(axis=1).round(2), std=of.std(axis=1).round(2), splits=of.count(axis=1))  # as printed
    out["rank"] = out.groupby(["dataset", "model"])["mean"].rank(ascending=False)
    rival = by_split.reindex(pd.MultiIndex.from_tuples([(*block, BASELINE) for *block, _ in of.index]))
    won = pd.Series((of.to_numpy() > rival.to_numpy()).sum(axis=1), out.index, dtype="Int64")
    out["wins"] = won.mask(rival.isna().all(axis=1).to_numpy() | (of.index.get_level_values(2) == BASELINE))
    out = out.reset_index()
    paper = paper_numbers().reindex(pd.MultiIndex.from_frame(out[CELL].replace({"encoding": AS_PUBLISHED})))
    return out.assign(paper_mean=paper["mean"].to_numpy(), paper_std=paper["std"].to_numpy())[COLUMNS[:-1]]


def paper_numbers() -> pd.DataFrame:
    """The paper's mean and standard deviation for each of its cells.

    Example:
        >>> paper_numbers().loc["texas", "mlp", "llpe"].tolist()
        [84.82, 6.05]
    """
    with files("llpe.paper").joinpath("paper.csv").open(encoding="utf-8") as file:
        return read_table(file).set_index(CELL)[["mean", "std"]]


def average_ranks(results: pd.DataFrame, encodings: Sequence[str]) -> dict[str, float]:
    """The mean rank of each of ``encodings`` among them, over the data sets and models that have them all."""
    means = results.pivot(index=["dataset", "model"], columns="encoding", values="mean")
    whole = means.reindex(columns=encodings).dropna()
    return {} if whole.empty else whole.rank(axis="columns", ascending=False).mean().to_dict()


def begun(results: pd.DataFrame) -> pd.DataFrame:
    """Without the blocks that have less than half as many rows as another one: they say nothing about ranks yet."""
    count = results.groupby(["dataset", "model"])["encoding"].transform("size")
    return results[2 * count >= count.max()]


def tables(results: pd.DataFrame) -> list[Table]:
    """For each model: encodings by data sets, the best of each, wins over ``lpe-fk``, and the average rank."""
    return [_table(model, part) for model, part in results.groupby("model", sort=False)]


def _table(model: str, results: pd.DataFrame) -> Table:
    datasets, encodings = results["dataset"].unique(), results["encoding"].unique()
    counted = begun(results)
    counts = counted.groupby("encoding").size()
    whole = [name for name in encodings if counts.get(name) == counted["dataset"].nunique()]
    best, most = results.groupby("dataset")["mean"].max(), results["splits"].max()
    place = average_ranks(counted, whole)
    found = {(row.encoding, row.dataset): _cell(row, best[row.dataset], most) for row in results.itertuples()}
    rows = [
        [name, *(found.get((name, at), MISSING) for at in datasets), f"{place[name]:.1f}" if name in place else MISSING]
        for name in encodings
    ]
    metric = results.set_index("dataset")["metric"].groupby(level=0).first()
    header = [name if metric[name] == "accuracy" else f"{name} ({metric[name]})" for name in datasets]
    fewer = "" if results["splits"].min() == most else ", or as many as a cell says"
    remark = f"Over {most} splits{fewer}. In brackets: on how many of them above {BASELINE}."
    if len(whole) < len(encodings):
        remark += " –: not computed; ranks are those among the rows without gaps."
    if len(counted) < len(results):
        remark += " A column that is hardly begun does not count there."
    return Table(f"{model}: test score in %, mean ± standard deviation", ["encoding", *header, "rank"], rows, [remark])


def _cell(row: Any, best: float, most: int) -> str:
    text = number(row.mean, row.std)
    text = f"**{text}**" if row.mean == best else text
    text += f", {row.splits} splits" if row.splits < most else ""
    return text if pd.isna(row.wins) or row.encoding not in OURS else f"{text} ({row.wins}/{row.splits})"


def beside_the_paper(results: pd.DataFrame, why: Callable[[Any], str] | None = None) -> list[Table]:
    """For each model: ours and the paper's, cell by cell, with the difference in joint standard errors.

    ``why`` explains a difference of more than one of these, in a column of its own.
    """
    header = ["cell", "ours", "paper", "difference", "in joint standard errors", *(["why"] if why else [])]
    out = []
    for model, part in results.dropna(subset="paper_mean").groupby("model", sort=False):
        rows = []
        for row in part.itertuples():
            far = distance(row)
            rows.append(
                [
                    f"{row.dataset}, {row.encoding}",
                    number(row.mean, row.std),
                    number(row.paper_mean, row.paper_std),
                    f"{row.mean - row.paper_mean:+.1f}",
                    MISSING if far is None else f"{far:+.1f}",
                    *([] if why is None else [why(row) if far is not None and abs(far) > 1 else ""]),
                ]
            )
        out.append(Table(f"{model}: ours beside the paper's", header, rows))
    return out


def distance(row: Any) -> float | None:
    """(ours − the paper's) / √(std²/splits + paper_std²/10); None where one of these is not known."""
    joint = (row.std**2 / row.splits + row.paper_std**2 / 10) ** 0.5
    return (row.mean - row.paper_mean) / joint if joint > 0 else None


def number(mean: float, std: float) -> str:
    """Two digits, as in the paper."""
    return f"{mean:.2f}" + ("" if pd.isna(std) else f" ± {std:.2f}")
