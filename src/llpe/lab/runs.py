"""A run is a folder that explains itself.

    <runs>/<dataset>/<encoding>+<model>/<hash of the config>/
      config.toml               the resolved config
      spectrum.npz              λ, and the densities of the graph's spectrum and of the labels' energy there
      split-03/checkpoint.pt    only while the split is running
      split-03/split.npz        which nodes train, choose and test, as a split file
      split-03/model.safetensors, filters.npz
      split-03/curves.npz, predictions.npz, picture.npz    for reports, see traces.py
      split-03/report.json      written last, atomically: its existence means done

Resuming is: skip what has a report, continue what has a checkpoint, else start.
"""

from __future__ import annotations

import json
import platform
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from filelock import FileLock, Timeout
from safetensors.torch import load_file, save_file
from torch_geometric.data import Data

import llpe
from llpe.chebyshev import density
from llpe.data import NodeDataset, Split
from llpe.encodings import Encoding, FilteredEncoding
from llpe.graph import Graph
from llpe.lab.config import Config, ConfigError, differences, dump_toml, load_config, resolve
from llpe.lab.traces import label_moments
from llpe.lab.train import Outcome
from llpe.models import Classifier
from llpe.probes import probe_features
from llpe.storage import graph_name, replacing

GRID = 201  # points of λ at which filters are stored


@dataclass(frozen=True)
class RunFolder:
    """The folder of one config's results."""

    path: Path
    config: Config

    @classmethod
    def of(cls, root: str | Path, config: Config) -> RunFolder:
        """Where the results of ``config`` are or will be, below ``root``."""
        name = re.sub(r"[^A-Za-z0-9=.,_-]+", "-", graph_name(config.dataset))
        return cls(Path(root) / name / f"{config.encoding.name}+{config.model.name}" / config.hash, config)

    @classmethod
    def read(cls, path: str | Path) -> RunFolder:
        """An existing run folder."""
        file = Path(path) / "config.toml"
        if not file.is_file():
            raise ValueError(f"`run` must be a run folder with a config.toml, got {path}. See `llpe table runs`.")
        return cls(Path(path), resolve(load_config(file), find_dataset=False))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the folder for this process; refuses one that another is training, or that has another config."""
        self.path.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(self.path / ".lock", timeout=10):
                self._check_config()
                yield
        except Timeout:
            raise RuntimeError(f"{self.path} is being trained by another process. Wait for it, or stop it.") from None

    def _check_config(self) -> None:
        file = self.path / "config.toml"
        if not file.exists():
            self._write(file, dump_toml(self.config))
            return
        found = resolve(load_config(file), find_dataset=False)
        if found != self.config:
            keys = differences(found, self.config)
            raise ConfigError([f"{self.path} holds another config; folder / asked for:", *keys])

    @staticmethod
    def _write(path: Path, text: str) -> None:
        with replacing(path) as partial:
            partial.write_text(text)

    def split(self, index: int) -> Path:
        return self.path / f"split-{index:02d}"

    def checkpoint(self, index: int) -> Path:
        return self.split(index) / "checkpoint.pt"

    def report(self, index: int) -> dict[str, Any] | None:
        """The report of a finished split."""
        file = self.split(index) / "report.json"
        return json.loads(file.read_text()) if file.exists() else None

    def reports(self) -> list[dict[str, Any]]:
        return [json.loads(file.read_text()) for file in sorted(self.path.glob("split-*/report.json"))]

    def finish(self, outcome: Outcome, split: Split, dataset: NodeDataset) -> None:
        """Writes what a split left behind; its report last."""
        folder = self.split(outcome.split)
        folder.mkdir(parents=True, exist_ok=True)
        split.save(folder / "split.npz", dataset.num_nodes)
        if outcome.state is not None:
            save_file({k: v.contiguous() for k, v in outcome.state.items()}, folder / "model.safetensors")
            self._write_filters(folder / "filters.npz", outcome)
        for name, arrays in outcome.traces.items():
            np.savez_compressed(folder / f"{name}.npz", **arrays)  # type: ignore[arg-type]
        report = {
            **outcome.scores(),
            "config": self.config.model_dump(),
            "num_nodes": dataset.num_nodes,
            "num_features": dataset.num_features,
            "num_classes": dataset.num_classes,
            "class_names": list(dataset.class_names),
            "notes": list(dataset.notes),
            "data": dataset.fingerprint,
            "graph": Graph.from_data(dataset.data, warn=False).fingerprint,
            "split_fingerprint": split.fingerprint,
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            **provenance(),
        }
        self._write(folder / "report.json", json.dumps(report, indent=1) + "\n")
        self.checkpoint(outcome.split).unlink(missing_ok=True)

    def _write_filters(self, path: Path, outcome: Outcome) -> None:
        encoding = self.config.make_encoding()
        if isinstance(encoding, FilteredEncoding) and outcome.state is not None:
            learned = {name: tensor for name, tensor in outcome.state.items() if name.startswith("encoding.")}
            encoding.load_state_dict({name.removeprefix("encoding."): tensor for name, tensor in learned.items()})
            grid = torch.linspace(0, 2, GRID)
            with torch.no_grad():
                np.savez(path, lambdas=grid.numpy(), response=encoding.response(grid).numpy())

    def write_spectrum(self, data: Data) -> None:
        """The spectral density of the graph and of its labels, for plots of the filters over them."""
        file = self.path / "spectrum.npz"
        if not file.exists():
            graph = Graph.from_data(data, warn=False)
            _, moments = probe_features(graph, order=64, probes=8)
            lambdas, weights = density(moments, GRID)
            labels = density(label_moments(graph, data.y, moments.size), GRID)[1]
            np.savez(file, lambdas=lambdas, weights=weights, labels=labels)

    def best_split(self) -> int:
        """The finished split with the best validation score."""
        done = [report for report in self.reports() if report["status"] == "done"]
        if not done:
            raise ValueError(f"{self.path} must have a finished split, got none. Train it first.")
        return int(max(done, key=lambda report: report["val"])["split"])

    def load_classifier(self, split: int | None = None) -> Classifier:
        """The trained model of a split, by default the one with the best validation score."""
        index = self.best_split() if split is None else split
        report = self.report(index)
        if report is None or report["status"] != "done":
            raise ValueError(f"`split` must be a finished split of {self.path}, got {index}.")
        state = load_file(self.split(index) / "model.safetensors")
        model = self.config.make_classifier(report["num_features"], report["num_classes"])
        model.load_state_dict(state)
        return model.eval()


def load_encoding(run: str | Path, split: int | None = None) -> Encoding:
    """The trained encoding of a run folder."""
    return RunFolder.read(run).load_classifier(split).encoding


def provenance() -> dict[str, Any]:
    """Versions, machine and commit, for the record."""
    names = ("torch", "torch_geometric", "numpy", "scipy")
    own = {"llpe": llpe.__version__, "python": platform.python_version()}
    return {
        "versions": own | {name: version(name) for name in names},
        "commit": _commit(),
    }


def _commit() -> str | None:
    """The commit of the llpe checkout, if it is one."""
    here = Path(__file__).parent
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True, check=False)
    return done.stdout.strip() or None if done.returncode == 0 else None
