"""Fixtures: run folders as training leaves them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

Maker = Callable[..., Path]


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
        folder = tmp_path / root / dataset / f"{encoding}+{model}" / name
        folder.mkdir(parents=True)
        tables: dict[str, dict[str, Any]] = {"encoding": {"name": encoding}, "model": {"name": model}, "training": {}}
        for key, value in options.items():
            table, _, option = key.partition("__")
            tables[table][option] = value
        lines = [f"dataset = {toml(dataset)}"]
        for table, content in tables.items():
            lines += [f"[{table}]", *(f"{key} = {toml(value)}" for key, value in content.items())]
        (folder / "config.toml").write_text("\n".join(lines) + "\n")
        reports: dict[int, dict[str, Any]] = {
            split: {"status": "done", "metric": metric, "train": 1.0, "val": score, "test": score}
            for split, score in enumerate(scores)
        }
        reports |= {split: {"status": "failed", "reason": reason} for split, reason in (failed or {}).items()}
        for split, report in reports.items():
            place = folder / f"split-{split:02d}"
            place.mkdir()
            more = {"split": split, "data": data, "split_fingerprint": f"{splits}-{split}", "seconds": 1.5}
            (place / "report.json").write_text(json.dumps({**report, **more}))
        for split in unfinished:
            (folder / f"split-{split:02d}").mkdir()
            (folder / f"split-{split:02d}" / "checkpoint.pt").touch()
        return folder

    return make
