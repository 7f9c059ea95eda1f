"""Homophily by hand, by a naive loop, as PyG defines it, and on real graphs."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import homophily

from llpe import class_homophily, edge_homophily, local_homophily, node_homophily, tiny

MEASURES = (class_homophily, edge_homophily, node_homophily)
# Classes {0, 1, 2}, {3, 4} and an unlabelled node 5; self-loops and edges with node 5 must not count.
PATH = tiny("path").edge_index
LABELS = torch.tensor([0, 0, 0, 1, 1, -1])
ARROWS = torch.tensor([(0, 1), (1, 2), (0, 3), (3, 4), (4, 3), (4, 0), (0, 0), (2, 2), (5, 0), (1, 5)]).t()


def test_homophily_of_a_small_directed_graph_is_as_by_hand() -> None:
    # class 0: 2 of 3 edges stay, 3 of 5 nodes; class 1: 2 of 3 edges stay, 2 of 5 nodes
    expected = (2 / 3 - 3 / 5) + (2 / 3 - 2 / 5), 4 / 6, 3 / 4
    gaps, column = torch.where(LABELS == 1, 7, LABELS), LABELS[:, None]
    for labels in (LABELS, gaps, column):
        found = [measure(ARROWS, labels) for measure in MEASURES]
        assert found == pytest.approx(expected, abs=1e-15)
        assert all(type(value) is float for value in found)
    local = [0.5, 1.0, math.nan, 1.0, 0.5, math.nan]
    assert local_homophily(ARROWS, LABELS).tolist() == pytest.approx(local, nan_ok=True)


def test_a_class_below_its_share_counts_as_zero_and_without_edges_there_is_no_homophily() -> None:
    assert [measure(PATH, torch.tensor([0, 1, 0, 1, 0])) for measure in MEASURES] == [0.0, 0.0, 0.0]
    loops = torch.tensor([[0, 1, 5], [0, 1, 3]])
    assert [measure(loops, LABELS) for measure in MEASURES] == pytest.approx([0.0, math.nan, math.nan], nan_ok=True)


@pytest.mark.parametrize("seed", range(3))
def test_homophily_of_a_random_graph_equals_a_naive_loop(seed: int) -> None:
    rng = random.Random(seed)
    n, classes = 40, 4
    y = [rng.randrange(-1, classes) for _ in range(n)]
    edges = [(rng.randrange(n), rng.randrange(n)) for _ in range(300)]
    edges += [(u, v) for u, v in edges for _ in range(2) if y[u] == y[v]]
    counted = [(u, v) for u, v in edges if u != v and y[u] >= 0 and y[v] >= 0]
    total = 0.0
    for c in range(classes):
        hits = [y[v] == c for u, v in counted if y[u] == c]
        share = sum(label == c for label in y) / sum(label >= 0 for label in y)
        total += max(0.0, sum(hits) / len(hits) - share)
    shares = []
    for node in range(n):
        around = [y[v] == y[u] for u, v in counted if u == node]
        shares.append(sum(around) / len(around) if around else math.nan)
    known = [share for share in shares if not math.isnan(share)]
    expected = total / (classes - 1), sum(y[u] == y[v] for u, v in counted) / len(counted), sum(known) / len(known)

    edge_index, labels = torch.tensor(edges).t(), torch.tensor(y)
    assert total > 0
    assert [measure(edge_index, labels) for measure in MEASURES] == pytest.approx(expected, abs=1e-12)
    assert local_homophily(edge_index, labels).tolist() == pytest.approx(shares, nan_ok=True)


def test_homophily_agrees_with_pyg_where_its_definitions_do() -> None:
    # undirected, no self-loops, no isolated or unlabelled nodes
    edges, y = tiny("grid").edge_index, torch.tensor([0, 1, 2, 0, 0, 1, 1, 2, 0, 0, 1, 2])
    expected = [homophily(edges, y, method=method) for method in ("edge_insensitive", "edge", "node")]
    assert [measure(edges, y) for measure in MEASURES] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("name", "expected"), [("cornell", 0.047), ("texas", 0.001), ("tolokers", 0.180)])
def test_class_homophily_of_real_graphs_is_as_measured(
    name: str, expected: float, real_data: Callable[[str], Data]
) -> None:
    data = real_data(name)
    assert class_homophily(data.edge_index, data.y) == pytest.approx(expected, abs=0.0005)


@pytest.mark.parametrize("measure", [*MEASURES, local_homophily])
@pytest.mark.parametrize(
    ("edges", "y", "message"),
    [
        (PATH, torch.zeros(5, 2, dtype=torch.int64), r"`y` must hold one class per node, got shape \[5, 2\]\. Pick"),
        (PATH, torch.zeros(5), r"`y` must hold integer classes, got torch\.float32"),
        (PATH, LABELS[:3], r"`edge_index` must name nodes 0 … 2, got an edge to node 4\. Give a label"),
        (-PATH, LABELS, r"`edge_index` must name nodes 0 … 5, got an edge to node -4"),
        (PATH.float(), LABELS, r"`edge_index` must have dtype torch\.int64, got torch\.float32"),
        (PATH.t(), LABELS, r"`edge_index` must have shape \[2, num_edges\], got \[8, 2\]"),
    ],
)
def test_labels_or_edges_that_do_not_fit_are_refused(measure: Callable, edges: Tensor, y: Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        measure(edges, y)
    with pytest.raises(ValueError, match=r"`y` must hold at least 2 classes, got 1\. Class homophily is undefined"):
        class_homophily(PATH, torch.tensor([3, 3, 3, -1, 3]))
