"""A trained model on a graph: classes and probabilities, in a file for use elsewhere."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from llpe.data import NodeDataset
from llpe.device import find_device
from llpe.encodings import ENCODINGS
from llpe.lab.batches import all_logits
from llpe.lab.task import prepared
from llpe.lab.traces import load_classifier
from llpe.lab.train import score
from llpe.models import Classifier
from llpe.runs import RunFolder
from llpe.storage import inert, replacing


class TransferWarning(UserWarning):
    """A trained model is used on a graph on which its encoding means something else."""


@dataclass(frozen=True)
class Score:
    """How good a prediction is on some nodes: how many they are, and the metric in 0 … 1."""

    nodes: int
    score: float


@dataclass(frozen=True)
class Prediction:
    """What a run says about a graph.

    Attributes:
        probabilities: shape (num_nodes, num_classes).
        class_names: those of the run; the columns stand for them.
        split: whose model it is.
        metric: what the scores are.
        scores: on the run's own graph, of the split's ``train``, ``val`` and ``test`` nodes; on another one, of all
            ``labelled`` nodes. Empty if the run does not know a class of the graph, or was made before run folders
            said which nodes they were trained on.
    """

    probabilities: np.ndarray
    class_names: tuple[str, ...]
    split: int
    metric: str
    scores: dict[str, Score]


@torch.no_grad()
def predict(model: Classifier, data: Data) -> Tensor:
    """Class probabilities of every row, in eval mode, shape (rows, num_classes)."""
    training = model.training
    probabilities = all_logits(model.eval(), data).softmax(dim=1)
    model.train(training)
    return probabilities


def predict_graph(
    run: str | Path, dataset: NodeDataset, *, split: int | None = None, device: str = "cpu"
) -> Prediction:
    """Classifies every node of a graph with the model of a run's split (default: the best on validation)."""
    where = find_device(device)
    folder = RunFolder.read(run)
    index = folder.best_split() if split is None else split
    model = load_classifier(folder, index)
    report = folder.report(index) or {}
    if dataset.num_features != report["num_features"]:
        raise ValueError(
            f"{dataset.name}: the graph must have {report['num_features']} features as the one the run was trained "
            f"on, got {dataset.num_features}. Use the same columns."
        )
    graph = report.get("graph")  # its edges; features and labels may differ
    if not (model.encoding.comparable or report["data"] == dataset.fingerprint or graph == dataset.graph_fingerprint):
        warnings.warn(
            f"{dataset.name} is another graph than the run was trained on, and columns of {model.encoding.name!r} mean "
            "something else there: signs and bases of eigenvectors, probes and the numbering of nodes are each graph's "
            "own. Classes may come out exchanged. To train on one graph and predict on another, use one of "
            f"{', '.join(name for name, named in ENCODINGS.items() if named.kind.comparable)}.",
            TransferWarning,
            stacklevel=2,
        )
    features = report.get("features", "auto")  # as when it was trained
    data = prepared(dataset, model.encoding, features=features, device=where)
    probabilities = predict(model.to(where), data).cpu()
    names, metric = _class_names(report["class_names"], report["num_classes"]), str(report["metric"])
    y = _as_classes(dataset, names)
    scores = {}
    if y is not None:
        for part, rows in _scored_nodes(folder, index, dataset).items():
            scores[part] = Score(len(rows), score(metric, probabilities[rows].log(), y[rows]))
    return Prediction(probabilities.numpy(), names, index, metric, scores)


def _class_names(names: Sequence[str], count: int) -> tuple[str, ...]:
    return tuple(names) or tuple(map(str, range(count)))


def _as_classes(dataset: NodeDataset, names: tuple[str, ...]) -> Tensor | None:
    """The labels as numbers of the run's classes, by name; None if the run does not know one of them."""
    own = _class_names(dataset.class_names, dataset.num_classes)
    if not set(own) <= set(names):
        return None
    return torch.tensor([*map(names.index, own), -1])[dataset.data.y]  # the last is for those without a class


def _scored_nodes(folder: RunFolder, split: int, dataset: NodeDataset) -> dict[str, Tensor]:
    """The parts of the run's split if this is its graph, by content; else all labelled nodes."""
    if dataset.fingerprint != folder.config.get("data"):
        labelled = (dataset.data.y >= 0).nonzero().flatten()
        return {"labelled": labelled} if len(labelled) else {}
    masks = folder.arrays("split", split) or {}
    return {part: torch.from_numpy(mask).nonzero().flatten() for part, mask in masks.items()}


def write_predictions(prediction: Prediction, path: Path) -> None:
    """``.csv`` with a row per node, or ``.npz`` with ``predictions``, ``probabilities`` and ``class_names``."""
    names, chosen = prediction.class_names, prediction.probabilities.argmax(axis=1)
    with replacing(path) as partial:
        if path.suffix.lower() == ".npz":
            with partial.open("wb") as archive:
                np.savez(
                    archive, predictions=chosen, probabilities=prediction.probabilities, class_names=np.array(names)
                )
            return
        import pandas as pd

        table = pd.DataFrame(prediction.probabilities, columns=[f"p({name})" for name in names])
        table.insert(0, "prediction", [inert(names[best]) for best in chosen])
        table.to_csv(partial, index_label="node", float_format="%.6g", lineterminator="\r\n")
