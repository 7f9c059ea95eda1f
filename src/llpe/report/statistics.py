"""Is one run better than another, or is it noise? Compared split by split, on the splits that both have.

Two runs on the same splits share what is easy or hard about a split, so differences split by split say more than two
means. The test is Wilcoxon's signed-rank test, two-sided and exact for up to 16 differences: it asks how often signs
drawn by coin would give rank sums as lopsided as these. Random splits of one graph share nodes, so its p is somewhat
too small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.stats

from llpe.runs import RunFolder

LEVEL = 0.05
EXACT = 16  # differences up to which all patterns of signs are counted; SciPy takes 0.2 s for 10 of them with ties


@dataclass(frozen=True)
class Paired:
    """A run against another: on how many common splits it is better, the mean difference, and p."""

    wins: int
    common: int
    difference: float
    p: float


def compare_runs(run: RunFolder, other: RunFolder) -> Paired | None:
    """``run`` against ``other`` on their common splits; None if they have none.

    A split is common if both runs finished it and its nodes are the same (its fingerprint is).
    """
    mine, theirs = (
        {(report["split"], report.get("split_fingerprint")): report["test"] for report in each.reports}
        for each in (run, other)
    )
    gains = np.array([score - theirs[split] for split, score in mine.items() if split in theirs])
    if not gains.size:
        return None
    return Paired(int((gains > 0).sum()), gains.size, float(gains.mean()), signed_rank(gains))


def signed_rank(differences: Sequence[float] | np.ndarray) -> float:
    """The two-sided p of Wilcoxon's signed-rank test; zeros are left out, and p is 1 without any others.

    Example:
        >>> signed_rank([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])  # 2 of 64 patterns of signs are as lopsided
        0.03125
    """
    left = np.asarray(differences, dtype=np.float64)
    left = left[left != 0]
    if not left.size:
        return 1.0
    if left.size > EXACT:
        return float(scipy.stats.wilcoxon(left).pvalue)
    ranks = scipy.stats.rankdata(np.abs(left).round(12))  # equal up to rounding shares a rank
    signs = (np.arange(2**left.size)[:, None] >> np.arange(left.size)) & 1
    lopsided = np.abs(signs @ ranks - ranks.sum() / 2)
    return float((lopsided >= abs(ranks[left > 0].sum() - ranks.sum() / 2) - 1e-9).mean())


def holm(values: Sequence[float]) -> list[float]:
    """Holm's correction: p-values of several tests, adjusted so that one below a level is rarely due to their number.

    Example:
        >>> holm([0.01, 0.04, 0.03])
        [0.03, 0.06, 0.06]
    """
    order = np.argsort(values, kind="stable")
    scaled = np.array(values, dtype=float)[order] * np.arange(len(values), 0, -1)
    out = np.empty(len(values))
    out[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return out.tolist()


@dataclass(frozen=True)
class Best:
    """The place of the best run, of those within noise of it, and the answer in words.

    With too few splits nothing can be told from noise; then ``level`` is empty, and the words say so.
    """

    place: int
    level: tuple[int, ...]
    sentence: str


def find_best(runs: Sequence[RunFolder], labels: Sequence[str]) -> Best | None:
    """Compares the best run with each of the others; None if fewer than two have a finished split.

    A run is within noise of the best if the paired test between the two, corrected for the number of tests (Holm),
    stays at or above 5 %. The best is picked by the scores that are then tested, so its own is a little flattered.

    Args:
        runs: on one data set with one model.
        labels: what to call them.
    """
    means = {index: run.mean for index, run in enumerate(runs) if run.mean is not None}
    if len(means) < 2:
        return None
    best, *others = sorted(means, key=lambda index: -means[index])
    pairs = [compare_runs(runs[best], runs[index]) for index in others]
    common = min(pair.common if pair else 0 for pair in pairs)
    equal = [index for index in means if means[index] == means[best]]
    are = "is" if len(equal) == 1 else "are"
    first = f"{_join([labels[index] for index in equal])} {are} best with {100 * means[best]:.1f} % on average"
    if common < enough_splits(len(others)):
        words = f"against {_count(len(others), 'other')}, {_count(common, 'common split')} are too few"
        return Best(best, (), f"{first}; {words} for the paired test: it needs {enough_splits(len(others))}.")
    corrected = holm([1.0 if pair is None else pair.p for pair in pairs])
    level = tuple(index for index, p in zip(others, corrected, strict=True) if p >= LEVEL)  # the best of them first
    correction = "" if len(others) == 1 else f", corrected for {len(others)} comparisons"
    how = f"paired Wilcoxon test, {common} splits, {LEVEL:.0%} level{correction}"
    close = [f"{labels[index]} ({100 * means[index]:.1f} %)" for index in level if index not in equal]
    if close:
        sentence = f"{first}, but {_join(close)} {'is' if len(close) == 1 else 'are'} within noise of that ({how})."
    elif len(equal) == len(means):
        sentence = f"{first}: there is no difference at all."
    else:
        whom = "the other" if len(means) == len(equal) + 1 else "each of the others"
        sentence = f"{first}, and better than {whom} beyond noise ({how})."
    if any(runs[index].encoding == "none" for index in (best, *level)):
        sentence += " So no encoding is shown to help here."
    return Best(best, level, sentence)


def reach(splits: int, tests: int) -> str:
    """What the test can and cannot show over this number of splits, corrected for ``tests`` comparisons.

    Example:
        >>> reach(8, 5)[:85]
        'With 8 splits p is never below 0.0078 (0.039 after correction for 5 comparisons): onl'
    """
    least = 2.0 ** (1 - splits)
    corrected = "" if tests < 2 else f" ({min(1.0, tests * least):.2g} after correction for {tests} comparisons)"
    start = f"With {_count(splits, 'split')} p is never below {least:.2g}{corrected}:"
    if splits < enough_splits(tests):
        return f"{start} nothing can be told from noise."
    return (
        f"{start} only a lead on nearly every split can be told from noise, a mean difference below its standard error "
        "cannot, and one that is not shown may be there all the same."
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


def _count(number: int, word: str) -> str:
    return f"{number} {word}" + "s" * (number != 1)


def _join(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
