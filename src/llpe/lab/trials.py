"""The trials of a search: which settings come next, and what is remembered of those that were tried.

What is drawn next depends on the seed and on the finished waves alone. All that a search knows is one file, replaced
whole: first by what each step of a wave finds, then by the ended wave. So a search may be killed at any moment, and
goes on as if it had not been.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, product
from math import prod
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from llpe.lab.spaces import Space, encode, key_of
from llpe.sealed import intact, read_json, write_json

if TYPE_CHECKING:
    import optuna

BLIND_TRIALS = 8  # before a model of the past is trusted
GUESSES, REPEATS = 3, 100  # draws by the model of the past, then blindly, after which a space counts as exhausted
ATTEMPTS = 5  # to open a storage whose tables others create at the same time

PAIRED = ("lr", "optimizer")  # each pair of them is tried by a stratified search

Choice = dict[str, Any]


@dataclass(frozen=True)
class Trial:
    """One setting and what came of it: ``complete``, ``pruned`` or ``failed`` with a reason."""

    choice: Choice
    state: str
    val: float | None
    reason: str | None = None


class StorageError(ConnectionError):
    """The storage of a study cannot be used."""


class Trials:
    """What a search has tried.

    Args:
        file: where that is kept; if it is damaged, the trials are evaluated again, from their run folders.
        space: the choices.
        listed: the settings to try first, in order.
        method, seed: see :class:`~llpe.lab.SearchConfig`.

    Attributes:
        finished: the trials of all finished waves.
    """

    def __init__(self, file: Path, space: Space, listed: Sequence[Choice], method: str, seed: int) -> None:
        self.file, self.space, self.listed = file, space, listed
        self.method, self.seed = method, seed
        kept = read_json(file) if file.exists() and intact(file) else {"trials": [], "steps": {}}
        self.finished = [Trial(**trial) for trial in kept["trials"]]
        self.steps: dict[str, dict[str, Any]] = kept["steps"]

    def step(self, choice: Choice, number: int) -> dict[str, Any] | None:
        """What a step of the current wave found before, if anything."""
        return self.steps.get(f"{number} {key_of(choice)}")

    def note(self, choice: Choice, number: int, found: dict[str, Any]) -> None:
        """Keeps what a step of the current wave found."""
        self.steps[f"{number} {key_of(choice)}"] = found
        self._write()

    def end(self, wave: Sequence[Trial]) -> None:
        """Keeps what came of a wave."""
        self.finished, self.steps = [*self.finished, *wave], {}
        self._write()

    def _write(self) -> None:
        write_json(self.file, {"trials": [asdict(trial) for trial in self.finished], "steps": self.steps})

    def draw(self, count: int) -> list[Choice]:
        """The next wave: ``count`` settings not tried before, fewer when there are none left."""
        wave: list[Choice] = []
        known = {key_of(trial.choice) for trial in self.finished}
        while len(wave) < count and (choice := self._given(known) or self._drawn(known)) is not None:
            known.add(key_of(choice))
            wave.append(choice)
        return wave

    def _given(self, known: set[str]) -> Choice | None:
        """What is not drawn: the settings that are listed, then those of a grid in order."""
        grid = product(*self.space.values()) if self.method == "grid" else ()
        every = chain(self.listed, (dict(zip(self.space, map(encode, values), strict=True)) for values in grid))
        return next((choice for choice in every if key_of(choice) not in known), None)

    def _drawn(self, known: set[str]) -> Choice | None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        study = optuna.create_study(direction="maximize")
        study.add_trials([_frozen(trial, self.space) for trial in self.finished])
        for attempt in range(REPEATS):
            digest = hashlib.sha256(json.dumps([self.seed, len(known), attempt]).encode()).hexdigest()
            number = int(digest[:8], 16)
            guess = attempt < GUESSES  # a good model of the past proposes what it knows: then draw blindly
            model = optuna.samplers.TPESampler(seed=number, n_startup_trials=BLIND_TRIALS)
            study.sampler = model if guess else optuna.samplers.RandomSampler(seed=number)
            trial = study.ask(_distributions(self.space))
            if key_of(trial.params) not in known:
                return trial.params
        return None


def stratified(space: Space, count: int, seed: int = 0) -> list[dict[str, Any]]:
    """``count`` different settings, or all if there are no more.

    Each pair of learning rate and optimiser comes once before any comes twice, and half of a round has every rate, and
    both optimisers equally often. What is drawn for another key depends on the seed, the key and its choices alone:
    encodings are compared with the same widths, layers and dropout.

    Example:
        >>> space = {"lr": [0.1, 0.01], "optimizer": ["adam", "sgd"], "k": [8, 16]}
        >>> for setting in stratified(space, 4):
        ...     print(*setting.values())
        0.1 sgd 16
        0.01 adam 8
        0.1 adam 8
        0.01 sgd 16
    """
    count = min(count, prod(map(len, space.values())))
    paired = [key for key in PAIRED if key in space]
    pairs = _pairs([space[key] for key in paired], count, seed)
    columns = {key: _evenly(key, choices, count, seed) for key, choices in space.items() if key not in paired}
    columns |= {key: [pair[place] for pair in pairs] for place, key in enumerate(paired)}
    found: dict[str, dict[str, Any]] = {}
    for number in range(count):
        setting = {key: encode(columns[key][number]) for key in space}
        if key_of(setting) in found:  # then another one of the same pair, if there is any left
            every = (dict(zip(space, map(encode, values), strict=True)) for values in product(*space.values()))
            left = [each for each in every if key_of(each) not in found]
            alike = [each for each in left if all(each[key] == setting[key] for key in paired)]
            setting = Random(json.dumps([seed, number])).choice(alike or left)
        found[key_of(setting)] = setting
    return list(found.values())


def _pairs(choices: list[list[Any]], count: int, seed: int) -> list[tuple[Any, ...]]:
    """All combinations in rounds, each round in another order, in which neighbours have different values."""
    if not choices:
        return [()] * count
    found: list[tuple[Any, ...]] = []
    while len(found) < count:
        random = Random(json.dumps([seed, len(found)]))
        first, *others = (random.sample(each, len(each)) for each in choices)
        rest = list(product(*others))
        for shift in range(len(rest)):
            found += [(value, *rest[(place + shift) % len(rest)]) for place, value in enumerate(first)]
    return found[:count]


def _evenly(key: str, choices: list[Any], count: int, seed: int) -> list[Any]:
    """Each choice equally often, to within one, in a random order."""
    random = Random(json.dumps([seed, key.removeprefix("model."), choices]))
    column = (random.sample(choices, len(choices)) * -(-count // len(choices)))[:count]
    random.shuffle(column)
    return column


def copy_study(trials: Sequence[Trial], space: Space, name: str, url: str) -> None:
    """Adds the trials that are missing there to a study in a database, which may be empty."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage = _open_storage(url)
    try:
        study = optuna.create_study(study_name=name, storage=storage, direction="maximize", load_if_exists=True)
        for trial in trials[len(study.get_trials(deepcopy=False)) :]:
            study.add_trial(_frozen(trial, space))
    finally:
        storage.remove_session()


def _open_storage(url: str) -> optuna.storages.RDBStorage:
    from optuna.storages import RDBStorage
    from sqlalchemy.exc import ArgumentError, DBAPIError
    from sqlalchemy.pool import NullPool

    for attempt in range(ATTEMPTS):
        try:
            return RDBStorage(url, engine_kwargs={"poolclass": NullPool})  # keeps no connection open
        except (ArgumentError, ImportError) as error:
            raise ValueError(
                "`storage` must be a URL such as sqlite:///study.db or postgresql+psycopg://user@host/database, got "
                f"another: {error}. The extra `cluster` has psycopg."
            ) from error
        except DBAPIError as error:  # perhaps another process is creating the same tables
            reason = str(error.orig).strip().rstrip(".")
            time.sleep(0.1 * 2**attempt)
    raise StorageError(
        f"`storage` must be a database that can be reached, got: {reason}. Start it, or correct its URL; trials are "
        "kept, and the same command resumes."
    )


def _frozen(trial: Trial, space: Space) -> optuna.trial.FrozenTrial:
    from optuna.trial import TrialState, create_trial

    complete, pruned = trial.state == "complete", trial.state == "pruned"
    return create_trial(
        state=TrialState.COMPLETE if complete else TrialState.PRUNED if pruned else TrialState.FAIL,
        value=trial.val if complete else None,
        params=trial.choice,
        distributions=_distributions(space),
        intermediate_values={1: trial.val or 0.0} if pruned else None,  # what a model learns from one that was given up
        user_attrs={"reason": trial.reason} if trial.reason else None,
    )


def _distributions(space: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    from optuna.distributions import CategoricalDistribution

    return {key: CategoricalDistribution([encode(choice) for choice in choices]) for key, choices in space.items()}
