"""The two opening figures: where nodes of a block model lie in an encoding, coloured by class.

* ``intuition-lpe``: the first nontrivial eigenvectors of a homophilous and of a heterophilous block model;
* ``intuition-llpe``: the same eigenvectors and the learned LLPE, both of the heterophilous one.

The learned encoding has many columns; shown are its two principal components, which see no labels. How far the two
classes are apart is also a number: the share of nodes that a line through the plane can tell apart. LLPE is trained
with the middle one of the paper's penalties: without it a classifier finds the classes as well, but what the filters
began with stays in all other directions, and of 2000 nodes the principal components show that instead.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from llpe.data import NodeDataset
from llpe.lab import load_encoding
from llpe.paper.base import Budget, Context, Study
from llpe.report.plots import Cloud, scatter_plot
from llpe.report.tables import Table, percent
from llpe.spectrum import end_spectrum

SPECS: dict[Budget, str] = {
    "quick": "sbm:n=400,degree=10,homophily={}",
    "standard": "sbm:n=2000,degree=10,homophily={}",
    "paper": "sbm:n=2000,degree=10,homophily={}",
}
HOMOPHILOUS, HETEROPHILOUS = 0.9, 0.1  # at 1 and 0 there would be no edges between or within the classes
CONFIG: dict[str, Any] = {
    "encoding": {"name": "llpe", "dim": 16, "order": 64, "l1": 1e-4},
    "model": {"name": "mlp", "hidden": 32},
    "training": {"lr": 0.01, "weight_decay": 5e-4, "epochs": 500, "patience": 100},
    "splits": {"count": 1},
}


def run(context: Context) -> list[Path]:
    """Both figures, and a table of how well a line tells the classes apart."""
    if context.budget == "quick":
        context.say("400 nodes instead of 2000.")
    spec = SPECS[context.budget]
    same, differ = (context.load(spec.format(homophily)) for homophily in (HOMOPHILOUS, HETEROPHILOUS))
    assert same is not None
    assert differ is not None
    low = ("eigenvector $u_2$", "eigenvector $u_3$")
    first = [
        _cloud(f"homophilous (h = {HOMOPHILOUS}), LPE", first_eigenvectors(same), same, *low),
        _cloud(f"heterophilous (h = {HETEROPHILOUS}), LPE", first_eigenvectors(differ), differ, *low),
    ]
    learned = principal_components(learned_encoding(context, differ))
    second = [
        first[1],
        _cloud(f"heterophilous (h = {HETEROPHILOUS}), learned LLPE", learned, differ, "component 1", "component 2"),
    ]
    clouds = [*first, second[1]]
    shares = [told_apart(cloud.points, cloud.classes) for cloud in clouds]
    grid = Table(
        "Share of the nodes that the best line through the plane tells apart, in %",
        ["plane", "share"],
        [[cloud.panel, percent(share)] for cloud, share in zip(clouds, shares, strict=True)],
        [f"The graph is {differ.name}; 50 % is chance. LLPE was trained on 60 % of these nodes."],
    )
    rows = [
        {"plane": cloud.panel, "node": node, "class": int(cloud.classes[node]), "x": float(x), "y": float(y)}
        for cloud in clouds
        for node, (x, y) in enumerate(cloud.points)
    ]
    names = ["class 0", "class 1"]
    return [
        context.write_results("intuition", rows),
        context.write_text("intuition.md", grid.markdown()),
        context.write_text("intuition.tex", grid.latex()),
        *context.write_figure("intuition-lpe", scatter_plot(first, class_names=names)),
        *context.write_figure("intuition-llpe", scatter_plot(second, class_names=names)),
    ]


def first_eigenvectors(dataset: NodeDataset) -> np.ndarray:
    """The first two nontrivial eigenvectors, shape (num_nodes, 2)."""
    return end_spectrum(dataset.data, first=3).vectors[:, 1:3].numpy()


def learned_encoding(context: Context, dataset: NodeDataset) -> Tensor:
    """LLPE as it is after training, shape (num_nodes, dim)."""
    trained = context.train(dataset, {"dataset": dataset.name, **CONFIG})
    encoding = load_encoding(trained.path)
    with torch.no_grad():
        return encoding(encoding.prepare(dataset.data))


def principal_components(encoding: Tensor) -> np.ndarray:
    """The two directions in which the rows differ most, shape (num_nodes, 2).

    Example:
        >>> principal_components(torch.tensor([[0.0, 0, 2], [0, 0, -2], [0, 1, 0], [0, -1, 0]])).round().tolist()
        [[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
    """
    centred = (encoding - encoding.mean(dim=0)).double()
    _, _, directions = torch.linalg.svd(centred, full_matrices=False)
    largest = directions.abs().argmax(dim=1, keepdim=True)  # the sign of a direction is arbitrary: this fixes it
    directions = directions * directions.gather(1, largest).sign()
    return (centred @ directions[:2].T + 0.0).numpy()


def told_apart(points: np.ndarray, classes: np.ndarray) -> float:
    """The share of the points on the right side of the best line, over 180 directions and all offsets.

    Example:
        >>> told_apart(np.array([[0.0, 0], [1, 0], [3, 0], [4, 0]]), np.array([0, 0, 1, 1]))
        1.0
    """
    sign = np.where(classes == 1, 1, -1)
    best = 0
    for angle in np.linspace(0, np.pi, 180, endpoint=False):
        order = np.argsort(points @ np.array([np.cos(angle), np.sin(angle)]), kind="stable")
        gained = np.abs(2 * np.concatenate([[0], np.cumsum(sign[order])]) - sign.sum())
        best = max(best, int(gained.max()))
    return (len(classes) + best) / (2 * len(classes))


def _cloud(panel: str, points: np.ndarray, dataset: NodeDataset, xlabel: str, ylabel: str) -> Cloud:
    return Cloud(panel, points, dataset.data.y.numpy(), xlabel, ylabel)


STUDIES = {"intuition": Study("intuition", "What LPE and LLPE see of block models", run)}
