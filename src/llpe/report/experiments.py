"""The page of experiments and the table of the README, made from the CSV files of ``results/``: nothing is typed.

python -m llpe.report.experiments results docs/experiments.md README.md
"""

from __future__ import annotations

import json
import os
import statistics
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from llpe.report.grid import Grid
from llpe.report.marks import fill_file
from llpe.report.paired import signed_rank
from llpe.report.reasons import legend, reasons
from llpe.report.results import (
    BASELINE,
    OURS,
    PUBLISHED,
    Result,
    average_ranks,
    beside_the_paper,
    read_results,
    read_rows,
    tables,
)
from llpe.storage import replacing

TITLES = {
    "table-small": "Table 1: the small benchmarks",
    "table-medium": "Table 2: the medium benchmarks",
    "table-large": "Table 3: the large benchmarks",
}
FIGURES = {
    "sbm": "Accuracy against homophily, block models",
    "preferential-attachment": "Accuracy against homophily, preferential attachment",
    "local-homophily": "Accuracy by local homophily",
    "order": "Accuracy against the order",
    "ends": "Accuracy against the number of eigenpairs at each end",
    "solver-time": "Time of the solvers",
    "solver-memory": "Memory of the solvers",
    "intuition": "What eigenvectors and LLPE show",
    "signs": "How much the arbitrary signs of eigenvectors matter",
    "presets": "The paper's protocol against the authors' settings",
}
STRAGGLING = 25.0  # points below the median of a cell's splits
PREFACE = """# Experiments

This page is made from the files in `results/` by `make experiments`; each of them was written by the command that
stands first in its section, and says below the figure what is smaller than in the paper.

`llpe-minmax` is LLPE as published; `llpe` differs in the scaling of eigenvectors (unit length, one seeded direction
for each eigenspace, times a `size` that is searched); `llpe-probes` needs no eigenvector."""
PROTOCOL = """**Protocol of the tables.** The paper's: ten random 60/20/20 splits, Adam or SGD with momentum, at most
2000 epochs, patience 200, settings from its grid. The search is a budgeted one, not the whole grid, and sees validation
nodes only: of nine settings the best third after 500 epochs goes on to more splits, and the best of these to all ten.
Test nodes are scored once, with the weights that were best on validation. How many settings were tried of how many
stands in the last table of each section: twice as many where the size of the encoding is searched as well (`llpe`,
`llpe-probes`), and three instead of nine where a step is dear. Dear are graphs of more than 5000 nodes, and above a
thousand nodes graph transformers and encodings of n × n numbers: these keep to Adam, to learning rates of at most 0.01
and to 200 epochs, `san` to 8 eigenvectors and a width of 32. Graph transformers have three settings everywhere and
learning rates of 0.001 or 0.005 (larger ones did badly on Texas' validation nodes), and above a thousand nodes one
layer. Above a thousand nodes every search keeps to the smaller of the two hidden widths, 64, and to at most 64 probes
of at most 32 terms. Not computed, as a step takes long: GT on Photo and on the medium graphs, `lpe-flk`, `lpe-full`,
`san`, `signnet` and `rwse` with GT on Cora and Cora-ML, and `elastic` on the medium graphs, where its matrix is 19
times Cora's or more. The files of Amazon-ratings, Cora-full, Penn94 and Questions were not at hand, so that Table 2 has
two of its graphs and Table 3 is missing. `llpe search --preset authors` uses the authors' published settings instead;
the last section of this page compares the two."""


def experiments_page(results: str | Path, *, to: str | Path) -> str:
    """The page as Markdown, with links to the figures relative to the folder of ``to``."""
    folder = Path(results)
    parts = [PREFACE]
    if any((folder / f"{name}.csv").is_file() for name in TITLES):
        parts.append(PROTOCOL)
    for name, title in TITLES.items():
        if (folder / f"{name}.csv").is_file():
            parts += [f"## {title}", *_table_section(folder, name)]
    for name, title in FIGURES.items():
        if (folder / f"{name}.md").is_file():
            parts += [f"## {title}", *_figure_section(folder, name, Path(to).parent)]
    return "\n\n".join(parts) + "\n"


def _table_section(folder: Path, name: str) -> Iterator[str]:
    results = sorted(read_results(folder / f"{name}.csv"), key=_place)
    yield f"`{results[0].command}`"
    for grid in tables(results):
        yield grid.markdown()
    yield from _rank_sentences(results)
    splits = read_rows(folder / f"{name}-splits.csv")
    yield from _stragglers(splits)
    yield _paired(results, _scores(splits)).markdown()
    searches = read_rows(folder / f"{name}-search.csv")
    yield from _beside_the_paper(results, searches)
    yield _searches(searches).markdown()


def _beside_the_paper(results: Sequence[Result], searches: Sequence[Row]) -> Iterator[str]:
    chosen = {(row["dataset"], row["model"], row["encoding"]): json.loads(row["choice"]) for row in searches}
    used: set[str] = set()

    def why(result: Result) -> str:
        letters = reasons(result, chosen[result.dataset, result.model, result.encoding])
        used.update(letters)
        return " ".join(letters)

    for grid in beside_the_paper(results, why):
        yield grid.markdown()
    if used:
        yield "**why**: what is known to be different where we are more than the joint standard error from the paper"
        yield legend(used)


def _place(result: Result) -> tuple[int, int, int]:
    order = ("none", "lpe-fk", "lpe-flk", "lpe-full", "elastic", "san", "signnet", "rwse", *OURS)
    models = ("mlp", "sage", "gt")
    datasets = ("texas", "cornell", "cora-ml", "cora", "photo")
    at = datasets.index(result.dataset) if result.dataset in datasets else len(datasets)
    return models.index(result.model), at, order.index(result.encoding)


def _rank_sentences(results: Sequence[Result]) -> Iterator[str]:
    """Average rank among the paper's encodings, once with LLPE as published and once with ours."""
    for mine, words in ((PUBLISHED, "LLPE as published"), ("llpe", "LLPE with our scaling")):
        blocks = {(r.dataset, r.model) for r in results if r.encoding == mine}
        there = [result for result in results if (result.dataset, result.model) in blocks]
        counts = Counter(result.encoding for result in there)
        others = [name for name, count in counts.items() if name not in OURS and count == len(blocks)]
        places = average_ranks(there, [*others, mine])
        if not places:
            continue
        best = [name for name in places if places[name] == min(places.values())]
        listed = ", ".join(f"{name} {place:.2f}" for name, place in sorted(places.items(), key=lambda item: item[1]))
        if best == [mine]:
            verdict = "is the best"
        elif mine in best:
            verdict = f"shares the best with {', '.join(name for name in best if name != mine)}"
        else:
            verdict = f"is **not** the best ({' and '.join(best)} {'is' if len(best) == 1 else 'are'})"
        yield (
            f"Average rank over data sets and models, {words} among the paper's encodings that all of the "
            f"{len(blocks)} blocks have: {listed}. {words} {verdict}."
        )


Row = dict[str, str]
Scores = dict[tuple[str, str, str], dict[str, float]]


def _scores(splits: Sequence[Row], part: str = "test") -> Scores:
    out: Scores = {}
    for row in splits:
        key = (row["dataset"], row["model"], row["encoding"])
        out.setdefault(key, {})[row["split"]] = float(row[part])
    return out


def _stragglers(splits: Sequence[Row]) -> Iterator[str]:
    """Splits far below the others of their cell, whose mean then says little."""
    val, listed = _scores(splits, "val"), []
    for cell, test in _scores(splits).items():
        middle = statistics.median(test.values())
        for split, score in test.items():
            if score < middle - STRAGGLING:
                ended = f"split {split} at {score:.1f} (validation {val[cell][split]:.1f})"
                listed.append(f"{', '.join(cell)}: {ended}, the median is {middle:.1f}")
    if listed:
        yield f"Splits that ended far below the others, which the protocol does not repeat: {'; '.join(listed)}."


def _paired(results: Sequence[Result], scores: Scores) -> Grid:
    """Each form of LLPE against no encoding and against the baseline, split by split."""
    rows = []
    for result in results:
        if result.encoding not in OURS:
            continue
        mine = scores[result.dataset, result.model, result.encoding]
        cells = []
        for other in ("none", BASELINE):
            theirs = scores.get((result.dataset, result.model, other))
            cells += ["–", "–"] if theirs is None else _against(mine, theirs)
        rows.append([f"{result.dataset}, {result.model}, {result.encoding}", *cells])
    header = ["cell", "gain over none", "p", f"gain over {BASELINE}", "p"]
    remark = (
        "Gain: mean difference in points (splits won). p: Wilcoxon's signed-rank test over the splits, two-sided, not "
    )
    remark += "corrected for the number of tests; splits of one graph overlap, so it is somewhat too small."
    return Grid("Paired comparison over the splits", header, rows, [remark])


def _against(mine: dict[str, float], theirs: dict[str, float]) -> list[str]:
    gains = [mine[split] - theirs[split] for split in mine if split in theirs]
    won = sum(gain > 0 for gain in gains)
    return [f"{sum(gains) / len(gains):+.2f} ({won}/{len(gains)})", f"{signed_rank(gains):.3f}"]


def _searches(rows: Sequence[Row]) -> Grid:
    lines = []
    for r in rows:
        tried = f"{r['trials']} of {r['space']}"
        chosen = r["choice"].strip("{}").replace('"', "")
        cell = f"{r['dataset']}, {r['model']}, {r['encoding']}"
        lines.append([cell, tried, r["pruned"], r["failed"], r["val"], chosen])
    return Grid("The search behind each cell", ["cell", "tried", "pruned", "failed", "val", "chosen"], lines)


def summary(results: str | Path) -> str:
    """The small benchmarks with MLP and SAGE, and what stands behind them: for the README."""
    path = Path(results) / "table-small.csv"
    if not path.is_file():
        return "Table 1 is not computed yet: `llpe reproduce table-small`."
    cells = sorted(read_results(path), key=_place)
    cells = [cell for cell in cells if cell.model in ("mlp", "sage")]
    splits = [row for row in read_rows(path.with_name("table-small-splits.csv")) if row["model"] in ("mlp", "sage")]
    grids = [grid.markdown() for grid in tables(cells)]
    return "\n\n".join([*grids, *_rank_sentences(cells), *_stragglers(splits)])


def _figure_section(folder: Path, name: str, home: Path) -> Iterator[str]:
    yield f"`{read_rows(folder / f'{name}.csv')[0]['command']}`"
    for picture in sorted([*folder.glob(f"{name}.png"), *folder.glob(f"{name}-*.png")]):
        yield f"![{FIGURES[name]}]({os.path.relpath(picture, home)})"
    yield (folder / f"{name}.md").read_text(encoding="utf-8").strip()


def main() -> None:
    results, page, readme = map(Path, sys.argv[1:4])
    text = experiments_page(results, to=page)
    with replacing(page) as partial:
        partial.write_text(text, encoding="utf-8")
    fill_file(readme, "results", summary(results))


if __name__ == "__main__":
    main()
