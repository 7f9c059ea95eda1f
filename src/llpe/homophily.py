"""Homophily: how often the two ends of an edge have the same class.

Self-loops are dropped, and only edges whose two ends are labelled (y ≥ 0) count.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from llpe.checks import checked, refusal
from llpe.inputs import check_pairs, check_range


@checked
def class_homophily(edge_index: Tensor, y: Tensor) -> float:
    r"""Class homophily of Lim et al. (2021): ĥ = 1/(C−1) Σ_k max(0, H_kk − |C_k|/N).

    H[k, l] is the share of edges with a source of class k whose target has class l; N is the number of labelled nodes.

    Example:
        >>> from llpe.graph import tiny
        >>> class_homophily(tiny("two-triangles").edge_index, torch.tensor([0, 0, 0, 1, 1, 1]))
        1.0
    """
    labels, source, target = _labelled(edge_index, y)
    counts = np.bincount(labels[labels >= 0])
    classes = np.flatnonzero(counts)
    if classes.size < 2:
        raise refusal("y", "hold at least 2 classes", classes.size, "Class homophily is undefined for one class.")
    edges = np.bincount(labels[source], minlength=counts.size)[classes]
    inside = np.bincount(labels[source[labels[source] == labels[target]]], minlength=counts.size)[classes]
    excess = inside / np.maximum(edges, 1) - counts[classes] / counts.sum()
    return float(np.maximum(excess, 0.0).sum() / (classes.size - 1))


@checked
def edge_homophily(edge_index: Tensor, y: Tensor) -> float:
    """The share of edges whose two ends have the same label; NaN when there is no such edge.

    Example:
        >>> from llpe.graph import tiny
        >>> edge_homophily(tiny("path").edge_index, torch.tensor([0, 0, 0, 1, 1]))
        0.75
    """
    labels, source, target = _labelled(edge_index, y)
    return float((labels[source] == labels[target]).mean()) if source.size else float("nan")


@checked
def local_homophily(edge_index: Tensor, y: Tensor) -> Tensor:
    """For each node the share of its neighbours with the same label, shape (num_nodes,); NaN where it has none.

    Example:
        >>> from llpe.graph import tiny
        >>> local_homophily(tiny("path").edge_index, torch.tensor([0, 0, 0, 1, 1])).tolist()
        [1.0, 1.0, 0.5, 0.5, 1.0]
    """
    labels, source, target = _labelled(edge_index, y)
    degree = np.bincount(source, minlength=labels.size)
    same = np.bincount(source, weights=labels[source] == labels[target], minlength=labels.size)
    share = np.full(labels.size, np.nan)
    np.divide(same, degree, out=share, where=degree > 0)
    return torch.from_numpy(share)


@checked
def node_homophily(edge_index: Tensor, y: Tensor) -> float:
    """The mean of :func:`local_homophily` over the nodes that have a neighbour.

    Example:
        >>> from llpe.graph import tiny
        >>> node_homophily(tiny("path").edge_index, torch.tensor([0, 0, 0, 1, 1]))
        0.8
    """
    share = local_homophily(edge_index, y)
    return float(share[~share.isnan()].mean())


def _labelled(edge_index: Tensor, y: Tensor) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The labels, and the sources and targets of the edges that count."""
    if y.dim() > 1 and y.numel() != y.size(0):
        raise refusal("y", "hold one class per node", f"shape {list(y.shape)}", "Pick one task first.")
    if y.is_floating_point():
        raise refusal("y", "hold integer classes", y.dtype, "Homophily is defined for classes only.")
    labels = y.detach().cpu().long().reshape(-1).numpy()
    check_pairs("edge_index", edge_index)
    check_range("edge_index", edge_index, labels.size, "Give a label for every node, −1 where there is none.")
    source, target = edge_index.cpu().numpy()
    keep = (source != target) & (labels[source] >= 0) & (labels[target] >= 0)
    return labels, source[keep], target[keep]
