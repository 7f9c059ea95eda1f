"""The two opening figures: where nodes of a block model lie in an encoding, coloured by class.

* ``intuition-lpe``: the first nontrivial eigenvectors of a homophilous and of a heterophilous block model;
* ``intuition-llpe``: the same eigenvectors and the learned LLPE, both of the heterophilous one.

The learned encoding has many columns; shown are its two principal components, which see no labels. How far the two
classes are apart is also a number: the share of nodes on the correct side of the best line through the plane.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from llpe.data import NodeDataset
from llpe.paper.base import Context, Settings, config_of
from llpe.report.figures import Cloud, scatter_plot
from llpe.report.tables import Table, percent
from llpe.spectrum import end_spectrum


def run(name: str, settings: Settings, context: Context) -> list[Path]:
    """Both figures, and a table of how well a line separates the classes."""
    same, differ = (settings["graph"].format(settings[kind]) for kind in ("homophilous", "heterophilous"))
    alike, unlike = context.load_groups(name, [[same], [differ]])
    trained = context.train(unlike, config_of(settings, unlike.name, settings["encoding"]))
    learned = (trained.arrays("picture", 0) or {})["points"]  # kept by training, up to 2000 nodes
    eigenvectors, components = ("eigenvector $u_2$", "eigenvector $u_3$"), ("component 1", "component 2")
    where = f"heterophilous (h = {settings['heterophilous']})"
    planes = [
        (f"homophilous (h = {settings['homophilous']}), LPE", alike, first_eigenvectors(alike), eigenvectors),
        (f"{where}, LPE", unlike, first_eigenvectors(unlike), eigenvectors),
        (f"{where}, learned LLPE", unlike, learned, components),
    ]
    clouds = [Cloud(title, points, dataset.data.y.numpy(), *axes) for title, dataset, points, axes in planes]
    grid = Table(
        "Share of the nodes that the best line through the plane tells apart, in %",
        ["plane", "share"],
        [[cloud.panel, percent(separated(cloud.points, cloud.classes))] for cloud in clouds],
        [f"The graph is {unlike.name}; 50 % is chance. LLPE was trained on 60 % of these nodes."],
    )
    rows = [
        {"plane": cloud.panel, "node": node, "class": int(cloud.classes[node]), "x": float(x), "y": float(y)}
        for cloud in clouds
        for node, (x, y) in enumerate(cloud.points)
    ]
    pairs = {f"{name}-lpe": clouds[:2], f"{name}-llpe": clouds[1:]}
    classes = ["class 0", "class 1"]
    return context.write(
        name, rows, [grid], {stem: scatter_plot(pair, class_names=classes) for stem, pair in pairs.items()}
    )


def first_eigenvectors(dataset: NodeDataset) -> np.ndarray:
    """The first two nontrivial eigenvectors, shape (num_nodes, 2)."""
    return end_spectrum(dataset.data, first=3).vectors[:, 1:3].numpy()


def separated(points: np.ndarray, classes: np.ndarray) -> float:
    """The share of the points on the correct side of the best line, over 180 directions and all offsets.

    Example:
        >>> separated(np.array([[0.0, 0], [1, 0], [3, 0], [4, 0]]), np.array([0, 0, 1, 1]))
        1.0
    """
    sign = np.where(classes == 1, 1, -1)
    best = 0
    for angle in np.linspace(0, np.pi, 180, endpoint=False):
        order = np.argsort(points @ np.array([np.cos(angle), np.sin(angle)]), kind="stable")
        gained = np.abs(2 * np.concatenate([[0], np.cumsum(sign[order])]) - sign.sum())
        best = max(best, int(gained.max()))
    return (len(classes) + best) / (2 * len(classes))
