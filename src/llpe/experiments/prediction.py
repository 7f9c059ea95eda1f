"""A trained run on a graph: classes and probabilities, in a file for use elsewhere."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from llpe.data import NodeDataset, sparse_features
from llpe.experiments.runs import RunFolder
from llpe.experiments.train import predict, score
from llpe.files import replacing


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
