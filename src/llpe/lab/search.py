"""Choosing settings by the validation score: a grid, or a budgeted search that stops bad settings early.

A trial is a run folder. Trials come in waves of nine: first the config's own settings and eight that have all learning
rates and optimisers, then what a model of their scores proposes. ``stratified`` ones, which are fixed before the first
is trained, come in one wave. Each is evaluated on its first split (on a small graph: on as many as hold enough
validation nodes) after 500 epochs, or twice or four times as many while its validation score still improves; the best
third goes on to three times as many splits, and the best third of these, one of nine, to all. If training fails or
collapses there on a split, the next best trials go on to all splits as well, until one holds. The chosen trial is, of
those that were trained on all splits, the one with the best mean validation score; test scores play no part.

    <runs>/<dataset>/<encoding>+<model>/search-<hash>/
      search.toml     what is searched      trials.json  all trials
      trials/<hash>/  run folders           best.json    the chosen one, written last

What is drawn next depends on the seed and on the waves before, so a search that was stopped and started again ends as
if it had not been; at most the epochs since the last checkpoint of the splits in flight are lost.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import tomli_w
from filelock import FileLock, Timeout
from pydantic import ValidationError
from torch_geometric.data import Data

from llpe.data import NodeDataset, make_splits
from llpe.lab.config import Config, ConfigError, assign, resolve
from llpe.lab.engine import Dask
from llpe.lab.fit import train_splits
from llpe.lab.spaces import PATIENCE, SearchConfig, as_in_the_paper, assignments, encode, replaced, space_of
from llpe.lab.task import Task, make_task
from llpe.lab.train import Outcome
from llpe.lab.trials import Choice, Trial, Trials, copy_study, stratified
from llpe.lab.wave import Wave
from llpe.lab.workers import Tell
from llpe.runs import RunFolder, flat
from llpe.sealed import write_json, write_text
from llpe.storage import sweep

RISING = 0.9  # a trial whose best epoch is in the last tenth is still improving
WAVE = 9
OnTrial = Callable[[int, int, Trial], None]  # how many are done, how many there will be, and the one that ended
WAIT_SECONDS = 2.0
EPOCHS = 2000  # at most, as in the paper


class BusyError(RuntimeError):
    """Another process is running this search."""


@dataclass(frozen=True)
class Found:
    """What a search found: the chosen config, its run folder, its mean validation score, and all trials."""

    config: Config
    run: Path
    val: float
    trials: list[Trial] = field(repr=False)


def take_search(raw: dict[str, Any]) -> tuple[dict[str, Any], SearchConfig]:
    """A config without its section ``[search]``, and that section, checked."""
    rest = {key: value for key, value in raw.items() if key != "search"}
    try:
        return rest, SearchConfig.model_validate(raw.get("search", {}))
    except ValidationError as error:
        known = ", ".join(SearchConfig.model_fields)
        problems = [f"`search.{'.'.join(map(str, e['loc']))}`: {e['msg']}; keys are {known}." for e in error.errors()]
        raise ConfigError(problems) from None


def search(
    dataset: NodeDataset,
    raw: dict[str, Any],
    settings: SearchConfig,
    *,
    root: str | Path,
    workers: int | None = None,
    engine: Dask | None = None,
    on_trial: OnTrial | None = None,
    on_progress: Tell | None = None,
) -> Found:
    """Searches for the best settings of ``raw``, whose own settings are the first trial.

    Args:
        raw: a config without ``[search]``.
        root: where run folders go.
        workers: splits at a time; default one per core.
        engine: a Dask cluster that trains the splits of all trials of a wave at once.
        on_trial: called after each trial with how many are done, how many there will be, and the trial.
        on_progress: told the progress of any split, a few times a second.
    """
    how = {"workers": workers, "engine": engine, "on_progress": on_progress}
    running = _Search(dataset, raw, settings, Path(root), how)
    with running.locked() as trials:
        running.copy_to_storage(trials)  # refuses a storage that cannot be used, before anything is trained
        while wave := trials.draw(min(running.wave, running.total - len(trials.finished))):
            trials.end(running.evaluate(wave, trials, on_trial))
            running.copy_to_storage(trials)
        return running.conclude(trials.finished)


class _Search:
    """A search in progress."""

    def __init__(
        self, dataset: NodeDataset, raw: dict[str, Any], settings: SearchConfig, root: Path, how: dict[str, Any]
    ) -> None:
        raw = raw if settings.preset in ("extended", "own") else as_in_the_paper(raw)
        training = {"epochs": EPOCHS, "patience": PATIENCE[settings.preset]} | raw.get("training", {})
        self.raw = raw | {"training": training}
        self.dataset, self.settings, self.how, self.preparing = dataset, settings, how, Lock()
        self.base = resolve(self.raw).model_copy(update={"data": dataset.fingerprint})
        self.space = replaced(space_of(settings.preset, self.base.encoding.name), settings.space)
        self._check_space()
        self.size = math.prod(len(choices) for choices in self.space.values())
        whole = self.size if settings.method == "grid" else 16
        self.total = min(settings.trials or whole, self.size)
        self.wave = self.total if settings.method == "stratified" else WAVE
        self.splits = make_splits(dataset, **self.base.splits.model_dump())
        self.path = RunFolder.of(root, self.base).path.with_name(f"search-{self._hash()}")
        self.prepared: dict[str, Data] = {}

    def _check_space(self) -> None:
        problems = []
        for key, choices in self.space.items():
            if not choices:
                problems.append(f"`search.space.{key}` must have at least one choice, got none.")
            for choice in choices:
                try:
                    self.config({key: encode(choice)})
                except ConfigError as error:
                    problems += [f"`search.space.{key}`, choice {choice!r}: {line}" for line in error.problems]
        if problems:
            raise ConfigError(problems)

    def _hash(self) -> str:
        description = {"config": self.base.model_dump(), "space": self.space}
        free = {"storage", "space"} if self.settings.method == "stratified" else {"trials", "storage", "space"}
        description |= self.settings.model_dump(exclude=free)
        return hashlib.sha256(json.dumps(description, sort_keys=True).encode()).hexdigest()[:8]

    def default(self) -> dict[str, Any]:
        """The choice nearest to the config itself: its own value where that is a choice, else the first."""
        mine = flat(self.base.model_dump(include={"encoding", "model", "training"}))
        mine |= {key.partition(".")[2]: value for key, value in mine.items()}
        out = {}
        for key, choices in self.space.items():
            own = [mine.get(name) for name in key.split(",")] if "," in key else mine.get(key)
            out[key] = encode(own if own in choices else choices[0])
        return out

    def listed(self) -> list[Choice]:
        """The settings to try first."""
        if self.settings.method == "grid":
            return [self.default()]
        if self.settings.method == "stratified":
            return stratified(self.space, self.total, self.settings.seed)
        return [self.default(), *stratified(self.space, WAVE - 1, self.settings.seed)]

    def config(self, choice: Choice) -> Config:
        """The config of a trial."""
        config = resolve(assign(self.raw, assignments(choice)))
        return config.model_copy(update={"data": self.dataset.fingerprint})

    @contextmanager
    def locked(self) -> Iterator[Trials]:
        """Holds the search folder and opens its trials."""
        self.path.mkdir(parents=True, exist_ok=True)
        settings = self.settings
        try:
            with FileLock(self.path / ".lock", timeout=WAIT_SECONDS):
                sweep(self.path)
                described = {"config": self.base.hash} | settings.model_dump(exclude_none=True) | {"space": self.space}
                write_text(self.path / "search.toml", tomli_w.dumps(described))
                yield Trials(self.path / "trials.json", self.space, self.listed(), settings.method, settings.seed)
        except Timeout:
            raise BusyError(f"{self.path} is being searched by another process. Wait for it, or stop it.") from None

    def copy_to_storage(self, trials: Trials) -> None:
        if self.settings.storage is not None:
            copy_study(trials.finished, self.space, self.path.name, self.settings.storage)

    def evaluate(self, choices: list[Choice], trials: Trials, on_trial: OnTrial | None) -> list[Trial]:
        """What came of each choice of a wave; ``on_trial`` is called as soon as it is known."""

        def end(trial: Trial) -> None:
            if on_trial is not None:
                on_trial(len(trials.finished) + len(wave.ended), self.total, trial)

        pruner, engine = self.settings.pruner, self.how["engine"]
        wave = Wave(choices, trials, self.splits, pruner=pruner, train=self._train, engine=engine, on_end=end)
        return wave.evaluate()

    def _train(self, choice: dict[str, Any], splits: int, pause: int | None) -> list[Outcome]:
        """The first splits of a trial, to their end or, with ``pause``, for that many epochs; twice as many for those
        that still improve. What is done is not done again."""
        config = self.config(choice)
        folder = RunFolder(self.path / "trials" / config.hash, config.model_dump())
        train = partial(train_splits, self.task(config), self.splits, folder=folder, **self.how)
        with folder.locked():
            outcomes = train(only=range(splits), pause=pause)
            while pause is not None and any(_rising(outcome, pause) for outcome in outcomes):
                rising = [outcome.split for outcome in outcomes if _rising(outcome, pause)]
                pause *= 2
                more = train(only=rising, pause=pause)
                outcomes = [each for each in outcomes if each.split not in rising] + more
        return sorted(outcomes, key=lambda outcome: outcome.split)

    def task(self, config: Config) -> Task:
        """The graph and model of a config; the last prepared graph is kept, as many trials share it."""
        key = config.encoding.model_dump_json()
        with self.preparing:
            task = make_task(self.dataset, config, data=self.prepared.get(key))
            self.prepared = {key: task.data}
        return task

    def conclude(self, finished: list[Trial]) -> Found:
        """The best complete trial; the weights of the others are deleted."""
        complete = [trial for trial in finished if trial.state == "complete"]
        if not complete:
            reasons = "; ".join(f"{trial.choice}: {trial.reason}" for trial in finished if trial.reason) or "none tried"
            raise RuntimeError(f"no trial of {self.path} was completed: {reasons}.")
        best = max(complete, key=lambda trial: trial.val or 0.0)  # the first of equals
        config = self.config(best.choice)
        run = self.path / "trials" / config.hash
        for weights in self.path.glob("trials/*/split-*/*"):
            if weights.name in ("model.safetensors", "checkpoint.pt") and weights.parent.parent != run:
                weights.unlink()
        counts = {state: sum(t.state == state for t in finished) for state in ("complete", "pruned", "failed")}
        summary = {
            "run": str(run.relative_to(self.path)),
            "val": best.val,
            "choice": assignments(best.choice),
            "trials": len(finished),
            **counts,
            "reasons": [{"choice": assignments(t.choice), "reason": t.reason} for t in finished if t.reason],
            "space": self.size,
        }
        write_json(self.path / "best.json", summary)
        return Found(config, run, best.val or 0.0, finished)


def _rising(outcome: Outcome, pause: int) -> bool:
    """Whether a split that was paused after ``pause`` epochs was improving until then, or has been trained further."""
    return outcome.status == "paused" and (outcome.epochs > pause or outcome.best_epoch > RISING * pause)
