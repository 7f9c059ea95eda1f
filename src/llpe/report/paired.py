"""Is one run better than another? Compared split by split, on the splits that both have.

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

from llpe.report.collect import Run

LEVEL = 0.05
EXACT = 16  # differences up to which all signs are counted out


@dataclass(frozen=True)
class Paired:
    """A run against another: on how many common splits it is better, worse and level; mean difference; p."""

    wins: int
    losses: int
    ties: int
    difference: float
    p: float

    @property
    def common(self) -> int:
        return self.wins + self.losses + self.ties


def compare_runs(run: Run, other: Run) -> Paired | None:
    """``run`` against ``other`` on their common splits; None if they have none.

    A split is common if both runs finished it and its nodes are the same (its fingerprint is).
    """
    theirs = {(report["split"], report.get("split_fingerprint")): report["test"] for report in other.reports}
    mine = {(report["split"], report.get("split_fingerprint")): report["test"] for report in run.reports}
    gains = np.array([score - theirs[split] for split, score in mine.items() if split in theirs])
    if not gains.size:
        return None
    wins, losses = int((gains > 0).sum()), int((gains < 0).sum())
    return Paired(wins, losses, gains.size - wins - losses, float(gains.mean()), signed_rank(gains))


def signed_rank(differences: Sequence[float] | np.ndarray) -> float:
    """The two-sided p of Wilcoxon's signed-rank test; zeros are left out, and nothing but zeros is 1.

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
    """Holm's correction: p-values of several tests, such that one below a level is rarely a fluke of having many.

    Example:
        >>> holm([0.01, 0.04, 0.03])
        [0.03, 0.06, 0.06]
    """
    out, largest = [0.0] * len(values), 0.0
    for place, index in enumerate(np.argsort(values, kind="stable")):
        largest = max(largest, min(1.0, (len(values) - place) * values[index]))
        out[index] = largest
    return out
