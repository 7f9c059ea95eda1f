"""What a split leaves behind in its run folder: weights, a report, and small arrays that are read without torch.

* ``curves``: the validation score after every epoch and the training loss of every step
* ``predictions``: for each test node its local homophily and whether it was classified correctly
* ``picture``: the learned encoding of up to 2000 nodes along its first two principal directions
* ``filters``: the learned filters at ``GRID`` values of λ

And, once for a run, where in the spectrum the labels are.
"""

from __future__ import annotations

import platform
import subprocess
from datetime import UTC, datetime
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from safetensors.torch import load, save
from torch import Tensor
from torch_geometric.data import Data

import llpe
from llpe.chebyshev import density, recurrence
from llpe.data import MappedDataset, NodeDataset, Split
from llpe.device import CPU, device_name
from llpe.encodings import Encoding, FilteredEncoding
from llpe.graph import Graph
from llpe.homophily import local_homophily
from llpe.lab.batches import rows_of
from llpe.lab.config import Config, ConfigError, dump_toml, resolve
from llpe.laplacian import normalised_adjacency
from llpe.models import Classifier
from llpe.probes import probe_features
from llpe.runs import RunFolder, flat, read_toml
from llpe.sealed import BLANK, intact, read, write, write_arrays, write_json, write_text
from llpe.spmm import multiply, torch_csr

if TYPE_CHECKING:
    from llpe.lab.train import Outcome

GRID = 201  # points of λ at which filters are stored
PICTURED = 2000  # nodes of a picture at most
CLASSES = 16  # whose energy is found one by one
VERSIONS = {"llpe": llpe.__version__, "python": platform.python_version()}  # of what numbers depend on
VERSIONS |= {name: version(name) for name in ("torch", "torch_geometric", "numpy", "scipy")}

Traces = dict[str, dict[str, np.ndarray]]


def label_moments(graph: Graph, y: Tensor, count: int) -> np.ndarray:
    """Chebyshev moments of the labels' energy: μ_m = Σ_c ⟨y_c, T_m(L̃) y_c⟩ / Σ_c ‖y_c‖² for m < count.

    y_c is the indicator of class c without its part along the trivial eigenvector D^½·1. These are the moments of a
    distribution on [0, 2]: the share of the labels' energy at each eigenvalue. Of many classes, ``CLASSES`` sums with
    random signs take the place: their energies have the same mean, as the mixed terms cancel.

    Example:
        >>> from llpe.graph import tiny
        >>> sides = torch.tensor([0, 0, 0, 1, 1, 1, 1])  # of a bipartite graph: all energy at λ = 2
        >>> label_moments(Graph.from_data(tiny("bipartite")), sides, 4).round(6).tolist()
        [1.0, 1.0, 1.0, 1.0]
    """
    trivial = torch.from_numpy(np.sqrt(graph.degree)).double()
    trivial /= trivial.norm().clamp_min(1e-300)
    operator = partial(multiply, torch_csr(-normalised_adjacency(graph)))
    names, which = y.clamp_min(-1).unique(return_inverse=True)
    columns = torch.eye(len(names), dtype=torch.float64)
    if len(names) > CLASSES + 1:
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (len(names), CLASSES))
        columns = torch.from_numpy(signs)
    columns[names < 0] = 0  # nodes without a class
    labels = columns[which]
    labels -= torch.outer(trivial, trivial @ labels)
    start = labels.float()
    moments = [float((start * term).sum(dtype=torch.float64)) for term in recurrence(operator, start, count)]
    return np.array(moments) / max(float(labels.square().sum()), 1e-300)


def trace(model: Classifier, data: Data, test: Tensor, logits: Tensor) -> Traces:
    """The arrays of a trained model, on the CPU: ``predictions``, and ``filters`` and ``picture`` if it has them.

    Graphs of one size are pictured by the same nodes, so that pictures can be compared.
    """
    homophily = torch.full((len(test),), torch.nan)
    if data.edge_index is not None:  # else mapped, and its edges are not read
        homophily = local_homophily(data.edge_index, data.y)[test]
    correct = logits[test].argmax(dim=1) == data.y[test]
    found = {"predictions": {"homophily": homophily.numpy().astype(np.float32), "correct": correct.numpy()}}
    if isinstance(model.encoding, FilteredEncoding):
        lambdas = torch.linspace(0, 2, GRID)
        found["filters"] = {"lambdas": lambdas.numpy(), "response": model.encoding.response(lambdas).numpy()}
    if model.encoding.dim:
        nodes = np.arange(len(data.y))
        if len(nodes) > PICTURED:
            nodes = np.sort(np.random.default_rng(0).choice(len(nodes), PICTURED, replace=False))
        rows = rows_of(data, torch.from_numpy(nodes))
        found["picture"] = picture(model.encoding(rows), rows.y)
    return found


def picture(encoding: Tensor, y: Tensor) -> dict[str, np.ndarray]:
    """Rows of an encoding along their first two principal directions.

    Args:
        encoding: shape (rows, dim).
        y: the classes of the rows, −1 where there is none.

    Returns:
        ``points`` (rows, 2), ``classes`` (rows,) and ``share`` (2,), the share of the variance along each direction.
        An encoding of one column has zeros in the second.

    Example:
        >>> found = picture(torch.tensor([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0]]), torch.tensor([0, 0, 1]))
        >>> found["points"].tolist(), found["share"].tolist()
        ([[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]], [1.0, 0.0])
    """
    rows = encoding.double().numpy()
    centred = rows - rows.mean(axis=0)
    values, directions = np.linalg.eigh(centred.T @ centred)
    values, directions = np.maximum(values[::-1], 0.0), directions[:, ::-1]
    peaks = directions[np.abs(directions).argmax(axis=0), np.arange(values.size)]
    points, share = np.zeros((len(rows), 2)), np.zeros(2)
    kept = min(2, values.size)
    points[:, :kept] = centred @ (directions * np.sign(peaks))[:, :kept]
    share[:kept] = values[:kept] / (values.sum() or 1.0)
    return {"points": points.astype(np.float32), "classes": y.numpy().astype(np.int32), "share": share}


def write_config(folder: RunFolder) -> None:
    """``config.toml``; a folder that holds another config is refused, naming the keys that differ."""
    config, file = Config.model_validate(folder.config), folder.path / "config.toml"
    if not file.exists():
        write_text(file, dump_toml(config))
        return
    found, asked = flat(resolve(read_toml(file), find_dataset=False).model_dump()), flat(config.model_dump())
    if found != asked:  # the device, which may be another one, is in neither
        keys = [key for key in sorted(found.keys() | asked.keys()) if found.get(key) != asked.get(key)]
        differences = [f"{key}: {found.get(key)!r} / {asked.get(key)!r}" for key in keys]
        raise ConfigError([f"{folder.path} holds another config; folder / asked for:", *differences])


def write_spectrum(folder: RunFolder, dataset: NodeDataset) -> None:
    """The spectral densities of the graph and of its labels, for plots of filters over them; not for a mapped graph."""
    file = folder.path / "spectrum.npz"
    if isinstance(dataset, MappedDataset) or (file.exists() and intact(file)):
        return
    _, moments = probe_features(dataset.graph, order=64, probes=8)
    lambdas, weights = density(moments, GRID)
    labels = density(label_moments(dataset.graph, dataset.data.y, moments.size), GRID)[1]
    write_arrays(file, {"lambdas": lambdas, "weights": weights, "labels": labels})


def finish_split(
    folder: RunFolder, outcome: Outcome, split: Split, dataset: NodeDataset, *, device: torch.device = CPU
) -> None:
    """Writes what a split leaves behind; its report last."""
    path = folder.split(outcome.split)
    path.mkdir(parents=True, exist_ok=True)
    split.save(path / "split.npz", dataset.num_nodes)
    if outcome.state is not None:
        weights = {name: tensor.contiguous() for name, tensor in outcome.state.items()}
        write(path / "model.safetensors", save(weights, {"checksum": BLANK}))
    for name, arrays in outcome.traces.items():
        write_arrays(path / f"{name}.npz", arrays)
    report = {
        **outcome.scores(),
        "config": folder.config,
        "device": device_name(device),
        "num_nodes": dataset.num_nodes,
        "num_features": dataset.num_features,
        "num_classes": dataset.num_classes,
        "class_names": list(dataset.class_names),
        "notes": list(dataset.notes),
        "features": dataset.scaling(folder.config["training"]["features"]),
        "data": dataset.fingerprint,
        "graph": dataset.graph_fingerprint,
        "split_fingerprint": split.fingerprint,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": VERSIONS,
        "commit": commit(),
    }
    write_json(path / "report.json", report)
    folder.checkpoint(outcome.split).unlink(missing_ok=True)


def load_classifier(folder: RunFolder, split: int | None = None) -> Classifier:
    """The trained model of a split, by default the one with the best validation score."""
    index = folder.best_split() if split is None else split
    report = folder.report(index)
    if report is None or report["status"] != "done":
        raise ValueError(f"`split` must be a finished split of {folder.path}, got {index}.")
    config = Config.model_validate(folder.config)
    model = config.make_classifier(report["num_features"], report["num_classes"])
    model.load_state_dict(read_weights(folder, index))
    return model.eval()


def read_weights(folder: RunFolder, split: int) -> dict[str, Tensor]:
    """The weights of a finished split."""
    advice = "Delete the folder of the split and train again: only this split is computed again."
    return load(read(folder.split(split) / "model.safetensors", advice))


def load_encoding(run: str | Path, split: int | None = None) -> Encoding:
    """The trained encoding of a run folder."""
    return load_classifier(RunFolder.read(run), split).encoding


@cache
def commit() -> str | None:
    """The commit of the llpe checkout, if it is one."""
    git = ["git", "rev-parse", "HEAD"]
    done = subprocess.run(git, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return done.stdout.strip() or None if done.returncode == 0 else None
