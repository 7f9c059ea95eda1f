"""Run folders as data: what was asked (``config.toml``) and what came out (``split-*/report.json``).

A folder is a run when it holds a ``config.toml``; a split of it is finished when it holds a ``report.json``.
"""

from __future__ import annotations

import json
import math
import re
import statistics
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llpe.storage import graph_name

SPLIT = re.compile(r"split-(\d+)")
SCORES = ("train", "val", "test")


@dataclass(frozen=True)
class Run:
    """One run folder.

    Attributes:
        path: the folder.
        config: the content of ``config.toml``.
        reports: the reports of the finished splits, by number of the split.
        failed: the reports of the splits that failed; they enter no mean.
        unfinished: the numbers of the splits that were begun but have no report.
        searched: the keys of the config that a search chose; empty for a run that stands alone.
    """

    path: Path
    config: dict[str, Any]
    reports: tuple[dict[str, Any], ...]
    failed: tuple[dict[str, Any], ...]
    unfinished: tuple[int, ...]
    searched: frozenset[str] = frozenset()

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
        return statistics.fmean(self.scores) if self.scores else None

    @property
    def std(self) -> float | None:
        """Standard deviation of the test score over splits, dividing by splits − 1; None for fewer than two."""
        return statistics.stdev(self.scores) if len(self.scores) > 1 else None


def load_runs(paths: Iterable[str | Path]) -> list[Run]:
    """All runs in and below the given folders, each once, in the order given and by name below each.

    Of a search only the chosen trial counts; its other trials are found when its folder ``trials`` is given.

    Raises:
        ValueError: a path is not there or holds no run, or a file cannot be read; the message names it.
    """
    found: dict[Path, Run] = {}
    given = [Path(path).expanduser() for path in paths]
    for path in given:
        if not path.is_dir():
            raise ValueError(f"`runs` must be folders, got {str(path)!r}, which is none. Check the path.")
        for config in sorted(path.rglob("config.toml")):
            if config.resolve() not in found and _counts(config.parent, path):
                found[config.resolve()] = load_run(config.parent)
    if not found:
        places = ", ".join(map(str, given)) or "nothing"
        raise ValueError(f"`runs` must hold run folders (with a config.toml), got none below {places}.")
    return list(found.values())


def _counts(run: Path, given: Path) -> bool:
    """False for a trial that its search did not choose (or not yet), unless trials were asked for."""
    trials = run.parent
    if trials.name != "trials" or not (trials.parent / "search.toml").is_file() or given in (run, trials):
        return True
    best = trials.parent / "best.json"
    return best.is_file() and json.loads(best.read_text(encoding="utf-8"))["run"] == f"trials/{run.name}"


def load_run(folder: Path) -> Run:
    """One run folder."""
    config = _read_config(folder / "config.toml")
    done: list[dict[str, Any]] = []
    failed: list[dict[str, Any]] = []
    unfinished: list[int] = []
    for split in sorted(folder.iterdir(), key=_number):
        if not SPLIT.fullmatch(split.name) or not split.is_dir():
            continue
        file = split / "report.json"
        if not file.is_file():
            unfinished.append(_number(split))
            continue
        report = _read_report(file)
        (done if report["status"] == "done" else failed).append(report)
    metrics = {report["metric"] for report in done}
    if len(metrics) > 1:
        raise ValueError(f"{folder}: all splits must have one metric, got {', '.join(sorted(metrics))}.")
    return Run(folder, config, tuple(done), tuple(failed), tuple(unfinished), _searched(folder))


def _searched(folder: Path) -> frozenset[str]:
    """The keys that were searched, without their sections, if the run is a trial."""
    file = folder.parent.parent / "search.toml"
    if folder.parent.name != "trials" or not file.is_file():
        return frozenset()
    keys = tomllib.loads(file.read_text(encoding="utf-8"))["space"]
    return frozenset(name.rpartition(".")[2] for key in keys for name in key.split(","))


def _number(path: Path) -> int:
    match = SPLIT.fullmatch(path.name)
    return int(match.group(1)) if match else -1


def _read_config(file: Path) -> dict[str, Any]:
    try:
        config = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"{file}: must be a readable TOML file, got {_reason(error)}.") from error
    for table in ("encoding", "model"):
        if not isinstance(config.get(table), dict) or "name" not in config[table]:
            raise ValueError(f"{file}: must have a table [{table}] with a name, got none. Is this a run folder?")
    if not isinstance(config.get("dataset"), str):
        raise ValueError(f"{file}: must name its `dataset`, got {config.get('dataset')!r}. Is this a run folder?")
    return config


def _read_report(file: Path) -> dict[str, Any]:
    advice = "Delete the file and train again: only this split is computed anew."
    try:
        report = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{file}: must be a readable JSON file, got {_reason(error)}. {advice}") from error
    if not isinstance(report, dict) or report.get("status") not in ("done", "failed"):
        got = report.get("status") if isinstance(report, dict) else type(report).__name__
        raise ValueError(f"{file}: `status` must be 'done' or 'failed', got {got!r}. {advice}")
    if report["status"] == "done":
        for name in SCORES:
            value = report.get(name)
            if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
                raise ValueError(f"{file}: `{name}` must be a finite number, got {value!r}. {advice}")
        if not isinstance(report.get("metric"), str):
            raise ValueError(f"{file}: `metric` must be a name, got {report.get('metric')!r}. {advice}")
    return {"split": _number(file.parent), **report}


def _reason(error: Exception) -> str:
    return str(error).rstrip(".") or type(error).__name__
