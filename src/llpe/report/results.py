"""A published table: one CSV line for each cell, our number and the paper's, and its Markdown and LaTeX.

Scores are in percent here, as tables print them. ``wins`` counts the splits on which an encoding is above ``lpe-fk``;
``rank`` is its place among all encodings with the same data set and model, 1 is best, ties share the mean.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import fmean

from llpe.report.grid import Grid

BASELINE = "lpe-fk"
PUBLISHED = "llpe-minmax"
OURS = ("llpe", "llpe-ends", PUBLISHED, "llpe-probes")


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


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file by the names of its columns."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_results(path: str | Path) -> list[Result]:
    """The cells of a CSV file."""
    with Path(path).open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        wanted = [field.name for field in fields(Result)]
        if reader.fieldnames is None or not set(wanted) <= set(reader.fieldnames):
            raise ValueError(
                f"{path}: must have the columns {', '.join(wanted)}, got {', '.join(reader.fieldnames or ['none'])}. "
                "Give a file that `llpe reproduce table-small` wrote."
            )
        return [_parse(row) for row in reader]


def _parse(row: Mapping[str, str]) -> Result:
    def number(name: str, kind: Callable[[str], float] = float) -> float | None:
        return kind(row[name]) if row[name] else None

    return Result(
        row["dataset"],
        row["model"],
        row["encoding"],
        row["metric"],
        float(row["mean"]),
        number("std"),
        int(row["splits"]),
        int(row["wins"]) if row["wins"] else None,
        float(row["rank"]),
        number("paper_mean"),
        number("paper_std"),
        int(row["trials"]),
        row["command"],
    )


def as_csv(results: Sequence[Result]) -> str:
    """All cells, one line each."""
    file = io.StringIO()
    writer = csv.DictWriter(file, [field.name for field in fields(Result)], lineterminator="\n")
    writer.writeheader()
    for result in results:
        writer.writerow({key: "" if value is None else value for key, value in asdict(result).items()})
    return file.getvalue()


def wins(mine: Mapping[int, float], baseline: Mapping[int, float]) -> int:
    """On how many of the splits that both have ``mine`` is above ``baseline``."""
    return sum(mine[split] > baseline[split] for split in mine.keys() & baseline.keys())


def ranks(means: Mapping[str, float]) -> dict[str, float]:
    """
    Example:
        >>> ranks({"a": 80.0, "b": 90.0, "c": 80.0})
        {'a': 2.5, 'b': 1.0, 'c': 2.5}
    """
    values = list(means.values())
    return {name: sum(v > m for v in values) + (sum(v == m for v in values) + 1) / 2 for name, m in means.items()}


def average_ranks(results: Sequence[Result], encodings: Sequence[str]) -> dict[str, float]:
    """The mean rank of each of ``encodings`` among them, over the data sets and models that have them all."""
    groups: dict[tuple[str, str], dict[str, float]] = {}
    for result in results:
        if result.encoding in encodings:
            groups.setdefault((result.dataset, result.model), {})[result.encoding] = result.mean
    whole = [ranks(group) for group in groups.values() if group.keys() == set(encodings)]
    return {name: fmean(each[name] for each in whole) for name in encodings} if whole else {}


def tables(results: Sequence[Result]) -> list[Grid]:
    """For each model: encodings by data sets, wins over ``lpe-fk``, the average rank, and the best of whole columns."""
    return [_table(model, [r for r in results if r.model == model]) for model in _names(results, "model")]


def _table(model: str, results: Sequence[Result]) -> Grid:
    datasets, encodings = _names(results, "dataset"), _names(results, "encoding")
    found = {(result.encoding, result.dataset): result for result in results}
    whole = [r for r in results if all((encoding, r.dataset) in found for encoding in encodings)]
    best = {name: max((r.mean for r in whole if r.dataset == name), default=math.inf) for name in datasets}
    place = average_ranks(whole, encodings)
    rows = []
    for encoding in encodings:
        cells = [_cell(found.get((encoding, name)), best[name]) for name in datasets]
        rows.append([encoding, *cells, f"{place[encoding]:.1f}" if place else "–"])
    metric = {name: next(r.metric for r in results if r.dataset == name) for name in datasets}
    header = [name if metric[name] == "accuracy" else f"{name} ({metric[name]})" for name in datasets]
    counts = sorted({result.splits for result in results})
    remark = f"Over {' or '.join(map(str, counts))} splits. In brackets: on how many of them above {BASELINE}."
    if len(found) < len(datasets) * len(encodings):
        remark += " –: not computed; best and rank are those of complete columns."
    return Grid(f"{model}: test score in %, mean ± standard deviation", ["encoding", *header, "rank"], rows, [remark])


def _cell(result: Result | None, best: float) -> str:
    if result is None:
        return "–"
    text = _number(result.mean, result.std)
    text = f"**{text}**" if result.mean == best else text
    return text if result.wins is None or result.encoding not in OURS else f"{text} ({result.wins}/{result.splits})"


def beside_the_paper(results: Sequence[Result], why: Callable[[Result], str] | None = None) -> list[Grid]:
    """For each model: ours and the paper's, cell by cell, with the difference in joint standard errors.

    ``why`` explains a difference of more than one of these, in a column of its own.
    """
    out = []
    for model in _names(results, "model"):
        rows = []
        for result in results:
            if result.model != model or result.paper_mean is None:
                continue
            far = distance(result)
            paper = _number(result.paper_mean, result.paper_std)
            gap = f"{result.mean - result.paper_mean:+.1f}"
            far_text = "–" if far is None else f"{far:+.1f}"
            row = [f"{result.dataset}, {result.encoding}", _number(result.mean, result.std), paper, gap, far_text]
            if why is not None:
                row.append(why(result) if far is not None and abs(far) > 1 else "")
            rows.append(row)
        if rows:
            header = ["cell", "ours", "paper", "difference", "in joint standard errors", *(["why"] if why else [])]
            out.append(Grid(f"{model}: ours beside the paper's", header, rows))
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
