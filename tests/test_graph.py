"""The undirected view of a graph, what it says of its changes, components and fingerprints."""

from __future__ import annotations

import random
import re
from collections import defaultdict

import networkx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from llpe.data import sbm
from llpe.graph import TINY, Graph, GraphWarning, tiny

pytestmark = pytest.mark.usefixtures("dense_and_sparse")


def data_of(edges: list[tuple[int, int]], num_nodes: int, weights: list[float] | None = None, **more: object) -> Data:
    edge_index = torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).t().contiguous()
    weight = None if weights is None else torch.tensor(weights)
    return Data(edge_index=edge_index, num_nodes=num_nodes, edge_weight=weight, **more)


def quiet_view(data: Data) -> Graph:
    return Graph.from_data(data, warn=False)


def naive_view(edges: list[tuple[int, int]], weights: list[float] | None, n: int) -> tuple[np.ndarray, dict[str, int]]:
    """The docstring of ``Graph.from_data``, edge by edge, and the number of edges each change touches."""
    total: dict[tuple[int, int], float] = defaultdict(float)
    said = {"self-loops": 0, "weight 0": 0, "duplicate": 0, "one-way": 0, "directions differ": 0}
    for i, (u, v) in enumerate(edges):
        weight = 1.0 if weights is None else weights[i]
        said["self-loops"] += u == v
        said["weight 0"] += weight == 0
        if u == v or weight == 0:
            continue
        if (u, v) in total:
            said["duplicate"] += 1
        total[u, v] = 1.0 if weights is None else total[u, v] + weight
    dense = np.zeros((n, n))
    for u, v in total:
        there, back = total[u, v], total.get((v, u))
        if back is None:
            said["one-way"] += 1
            dense[u, v] = dense[v, u] = there
        else:
            said["directions differ"] += u < v and there != back
            dense[u, v] = dense[v, u] = (there + back) / 2
    return dense, said


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_the_view_and_what_it_says_equal_an_edge_by_edge_count(seed: int, weighted: bool) -> None:
    rng = random.Random(seed)
    n = 12
    edges = [(rng.randrange(n), rng.randrange(n)) for _ in range(90)]
    edges += [(v, u) for u, v in edges[:30]]
    # quarters: sums and means are exact, so that "differ" means differ
    weights = [rng.randrange(6) / 4 for _ in edges] if weighted else None
    graph = quiet_view(data_of(edges, n, weights))
    expected, said = naive_view(edges, weights, n)
    assert np.array_equal(graph.adjacency.toarray(), expected)
    for name, count in said.items():
        assert [int(re.findall(r"\d+", change)[0]) for change in graph.changes if name in change] == [count] * bool(
            count
        )
        assert count > 0 or (name in ("weight 0", "directions differ") and not weighted)


@pytest.mark.parametrize(
    ("edges", "weights", "expected", "change"),
    [
        ([(0, 1)], None, 1.0, "made 1 one-way edges undirected"),
        ([(0, 1)], [3.0], 3.0, "made 1 one-way edges undirected"),
        ([(0, 1), (1, 0), (0, 0)], None, 1.0, "dropped 1 self-loops"),
        ([(0, 1), (1, 0), (0, 1), (1, 0)], None, 1.0, "merged 2 duplicate edges (counted once)"),
        ([(0, 1), (1, 0), (0, 1), (1, 0)], [1.0, 2.0, 2.0, 1.0], 3.0, "merged 2 duplicate edges (their weights added)"),
        ([(0, 1), (1, 0), (1, 2)], [1.0, 1.0, 0.0], 1.0, "dropped 1 edges of weight 0"),
        ([(0, 1), (1, 0)], [1.0, 4.0], 2.5, "took the mean weight of 1 edges whose two directions differ"),
    ],
)
def test_each_change_is_made_recorded_and_said(
    edges: list[tuple[int, int]], weights: list[float] | None, expected: float, change: str
) -> None:
    with pytest.warns(GraphWarning, match=re.escape(f"undirected view of the graph: {change}.")) as said:
        graph = Graph.from_data(data_of(edges, 3, weights))
    assert len(said) == 1
    assert graph.changes == (change,)
    dense = np.zeros((3, 3))
    dense[0, 1] = dense[1, 0] = expected
    assert np.array_equal(graph.adjacency.toarray(), dense)
    assert graph.num_edges == 1
    assert repr(graph) == f"Graph(num_nodes=3, num_edges=1, changes={[change]})"


def test_several_changes_are_said_in_one_warning_or_only_recorded() -> None:
    edges = [(0, 0), (0, 1), (0, 1), (1, 2), (2, 1)]
    data = data_of(edges, 3, [1.0, 1.0, 1.0, 1.0, 2.0])
    before = data.clone()
    with pytest.warns(GraphWarning) as said:
        graph = Graph.from_data(data)
    assert len(said) == 1
    assert len(graph.changes) == 4
    assert all(change in str(said[0].message) for change in graph.changes)
    assert quiet_view(data).changes == graph.changes
    assert all(torch.equal(data[name], before[name]) for name in ("edge_index", "edge_weight"))  # stays as it was


def test_a_clean_graph_says_nothing() -> None:  # warnings are errors
    clean = [tiny(name) for name in TINY if name not in ("self-loops", "duplicate-edges", "directed")]
    for data in (*clean, data_of([(0, 1), (1, 0)], 2, [0.3, 0.3])):
        assert Graph.from_data(data).changes == ()


def test_a_large_graph_has_indices_of_32_bits() -> None:
    matrix = Graph.from_data(sbm(200)).adjacency
    assert matrix.indices.dtype == matrix.indptr.dtype == np.int32


def test_weights_of_any_real_kind_are_taken() -> None:
    data, twos = data_of([(0, 1), (1, 0)], 2), torch.tensor([2.0, 2.0])
    for weight in (twos.long(), twos.int(), twos.half(), twos[:, None], twos.clone().requires_grad_()):
        data.edge_weight = weight
        assert Graph.from_data(data).adjacency.toarray().tolist() == [[0.0, 2.0], [2.0, 0.0]]


def test_the_number_of_nodes_may_come_from_the_edges_or_the_features() -> None:
    edges = torch.tensor([[0, 1, 1, 4], [1, 0, 4, 1]])
    assert Graph.from_data(Data(edge_index=edges)).num_nodes == 5
    assert Graph.from_data(Data(edge_index=edges, x=torch.ones(7, 1))).num_nodes == 7


@pytest.mark.parametrize("weight", [1e308, 5e-324, 1e-310])
def test_extreme_weights_are_kept_in_another_unit(weight: float) -> None:
    data = tiny("ring")
    data.edge_weight = torch.full((16,), weight, dtype=torch.float64)
    graph = Graph.from_data(data)
    assert 0.5 <= graph.adjacency.data.min() == graph.adjacency.data.max() < 4
    assert np.isfinite(graph.degree).all()
    assert (graph.to_data().edge_weight == data.edge_weight).all()
    assert graph.fingerprint != Graph(graph.adjacency).fingerprint
    data.edge_weight[:2] = 1e-320 if weight > 1 else 1e300
    with pytest.raises(ValueError, match=r"`data.edge_weight` must have no weight below 1e-300 times the largest, got"):
        Graph.from_data(data)


def test_degrees_are_weighted_and_components_are_numbered_by_their_first_node() -> None:
    graph = quiet_view(data_of([(5, 1), (4, 2), (2, 6)], 8, [0.5, 2.0, 0.25]))
    assert graph.degree.tolist() == [0, 0.5, 2.25, 0, 2.0, 0.5, 0.25, 0]
    assert graph.components.tolist() == [0, 1, 2, 3, 2, 1, 2, 4]
    assert [nodes.tolist() for nodes in graph.component_nodes] == [[0], [1, 5], [2, 4, 6], [3], [7]]


@pytest.mark.parametrize("seed", range(3))
def test_components_and_their_two_sides_are_those_of_networkx(seed: int) -> None:
    rng = random.Random(seed)
    edges = [(rng.randrange(60), rng.randrange(60)) for _ in range(40)]
    edges = [(u, v) for u, v in edges if u != v] + [(60, 61), (61, 62), (62, 60), (63, 64), (64, 65)]
    graph, reference = quiet_view(data_of(edges, 66)), networkx.Graph(edges)
    reference.add_nodes_from(range(66))
    parts = sorted(sorted(part) for part in networkx.connected_components(reference))
    assert [nodes.tolist() for nodes in graph.component_nodes] == parts
    for part in parts:
        assert graph.sides[part].all() == networkx.is_bipartite(reference.subgraph(part)) == graph.sides[part].any()
    assert all(graph.sides[u] == -graph.sides[v] for u, v in edges)
    assert {bool(graph.sides[part].any()) for part in parts if len(part) > 2} == {True, False}  # there are both


TRIANGLE = networkx.complete_graph(3)
NAMED = {
    "path": networkx.path_graph(5),
    "star": networkx.star_graph(5),
    "grid": networkx.grid_2d_graph(3, 4),
    "ring": networkx.cycle_graph(8),
    "complete": networkx.complete_graph(6),
    "bipartite": networkx.complete_bipartite_graph(3, 4),
    "two-triangles": networkx.disjoint_union(TRIANGLE, TRIANGLE),
    "isolated-node": networkx.disjoint_union(TRIANGLE, networkx.empty_graph(1)),
    "single-node": networkx.empty_graph(1),
    "no-edges": networkx.empty_graph(4),
    "self-loops": networkx.path_graph(3),
    "duplicate-edges": networkx.path_graph(3),
    "directed": networkx.Graph([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]),
}


@pytest.mark.parametrize("name", TINY)
def test_tiny_graphs_are_what_their_names_say(name: str) -> None:
    graph = quiet_view(tiny(name))
    assert np.array_equal(graph.adjacency.toarray(), networkx.to_numpy_array(NAMED[name]))
    assert tiny(name) is not tiny(name)
    adjacency = graph.adjacency
    assert adjacency.dtype == np.float64
    assert adjacency.has_sorted_indices
    assert (adjacency.data > 0).all()


def test_an_unknown_tiny_graph_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(ValueError, match=r"`name` must be one of path, star, .*directed, got 'tree'"):
        tiny("tree")


EDGES = [(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2)]
WEIGHTS = [1.0, 1.0, 2.0, 2.0, 0.5, 0.5]


def fingerprint(edges: list[tuple[int, int]] = EDGES, n: int = 4, weights: list[float] | None = WEIGHTS) -> str:
    return quiet_view(data_of(edges, n, weights)).fingerprint


def test_the_fingerprint_does_not_depend_on_how_the_edges_are_written() -> None:
    order = [3, 0, 5, 1, 4, 2]
    assert fingerprint([EDGES[i] for i in order], 4, [WEIGHTS[i] for i in order]) == fingerprint()
    assert fingerprint([*EDGES, (2, 2)], 4, [*WEIGHTS, 9.0]) == fingerprint()
    assert fingerprint(EDGES[::2], 4, WEIGHTS[::2]) == fingerprint()
    assert fingerprint([*EDGES, *EDGES], 4, None) == fingerprint(EDGES, 4, None) == fingerprint(EDGES, 4, [1.0] * 6)
    double = data_of(EDGES, 4, x=torch.ones(4, 2))
    double.edge_weight = torch.tensor(WEIGHTS, dtype=torch.float64)
    assert quiet_view(double).fingerprint == fingerprint()


def test_the_fingerprint_changes_with_the_content() -> None:
    prints = [
        fingerprint(),
        fingerprint(EDGES[2:], 4, WEIGHTS[2:]),  # an edge less
        fingerprint([*EDGES, (0, 3)], 4, [*WEIGHTS, 1.0]),  # an edge more
        fingerprint([*EDGES[:4], (1, 3), (3, 1)], 4, WEIGHTS),  # another edge
        fingerprint(EDGES, 5),  # an isolated node more
        fingerprint([(3 - u, 3 - v) for u, v in EDGES]),  # other numbers
        fingerprint(EDGES, 4, [1.000001, 1.000001, *WEIGHTS[2:]]),  # a weight by one part in 1e6
        fingerprint(EDGES, 4, None),  # no weights
    ]
    assert len({*prints}) == len(prints)
