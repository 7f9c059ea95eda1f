"""The page of the benchmark and its figure, from ``results/benchmark-*.csv``: its sentences say what numbers show.

python -m llpe.paper.benchmark_page results docs/benchmark.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from llpe.paper.base import settings_of
from llpe.paper.benchmark import BLOCK, CELL, cells
from llpe.paper.results import number, read_table
from llpe.paper.transfer import transfer_gains, transfer_table
from llpe.report.figures import Interval, interval_plot, save_figure
from llpe.report.palette import INK
from llpe.report.statistics import LEVEL
from llpe.report.tables import MISSING, Table
from llpe.storage import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COMPARED = ("benchmark-encodings", "benchmark-where")
PLACED = [*BLOCK, "where"]
PLACES = {"input": "at the input", "layers": "at every layer"}
PREFACE = """# Do encodings help tuned models?

This page is made from `results/benchmark-*.csv` by `make experiments`, and so are its sentences. A block is a graph, a
condition, a model and a place of the encoding. Blocks that are not computed, or not whole, are named, and nothing is
concluded from them.

**Protocol.** Bases follow published recipes and keep them when an encoding is added; the recipes, and what is known to
differ, are in `configs/studies/benchmark-bases.toml`. An encoding has settings of its own, in each block as many as
the others, chosen on validation nodes; a test proves that labels of test nodes change no choice. At the input, an
encoding stands beside the features; at every layer, a linear map of it is added.

Two things favour encodings: at the input they make a model wider, and `none` has nothing to choose. The small GCN is
Kipf and Welling's, and the MLP is the same without the graph; neither is tuned to a graph. Without features they see
constants.

Difference: mean over the same splits or seeds, in points. p: Wilcoxon's signed-rank test, two-sided, with Holm's
correction for all comparisons with the same graph, condition and model. With three splits or seeds it is never below
0.25, so such blocks cannot show a difference; splits of one graph overlap, so with ten of them p is somewhat too
small. Seconds: training of one split by the clock, on a machine that did other work too: read them as ratios within a
block. What probes add to an epoch of a GCN, measured on a quiet machine, is in [scale](scale.md)."""


def benchmark_page(results: str | Path) -> str:
    """The page as Markdown."""
    parts = [PREFACE, *_summary(results)]
    if gains(results):
        text = "Differences to the same model without an encoding, with 95 % intervals"
        parts += [f"![{text}](benchmark.png)", f"{text} over splits or seeds (not corrected for their number)."]
    for name, section in (("bases", _bases), ("encodings", _encodings), ("where", _where)):
        study = f"benchmark-{name}"
        found, whole = read(results, study)
        parts += [f"## {settings_of(study)['title']}", f"`llpe reproduce {study} --budget standard`"]
        parts += section(found) if len(found) else []
        if missing := [_name(*block) for block in whole if not whole[block]]:
            parts.append(f"**Not computed, or not whole:** {'; '.join(missing)}.")
    parts += _transfer(Path(results) / "benchmark-transfer.csv")
    return "\n\n".join(parts) + "\n"


def read(results: str | Path, study: str, part: str = "") -> tuple[pd.DataFrame, dict[tuple[str, ...], bool]]:
    """The rows of a study, and its blocks: is each whole? That is, are all of its cells there, and ``none``?

    The column ``whole`` says the same of the block of each row.
    """
    path = Path(results) / f"{study}{part}.csv"
    found = read_table(path) if path.is_file() else pd.DataFrame(columns=CELL)
    there = set(map(tuple, found[CELL].to_numpy()))
    blocks: dict[tuple[str, ...], bool] = {}
    for _, cell in cells(settings_of(study)):
        block, none = (*cell[:3], cell[4]), (*cell[:3], "none", "input")
        blocks[block] = blocks.get(block, none in there) and cell in there
    whole = [blocks.get(tuple(block), False) for block in found[PLACED].to_numpy()]
    return found.assign(whole=whole), blocks


def _summary(results: str | Path) -> list[str]:
    """What all whole blocks show, by the kind of block."""
    found = pd.concat([read(results, study)[0].assign(study=study) for study in COMPARED])
    shown = found[found["whole"].astype(bool) & (found["encoding"] != "none")]
    kinds = [_kind(*block) for block in shown[["study", "condition", "model"]].to_numpy()]
    lines = [_conclusion(kind, part) for kind, part in shown.groupby(kinds, sort=False)]
    return ["## In short", "\n".join(lines)] if lines else []


def _kind(study: str, condition: str, model: str) -> str:
    if study == "benchmark-encodings":
        return "Tuned models"
    if model == "mlp":
        return "An MLP, which sees no neighbours"
    return "A small GCN" if condition == "all" else f"A small GCN, {condition}"


def _conclusion(kind: str, part: pd.DataFrame) -> str:
    sure = part[part["p_holm"] < LEVEL]["difference"]
    raised, lowered = sure[sure > 0], -sure[sure < 0]
    best = part.groupby(["encoding", "where"], sort=False)["difference"].mean()
    (encoding, where), gain = best.idxmax(), best.max()
    return (
        f"* **{kind}** ({', '.join(part['dataset'].unique())}). Comparisons: {len(part)}; shown to raise the score: "
        f"{_sizes(raised)}; shown to lower it: {_sizes(lowered)}. "
        f"The highest mean has `{encoding}` {PLACES[where]}, {gain:+.1f} points. "
        f"**By default take {f'`{encoding}`' if len(raised) else 'none'}.**"
    )


def _sizes(gains: pd.Series) -> str:
    ends = dict.fromkeys(f"{size:.1f}" for size in (gains.min(), gains.max()))
    return f"{len(gains)} (by {' to '.join(ends)} points)" if len(gains) else "0"


def gains(results: str | Path) -> list[Interval]:
    """The mean difference to ``none`` of every encoding in a whole block, with a 95 % interval."""
    from scipy import stats

    out = []
    for study in COMPARED:
        rows, whole = read(results, study, "-splits")
        for dataset, condition, model, where in filter(whole.get, whole):
            own = rows[(rows[BLOCK] == [dataset, condition, model]).all(axis=1)]
            scores = own.pivot(index=["where", "encoding"], columns="split", values="test")
            group = f"{dataset}\n{PLACES[where]}" if where == "layers" else dataset
            for encoding in own.loc[(own["where"] == where) & (own["encoding"] != "none"), "encoding"].unique():
                gain = (scores.loc[where, encoding] - scores.loc["input", "none"]).dropna()
                half, mean = stats.t.ppf(0.975, len(gain) - 1) * gain.std() / len(gain) ** 0.5, gain.mean()
                out.append(Interval(encoding, group, mean, mean - half, mean + half, _kind(study, condition, model)))
    return out


def gains_figure(intervals: list[Interval]) -> Figure:
    """Encodings side by side for each graph, above or below the line of no encoding."""
    ylabel = "difference to none, points"
    figure = interval_plot(intervals, xlabel="", ylabel=ylabel, strong=["llpe", "llpe-probes"], columns=2)
    for ax in figure.axes:
        ax.axhline(0, color=INK, linewidth=1.0)
    return figure


def _name(dataset: str, condition: str, model: str, where: str) -> str:
    return ", ".join([dataset, model, *([condition] if condition != "all" else []), PLACES[where]])


def _bases(found: pd.DataFrame) -> Iterator[str]:
    rows = [
        [
            f"{row.dataset}, {row.model}",
            number(row.mean, row.std),
            number(row.published_mean, row.published_std),
            f"{row.mean - row.published_mean:+.2f}",
            "yes" if row.within else "**no**",
            str(row.splits),
            f"{row.seconds:.0f}",
        ]
        for row in found.itertuples()
    ]
    header = ["base", "ours", "published", "difference", "within one deviation", "splits or seeds", "seconds"]
    yield Table("Test score in %, mean ± standard deviation", header, rows).markdown()
    reached = int(found["within"].sum())
    yield f"Within one published standard deviation: {reached} of {len(found)}. What was tried is in the [log](log.md)."


def _encodings(found: pd.DataFrame) -> Iterator[str]:
    for block, part in found.groupby(BLOCK, sort=False):
        rows = [
            [
                row.encoding,
                row.where if row.encoding != "none" else "",
                number(row.mean, row.std),
                *_gain(row.difference, row.p_holm),
                f"{row.seconds:.0f}",
                str(row.trials),
            ]
            for row in part.itertuples()
        ]
        splits = part["splits"].max()
        header = ["encoding", "where", "test score in %", "difference to none", "p", "seconds", "settings"]
        yield Table(f"{block[0]}, {block[2]}: {splits} splits or seeds", header, rows).markdown()
        yield from _verdicts(part)


def _where(found: pd.DataFrame) -> Iterator[str]:
    for (dataset, model), part in found.groupby(["dataset", "model"], sort=False):
        texts = {
            (row.encoding, row.condition): number(row.mean, row.std)
            if row.encoding == "none"
            else "{} (p {})".format(*_gain(row.difference, row.p_holm))
            for row in part.itertuples()
        }
        conditions = part["condition"].unique()
        rows = [[name, *(texts.get((name, at), MISSING) for at in conditions)] for name in part["encoding"].unique()]
        title = f"{dataset}, {model}: test score of none in %, and differences to it"
        yield Table(title, ["encoding", *conditions], rows).markdown()
        for _, own in part.groupby("condition", sort=False):
            yield from _verdicts(own)


def _transfer(file: Path) -> Iterator[str]:
    settings = settings_of("benchmark-transfer")
    yield f"## {settings['title']}"
    yield "`llpe reproduce benchmark-transfer --budget standard`"
    if not file.is_file():
        yield "**Not computed.**"
        return
    rows = read_table(file)
    yield transfer_table(rows, settings).markdown()
    yield f"**Mean difference to none, in points, on held-out nodes and on other graphs**: {transfer_gains(rows)}."


def _verdicts(part: pd.DataFrame) -> Iterator[str]:
    for _, own in part[part["whole"] & (part["encoding"] != "none")].groupby("where", sort=False):
        yield verdict(own)


def verdict(part: pd.DataFrame) -> str:
    """What a whole block shows, in one sentence."""
    place = _name(*part[PLACED].iloc[0])
    tested = part[part["p_holm"].notna()].sort_values("difference", ascending=False, kind="stable")
    words = []
    for sign, verb in ((1, "raise"), (-1, "lower")):
        sure = tested[(tested["p_holm"] < LEVEL) & (sign * tested["difference"] > 0)]
        listed = ", ".join(f"{row.encoding} ({row.difference:+.2f})" for row in sure.itertuples())
        words.append(f"{verb} the score: {listed}" if listed else f"no encoding is shown to {verb} the score")
    return f"**{place}**: {'; '.join(words)}."


def _gain(difference: float, p: float) -> tuple[str, str]:
    if pd.isna(difference):
        return MISSING, MISSING
    text, shown = f"{difference:+.2f}", f"{p:.3f}"
    return (f"**{text}**", f"**{shown}**") if p < LEVEL else (text, shown)


def main() -> None:
    results, page = map(Path, sys.argv[1:3])
    text = benchmark_page(results)
    with replacing(page) as partial:
        partial.write_text(text, encoding="utf-8")
    if intervals := gains(results):
        save_figure(gains_figure(intervals), page.with_name("benchmark.png"))


if __name__ == "__main__":
    main()
