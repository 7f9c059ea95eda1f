"""A wave of a search: settings that are trained step by step, on more splits each time, of which fewer and fewer go on.

What each step finds is kept among the trials: a search that goes on does not ask again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

from llpe.data import Split
from llpe.lab.engine import Dask, each
from llpe.lab.train import Outcome
from llpe.lab.trials import Choice, Trial, Trials

FIRST_EPOCHS = 500  # fewer would be unfair to SGD: on Cora, LLPE's best settings are behind until epoch 300
ENOUGH_NODES = 100  # validation nodes that a trial is evaluated on at first: with fewer, luck decides who goes on
COLLAPSED = 0.2  # on one split, below what a setting was chosen for: more than luck with the split explains
KEPT = {"halving": 3, "median": 2, "best": math.inf, "none": 1}  # one of this many goes on after a step, or one
Train = Callable[[Choice, int, int | None], list[Outcome]]  # the first splits of a setting, for some epochs or all


class Wave:
    """Settings to evaluate, by their numbers.

    Args:
        choices: the settings.
        trials: where what is found is kept.
        splits: all splits.
        pruner: how many go on after a step.
        train: trains the first splits of a setting.
        engine: a Dask cluster that trains several settings at once.
        on_end: called with each trial as soon as it has ended.
    """

    def __init__(
        self,
        choices: list[Choice],
        trials: Trials,
        splits: Sequence[Split],
        *,
        pruner: str,
        train: Train,
        engine: Dask | None,
        on_end: Callable[[Trial], None],
    ) -> None:
        self.choices, self.trials, self.kept = choices, trials, KEPT[pruner]
        self.train, self.engine, self.on_end = train, engine, on_end
        every = len(splits)
        first = min(every, math.ceil(ENOUGH_NODES / min(len(split.val) for split in splits)))
        self.steps = {1: (first, FIRST_EPOCHS), 2: (min(3 * first, every), None), 3: (every, None)}
        self.ended: dict[int, Trial] = {}

    def evaluate(self) -> list[Trial]:
        """What came of each setting."""
        alive, dropped, hoped = list(range(len(self.choices))), list[int](), dict[int, float]()
        for step in (1, 2):
            found = self._step(step, alive)
            hoped = {number: one["val"] for number, one in found.items()} | hoped
            kept = max(1, math.ceil(len(found) / self.kept))
            for number in list(found)[kept:]:
                self._end(number, "pruned", found[number]["val"])
            alive, dropped = list(found)[:kept], list(found)[kept:] + dropped
        whole = self._step(3, alive)
        while dropped and all(hoped[number] - one["least"] > COLLAPSED for number, one in whole.items()):
            whole |= self._step(3, [dropped.pop(0)])
        for number, one in whole.items():
            self._end(number, "complete", one["val"])
        return [self.ended[number] for number in range(len(self.choices))]

    def _step(self, step: int, numbers: list[int]) -> dict[int, dict[str, Any]]:
        """What a step finds of these, the best first, without those that failed."""
        splits, epochs = self.steps[step]

        def ask(number: int) -> dict[str, Any]:
            choice = self.choices[number]
            return self.trials.step(choice, step) or _summary(self.train(choice, splits, epochs))

        found = {}
        for number, one in each(self.engine, ask, numbers, pieces=splits):
            if self.trials.step(self.choices[number], step) is None:
                self.trials.note(self.choices[number], step, one)
            if "reason" in one:
                self._end(number, "failed", None, one["reason"])
            else:
                found[number] = one
        return dict(sorted(found.items(), key=lambda item: (-item[1]["val"], item[0])))

    def _end(self, number: int, state: str, val: float | None, reason: str | None = None) -> None:
        self.ended[number] = Trial(dict(self.choices[number]), state, val, reason)
        self.on_end(self.ended[number])


def _summary(outcomes: list[Outcome]) -> dict[str, Any]:
    """The mean validation score of a setting and the least, or why it failed."""
    failed = [outcome for outcome in outcomes if outcome.status == "failed"]
    if failed:
        return {"reason": f"split {failed[0].split}: {failed[0].reason}"}
    scores = [outcome.val or 0.0 for outcome in outcomes]
    return {"val": fmean(scores), "least": min(scores)}
