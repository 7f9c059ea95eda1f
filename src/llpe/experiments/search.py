"""Choosing settings by the validation score: a grid, or a budgeted search that gives up early on what does badly.

A trial is a run folder. It is judged in steps: its first split after some epochs, its first splits, some more, all.
After each step its mean validation score so far is compared with that of the trials before, and a bad one ends there.
The chosen trial is the one with the best mean validation score over all splits; test scores play no part.

    <runs>/<dataset>/<encoding>+<model>/search-<hash>/
      search.toml     what is searched      study.db     all trials (Optuna)
      trials/<hash>/  run folders           best.json    the chosen one, written last

What is drawn next depends on the seed and on the finished trials only, so a search that was stopped and started again
ends as if it had not been; at most the epochs since the last checkpoint of the splits in flight are lost.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from llpe.data import NodeDataset, make_splits
from llpe.experiments.config import Config, ConfigError, assign, resolve
from llpe.experiments.fit import Tell, train_in
from llpe.experiments.runs import RunFolder
from llpe.experiments.spaces import PATIENCE, Space, assignments, encode, replaced, space_of
from llpe.experiments.train import Task, make_task
from llpe.experiments.trials import Method, Pruner, Trial, Trials
from llpe.files import replacing

if TYPE_CHECKING:
    import optuna

FIRST_EPOCHS = 500  # fewer would be unfair to SGD: on Cora, LLPE's best settings are behind until epoch 300
WAIT_SECONDS = 2.0


class BusyError(RuntimeError):
    """Another process is at this search."""


class SearchConfig(BaseModel):
    """The section ``[search]`` of a config.

    Attributes:
        method: ``tpe`` (the tree-structured Parzen estimator) or ``grid``.
        trials: how many different settings to try; a grid without it is tried whole.
        pruner: ``halving`` keeps the best third at a step, ``median`` the better half, ``none`` everything.
        preset: the space, ``paper`` or ``authors``, see :mod:`llpe.experiments.spaces`.
        space: choices that replace those of the preset, or add to them.
        storage: URL of an Optuna storage; by default SQLite in the search folder.
        seed: of the draws.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    method: Method = "tpe"
    trials: int | None = Field(None, ge=1)
    pruner: Pruner = "halving"
    preset: Literal["paper", "authors"] = "paper"
    space: dict[str, list[Any]] = {}
    storage: str | None = None
    seed: int = Field(0, ge=0)


@dataclass(frozen=True)
class Found:
    """What a search found: the chosen config, its run folder, its mean validation score, and all trials."""

    config: Config
    run: Path
    val: float
    trials: list[Trial] = field(repr=False)


def take_search(raw: dict[str, Any]) -> tuple[dict[str, Any], SearchConfig]:
    """A config apart from its section ``[search]``."""
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
    on_trial: Callable[[int, int, Trial], None] | None = None,
    on_progress: Tell | None = None,
) -> Found:
    """Searches the best settings for ``raw``, whose own settings are the first trial.

    Args:
        raw: a config without ``[search]``.
        root: where run folders go.
        workers: splits at a time; default one per core.
        on_trial: called after each trial with how many are done, how many there will be, and the trial.
        on_progress: told the progress of any split, a few times a second.
    """
    hunt = _Hunt(dataset, raw, settings, Path(root), workers, on_progress)
    with hunt.locked() as trials:
        finished = trials.finished()
        while len(finished) < hunt.total and (trial := trials.draw()) is not None:
            hunt.judge(trial, trials)
            finished = trials.finished()
            if on_trial is not None:
                on_trial(len(finished), hunt.total, finished[-1])
        return hunt.conclude(finished)


class _Hunt:
    """A search in progress."""

    def __init__(
        self,
        dataset: NodeDataset,
        raw: dict[str, Any],
        settings: SearchConfig,
        root: Path,
        workers: int | None,
        on_progress: Tell | None,
    ) -> None:
        patience = raw.get("training", {}).get("patience", PATIENCE[settings.preset])
        self.raw = raw | {"training": raw.get("training", {}) | {"patience": patience}}
        self.dataset, self.settings, self.workers, self.tell = dataset, settings, workers, on_progress
        self.base = resolve(self.raw).model_copy(update={"data": dataset.fingerprint})
        encoding = self.base.encoding
        preset = space_of(settings.preset, encoding.name, getattr(encoding, "source", None))
        self.space = replaced(preset, settings.space)
        self._check_space()
        self.size = math.prod(len(choices) for choices in self.space.values())
        whole = self.size if settings.method == "grid" else 16
        self.total = min(settings.trials or whole, self.size)
        self.splits = make_splits(
            dataset, self.base.splits.kind, count=self.base.splits.count, seed=self.base.splits.seed
        )
        self.path = RunFolder.of(root, self.base).path.with_name(f"search-{self._hash()}")
        self.tasks: dict[str, Task] = {}

    def _check_space(self) -> None:
        problems = [
            f"`search.space.{key}` must have at least one choice, got none."
            for key, choices in self.space.items()
            if not choices
        ]
        for key, choices in self.space.items():
            for choice in choices:
                try:
                    self.config({key: encode(choice)})
                except ConfigError as error:
                    problems += [f"`search.space.{key}`, choice {choice!r}: {line}" for line in error.problems]
        if problems:
            raise ConfigError(problems)

    def _hash(self) -> str:
        description = {"config": self.base.described(), "space": self.space}
        description |= self.settings.model_dump(exclude={"trials", "storage", "space"})
        return hashlib.sha256(json.dumps(description, sort_keys=True).encode()).hexdigest()[:8]

    def default(self) -> dict[str, Any]:
        """The choice nearest to the config itself: its own value where that is a choice, else the first."""
        mine: dict[str, Any] = {}
        for section in (self.base.encoding, self.base.model, self.base.training):
            mine |= {f"{section.__class__.__name__[:-6].lower()}.{k}": v for k, v in section.model_dump().items()}
            mine |= section.model_dump()
        out = {}
        for key, choices in self.space.items():
            own = [mine.get(name) for name in key.split(",")] if "," in key else mine.get(key)
            out[key] = encode(own if own in choices else choices[0])
        return out

    def config(self, choice: dict[str, Any]) -> Config:
        return resolve(assign(self.raw, assignments(choice))).model_copy(update={"data": self.dataset.fingerprint})

    @contextmanager
    def locked(self) -> Iterator[Trials]:
        """Holds the search folder and opens its trials."""
        self.path.mkdir(parents=True, exist_ok=True)
        settings = self.settings
        try:
            with FileLock(self.path / ".lock", timeout=WAIT_SECONDS):
                storage = settings.storage or f"sqlite:///{self.path / 'study.db'}"
                self._write("search.toml", _describe(self.base, settings, self.space))
                name, first = self.path.name, self.default()
                yield Trials(name, storage, self.space, first, settings.method, settings.pruner, settings.seed)
        except Timeout:
            raise BusyError(f"{self.path} is being searched by another process. Wait for it, or stop it.") from None

    def judge(self, trial: optuna.Trial, trials: Trials) -> None:
        """Trains a trial step by step until it is complete, pruned or has failed."""
        config = self.config(trial.params)
        folder = RunFolder(self.path / "trials" / config.hash, config)
        task, steps = self.task(config), self.steps()
        with folder.locked():
            for step, (count, pause) in enumerate(steps, start=1):
                outcomes = train_in(
                    folder,
                    self.dataset,
                    task,
                    self.splits,
                    only=range(count),
                    pause=pause,
                    workers=self.workers,
                    on_progress=self.tell,
                )
                failed = [outcome for outcome in outcomes if outcome.status == "failed"]
                if failed:
                    trials.fail(trial, f"split {failed[0].split}: {failed[0].reason}")
                    return
                value = fmean(outcome.val or 0.0 for outcome in outcomes)
                trial.set_user_attr("val", value)
                if step < len(steps) and not trials.judged(trial, value, step):
                    return
        trials.complete(trial, value)

    def steps(self) -> list[tuple[int, int | None]]:
        """(splits, epochs) after which a trial is judged; the last is all splits to their end."""
        every = len(self.splits)
        counts = sorted({min(count, every) for count in (2, 5, every)})
        return [(1, FIRST_EPOCHS), *((count, None) for count in counts)]

    def task(self, config: Config) -> Task:
        """The prepared graph of a config; the last one is kept, as many trials share it."""
        key = config.encoding.model_dump_json()
        if key not in self.tasks:
            self.tasks = {key: make_task(self.dataset, config.make_encoding())}
        return self.tasks[key]

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
        self._write("best.json", json.dumps(summary, indent=1) + "\n")
        return Found(config, run, best.val or 0.0, finished)

    def _write(self, name: str, text: str) -> None:
        with replacing(self.path / name) as partial:
            partial.write_text(text)


def _describe(base: Config, settings: SearchConfig, space: Space) -> str:
    """The search as TOML, for a reader."""
    lines = [f"config = {json.dumps(base.hash)}", ""]
    lines += [f"{key} = {json.dumps(value)}" for key, value in settings.model_dump(exclude={"space"}).items() if value]
    return "\n".join([*lines, "", "[space]", *(f"{json.dumps(key)} = {json.dumps(c)}" for key, c in space.items()), ""])
