"""Tables: runs → numbers → text, Markdown, LaTeX and CSV.

A comparison has one table for each model: encodings by data sets. A cell is mean ± standard deviation of the test score
in percent, and the number of splits behind it. Runs of one encoding and model on one data set are rows of one table,
and their labels show the options in which they differ.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations
from typing import Any

import pandas as pd

from llpe.runs import RunFolder, flat
from llpe.storage import inert

MISSING = "–"
BEST = r"\\textbf{\\textcolor{green!50!black}{\1}}"  # needs xcolor
SIGNS = {"±": r"$\pm$", "×": r"$\times$", "λ": r"$\lambda$", "−": r"$-$", "–": "--", "≥": r"$\geq$", "≤": r"$\leq$"}
NUMBERS = ["mean", "std", "splits", "failed", "unfinished", "best"]
COLUMNS = ["model", "encoding", "dataset", "metric", *NUMBERS]


@dataclass(frozen=True)
class Table:
    """A table as a reader sees it.

    Attributes:
        title: what the numbers are, with their unit.
        header: the name of each column.
        rows: the texts, first column first; the others are numbers, aligned to the right. The best is in **bold**.
        remarks: sentences below the table.

    Example:
        >>> print(Table("Accuracy in %", ["encoding", "h = 0"], [["llpe", percent(0.987, 0.011)]]).markdown())
        **Accuracy in %**
        <BLANKLINE>
        | encoding | h = 0 |
        |---|--:|
        | llpe | 98.7 ± 1.1 |
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    remarks: Sequence[str] = ()

    def markdown(self) -> str:
        """GitHub's table, remarks as a list below."""
        lines = [f"**{self.title}**", "", _line(self.header), "|---" + "|--:" * (len(self.header) - 1) + "|"]
        lines += [_line(row) for row in self.rows]
        return "\n".join([*lines, *([""] if self.remarks else []), *(f"* {remark}" for remark in self.remarks)])

    def latex(self) -> str:
        """A tabular of booktabs, the best green and bold; title and remarks are comments."""
        lines = [f"% {self.title}", rf"\begin{{tabular}}{{l{'r' * (len(self.header) - 1)}}}", r"\toprule"]
        lines += [_latex_line(self.header), r"\midrule", *map(_latex_line, self.rows)]
        lines += [r"\bottomrule", r"\end{tabular}", *(f"% {remark}" for remark in self.remarks)]
        return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _latex_line(cells: Sequence[str]) -> str:
    text = re.sub(r"([&%$#_{}])", r"\\\1", "\0".join(cells)).replace("\0", " & ")
    for sign, command in SIGNS.items():
        text = text.replace(sign, command)
    return re.sub(r"\*\*(.+?)\*\*", BEST, text) + r" \\"


def percent(mean: float | None, std: float | None = None) -> str:
    """A score of 0 … 1 in percent with its deviation; a dash where there is none.

    Example:
        >>> percent(0.8731, 0.0119), percent(0.5), percent(None)
        ('87.3 ± 1.2', '50.0', '–')
    """
    if mean is None or math.isnan(mean):
        return MISSING
    return f"{100 * mean:.1f}" + ("" if std is None or math.isnan(std) else f" ± {100 * std:.1f}")


@dataclass(frozen=True, eq=False)
class RunTable(Table):
    """The table of all runs with one model, and its numbers.

    Attributes:
        cells: a row for each run, in the order of the table, with ``COLUMNS``; scores are 0 … 1.
        metrics: the score of each data set, None where no run is finished.
        ranks: the average rank of each row over the data sets that all rows have, 1 is best; NaN without any.
    """

    cells: pd.DataFrame = field(default_factory=pd.DataFrame)
    metrics: dict[str, str | None] = field(default_factory=dict)
    ranks: dict[str, float] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """For JSON; None where there is no number."""
        cells = self.cells.astype(object).where(self.cells.notna(), None)
        rows = [
            {
                "encoding": label,
                "rank": None if pd.isna(self.ranks[label]) else self.ranks[label],
                "cells": {row["dataset"]: {key: row[key] for key in NUMBERS} for row in part.to_dict("records")},
            }
            for label, part in cells.groupby("encoding", sort=False)
        ]
        model = cells["model"].iloc[0]
        return {"model": model, "metrics": self.metrics, "rows": rows, "remarks": list(self.remarks)}


def make_tables(runs: Sequence[RunFolder]) -> list[RunTable]:
    """One table for each model, its rows by average rank."""
    by_model: dict[str, list[tuple[str, RunFolder]]] = defaultdict(list)
    for label, run in zip(label_runs(runs), runs, strict=True):
        by_model[run.model].append((label, run))
    return [_run_table(model, labelled) for model, labelled in by_model.items()]


def _run_table(model: str, labelled: Sequence[tuple[str, RunFolder]]) -> RunTable:
    rows = [
        (model, label, r.dataset, r.metric, r.mean, r.std, len(r.reports), len(r.failed), len(r.unfinished))
        for label, r in labelled
    ]
    cells = pd.DataFrame(rows, columns=COLUMNS[:-1]).astype({"mean": float, "std": float})
    cells["best"] = cells["mean"] == cells.groupby("dataset")["mean"].transform("max")
    names = list(cells["dataset"].unique())
    means = cells.pivot(index="encoding", columns="dataset", values="mean")
    common = means[names].dropna(axis="columns")
    ranks = common.rank(ascending=False).mean(axis="columns").sort_index().sort_values(kind="stable").to_dict()
    placed = cells.set_index(["encoding", "dataset"])
    texts = {key: _cell_text(cell) for key, cell in placed.iterrows()}
    keys = [(label, name) for label in ranks for name in names if (label, name) in texts]
    metrics = {name: next((r.metric for _, r in labelled if r.dataset == name and r.metric), None) for name in names}
    known = {metric for metric in metrics.values() if metric}
    ranked = len(ranks) > 1 and not common.empty
    remarks = [*_remarks(labelled), *_mismatches([run for _, run in labelled], names)]
    if ranked and len(common.columns) < len(names):
        remarks.append(f"rank: over {', '.join(common.columns)}, the data sets that all rows have")
    header = names if len(known) < 2 else [f"{name} ({metrics[name] or '?'})" for name in names]
    score = known.pop() if len(known) == 1 else "score"
    return RunTable(
        f"{model}: test {score} in %, mean ± standard deviation (number of splits)",
        ["encoding", *header, *(["rank"] * ranked)],
        [
            [label, *(texts.get((label, name), MISSING) for name in names), *([f"{rank:.1f}"] * ranked)]
            for label, rank in ranks.items()
        ],
        remarks,
        placed.loc[keys].reset_index()[COLUMNS],
        metrics,
        ranks,
    )


def _cell_text(cell: pd.Series) -> str:
    if pd.isna(cell["mean"]):
        return "failed" if cell["failed"] else "unfinished"
    text = f"{percent(cell['mean'], cell['std'])} ({cell['splits']})"
    return f"**{text}**" if cell["best"] else text


def _remarks(labelled: Sequence[tuple[str, RunFolder]]) -> Iterator[str]:
    """What failed and what is unfinished."""
    for label, run in labelled:
        where = f"{run.dataset}, {label}"
        for report in run.failed:
            yield f"failed: {where}, split {report['split']}: {report.get('reason') or 'no reason'}"
        if run.unfinished:
            word = "split" if len(run.unfinished) == 1 else "splits"
            yield f"unfinished: {where}, {word} {', '.join(map(str, run.unfinished))}"


def _mismatches(runs: Sequence[RunFolder], datasets: Sequence[str]) -> Iterator[str]:
    """Data sets whose runs cannot be compared as they are."""
    for name in datasets:
        reports = [report for run in runs if run.dataset == name for report in run.reports]
        if len({report.get("data") for report in reports}) > 1:
            yield f"beware: {name}: the runs were made on different data (fingerprints differ)"
        splits = {(report["split"], report.get("split_fingerprint")) for report in reports}
        if len(splits) > len({index for index, _ in splits}):
            yield f"beware: {name}: the runs were made on different splits (fingerprints differ)"


def csv_text(tables: Sequence[RunTable]) -> str:
    """One line for each cell, scores in 0 … 1 with all digits."""
    text = pd.concat([table.cells for table in tables]).map(inert).to_csv(index=False, lineterminator="\n")
    return text.rstrip("\n")


def label_runs(runs: Sequence[RunFolder]) -> list[str]:
    """The encoding of each run, with the fewest options that distinguish runs of the same names on a data set."""
    asked = [_asked(run) for run in runs]
    groups: dict[tuple[str, str], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for index, run in enumerate(runs):
        groups[run.encoding, run.model][run.dataset].append(index)
    labels = [""] * len(runs)
    for (encoding, _), graphs in groups.items():
        pairs = sorted(pair for members in graphs.values() for pair in combinations(members, 2))
        keys = _telling_keys(runs, asked, pairs)
        for index in chain.from_iterable(graphs.values()):
            parts = [f"{key.rpartition('.')[2]}={_value(asked[index].get(key))}" for key in keys]
            labels[index] = f"{encoding} ({', '.join(parts)})" if parts else encoding
    return labels


def _telling_keys(runs: Sequence[RunFolder], asked: list[dict[str, Any]], pairs: list[tuple[int, int]]) -> list[str]:
    """Keys in which each of the pairs differs at least once: of the encoding first, then of the model, then others."""
    chosen = []
    keys = dict.fromkeys(key for pair in pairs for index in pair for key in asked[index])
    for key in sorted(keys, key=lambda key: (not key.startswith("encoding."), not key.startswith("model."))):
        same = [(i, j) for i, j in pairs if asked[i].get(key) == asked[j].get(key)]
        if len(same) < len(pairs):
            chosen.append(key)
            pairs = same
    if pairs:
        first, second = (runs[index].path for index in pairs[0])
        raise ValueError(
            f"`runs` must differ in their configs, got the same one in {first} and {second}. Give only one of them."
        )
    return chosen


def _asked(run: RunFolder) -> dict[str, Any]:
    """The config by ``section.key``, without what a search chose: two searches differ in what was asked.

    The content of a graph's file counts, not its path. Runs that differ in nothing else are named after their folders.
    """
    config = {key: value for key, value in flat(run.config).items() if key.rpartition(".")[2] not in run.searched}
    config.pop("dataset")
    content = {"data": config["data"][:8]} if config.get("data") else {}
    return config | content | {"run": run.path.name}


def _value(value: Any) -> str:
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
