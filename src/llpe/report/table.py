"""The table of a comparison, as data: encodings by data sets, one table for each model.

A cell is mean ± standard deviation of the test score in percent, and the number of splits behind it. Runs of one
encoding and model on one data set are rows of one table, and their labels show the options in which they differ.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from statistics import fmean
from typing import Any

from llpe.report.collect import Run
from llpe.report.results import ranks

MISSING = "–"


@dataclass(frozen=True)
class Cell:
    """One result: scores in 0 … 1, ``std`` dividing by splits − 1 (None for one split), and whether it is the best."""

    mean: float | None
    std: float | None
    splits: int
    failed: int
    unfinished: int
    best: bool = False

    def as_text(self, *, plus_minus: str = " ± ") -> str:
        """
        Example:
            >>> Cell(0.8731, 0.0119, 10, 0, 0).as_text(), Cell(0.5, None, 1, 0, 0).as_text()
            ('87.3 ± 1.2', '50.0')
        """
        if self.mean is None:
            return "failed" if self.failed else "unfinished"
        return f"{100 * self.mean:.1f}" + (f"{plus_minus}{100 * self.std:.1f}" if self.std is not None else "")


@dataclass(frozen=True)
class Row:
    """The results of one encoding; ``rank`` is its average over the data sets that all rows have, 1 is best."""

    encoding: str
    cells: tuple[Cell | None, ...]
    rank: float | None


@dataclass(frozen=True)
class Table:
    """All results with one model."""

    model: str
    datasets: tuple[str, ...]
    metrics: tuple[str | None, ...]
    rows: tuple[Row, ...]
    ranked: int
    remarks: tuple[str, ...]

    @property
    def title(self) -> str:
        names = {metric for metric in self.metrics if metric is not None}
        score = names.pop() if len(names) == 1 else "score"
        return f"{self.model}: test {score} in %, mean ± standard deviation (number of splits)"

    def as_text(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows for a reader."""
        rows = []
        for row in self.rows:
            cells = [MISSING if cell is None else _with_count(cell.as_text(), cell) for cell in row.cells]
            rows.append([row.encoding, *cells, *self.rank_text(row)])
        return ["encoding", *self.columns(), *(["rank"] * self.has_ranks)], rows

    def columns(self) -> list[str]:
        """The data sets, with their scores where those are not all the same."""
        if len(set(self.metrics) - {None}) < 2:
            return list(self.datasets)
        return [f"{name} ({metric or '?'})" for name, metric in zip(self.datasets, self.metrics, strict=True)]

    @property
    def has_ranks(self) -> bool:
        return self.ranked > 0 and len(self.rows) > 1

    def rank_text(self, row: Row) -> list[str]:
        """The rank as zero or one texts."""
        return [f"{row.rank:.1f}"] if self.has_ranks and row.rank is not None else []

    def best(self) -> set[tuple[int, int]]:
        """(row, column) of the best cells in :meth:`as_text`."""
        cells = ((i, j, cell) for i, row in enumerate(self.rows) for j, cell in enumerate(row.cells, start=1))
        return {(i, j) for i, j, cell in cells if cell is not None and cell.best}

    def as_dict(self) -> dict[str, Any]:
        """For JSON; scores in 0 … 1."""
        rows = []
        for row in self.rows:
            named = zip(self.datasets, row.cells, strict=True)
            cells = {name: asdict(cell) for name, cell in named if cell is not None}
            rows.append({"encoding": row.encoding, "rank": row.rank, "cells": cells})
        metrics = dict(zip(self.datasets, self.metrics, strict=True))
        return {"model": self.model, "metrics": metrics, "rows": rows, "remarks": list(self.remarks)}


def _with_count(text: str, cell: Cell) -> str:
    return f"{text} ({cell.splits})" if cell.mean is not None else text


def make_tables(runs: Sequence[Run], *, order: Sequence[str] | None = None) -> list[Table]:
    """One table for each model.

    Args:
        runs: from :func:`~llpe.report.collect.load_runs`.
        order: labels of encodings in the order of the rows; others follow. By default the best average rank is first.
    """
    groups: dict[str, list[tuple[str, Run]]] = defaultdict(list)
    for label, run in zip(label_runs(runs), runs, strict=True):
        groups[run.model].append((label, run))
    return [_table(model, group, order) for model, group in groups.items()]


def label_runs(runs: Sequence[Run]) -> list[str]:
    """The encoding of each run, with the fewest options that tell apart runs of the same names on a data set."""
    flat = [_asked(run) for run in runs]
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, run in enumerate(runs):
        groups[run.encoding, run.model].append(index)
    labels = [""] * len(runs)
    for (encoding, _), members in groups.items():
        pairs = [(i, j) for i, j in combinations(members, 2) if runs[i].dataset == runs[j].dataset]
        keys = _telling_keys(runs, flat, pairs)
        for index in members:
            labels[index] = _label(encoding, keys, flat[index])
    return labels


def _telling_keys(runs: Sequence[Run], flat: list[dict[str, Any]], pairs: list[tuple[int, int]]) -> list[str]:
    """Keys in which each of the pairs differs at least once: of the encoding first, then of the model, then others."""
    chosen = []
    keys = dict.fromkeys(key for pair in pairs for index in pair for key in flat[index])
    for key in sorted(keys, key=lambda key: (not key.startswith("encoding."), not key.startswith("model."))):
        same = [(i, j) for i, j in pairs if flat[i].get(key) == flat[j].get(key)]
        if len(same) < len(pairs):
            chosen.append(key)
            pairs = same
    if pairs:
        first, second = (runs[index].path for index in pairs[0])
        raise ValueError(
            f"`runs` must differ in their configs, got the same one in {first} and {second}. Give only one of them."
        )
    return chosen


def _asked(run: Run) -> dict[str, Any]:
    """The config, without what a search chose: two searches differ in what was asked, not in what was found.

    The place of a graph's file is no setting, its content is. What else may differ, the name of the folder tells apart.
    """
    config = {key: value for key, value in _flatten(run.config).items() if key.rpartition(".")[2] not in run.searched}
    config.pop("dataset")
    content = {"data": config["data"][:8]} if "data" in config else {}
    return config | content | {"run": run.path.name}


def _flatten(config: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in config.items():
        out |= _flatten(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return out


def _label(name: str, keys: Sequence[str], config: dict[str, Any]) -> str:
    parts = [f"{key.rpartition('.')[2]}={_value(config.get(key))}" for key in keys]
    return f"{name} ({', '.join(parts)})" if parts else name


def _value(value: Any) -> str:
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def _table(model: str, labelled: list[tuple[str, Run]], order: Sequence[str] | None) -> Table:
    labels, runs = [label for label, _ in labelled], [run for _, run in labelled]
    datasets = tuple(dict.fromkeys(run.dataset for run in runs))
    placed = {(label, run.dataset): run for label, run in labelled}
    rows = list(dict.fromkeys(labels))
    means = {key: run.mean for key, run in placed.items() if run.mean is not None}
    common = [name for name in datasets if all((label, name) in means for label in rows)]
    ranks = {label: _average_rank(label, rows, common, means) for label in rows}
    given = {label: position for position, label in enumerate(order or ())}
    rows.sort(key=lambda label: (given.get(label, len(given)), ranks[label] or float("inf"), label))
    scores = {name: [means[label, name] for label in rows if (label, name) in means] for name in datasets}
    best = {name: max(each, default=None) for name, each in scores.items()}
    cells = [tuple(_cell(placed.get((label, name)), best[name]) for name in datasets) for label in rows]
    metrics = tuple(next((r.metric for r in runs if r.dataset == name and r.metric), None) for name in datasets)
    remarks = [*_remarks(labelled), *_mismatches(runs, datasets)]
    if 0 < len(common) < len(datasets) and len(rows) > 1:
        remarks.append(f"rank: over {', '.join(common)}, the data sets that all rows have")
    made = tuple(Row(label, row, ranks[label]) for label, row in zip(rows, cells, strict=True))
    return Table(model, datasets, metrics, made, len(common), tuple(remarks))


def _cell(run: Run | None, best: float | None) -> Cell | None:
    if run is None:
        return None
    is_best = run.mean is not None and run.mean == best
    return Cell(run.mean, run.std, len(run.reports), len(run.failed), len(run.unfinished), is_best)


def _average_rank(
    label: str, rows: Sequence[str], datasets: Sequence[str], means: dict[tuple[str, str], float]
) -> float | None:
    """Ties share the mean of their places."""
    if not datasets:
        return None
    places = [ranks({other: means[other, name] for other in rows})[label] for name in datasets]
    return fmean(places)


def _remarks(labelled: Sequence[tuple[str, Run]]) -> list[str]:
    """What failed and what is unfinished."""
    lines = []
    for label, run in labelled:
        where = f"{run.dataset}, {label}"
        lines += [f"failed: {where}, split {each['split']}: {each.get('reason') or 'no reason'}" for each in run.failed]
        if run.unfinished:
            word = "split" if len(run.unfinished) == 1 else "splits"
            lines.append(f"unfinished: {where}, {word} {', '.join(map(str, run.unfinished))}")
    return lines


def _mismatches(runs: Sequence[Run], datasets: Sequence[str]) -> list[str]:
    """Data sets whose runs cannot be compared as they stand."""
    lines = []
    for name in datasets:
        reports = [report for run in runs if run.dataset == name for report in run.reports]
        if len({report.get("data") for report in reports}) > 1:
            lines.append(f"beware: {name}: the runs were made on different data (fingerprints differ)")
        splits: dict[int, set[object]] = defaultdict(set)
        for report in reports:
            splits[report["split"]].add(report.get("split_fingerprint"))
        if any(len(prints) > 1 for prints in splits.values()):
            lines.append(f"beware: {name}: the runs were made on different splits (fingerprints differ)")
    return lines
