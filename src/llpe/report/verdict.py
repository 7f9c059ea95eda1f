"""The answer in a sentence: which of the runs on one graph is best, and which are within noise of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llpe.report.collect import Run
from llpe.report.paired import LEVEL, compare_runs, holm


@dataclass(frozen=True)
class Verdict:
    """The place of the best run, of those within noise of it, and the answer in words.

    With too few splits nothing can be told from noise; then ``level`` is empty, and the words say so.
    """

    best: int
    level: tuple[int, ...]
    sentence: str


def judge(runs: Sequence[Run], labels: Sequence[str]) -> Verdict | None:
    """Compares the best run with each of the others; None if fewer than two have a finished split.

    A run is within noise of the best if the paired test between the two, corrected for the number of tests (Holm),
    stays at or above 5 %. The best is picked by the scores that are then tested, so its own is a little flattered.

    Args:
        runs: on one data set with one model.
        labels: what to call them.
    """
    found = [index for index, run in enumerate(runs) if run.mean is not None]
    if len(found) < 2:
        return None
    best = max(found, key=lambda index: runs[index].mean or 0.0)
    others = sorted((index for index in found if index != best), key=lambda index: -(runs[index].mean or 0.0))
    pairs = [compare_runs(runs[best], runs[index]) for index in others]
    corrected = holm([1.0 if pair is None else pair.p for pair in pairs])
    common = min(pair.common if pair else 0 for pair in pairs)
    equal = [index for index in found if runs[index].mean == runs[best].mean]
    are = "is" if len(equal) == 1 else "are"
    first = f"{_join([labels[index] for index in equal])} {are} best with {_percent(runs[best])} on average"
    if common < enough_splits(len(others)):
        against = "1 other" if len(others) == 1 else f"{len(others)} others"
        words = f"{common} common split" + "s" * (common != 1)
        need = f"it needs {enough_splits(len(others))}"
        return Verdict(best, (), f"{first}; against {against}, {words} are too few for the paired test: {need}.")
    level = tuple(index for index, p in zip(others, corrected, strict=True) if p >= LEVEL)  # the best of them first
    correction = "" if len(others) == 1 else f", corrected for {len(others)} comparisons"
    how = f"paired Wilcoxon test, {common} splits, {LEVEL:.0%} level{correction}"
    close = [index for index in level if index not in equal]
    if close:
        names = _join([f"{labels[index]} ({_percent(runs[index])})" for index in close])
        sentence = f"{first}, but {names} {'is' if len(close) == 1 else 'are'} within noise of that ({how})."
    elif len(equal) == len(found):
        sentence = f"{first}: there is no difference at all."
    else:
        whom = "the other" if len(found) == len(equal) + 1 else "each of the others"
        sentence = f"{first}, and better than {whom} beyond noise ({how})."
    if any(runs[index].encoding == "none" for index in (best, *level)):
        sentence += " So no encoding is shown to help here."
    return Verdict(best, level, sentence)


def reach(splits: int, tests: int) -> str:
    """What the test can and cannot show over so many splits, corrected for ``tests`` comparisons.

    Example:
        >>> reach(8, 5)[:85]
        'With 8 splits p is never below 0.0078 (0.039 after correction for 5 comparisons): onl'
    """
    least = 2.0 ** (1 - splits)
    words = f"{splits} split" + "s" * (splits != 1)
    corrected = "" if tests < 2 else f" ({min(1.0, tests * least):.2g} after correction for {tests} comparisons)"
    if splits < enough_splits(tests):
        return f"With {words} p is never below {least:.2g}{corrected}: nothing can be told from noise."
    return (
        f"With {words} p is never below {least:.2g}{corrected}: only a lead on nearly every split can be told from "
        "noise, a mean difference below its standard error cannot, and one that is not shown may be there all the same."
    )


def enough_splits(tests: int) -> int:
    """The fewest splits with which the test, corrected for ``tests`` comparisons, can fall below 5 %.

    Example:
        >>> enough_splits(1), enough_splits(5)
        (6, 8)
    """
    splits = 1
    while tests * 2.0 ** (1 - splits) >= LEVEL:
        splits += 1
    return splits


def _percent(run: Run) -> str:
    return f"{100 * (run.mean or 0.0):.1f} %"


def _join(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
