"""The page of experiments and the table of the README, made from the files of ``results/``: nothing is typed.

python -m llpe.paper.experiments results docs/experiments.md README.md
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import pandas as pd

from llpe.paper.base import STUDIES, settings_of
from llpe.paper.results import (
    BASELINE,
    CELL,
    OURS,
    PUBLISHED,
    average_ranks,
    begun,
    beside_the_paper,
    paper_numbers,
    read_results,
    read_table,
    tables,
)
from llpe.report.marks import fill_file
from llpe.report.statistics import signed_rank
from llpe.report.tables import MISSING, Table
from llpe.storage import replacing

FAR_BELOW = 25.0  # points below the median of a cell's splits
PREFACE = """# Experiments

This page is made from the files in `results/` by `make experiments`; the command at the top of each section wrote
them. Below a figure you read what is smaller than in the paper.

`llpe-minmax` is LLPE as published; `llpe` differs in the scaling of eigenvectors (unit length, one seeded direction
for each eigenspace, times a `size` that is searched); `llpe-probes` needs no eigenvector."""

Choice = Mapping[str, object]
Rule = tuple[Callable[[Any, Choice], bool], str]  # of a row of the results and what the search chose
# what is known to be different from the paper's experiment: in the data, in an encoding, in the protocol
RULES: tuple[Rule, ...] = (
    (
        lambda r, _: r.dataset == "cornell",
        "the corrected arrays of Cornell are used here; the file that PyG downloads holds features and labels of Texas",
    ),
    (
        lambda r, _: r.dataset in ("texas", "cornell"),
        "edges are made undirected here; the authors' solver reads one triangle of the directed adjacency",
    ),
    (lambda r, _: r.dataset in ("texas", "cornell"), "a test set of 38 nodes moves by 2.6 points with one node"),
    (
        lambda r, _: r.encoding in ("llpe", "llpe-ends", "llpe-minmax"),
        "the signs and bases of eigenvectors, which LLPE as published depends on, are arbitrary and not the authors'",
    ),
    (
        lambda r, _: r.encoding in ("llpe", "llpe-ends"),
        "eigenvectors are scaled to unit length, with one direction for each eigenspace, instead of min-max",
    ),
    (
        lambda r, _: r.encoding in ("elastic", "lpe-flk", "lpe-full", "lpe-fk", "rwse", "san", "signnet"),
        "the authors did not publish their form of this encoding; ours follows its definition",
    ),
    (
        lambda r, chosen: r.model == "gt" and chosen.get("dropout") != 0,
        "no entry of the attention is dropped here; torch's layer drops them at the dropout rate",
    ),
    (
        lambda _, chosen: "training.epochs" in chosen,
        "a step takes long, so that fewer settings were searched, and for fewer epochs: see the protocol",
    ),
    (lambda r, _: r.trials <= 6, "six settings at most were tried"),
    (
        lambda *_: True,
        "as everywhere: other splits, a search smaller than the paper's grid, and validation scored in evaluation mode "
        "by the metric, not by the loss with dropout on",
    ),
)
LETTERS = dict(zip(ascii_lowercase, RULES, strict=False))


def experiments_page(results: str | Path, *, to: str | Path) -> str:
    """The page as Markdown, with links to the figures relative to the folder of ``to``."""
    folder = Path(results)
    parts = [PREFACE]
    mine = [name for name in STUDIES if not name.startswith("benchmark-")]  # which have a page of their own
    found = [name for name in mine if (folder / f"{name}.csv").is_file()]
    if any(name.startswith("table-") for name in found) and (folder / "protocol.md").is_file():
        parts.append((folder / "protocol.md").read_text(encoding="utf-8").strip())
    for name in found:
        title = settings_of(name)["title"]
        table = name.startswith("table-")
        parts += [f"## {title}", *(_table(folder, name) if table else _figure(folder, name, title, Path(to).parent))]
    return "\n\n".join(parts) + "\n"


def summary(results: str | Path) -> str:
    """The small benchmarks with an MLP, and the ranks with MLP and SAGE: for the README."""
    path = Path(results) / "table-small.csv"
    if not path.is_file():
        return "Table 1 is not computed yet: `llpe reproduce table-small`."
    cells = read_results(path).query("model in ('mlp', 'sage')")
    splits = read_table(path.with_name("table-small-splits.csv")).query("model == 'mlp'")
    (shown,) = tables(cells.query("model == 'mlp'"))
    return "\n\n".join([shown.markdown(), *rank_sentences(cells), *outliers(splits)])


def _table(folder: Path, name: str) -> Iterator[str]:
    results = read_results(folder / f"{name}.csv")
    splits, searches = (read_table(folder / f"{name}-{part}.csv") for part in ("splits", "search"))
    yield f"`{results['command'][0]}`"
    for table in tables(results):
        yield table.markdown()
    yield from rank_sentences(results)
    yield from outliers(splits)
    yield _paired(results, splits).markdown()
    yield from _beside_the_paper(results, searches)
    yield _searches(searches).markdown()


def _figure(folder: Path, name: str, title: str, home: Path) -> Iterator[str]:
    yield f"`{read_table(folder / f'{name}.csv')['command'][0]}`"
    for picture in sorted([*folder.glob(f"{name}.png"), *folder.glob(f"{name}-*.png")]):
        yield f"![{title}]({os.path.relpath(picture, home)})"
    yield (folder / f"{name}.md").read_text(encoding="utf-8").strip()


def _beside_the_paper(results: pd.DataFrame, searches: pd.DataFrame) -> Iterator[str]:
    chosen = {key: json.loads(choice) for key, choice in searches.set_index(CELL)["choice"].items()}
    used: set[str] = set()

    def why(row: Any) -> str:
        letters = reasons(row, chosen[row.dataset, row.model, row.encoding])
        used.update(letters)
        return " ".join(letters)

    for table in beside_the_paper(results, why):
        yield table.markdown()
    if used:
        yield "**why**: what is known to be different where we are more than the joint standard error from the paper"
        yield legend(used)


def reasons(result: Any, chosen: Choice) -> list[str]:
    """The letters of all that applies to a cell and the settings chosen for it, the most specific first."""
    return [letter for letter, (applies, _) in LETTERS.items() if applies(result, chosen)]


def legend(letters: Iterable[str]) -> str:
    """What these letters mean, as a list in Markdown."""
    return "\n".join(f"* {letter}: {LETTERS[letter][1]}." for letter in sorted(set(letters)))


def rank_sentences(results: pd.DataFrame) -> Iterator[str]:
    """Average rank among the paper's encodings, once with LLPE as published and once with ours."""
    means = begun(results).pivot(index=["dataset", "model"], columns="encoding", values="mean")
    rivals = set(paper_numbers().index.get_level_values("encoding")) - set(OURS)
    for mine, words in ((PUBLISHED, "LLPE as published"), ("llpe", "LLPE with our scaling")):
        there = means[means[mine].notna()] if mine in means else means[:0]
        common = there.columns[2 * there.notna().sum() > len(there)]  # a gap costs its block, not its encoding
        others = [name for name in results["encoding"].unique() if name in common and name in rivals]
        places = average_ranks(results, [*others, mine])
        if not places:
            continue
        whole = there[others].dropna()
        best = [name for name in places if places[name] == min(places.values())]
        listed = ", ".join(f"{name} {place:.2f}" for name, place in sorted(places.items(), key=lambda item: item[1]))
        if best == [mine]:
            verdict = "is the best"
        elif mine in best:
            verdict = f"shares the best with {', '.join(name for name in best if name != mine)}"
        else:
            verdict = f"is **not** the best ({' and '.join(best)} {'is' if len(best) == 1 else 'are'})"
        yield (
            f"Average rank over data sets and models, {words} among the paper's encodings, blocks that have all of "
            f"these ({len(whole)}): {listed}. {words} {verdict}."
        )


def outliers(splits: pd.DataFrame) -> Iterator[str]:
    """Splits far below the others of their cell: then the mean says little."""
    middle = splits.groupby(CELL)["test"].transform("median")
    listed = [
        f"{row.dataset}, {row.model}, {row.encoding}: split {row.split} at {row.test:.1f} (validation {row.val:.1f}), "
        f"the median is {row.middle:.1f}"
        for row in splits.assign(middle=middle)[splits["test"] < middle - FAR_BELOW].itertuples()
    ]
    if listed:
        yield f"Splits that ended far below the others, which the protocol does not repeat: {'; '.join(listed)}."


def _paired(results: pd.DataFrame, splits: pd.DataFrame) -> Table:
    """Each form of LLPE against no encoding and against the baseline, split by split."""
    test = splits.pivot(index=CELL, columns="split", values="test")
    rows = []
    for cell in results[results["encoding"].isin(OURS)][CELL].itertuples(index=False, name=None):
        row = [", ".join(cell)]
        for other in ("none", BASELINE):
            rival = (*cell[:2], other)
            row += _against(test.loc[cell] - test.loc[rival]) if rival in test.index else [MISSING, MISSING]
        rows.append(row)
    header = ["cell", "gain over none", "p", f"gain over {BASELINE}", "p"]
    remark = (
        "Gain: mean difference in points (splits won). p: Wilcoxon's signed-rank test over the splits, two-sided, not "
        "corrected for the number of tests; splits of one graph overlap, so it is somewhat too small."
    )
    return Table("Paired comparison over the splits", header, rows, [remark])


def _against(difference: pd.Series) -> list[str]:
    gains = difference.dropna().tolist()
    won = sum(gain > 0 for gain in gains)
    return [f"{sum(gains) / len(gains):+.2f} ({won}/{len(gains)})", f"{signed_rank(gains):.3f}"]


def _searches(searches: pd.DataFrame) -> Table:
    rows = [
        [
            f"{row.dataset}, {row.model}, {row.encoding}",
            f"{row.trials} of {row.space}",
            str(row.pruned),
            str(row.failed),
            f"{row.val}",
            row.choice.strip("{}").replace('"', ""),
        ]
        for row in searches.itertuples()
    ]
    return Table("The search behind each cell", ["cell", "tried", "pruned", "failed", "val", "chosen"], rows)


def main() -> None:
    results, page, readme = map(Path, sys.argv[1:4])
    text = experiments_page(results, to=page)
    with replacing(page) as partial:
        partial.write_text(text, encoding="utf-8")
    fill_file(readme, "results", summary(results))


if __name__ == "__main__":
    main()
