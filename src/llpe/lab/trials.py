"""The trials of a search: which settings come next, and what is remembered of those that were tried.

They are kept in an Optuna study. Trials come in waves, which end together; what is drawn depends on the seed and on the
waves before.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

from llpe.lab.spaces import Space, encode, key_of

if TYPE_CHECKING:
    import optuna

BLIND_TRIALS = 8  # before a model of the past is trusted
GUESSES, REPEATS = 3, 100  # draws by the model of the past, then blindly, after which a space counts as exhausted

Method = Literal["tpe", "grid", "stratified"]


@dataclass(frozen=True)
class Trial:
    """One setting and what came of it: ``complete``, ``pruned`` or ``failed`` with a reason."""

    choice: dict[str, Any]
    state: str
    val: float | None
    reason: str | None = None


class Trials:
    """The study of a search.

    Args:
        name, storage: of the Optuna study.
        space: the choices.
        first: the settings to try first.
        listed: the settings to try, in order, where they are not drawn one after the other.
        method, seed: see :class:`~llpe.lab.search.SearchConfig`.
    """

    def __init__(
        self,
        name: str,
        storage: str,
        space: Space,
        first: dict[str, Any],
        method: Method,
        seed: int,
        listed: Sequence[dict[str, Any]] = (),
    ) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.space, self.first, self.method, self.seed, self.listed = space, first, method, seed, listed
        self.study = optuna.create_study(study_name=name, storage=storage, direction="maximize", load_if_exists=True)
        self._take_up()

    def _take_up(self) -> None:
        """Trials that were running when a process ended are queued again; their run folders are still there."""
        import optuna

        for trial in self.study.get_trials(states=(optuna.trial.TrialState.RUNNING,)):
            self.study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
            if trial.params.keys() == self.space.keys():
                self.study.enqueue_trial(trial.params)

    def finished(self) -> list[Trial]:
        """All trials that ended by themselves, in order."""
        out = []
        for trial in self.study.get_trials(deepcopy=False):
            state = {"COMPLETE": "complete", "PRUNED": "pruned"}.get(trial.state.name)
            reason = trial.user_attrs.get("reason")
            if state is not None or reason is not None:
                out.append(Trial(dict(trial.params), state or "failed", trial.user_attrs.get("val"), reason))
        return out

    def draw(self, count: int) -> list[optuna.Trial]:
        """The next wave: ``count`` trials with settings not tried before, fewer when there are none left."""
        wave: list[optuna.Trial] = []
        known = {key_of(trial.choice) for trial in self.finished()}
        while len(wave) < count and (trial := self._draw(known)) is not None:
            known.add(key_of(trial.params))
            wave.append(trial)
        return wave

    def _draw(self, known: set[str]) -> optuna.Trial | None:
        import optuna

        self._queue(known)
        for attempt in range(REPEATS):
            digest = hashlib.sha256(json.dumps([self.seed, len(known), attempt]).encode()).hexdigest()
            number = int(digest[:8], 16)
            guess = attempt < GUESSES  # a good model of the past proposes what it knows: then draw blindly
            model = optuna.samplers.TPESampler(seed=number, n_startup_trials=BLIND_TRIALS)
            self.study.sampler = model if guess else optuna.samplers.RandomSampler(seed=number)
            trial = self.study.ask()
            for key, choices in self.space.items():
                trial.suggest_categorical(key, [encode(choice) for choice in choices])
            if key_of(trial.params) not in known:
                return trial
            self.study.tell(trial, state=optuna.trial.TrialState.FAIL)
        return None

    def _queue(self, known: set[str]) -> None:
        """What is not drawn but given: the first settings, and those of a grid in order."""
        import optuna

        if self.study.get_trials(states=(optuna.trial.TrialState.WAITING,)):
            return
        if self.listed:
            left = (choice for choice in self.listed if key_of(choice) not in known)
            if (choice := next(left, None)) is not None:
                self.study.enqueue_trial(choice)
        elif not known:
            self.study.enqueue_trial(self.first)
        elif self.method == "grid":
            every = (
                dict(zip(self.space, map(encode, choice), strict=True)) for choice in product(*self.space.values())
            )
            self.study.enqueue_trial(next(choice for choice in every if key_of(choice) not in known))

    def end(self, trial: optuna.Trial, result: Trial) -> None:
        """Notes what came of a trial."""
        from optuna.trial import TrialState

        if result.val is not None:
            trial.set_user_attr("val", result.val)
        if result.state == "complete":
            self.study.tell(trial, result.val)
        elif result.state == "pruned":
            trial.report(result.val or 0.0, 1)  # what a model of the past learns from a trial that was given up
            self.study.tell(trial, state=TrialState.PRUNED)
        else:
            trial.set_user_attr("reason", result.reason)
            self.study.tell(trial, state=TrialState.FAIL)
