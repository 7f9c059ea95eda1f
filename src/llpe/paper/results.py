"""A published table: one CSV line for each cell, our number and the paper's, and its Markdown and LaTeX.

Scores are in percent here, as tables print them. ``wins`` counts the splits on which an encoding is above ``lpe-fk``;
``rank`` is its place among all encodings with the same data set and model, 1 is best, ties share the mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import pandas as pd

from llpe.report.tables import MISSING, Table

BASELINE = "lpe-fk"
PUBLISHED = "llpe-minmax"
OURS = ("llpe", "llpe-ends", PUBLISHED, "llpe-probes")
CELL = ["dataset", "model", "encoding"]


@dataclass(frozen=True)
class Result:
    """One cell. ``paper_mean`` and ``paper_std`` are None where the paper has no such cell."""

    dataset: str
    model: str
    encoding: str
    metric: str
    mean: float
    std: float | None
    splits: int
    wins: int | None
    rank: float
    paper_mean: float | None
    paper_std: float | None
    trials: int
    command: str

    @property
    def cell(self) -> tuple[str, str, str]:
        return self.dataset, self.model, self.encoding


COLUMNS = [field.name for field in fields(Result)]


def read_table(path: Path, **options: object) -> pd.DataFrame:
    """A CSV file; only an empty field is no value."""
    return pd.read_csv(path, keep_default_na=False, na_values=[""], **options)


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file by the names of its columns, as texts."""
    return read_table(path, dtype=str).fillna("").to_dict("records")


def read_results(path: str | Path) -> list[Result]:
    """The cells of a CSV file."""
    found = read_table(Path(path))
    if not set(COLUMNS) <= set(found):
        raise ValueError(
            f"{path}: must have the columns {', '.join(COLUMNS)}, got {', '.join(found)}. "
            "Give a file that `llpe reproduce table-small` wrote."
        )
    found = found[COLUMNS].astype({"mean": float, "rank": float, "wins": "Int64"}).astype(object)
    return [Result(**row) for row in found.where(found.notna(), None).to_dict("records")]


def as_csv(results: Sequence[Result]) -> str:
    """All cells, one line each."""
    frame = pd.DataFrame(results, columns=COLUMNS).astype({"wins": "Int64"})
    return frame.to_csv(index=False, lineterminator="\n")


def wins(mine: Mapping[int, float], baseline: Mapping[int, float]) -> int:
    """On how many of the splits that both have ``mine`` is above ``baseline``."""
    return sum(mine[split] > baseline[split] for split in mine.keys() & baseline.keys())


def ranks(means: Mapping[str, float]) -> dict[str, float]:
    """
    Example:
        >>> ranks({"a": 80.0, "b": 90.0, "c": 80.0})
        {'a': 2.5, 'b': 1.0, 'c': 2.5}
    """
    return pd.Series(means).rank(ascending=False).to_dict()


def average_ranks(results: Sequence[Result], encodings: Sequence[str]) -> dict[str, float]:
    """The mean rank of each of ``encodings`` among them, over the data sets and models that have them all."""
    means = pd.DataFrame(results, columns=COLUMNS).pivot(index=["dataset", "model"], columns="encoding", values="mean")
    whole = means.reindex(columns=encodings).dropna()
    return {} if whole.empty else whole.rank(axis="columns", ascending=False).mean().to_dict()


def tables(results: Sequence[Result]) -> list[Table]:
    """For each model: encodings by data sets, wins over ``lpe-fk``, the average rank, and the best of whole columns."""
    return [_table(model, [r for r in results if r.model == model]) for model in _names(results, "model")]


def _table(model: str, results: Sequence[Result]) -> Table:
    datasets, encodings = _names(results, "dataset"), _names(results, "encoding")
    found = {(result.encoding, result.dataset): result for result in results}
    whole = [name for name in datasets if all((encoding, name) in found for encoding in encodings)]
    best = {name: max(result.mean for result in results if result.dataset == name) for name in whole}
    place = average_ranks(results, encodings)
    rows = []
    for encoding in encodings:
        cells = [_cell(found.get((encoding, name)), best.get(name)) for name in datasets]
        rows.append([encoding, *cells, f"{place[encoding]:.1f}" if place else MISSING])
    metric = {result.dataset: result.metric for result in results}
    header = [name if metric[name] == "accuracy" else f"{name} ({metric[name]})" for name in datasets]
    counts = sorted({result.splits for result in results})
    remark = f"Over {' or '.join(map(str, counts))} splits. In brackets: on how many of them above {BASELINE}."
    if len(whole) < len(datasets):
        remark += " –: not computed; best and rank are those of complete columns."
    return Table(f"{model}: test score in %, mean ± standard deviation", ["encoding", *header, "rank"], rows, [remark])


def _cell(result: Result | None, best: float | None) -> str:
    if result is None:
        return MISSING
    text = _number(result.mean, result.std)
    text = f"**{text}**" if result.mean == best else text
    return text if result.wins is None or result.encoding not in OURS else f"{text} ({result.wins}/{result.splits})"


def beside_the_paper(results: Sequence[Result], why: Callable[[Result], str] | None = None) -> list[Table]:
    """For each model: ours and the paper's, cell by cell, with the difference in joint standard errors.

    ``why`` explains a difference of more than one of these, in a column of its own.
    """
    header = ["cell", "ours", "paper", "difference", "in joint standard errors", *(["why"] if why else [])]
    out = []
    for model in _names(results, "model"):
        rows = []
        for result in results:
            if result.model != model or result.paper_mean is None:
                continue
            far = distance(result)
            row = [
                f"{result.dataset}, {result.encoding}",
                _number(result.mean, result.std),
                _number(result.paper_mean, result.paper_std),
                f"{result.mean - result.paper_mean:+.1f}",
                MISSING if far is None else f"{far:+.1f}",
            ]
            if why is not None:
                row.append(why(result) if far is not None and abs(far) > 1 else "")
            rows.append(row)
        if rows:
            out.append(Table(f"{model}: ours beside the paper's", header, rows))
    return out


def distance(result: Result) -> float | None:
    """(ours − the paper's) / √(std²/splits + paper_std²/10)."""
    if result.paper_mean is None or result.paper_std is None or result.std is None:
        return None
    joint = (result.std**2 / result.splits + result.paper_std**2 / 10) ** 0.5
    return (result.mean - result.paper_mean) / joint if joint else None


def _names(results: Sequence[Result], key: str) -> list[str]:
    return list(dict.fromkeys(getattr(result, key) for result in results))


def _number(mean: float, std: float | None) -> str:
    return f"{mean:.2f}" + ("" if std is None else f" ± {std:.2f}")
