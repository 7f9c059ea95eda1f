"""A graph at a glance: size, degrees, homophily, and how the eigenvalues of its Laplacian are spread over [0, 2].

The spread is estimated from Chebyshev moments (the kernel polynomial method), which needs no eigenvectors and so works
for any size, or counted from all eigenvalues.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from llpe.chebyshev import density
from llpe.checks import check_count, checked
from llpe.data import NodeDataset
from llpe.graph import Graph
from llpe.homophily import class_homophily, edge_homophily, node_homophily
from llpe.probes import probe_features
from llpe.spectrum import Spectrum, end_spectrum, full_spectrum
from llpe.storage import SpectrumError

BINS = 240  # equal bins of [0, 2]; coarser histograms are sums of them
POINTS = 8192  # Chebyshev nodes at which the density is evaluated: many for each bin
BLOCK = 2**28  # bytes of probe features held at once, so that memory stays bounded on large graphs
ENDS = 4  # extreme eigenvalues on each side
ROUNDING = 1e-9


class SummaryWarning(UserWarning):
    """A part of a summary could not be computed."""


@checked
def summarise(
    dataset: NodeDataset, *, order: int = 64, probes: int = 32, exact: bool = False, ends: bool = True
) -> tuple[dict[str, Any], np.ndarray]:
    """Everything about a graph as a dict that JSON can hold, and the share of the eigenvalues in each of ``BINS`` bins.

    The spread is estimated from ``probes`` and ``order`` Chebyshev terms, or with ``exact`` counted from all
    eigenvalues; ``ends`` adds the extreme ones.
    """
    check_count("order", order)
    graph = Graph.from_data(dataset.data)
    document = describe_graph(dataset, graph)
    spectrum, method = None, dict[str, Any](method="moments", order=order, probes=probes)
    if exact:
        spectrum, method = full_spectrum(graph), {"method": "exact"}
        shares = exact_shares(spectrum.values.numpy())
    else:
        shares = estimated_shares(graph, order=order, probes=probes)
    document["multiplicity"] = multiplicities(graph)
    document["density"] = method | thirds(shares) | {"histogram": shares.reshape(-1, 5).sum(axis=1).tolist()}
    document["ends"] = None
    if ends:
        try:
            document["ends"] = extremes(spectrum or end_spectrum(graph, first=ENDS, last=ENDS))
        except SpectrumError as error:  # the spread is known without them
            warnings.warn(f"the extreme eigenvalues are left out: {error}", SummaryWarning, stacklevel=2)
    document["notes"] = list(dataset.notes)
    return document, shares


def describe_graph(dataset: NodeDataset, graph: Graph) -> dict[str, Any]:
    """Size, degrees, components and homophily."""
    degree = np.diff(graph.adjacency.indptr)
    spread = {"mean": float(degree.mean()), "median": float(np.median(degree))}
    spread |= {"min": int(degree.min()), "max": int(degree.max())}
    sizes = np.bincount(graph.components)
    homophily = None
    if dataset.num_classes > 1 and graph.num_edges:
        measures = {"class": class_homophily, "node": node_homophily, "edge": edge_homophily}
        homophily = {name: measure(dataset.data.edge_index, dataset.data.y) for name, measure in measures.items()}
    return {
        "graph": dataset.name,
        "num_nodes": graph.num_nodes,
        "num_edges": graph.num_edges,
        "num_features": dataset.num_features,
        "num_classes": dataset.num_classes,
        "num_labelled": dataset.num_labelled,
        "degree": spread,
        "components": int(sizes.size),
        "largest_component": int(sizes.max()),
        "isolated": int((degree == 0).sum()),
        "homophily": homophily,
    }


def multiplicities(graph: Graph) -> dict[str, int]:
    """How often 0 and 2 are eigenvalues of the symmetric Laplacian, from the structure alone.

    0 once for each component with an edge, 2 once for each of them that is bipartite.

    Example:
        >>> from llpe.graph import tiny
        >>> multiplicities(Graph.from_data(tiny("star")))
        {'0': 1, '2': 1}
    """
    with_edge = np.diff(graph.adjacency.indptr) > 0
    null, two = (np.unique(graph.components[nodes]).size for nodes in (with_edge, with_edge & (graph.sides != 0)))
    return {"0": null, "2": two}


def estimated_shares(graph: Graph, *, order: int, probes: int) -> np.ndarray:
    """The share of the eigenvalues in each of ``BINS`` equal bins of [0, 2], from Chebyshev moments."""
    check_count("probes", probes)
    step = int(np.clip(BLOCK // (4 * graph.num_nodes * order), 1, probes))
    moments = np.zeros(2 * order - 1)
    for first in range(0, probes, step):  # each block has its own seed
        count = min(step, probes - first)
        moments += count / probes * probe_features(graph, order=order, probes=count, seed=first)[1]
    nodes, weights = density(moments, POINTS)
    between = np.concatenate([[0.0], (nodes[1:] + nodes[:-1]) / 2, [2.0]])
    cumulative = np.concatenate([[0.0], np.cumsum(weights)]) / weights.sum()
    return np.diff(np.interp(np.linspace(0, 2, BINS + 1), between, cumulative))


def exact_shares(values: np.ndarray) -> np.ndarray:
    """The same from all eigenvalues. A value on the edge of a third, up to rounding, counts as the middle third."""
    moved = np.where(values < 1 + ROUNDING, values + ROUNDING, values - ROUNDING)
    return np.histogram(np.clip(moved, 0, 2), bins=BINS, range=(0, 2))[0] / values.size


def thirds(shares: np.ndarray) -> dict[str, float]:
    """The shares below 2/3, between, and above 4/3."""
    return dict(zip(("low", "middle", "high"), shares.reshape(3, -1).sum(axis=1).tolist(), strict=True))


def extremes(spectrum: Spectrum) -> dict[str, Any]:
    """The outermost eigenvalues with their residuals, and the largest gap between neighbours."""
    values, residuals = spectrum.values.numpy(), spectrum.residuals.numpy()
    complete = values.size == spectrum.vectors.size(0)
    first = min(ENDS, values.size) if complete else spectrum.first
    last = min(ENDS, values.size - first)
    pairs = [{"value": float(v), "residual": float(r)} for v, r in zip(values, residuals, strict=True)]
    gaps = np.diff(values)
    if not complete and 0 < first < values.size:
        gaps[first - 1] = -1.0  # not neighbours: what lies between them is unknown
    gap = None
    if gaps.size and gaps.max() >= 0:
        below, above = values[gaps.argmax() : gaps.argmax() + 2]
        gap = {"width": float(above - below), "below": float(below), "above": float(above)}
    return {"first": pairs[:first], "last": pairs[len(pairs) - last :], "largest_gap": gap, "complete": complete}


def describe(document: dict[str, Any]) -> dict[str, str]:
    """A summary in words, line by line."""
    degree, share, often, ends = (document[key] for key in ("degree", "density", "multiplicity", "ends"))
    labels = f"{document['num_classes']} classes" if document["num_classes"] else "no labels"
    estimate = "estimate: order {order}, {probes} probes" if share["method"] == "moments" else "all eigenvalues"
    lines = {
        "graph": f"{document['graph']}: {document['num_nodes']} nodes, {document['num_edges']} edges, {labels}",
        "degree": f"mean {degree['mean']:.2f}, median {degree['median']:g}, {degree['min']} … {degree['max']}",
        "components": f"{document['components']}, the largest of {document['largest_component']} nodes, "
        f"{document['isolated']} isolated nodes",
        "homophily": ", ".join(f"{name} {value:.3f}" for name, value in (document["homophily"] or {}).items()),
        "spectrum": f"low {share['low']:.1%}, middle {share['middle']:.1%}, high {share['high']:.1%} "
        f"({estimate.format(**share)})",
        "multiplicity": f"{often['0']} × eigenvalue 0, {often['2']} × eigenvalue 2",
    }
    for name, key in (("smallest", "first"), ("largest", "last")) if ends else ():
        worst = max((pair["residual"] for pair in ends[key]), default=0.0)
        values = "  ".join(f"{abs(pair['value']):.6f}" for pair in ends[key])
        lines[name] = f"{values}  (residual at most {worst:.0e})" if values else ""
    if ends and ends["largest_gap"]:
        gap, where = ends["largest_gap"], "of all" if ends["complete"] else "among these"
        lines["largest gap"] = f"{gap['width']:.6f}, above {abs(gap['below']):.6f}, {where}"
    return {name: line for name, line in lines.items() if line}
