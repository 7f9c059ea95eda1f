"""What ``llpe spectrum`` tells of a graph: size, homophily, how the eigenvalues are spread, and the ends.

The spread comes from Chebyshev moments (the kernel polynomial method), which need no eigenvectors and so work for
any size, or from all eigenvalues where those are asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from llpe.chebyshev import density
from llpe.checks import check_count
from llpe.cli import output
from llpe.data import NodeDataset
from llpe.graph import Graph
from llpe.homophily import class_homophily, edge_homophily, node_homophily
from llpe.probes import probe_features
from llpe.spectrum import Spectrum, end_spectrum, full_spectrum
from llpe.storage import SpectrumError

LOW, HIGH = 2 / 3, 4 / 3
BINS = 240  # fine bins of [0, 2]; coarser ones are sums of them
POINTS = 8192  # Chebyshev nodes at which the density is read: many for each fine bin
BLOCK = 2**28  # bytes of probe features held at once
ENDS = 4
LARGE = 50_000  # nodes from which the ends take more than a few seconds
ROUNDING = 1e-9


def describe_graph(dataset: NodeDataset, graph: Graph) -> dict[str, Any]:
    """Size, degrees, components and homophily."""
    degree = np.diff(graph.adjacency.indptr)
    sizes = np.bincount(graph.components)
    data = dataset.data
    homophily = None
    if dataset.num_classes > 1 and graph.num_edges:
        measures = {"class": class_homophily, "node": node_homophily, "edge": edge_homophily}
        homophily = {name: measure(data.edge_index, data.y) for name, measure in measures.items()}
    return {
        "graph": dataset.name,
        "num_nodes": graph.num_nodes,
        "num_edges": graph.num_edges,
        "num_features": dataset.num_features,
        "num_classes": dataset.num_classes,
        "num_labelled": dataset.num_labelled,
        "degree": {
            "mean": float(degree.mean()),
            "median": float(np.median(degree)),
            "min": int(degree.min()),
            "max": int(degree.max()),
        },
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


def estimated_shares(graph: Graph, *, order: int, probes: int, seed: int = 0) -> np.ndarray:
    """The share of the eigenvalues in each of ``BINS`` equal bins of [0, 2], from Chebyshev moments."""
    check_count("probes", probes)
    block = int(np.clip(BLOCK // (4 * graph.num_nodes * max(order, 1)), 1, probes))
    moments = np.zeros(2 * max(order, 1) - 1)
    for first in range(0, probes, block):  # each block its own seed: memory stays bounded on large graphs
        count = min(block, probes - first)
        moments += count / probes * probe_features(graph, order=order, probes=count, seed=seed + first)[1]
    nodes, weights = density(moments, POINTS)
    between = np.concatenate([[0.0], (nodes[1:] + nodes[:-1]) / 2, [2.0]])
    cumulative = np.concatenate([[0.0], np.cumsum(weights)]) / weights.sum()
    return np.diff(np.interp(np.linspace(0, 2, BINS + 1), between, cumulative))


def exact_shares(values: np.ndarray) -> np.ndarray:
    """The same from all eigenvalues. Thirds are at bin edges; a value on an edge, up to rounding, is in the middle."""
    moved = np.where(values < 1 + ROUNDING, values + ROUNDING, values - ROUNDING)
    return np.histogram(np.clip(moved, 0, 2), bins=BINS, range=(0, 2))[0] / values.size


def thirds(shares: np.ndarray) -> dict[str, float]:
    """The shares below 2/3, between, and above 4/3."""
    low, middle, high = shares.reshape(3, -1).sum(axis=1)
    return {"low": float(low), "middle": float(middle), "high": float(high)}


def describe_ends(spectrum: Spectrum, *, everything: bool) -> dict[str, Any]:
    """The outermost eigenvalues with their residuals, and the largest gap between neighbours."""
    values, residuals = spectrum.values.numpy(), spectrum.residuals.numpy()
    first = min(ENDS, values.size) if everything else spectrum.first
    last = min(ENDS, values.size - first)
    pairs = [{"value": float(v), "residual": float(r)} for v, r in zip(values, residuals, strict=True)]
    known = values.size == spectrum.vectors.size(0)
    gaps = np.diff(values)
    if not known and 0 < first < values.size:
        gaps[first - 1] = -1.0  # not neighbours: what is between them is not known
    widest = int(gaps.argmax()) if gaps.size else None
    gap = None
    if widest is not None and gaps[widest] >= 0:
        below, above = values[widest : widest + 2]
        gap = {"width": float(above - below), "below": float(below), "above": float(above)}
    return {"first": pairs[:first], "last": pairs[len(pairs) - last :], "largest_gap": gap, "complete": known}


def outermost_values(graph: Graph) -> dict[str, Any] | None:
    """The ends by iteration; None, and a note, where that does not succeed: the density stands without them."""
    if graph.num_nodes > LARGE:
        output.note(f"the extreme eigenvalues of {graph.num_nodes} nodes take a while; --no-ends leaves them out.")
    try:
        return describe_ends(end_spectrum(graph, first=ENDS, last=ENDS), everything=False)
    except SpectrumError as error:
        output.note(f"the extreme eigenvalues are left out: {error}")
        return None


def describe(
    dataset: NodeDataset, *, order: int, probes: int, exact: bool, ends: bool
) -> tuple[dict[str, Any], np.ndarray]:
    """Everything as one JSON-able document, and the shares in fine bins for drawing."""
    graph = Graph.from_data(dataset.data)
    document = describe_graph(dataset, graph)
    if exact:
        spectrum = full_spectrum(graph)
        shares = exact_shares(spectrum.values.numpy())
    else:
        shares = estimated_shares(graph, order=order, probes=probes)
    outermost = None
    if ends:
        outermost = describe_ends(spectrum, everything=True) if exact else outermost_values(graph)
    method = {"method": "exact"} if exact else {"method": "moments", "order": order, "probes": probes}
    document["multiplicity"] = multiplicities(graph)
    document["density"] = {**method, **thirds(shares), "histogram": shares.reshape(BINS // 5, 5).sum(axis=1).tolist()}
    document["ends"] = outermost
    document["notes"] = list(dataset.notes)
    return document, shares


def spectrum_fields(document: dict[str, Any]) -> list[tuple[str, str]]:
    """The document as names and values to print."""
    degree, share, often = document["degree"], document["density"], document["multiplicity"]
    labels = f", {document['num_classes']} classes" if document["num_classes"] else ", no labels"
    pairs = [
        ("graph", f"{document['graph']}: {document['num_nodes']} nodes, {document['num_edges']} edges{labels}"),
        ("degree", f"mean {degree['mean']:.2f}, median {degree['median']:g}, {degree['min']} … {degree['max']}"),
        (
            "components",
            f"{document['components']}, the largest of {document['largest_component']} nodes, "
            f"{document['isolated']} isolated nodes",
        ),
    ]
    if document["homophily"] is not None:
        pairs.append(("homophily", ", ".join(f"{name} {value:.3f}" for name, value in document["homophily"].items())))
    exact = share["method"] == "exact"
    how = "all eigenvalues" if exact else f"estimate: order {share['order']}, {share['probes']} probes"
    pairs.append(
        ("spectrum", f"low {share['low']:.1%}, middle {share['middle']:.1%}, high {share['high']:.1%} ({how})")
    )
    pairs.append(("multiplicity", f"{often['0']} × eigenvalue 0, {often['2']} × eigenvalue 2"))
    return pairs + _end_fields(document["ends"])


def _end_fields(ends: dict[str, Any] | None) -> list[tuple[str, str]]:
    if ends is None:
        return []
    pairs = []
    for name, key in (("smallest", "first"), ("largest", "last")):
        if ends[key]:
            values = "  ".join(f"{abs(pair['value']):.6f}" for pair in ends[key])
            worst = max(pair["residual"] for pair in ends[key])
            pairs.append((name, f"{values}  (residual at most {worst:.0e})"))
    gap = ends["largest_gap"]
    if gap is not None:
        where = "of all" if ends["complete"] else "among these"
        pairs.append(("largest gap", f"{gap['width']:.6f}, above {abs(gap['below']):.6f}, {where}"))
    return pairs


def histogram_lines(shares: np.ndarray, *, columns: int = 60, height: int = 5) -> list[str]:
    """The density as a few lines of text, with an axis."""
    third = columns // 3
    axis = "0".ljust(third) + "2/3".ljust(third) + "4/3".ljust(third - 1) + "2"
    return [*output.bars(shares.reshape(columns, -1).sum(axis=1).tolist(), height=height), axis]


def show(document: dict[str, Any], shares: np.ndarray) -> None:
    """Prints the document and the density."""
    output.fields(spectrum_fields(document))
    output.write()
    for line in histogram_lines(shares):
        output.write(f"  {line}".rstrip())
    if "plot" in document:
        output.write(f"\nwrote {document['plot']}")
