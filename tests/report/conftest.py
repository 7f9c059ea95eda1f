"""Fixtures: run folders as training leaves them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from llpe.sealed import write_arrays, write_json, write_text

Maker = Callable[..., Path]
GRID = np.linspace(0, 2, 201)


def toml(value: object) -> str:
    return json.dumps(value)


@pytest.fixture
def make_run(tmp_path: Path) -> Maker:
    """Writes a run folder below ``tmp_path / "runs"`` and returns it."""

    def make(
        dataset: str = "texas",
        encoding: str = "llpe",
        model: str = "mlp",
        scores: Sequence[float] = (0.8, 0.9),
        *,
        name: str = "00000000",
        root: str = "runs",
        metric: str = "accuracy",
        failed: dict[int, str] | None = None,
        unfinished: Sequence[int] = (),
        data: str = "data",
        splits: str = "splits",
        **options: Any,
    ) -> Path:
        folder = tmp_path / root / dataset.replace("/", "-") / f"{encoding}+{model}" / name
        folder.mkdir(parents=True)
        tables: dict[str, dict[str, Any]] = {"encoding": {"name": encoding}, "model": {"name": model}, "training": {}}
        for key, value in options.items():
            table, _, option = key.partition("__")
            tables[table][option] = value
        lines = [f"dataset = {toml(dataset)}"]
        for table, content in tables.items():
            lines += [f"[{table}]", *(f"{key} = {toml(value)}" for key, value in content.items())]
        write_text(folder / "config.toml", "\n".join(lines))
        reports: dict[int, dict[str, Any]] = {
            split: {"status": "done", "metric": metric, "train": 1.0, "val": score, "test": score}
            for split, score in enumerate(scores)
        }
        reports |= {split: {"status": "failed", "reason": reason} for split, reason in (failed or {}).items()}
        for split, report in reports.items():
            place = folder / f"split-{split:02d}"
            place.mkdir()
            more = {"split": split, "data": data, "split_fingerprint": f"{splits}-{split}", "seconds": 1.5}
            write_json(place / "report.json", {**report, **more})
        for split in unfinished:
            (folder / f"split-{split:02d}").mkdir()
            (folder / f"split-{split:02d}" / "checkpoint.pt").touch()
        return folder

    return make


@pytest.fixture
def add_traces() -> Callable[..., None]:
    """Writes what training keeps for reports into a run folder: a spectrum, and for each split the arrays."""

    def add(folder: Path, *, filters: int = 3, epochs: int = 30, nodes: int = 40, high: bool = True) -> None:
        lambdas = 1 - np.cos(np.pi * (np.arange(101) + 0.5) / 101)
        labels = (lambdas > 4 / 3 if high else lambdas < 2 / 3).astype(float)
        weights = np.full(101, 1 / 101)
        spectrum = {"lambdas": lambdas, "weights": weights, "labels": labels / labels.sum()}
        write_arrays(folder / "spectrum.npz", spectrum)
        for place in sorted(folder.glob("split-*")):
            rng = np.random.default_rng(0)
            loss = np.geomspace(1, 0.01, epochs)
            write_arrays(place / "curves.npz", {"val": 1 - np.append(loss, 0.01), "loss": loss})
            homophily = np.append(np.linspace(0, 1, nodes - 1), np.nan).astype(np.float32)
            write_arrays(place / "predictions.npz", {"homophily": homophily, "correct": homophily > 0.5})
            response = np.outer(GRID >= 4 / 3, 1 + np.arange(filters))
            write_arrays(place / "filters.npz", {"lambdas": GRID, "response": response})
            points = rng.standard_normal((nodes, 2)).astype(np.float32)
            drawn = {"points": points, "classes": np.arange(nodes) % 3 - 1, "share": np.array([0.6, 0.3])}
            write_arrays(place / "picture.npz", drawn)

    return add
