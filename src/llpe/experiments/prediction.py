"""A trained run on a graph: classes and probabilities, in a file for use elsewhere."""

from __future__ import annotations

import csv
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from llpe.data import NodeDataset, sparse_features
from llpe.encodings import ENCODINGS
from llpe.experiments.runs import RunFolder
from llpe.experiments.train import predict, score
from llpe.files import replacing
from llpe.graph import Graph


class TransferWarning(UserWarning):
    """Says that a trained model meets a graph on which its encoding means something else."""


@dataclass(frozen=True)
class Prediction:
    """Probabilities (num_nodes, num_classes), the names of the classes, and the score on labelled nodes, if any."""

    probabilities: np.ndarray
    class_names: tuple[str, ...]
    split: int
    score: dict[str, float]


def predict_graph(run: str | Path, dataset: NodeDataset, *, split: int | None = None) -> Prediction:
    """Classifies every node of a graph with the model of a run's split (default: the best on validation)."""
    folder = RunFolder.read(run)
    index = folder.best_split() if split is None else split
    model = folder.load_classifier(index)
    report = folder.report(index) or {}
    if dataset.num_features != report["num_features"]:
        raise ValueError(
            f"{dataset.name}: the graph must have {report['num_features']} features as the one the run was trained "
            f"on, got {dataset.num_features}. Use the same columns."
        )
    if not model.encoding.comparable and not _same_graph(report, dataset):
        warnings.warn(
            f"{dataset.name} is another graph than the run was trained on, and columns of {model.encoding.name!r} mean "
            "something else there: signs and bases of eigenvectors, probes and the numbering of nodes are each graph's "
            "own. Classes may come out exchanged. To train on one graph and predict on another, use one of "
            f"{', '.join(name for name, named in ENCODINGS.items() if named.kind.comparable)}.",
            TransferWarning,
            stacklevel=2,
        )
    data = model.encoding.prepare(dataset.data)
    data.x = sparse_features(data.x)
    probabilities = predict(model, data)
    labelled = dataset.data.y >= 0
    scored = {}
    if bool(labelled.any()) and dataset.num_classes <= report["num_classes"]:
        metric = str(report["metric"])
        name = f"{metric} on {int(labelled.sum())} labelled nodes"
        scored[name] = score(metric, probabilities.log()[labelled], dataset.data.y[labelled])
    names = tuple(report["class_names"]) or tuple(map(str, range(report["num_classes"])))
    return Prediction(probabilities.numpy(), names, index, scored)


def _same_graph(report: dict[str, Any], dataset: NodeDataset) -> bool:
    """Whether the edges are those that the run was trained on; features and labels may differ."""
    if report["data"] == dataset.fingerprint:
        return True
    return report.get("graph") == Graph.from_data(dataset.data, warn=False).fingerprint


def write_predictions(prediction: Prediction, path: Path) -> None:
    """``.csv`` with a row per node, or ``.npz`` with ``predictions``, ``probabilities`` and ``class_names``."""
    chosen = prediction.probabilities.argmax(axis=1)
    with replacing(path) as partial:
        if path.suffix.lower() == ".npz":
            with partial.open("wb") as archive:
                names = np.array(prediction.class_names)
                np.savez(archive, predictions=chosen, probabilities=prediction.probabilities, class_names=names)
            return
        with partial.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["node", "prediction", *(f"p({name})" for name in prediction.class_names)])
            for node, (best, row) in enumerate(zip(chosen, prediction.probabilities, strict=True)):
                writer.writerow([node, prediction.class_names[best], *(f"{value:.6g}" for value in row)])
