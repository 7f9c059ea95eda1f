"""A run is a folder that explains itself. The laboratory writes it and reports read it, without torch.

    <runs>/<dataset>/<encoding>+<model>/<hash of the config>/
      config.toml               the resolved config
      spectrum.npz              λ, and the densities of the graph's spectrum and of the labels' energy there
      split-03/checkpoint.pt    only while the split is running
      split-03/split.npz        which nodes train, choose and test, as a split file
      split-03/model.safetensors
      split-03/curves.npz, predictions.npz, picture.npz, filters.npz    for reports, see llpe.lab.traces
      split-03/report.json      written last, atomically: its existence means done

Resuming is: skip what has a report, continue what has a checkpoint, else start.
"""

from __future__ import annotations

import math
import re
import statistics
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

from llpe.sealed import read_arrays, read_json, read_text
from llpe.storage import PARTIAL, graph_name, sweep

SPLIT = re.compile(r"split-(\d+)")
AGAIN = "Delete the file and train again: only this split is computed again."
Report = dict[str, Any]
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class RunFolder:
    """The folder of one config's results.

    Attributes:
        path: where it is.
        config: nested dicts, as in ``config.toml``.
    """

    path: Path
    config: dict[str, Any]

    @classmethod
    def of(cls, root: str | Path, config: Any) -> RunFolder:
        """Where the results of a resolved :class:`~llpe.lab.Config` are or will be, below ``root``."""
        name = re.sub(r"[^A-Za-z0-9=.,_-]+", "-", graph_name(config.dataset)).lstrip(".-") or "graph"
        path = Path(root) / name / f"{config.encoding.name}+{config.model.name}" / config.hash
        return cls(path, config.model_dump())

    @classmethod
    def read(cls, path: str | Path) -> RunFolder:
        """An existing run folder.

        Raises:
            ValueError: there is none, or a file of it cannot be read; the message names it.
        """
        file = Path(path) / "config.toml"
        if not file.is_file():
            raise ValueError(f"`run` must be a run folder with a config.toml, got {path}. See `llpe table runs`.")
        config = read_toml(file)
        for table in ("encoding", "model"):
            if not isinstance(config.get(table), dict) or "name" not in config[table]:
                raise ValueError(f"{file}: must have a table [{table}] with a name, got none. Is this a run folder?")
        if not isinstance(config.get("dataset"), str):
            raise ValueError(f"{file}: must name its `dataset`, got {config.get('dataset')!r}. Is this a run folder?")
        run = cls(Path(path), config)
        metrics = {report["metric"] for report in run.reports}
        if len(metrics) > 1:
            raise ValueError(f"{path}: all splits must have one metric, got {', '.join(sorted(metrics))}.")
        return run

    @property
    def dataset(self) -> str:
        """The name of the graph; of a file, without its place."""
        return graph_name(self.config["dataset"])

    @property
    def encoding(self) -> str:
        return str(self.config["encoding"]["name"])

    @property
    def model(self) -> str:
        return str(self.config["model"]["name"])

    @cached_property
    def splits(self) -> dict[int, Report | None]:
        """Every split that was started, by number, with its report if it has one. Read from disk once."""
        folders = [
            int(match[1])
            for folder in self.path.iterdir()
            if (match := SPLIT.fullmatch(folder.name)) and folder.is_dir()
        ]
        return {index: self.report(index) for index in sorted(folders)}

    @property
    def reports(self) -> tuple[Report, ...]:
        """The reports of the finished splits."""
        return tuple(report for report in self.splits.values() if report and report["status"] == "done")

    @property
    def failed(self) -> tuple[Report, ...]:
        """The reports of the splits that failed; they enter no mean."""
        return tuple(report for report in self.splits.values() if report and report["status"] == "failed")

    @property
    def unfinished(self) -> tuple[int, ...]:
        """The splits that were started and have no report."""
        return tuple(index for index, report in self.splits.items() if report is None)

    @property
    def metric(self) -> str | None:
        """The name of the score, None if no split is finished."""
        return str(self.reports[0]["metric"]) if self.reports else None

    @property
    def scores(self) -> tuple[float, ...]:
        """The test scores of the finished splits, 0 … 1."""
        return tuple(float(report["test"]) for report in self.reports)

    @property
    def mean(self) -> float | None:
        """The mean test score, None if no split is finished."""
        return statistics.fmean(self.scores) if self.reports else None

    @property
    def std(self) -> float | None:
        """Standard deviation of the test score over splits, dividing by splits − 1; None for fewer than two."""
        return statistics.stdev(self.scores) if len(self.reports) > 1 else None

    @property
    def searched(self) -> frozenset[str]:
        """The keys of the config that a search chose, without their sections; none for a run without a search."""
        file = self.path.parent.parent / "search.toml"
        if self.path.parent.name != "trials" or not file.is_file():
            return frozenset()
        keys = read_toml(file)["space"]
        return frozenset(name.rpartition(".")[2] for key in keys for name in key.split(","))

    def best_split(self) -> int:
        """The finished split with the best validation score."""
        if not self.reports:
            raise ValueError(f"{self.path} must have a finished split, got none. Train it first.")
        return int(max(self.reports, key=lambda report: report["val"])["split"])

    def split(self, index: int) -> Path:
        """The folder of a split."""
        return self.path / f"split-{index:02d}"

    def checkpoint(self, index: int) -> Path:
        return self.split(index) / "checkpoint.pt"

    def report(self, index: int) -> Report | None:
        """The report of a split as it is on disk now, None if there is none."""
        file = self.split(index) / "report.json"
        return _read_report(file, index) if file.is_file() else None

    def arrays(self, name: str, split: int | None = None) -> Arrays | None:
        """The arrays of ``name``.npz of the run or of a split, None if there is no such file."""
        file = (self.path if split is None else self.split(split)) / f"{name}.npz"
        return read_arrays(file, "Delete it to go on without.") if file.is_file() else None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the folder for this process; refuses one that another is training."""
        self.path.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(self.path / ".lock", timeout=10):
                for folder in (self.path, *self.path.glob("split-*")):
                    sweep(folder)
                yield
        except Timeout:
            raise RuntimeError(f"{self.path} is being trained by another process. Wait for it, or stop it.") from None


def load_runs(paths: Iterable[str | Path]) -> list[RunFolder]:
    """All runs in and below the given folders, each once, in the order given and by name below each.

    Of a search only the chosen trial counts; its other trials are found when its folder ``trials`` is given.

    Raises:
        ValueError: a path is not there or holds no run, or a file cannot be read; the message names it.
    """
    found: dict[Path, RunFolder] = {}
    given = [Path(path).expanduser() for path in paths]
    for path in given:
        if not path.is_dir():
            raise ValueError(f"`runs` must be folders, got {str(path)!r}, which is none. Check the path.")
        for config in sorted(path.rglob("config.toml")):
            if config.resolve() not in found and _counts(config.parent, path):
                found[config.resolve()] = RunFolder.read(config.parent)
    if not found:
        places = ", ".join(map(str, given)) or "nothing"
        raise ValueError(f"`runs` must hold run folders (with a config.toml), got none below {places}.")
    return list(found.values())


def _counts(run: Path, given: Path) -> bool:
    """False for a trial that its search did not choose (or not yet), unless trials were asked for, and for a config
    that is being written, or was when its process ended."""
    if run.suffix == PARTIAL:
        return False
    trials = run.parent
    if trials.name != "trials" or not (trials.parent / "search.toml").is_file() or given in (run, trials):
        return True
    best = trials.parent / "best.json"
    return best.is_file() and bool(read_best(best)["run"] == f"trials/{run.name}")


def read_best(file: Path) -> dict[str, Any]:
    """What a search has chosen."""
    return read_json(file, "Search again: finished trials are not trained again.")


def read_toml(file: Path) -> dict[str, Any]:
    """A TOML file that was written by this library."""
    return tomllib.loads(read_text(file, "Delete it and train again: what is finished is not computed again."))


def flat(config: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """A config by ``section.key``.

    Example:
        >>> flat({"dataset": "cora", "model": {"name": "mlp"}})
        {'dataset': 'cora', 'model.name': 'mlp'}
    """
    out: dict[str, Any] = {}
    for key, value in config.items():
        out |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return out


def _read_report(file: Path, index: int) -> Report:
    report = read_json(file, AGAIN)
    status = report.get("status")
    if status not in ("done", "failed"):
        raise ValueError(f"{file}: `status` must be 'done' or 'failed', got {status!r}. {AGAIN}")
    if status == "done":
        for name in ("train", "val", "test"):
            value = report.get(name)
            if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
                raise ValueError(f"{file}: `{name}` must be a finite number, got {value!r}. {AGAIN}")
        if not isinstance(report.get("metric"), str):
            raise ValueError(f"{file}: `metric` must be a name, got {report.get('metric')!r}. {AGAIN}")
    return {"split": index, **report}
