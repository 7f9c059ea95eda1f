"""Encodings and trained models in use: classes of the nodes of a graph, and files for use elsewhere."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor

from llpe import __version__
from llpe.data import NodeDataset
from llpe.device import find_device
from llpe.encodings import ENCODINGS, Encoding, make_encoding
from llpe.features import Features
from llpe.lab.batches import predict
from llpe.lab.config import EncodingConfig
from llpe.lab.engine import Dask
from llpe.lab.task import prepared
from llpe.lab.traces import load_classifier, load_encoding
from llpe.lab.train import score
from llpe.out_of_core import encode_block
from llpe.runs import RunFolder
from llpe.storage import inert, replacing

DIM = 64  # columns of an exported encoding, where options do not say


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


def export_encoding(
    dataset: NodeDataset,
    path: Path,
    name: str | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    run: Path | None = None,
    split: int | None = None,
    device: str = "cpu",
) -> dict[str, Any]:
    """Writes the fixed part of an encoding, or the encoding that a run has learned, and says what is in the file.

    Args:
        dataset: the graph.
        path: where to write; the ending decides the format.
        name, options: of the encoding, by default the default config's with ``DIM`` columns.
        run: a run folder; then the encoding is the one that it has learned.
        split: which split of the run; default the best on validation.
        device: where to compute.
    """
    where = find_device(device)
    encoding = (
        untrained(name or EncodingConfig().name, options or {}) if run is None else load_encoding(run, split=split)
    )
    prepared = encoding.eval().prepare(dataset.data, device=where)
    if run is None:
        prefix, suffix = encoding.attribute("|").split("|")
        added = [name for name in prepared.to_dict() if name not in dataset.data]
        mine = [name for name in added if name.startswith(prefix) and name.endswith(suffix)]
        tensors = {name.removeprefix(prefix).removesuffix(suffix): prepared[name] for name in mine}
    else:
        with torch.no_grad():
            tensors = {"encoding": encoding.to(where)(prepared.to(str(where)))}
    facts = {
        "encoding": repr(encoding),
        "graph": dataset.name,
        "graph_fingerprint": dataset.graph_fingerprint,
        "llpe": __version__,
    }
    facts |= {key: str(value) for key, value in (("run", run), ("split", split)) if value is not None}
    _save(path, tensors, facts)
    shapes = {part: list(tensor.shape) for part, tensor in tensors.items()}
    return {"file": str(path), "bytes": path.stat().st_size, "tensors": shapes, **facts}


def untrained(name: str, options: Mapping[str, Any]) -> Encoding:
    """An encoding by name, with ``DIM`` columns unless the options say otherwise."""
    try:
        return make_encoding(name, **{"dim": DIM, **options})
    except TypeError as error:
        raise ValueError(f"options of {name!r} must be as `llpe list encodings` shows them, got: {error}.") from error


def _save(path: Path, tensors: Mapping[str, Tensor], facts: Mapping[str, str]) -> None:
    """Writes the whole file or nothing; the ending decides the format."""
    kept = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    with replacing(path) as partial:
        if path.suffix.lower() == ".npz":
            arrays: dict[str, Any] = {name: tensor.numpy() for name, tensor in kept.items()}
            with partial.open("wb") as file:
                np.savez(file, **arrays, metadata=np.array(json.dumps(facts)))
        elif path.suffix.lower() == ".pt":
            torch.save({**kept, "metadata": json.dumps(facts)}, partial)
        else:
            save_file(kept, partial, metadata=dict(facts))


def encode_blocks(engine: Dask, graph: Path, out: Path, blocks: list[int], tell: Callable[[int, int], None]) -> None:
    """Computes blocks of probes of a graph in a folder, which workers see under the same path."""
    items = [(graph.absolute(), out.absolute(), block) for block in blocks]
    for done in engine.run(_encode_block, items, on_progress=lambda progress: tell(*progress)):
        tell(*done)


def _encode_block(
    shared: None, graph: Path, out: Path, block: int, tell: Callable[[tuple[int, int]], None]
) -> tuple[int, int]:
    """Computes a block; returns it, and how many products it has. Called in a worker."""
    encode_block(graph, out, block, lambda products: tell((block, products)))
    features = Features.read(out)
    return block, len(features.columns(block)) * features.order
