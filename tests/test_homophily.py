"""Homophily by hand, by a naive loop, as PyG defines it, and on real graphs."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import homophily, remove_self_loops, subgraph

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
def test_homophily_of_a_random_graph_is_that_of_pyg_on_its_labelled_nodes(seed: int) -> None:
    random = torch.Generator().manual_seed(seed)
    y, edges = torch.randint(-1, 4, (40,), generator=random), torch.randint(0, 40, (2, 900), generator=random)
    edges = torch.cat([edges, edges[:, y[edges[0]] == y[edges[1]]]], dim=1)
    inside, _ = remove_self_loops(subgraph(y >= 0, edges, relabel_nodes=True)[0])
    labels, turned = y[y >= 0], inside.flip(0)  # the neighbours of a node are what it points to
    expected = [homophily(turned, labels, method=method) for method in ("edge_insensitive", "edge", "node")]
    assert [measure(edges, y) for measure in MEASURES] == pytest.approx(expected, abs=1e-6)
    assert expected[0] > 0


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
