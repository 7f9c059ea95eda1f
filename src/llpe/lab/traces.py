"""What a split leaves behind for reports, besides scores: small arrays that can be read without torch.

* ``curves``: the validation score at every judgement and the training loss at every step
* ``predictions``: for each test node its local homophily and whether it was classified correctly
* ``picture``: the learned encoding of up to 2000 nodes along its first two principal directions

And, once for a run, where in the spectrum the labels are.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from llpe.chebyshev import recurrence
from llpe.graph import Graph
from llpe.homophily import local_homophily
from llpe.laplacian import normalised_adjacency
from llpe.spmm import multiply, torch_csr

PICTURED = 2000  # nodes of a picture at most
CLASSES = 16  # whose energy is found one by one

Traces = dict[str, dict[str, np.ndarray]]


class Curves:
    """Validation score and training loss by epoch; an epoch that is judged again after a resume is written again."""

    def __init__(self, epochs: int) -> None:
        self.val = np.full(epochs + 1, np.nan)
        self.loss = np.full(epochs + 1, np.nan)

    def up_to(self, epoch: int) -> dict[str, np.ndarray]:
        """Scores after 0 … ``epoch`` steps, and the loss of each step."""
        return {"val": self.val[: epoch + 1], "loss": self.loss[:epoch]}

    def restore(self, saved: dict[str, Tensor]) -> None:
        for name, values in saved.items():
            getattr(self, name)[: len(values)] = values.numpy()


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


def trace_predictions(data: Data, test: Tensor, logits: Tensor) -> dict[str, np.ndarray]:
    """Of each test node the share of its neighbours that have its class (NaN without any), and whether it is right."""
    homophily = local_homophily(data.edge_index, data.y)[test]
    correct = logits[test].argmax(dim=1) == data.y[test]
    return {"homophily": homophily.numpy().astype(np.float32), "correct": correct.numpy()}


def pictured_nodes(num_nodes: int) -> Tensor:
    """Up to ``PICTURED`` nodes, always the same of as many, so that pictures of one graph show the same nodes."""
    if num_nodes <= PICTURED:
        return torch.arange(num_nodes)
    return torch.from_numpy(np.sort(np.random.default_rng(0).choice(num_nodes, PICTURED, replace=False)))


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
