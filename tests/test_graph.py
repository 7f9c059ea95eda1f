"""What is refused, what the undirected view makes of what is left, and what it says; components and homophily."""

from __future__ import annotations

import math
import random
import re
import warnings
from collections import defaultdict
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data, HeteroData
from torch_geometric.utils import homophily

from llpe.graph import TINY, Graph, GraphWarning, tiny
from llpe.homophily import class_homophily, edge_homophily, local_homophily, node_homophily
from llpe.inputs import check_data

pytestmark = pytest.mark.usefixtures("dense_and_sparse")


def data_of(edges: list[tuple[int, int]], num_nodes: int, weights: list[float] | None = None, **more: object) -> Data:
    edge_index = torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).t().contiguous()
    weight = None if weights is None else torch.tensor(weights)
    return Data(edge_index=edge_index, num_nodes=num_nodes, edge_weight=weight, **more)


def quiet_view(data: Data) -> Graph:
    return Graph.from_data(data, warn=False)


# --- bad input -------------------------------------------------------------------------------------------------------


def with_x(x: Tensor) -> Data:
    data = tiny("path")
    data.x = x
    return data


def with_weight(*weights: float, dtype: torch.dtype | None = None) -> Data:
    data = data_of([(0, 1), (1, 0)], 2)
    data.edge_weight = torch.tensor(weights, dtype=dtype)
    return data


BAD: dict[str, tuple[Callable[[], object], str]] = {
    "hetero": (HeteroData, r"`data` must be a torch_geometric\.data\.Data,.* got HeteroData\. Convert it"),
    "tensor": (lambda: torch.zeros(2, 3), r"`data` must be a torch_geometric\.data\.Data,.* got Tensor"),
    "batch": (
        lambda: Batch.from_data_list([tiny("path"), tiny("ring")]),
        r"`data` must be a single graph, got a Batch\. Prepare each graph before",
    ),
    "no edge_index": (lambda: Data(x=torch.ones(3, 1)), r"`data\.edge_index` must be a .* tensor, got None"),
    "float edge_index": (
        lambda: Data(edge_index=torch.zeros(2, 3), num_nodes=3),
        r"`data\.edge_index` must have dtype torch\.int64, got torch\.float32\. Convert it",
    ),
    "int32 edge_index": (
        lambda: Data(edge_index=torch.zeros(2, 3, dtype=torch.int32), num_nodes=3),
        r"must have dtype torch\.int64, got torch\.int32",
    ),
    "an edge list": (
        lambda: Data(edge_index=torch.zeros(5, 2, dtype=torch.int64), num_nodes=3),
        r"`data\.edge_index` must have shape \[2, num_edges\], got \[5, 2\]\. Transpose",
    ),
    "one row": (
        lambda: Data(edge_index=torch.zeros(4, dtype=torch.int64), num_nodes=3),
        r"must have shape \[2, num_edges\], got \[4\]",
    ),
    "no nodes": (lambda: data_of([], 0), r"`data` must have at least one node, got 0"),
    "an edge to a missing node": (
        lambda: data_of([(0, 1), (1, 7)], 3),
        r"`data\.edge_index` must name nodes 0 … 2, got an edge to node 7\. Set data\.num_nodes",
    ),
    "an edge to a negative node": (lambda: data_of([(0, 1), (-1, 1)], 3), r"nodes 0 … 2, got an edge to node -1"),
    "boolean weights": (
        lambda: with_weight(True, False, dtype=torch.bool),
        r"`data\.edge_weight` must be real numbers, got torch\.bool",
    ),
    "complex weights": (
        lambda: with_weight(1, 2, dtype=torch.complex64),
        r"must be real numbers, got torch\.complex64",
    ),
    "too few weights": (
        lambda: with_weight(1.0),
        r"`data\.edge_weight` must have one weight for each of 2 edges, got 1",
    ),
    "NaN weight": (lambda: with_weight(1.0, math.nan), r"`data\.edge_weight` must be finite, got 1 NaN or infinite"),
    "infinite weight": (lambda: with_weight(math.inf, math.inf), r"`data\.edge_weight` must be finite, got 2 NaN"),
    "negative weight": (lambda: with_weight(1.0, -0.5), r"`data\.edge_weight` must not be negative, got -0\.5"),
    "NaN feature": (
        lambda: with_x(torch.tensor([[0.0], [math.nan], [1.0], [math.nan], [0.0]])),
        r"`data\.x` must be finite, got 2 NaN or infinite entries\. Clean or impute",
    ),
    "infinite feature": (lambda: with_x(torch.full((5, 2), -math.inf)), r"`data\.x` must be finite, got 10 NaN"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_in_words(name: str) -> None:
    make, message = BAD[name]
    data = make()
    with pytest.raises(ValueError, match=message):
        check_data(data)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=message):
        Graph.from_data(data)  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore:Sparse (CSR|CSC) tensor support is in beta")
@pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled")
@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc])
def test_a_nan_is_found_in_sparse_features(layout: torch.layout) -> None:
    x = torch.zeros(5, 2)
    x[3, 1] = 1.0
    good = with_x(x.to_sparse(layout=layout))
    check_data(good)
    x[3, 1] = math.nan
    bad = with_x(x.to_sparse(layout=layout))
    with pytest.raises(ValueError, match=r"`data\.x` must be finite, got 1 NaN"):
        check_data(bad)


def test_an_unknown_tiny_graph_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(ValueError, match=r"`name` must be one of path, star, .*directed, got 'tree'"):
        tiny("tree")


@pytest.mark.parametrize("measure", [class_homophily, edge_homophily, local_homophily, node_homophily])
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (torch.zeros(5, 2, dtype=torch.int64), r"`y` must hold one class per node, got shape \[5, 2\]\. Pick one task"),
        (torch.zeros(5), r"`y` must hold integer classes, got torch\.float32"),
        (torch.tensor([0, 1, 1]), r"`edge_index` must name nodes 0 … 2, got an edge to node 4\. Give a label"),
    ],
)
def test_homophily_refuses_labels_that_do_not_fit(measure: Callable, y: Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        measure(tiny("path").edge_index, y)


def test_homophily_refuses_bad_edges() -> None:
    y = torch.tensor([0, 1, 0])
    with pytest.raises(ValueError, match=r"`edge_index` must name nodes 0 … 2, got an edge to node -1"):
        edge_homophily(torch.tensor([[0, -1], [1, 2]]), y)
    with pytest.raises(ValueError, match=r"`edge_index` must have dtype torch\.int64, got torch\.float32"):
        edge_homophily(torch.zeros(2, 1), y)
    with pytest.raises(ValueError, match=r"`edge_index` must have shape \[2, num_edges\], got \[4, 2\]"):
        edge_homophily(torch.zeros(4, 2, dtype=torch.int64), y)


def test_class_homophily_of_one_class_is_refused() -> None:
    with pytest.raises(ValueError, match=r"`y` must hold at least 2 classes, got 1\. Class homophily is undefined"):
        class_homophily(tiny("path").edge_index, torch.tensor([3, 3, 3, -1, 3]))


# --- the undirected view ---------------------------------------------------------------------------------------------


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
    found = {
        name: next((int(re.findall(r"\d+", change)[0]) for change in graph.changes if name in change), 0)
        for name in said
    }
    assert found == said
    assert len(graph.changes) == sum(count > 0 for count in said.values())
    assert said["self-loops"] > 0
    assert said["duplicate"] > 0
    assert said["one-way"] > 0
    assert (said["weight 0"] > 0) == (said["directions differ"] > 0) == weighted


@pytest.mark.parametrize("name", TINY)
def test_the_view_is_symmetric_positive_and_has_no_diagonal(name: str) -> None:
    adjacency = quiet_view(tiny(name)).adjacency
    assert adjacency.dtype == np.float64
    assert adjacency.has_sorted_indices
    assert (adjacency != adjacency.T).nnz == 0
    assert (adjacency.data > 0).all()
    assert not adjacency.diagonal().any()


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


def test_several_changes_are_said_in_one_warning() -> None:
    edges = [(0, 0), (0, 1), (0, 1), (1, 2), (2, 1)]
    with pytest.warns(GraphWarning) as said:
        graph = Graph.from_data(data_of(edges, 3, [1.0, 1.0, 1.0, 1.0, 2.0]))
    assert len(said) == 1
    assert len(graph.changes) == 4
    assert all(change in str(said[0].message) for change in graph.changes)


def test_a_clean_graph_says_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clean = [name for name in TINY if name not in ("self-loops", "duplicate-edges", "directed")]
        assert all(Graph.from_data(tiny(name)).changes == () for name in clean)
        assert Graph.from_data(data_of([(0, 1), (1, 0)], 2, [0.3, 0.3])).changes == ()


def test_warn_false_records_without_saying() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Graph.from_data(tiny("directed"), warn=False).changes == ("made 5 one-way edges undirected",)


def test_the_given_data_stays_as_it_is() -> None:
    data = data_of([(0, 1), (1, 0), (1, 1), (2, 1)], 3)
    data.edge_weight = torch.tensor([1.0, 3.0, 5.0, 7.0], dtype=torch.float64)
    edges, weights = data.edge_index.clone(), data.edge_weight.clone()
    quiet_view(data)
    assert torch.equal(data.edge_index, edges)
    assert torch.equal(data.edge_weight, weights)


@pytest.mark.parametrize(
    "weight",
    [
        torch.tensor([2, 2]),
        torch.tensor([2, 2], dtype=torch.int32),
        torch.tensor([2.0, 2.0], dtype=torch.float16),
        torch.tensor([[2.0], [2.0]]),
        torch.tensor([2.0, 2.0], requires_grad=True),
    ],
    ids=["int64", "int32", "float16", "column", "requires-grad"],
)
def test_weights_of_any_real_kind_are_taken(weight: Tensor) -> None:
    data = data_of([(0, 1), (1, 0)], 2)
    data.edge_weight = weight
    assert Graph.from_data(data).adjacency.toarray().tolist() == [[0.0, 2.0], [2.0, 0.0]]


def test_the_number_of_nodes_may_come_from_the_edges() -> None:
    edges = torch.tensor([[0, 1, 1, 4], [1, 0, 4, 1]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Graph.from_data(Data(edge_index=edges)).num_nodes == 5
        assert Graph.from_data(Data(edge_index=edges, x=torch.ones(7, 1))).num_nodes == 7


def test_degrees_are_weighted() -> None:
    graph = quiet_view(data_of([(0, 1), (1, 0), (1, 2), (2, 1)], 4, [0.5, 0.5, 2.0, 2.0]))
    assert graph.degree.tolist() == [0.5, 2.5, 2.0, 0.0]


# --- components ------------------------------------------------------------------------------------------------------


def test_components_are_numbered_by_their_first_node() -> None:
    graph = quiet_view(data_of([(5, 1), (4, 2), (2, 6)], 8))
    assert graph.components.tolist() == [0, 1, 2, 3, 2, 1, 2, 4]
    assert [nodes.tolist() for nodes in graph.component_nodes] == [[0], [1, 5], [2, 4, 6], [3], [7]]


@pytest.mark.parametrize("seed", range(3))
def test_components_equal_a_flood_fill(seed: int) -> None:
    rng = random.Random(seed)
    n = 60
    edges = [(rng.randrange(n), rng.randrange(n)) for _ in range(40)]
    neighbours: dict[int, set[int]] = defaultdict(set)
    for u, v in edges:
        neighbours[u].add(v)
        neighbours[v].add(u)
    expected = [-1] * n
    for start in range(n):
        todo, number = [start], max(expected) + 1
        while todo:
            node = todo.pop()
            if expected[node] == -1:
                expected[node] = number
                todo.extend(neighbours[node])
    graph = quiet_view(data_of(edges, n))
    assert graph.components.tolist() == expected
    assert np.sort(np.concatenate(graph.component_nodes)).tolist() == list(range(n))
    for number, nodes in enumerate(graph.component_nodes):
        assert nodes.tolist() == [node for node in range(n) if expected[node] == number]


@pytest.mark.parametrize(
    ("name", "nodes", "edges", "components"),
    [
        ("path", 5, 4, 1),
        ("star", 6, 5, 1),
        ("grid", 12, 17, 1),
        ("ring", 8, 8, 1),
        ("complete", 6, 15, 1),
        ("bipartite", 7, 12, 1),
        ("two-triangles", 6, 6, 2),
        ("isolated-node", 4, 3, 2),
        ("single-node", 1, 0, 1),
        ("no-edges", 4, 0, 4),
        ("self-loops", 3, 2, 1),
        ("duplicate-edges", 3, 2, 1),
        ("directed", 4, 5, 1),
    ],
)
def test_tiny_graphs_are_what_their_names_say(name: str, nodes: int, edges: int, components: int) -> None:
    graph = quiet_view(tiny(name))
    assert (graph.num_nodes, graph.num_edges, len(graph.component_nodes)) == (nodes, edges, components)
    assert tiny(name) is not tiny(name)


def test_every_tiny_graph_is_described_above() -> None:
    marks = test_tiny_graphs_are_what_their_names_say.pytestmark  # type: ignore[attr-defined]
    assert {case[0] for case in marks[0].args[1]} == set(TINY)


# --- fingerprint -----------------------------------------------------------------------------------------------------

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
    others = {
        "an edge less": fingerprint(EDGES[2:], 4, WEIGHTS[2:]),
        "an edge more": fingerprint([*EDGES, (0, 3)], 4, [*WEIGHTS, 1.0]),
        "another edge": fingerprint([*EDGES[:4], (1, 3), (3, 1)], 4, WEIGHTS),
        "an isolated node more": fingerprint(EDGES, 5),
        "other names": fingerprint([(3 - u, 3 - v) for u, v in EDGES]),
        "a weight by one part in 1e6": fingerprint(EDGES, 4, [1.000001, 1.000001, *WEIGHTS[2:]]),
        "no weights": fingerprint(EDGES, 4, None),
    }
    assert len({fingerprint(), *others.values()}) == len(others) + 1


# --- homophily -------------------------------------------------------------------------------------------------------

# Classes {0, 1, 2}, {3, 4} and an unlabelled node 5; self-loops and edges with node 5 must not count.
LABELS = torch.tensor([0, 0, 0, 1, 1, -1])
ARROWS = torch.tensor([(0, 1), (1, 2), (0, 3), (3, 4), (4, 3), (4, 0), (0, 0), (2, 2), (5, 0), (1, 5)]).t()


def test_homophily_of_a_small_directed_graph_is_as_by_hand() -> None:
    # class 0: 2 of 3 edges stay, 3 of 5 nodes; class 1: 2 of 3 edges stay, 2 of 5 nodes
    assert class_homophily(ARROWS, LABELS) == pytest.approx((2 / 3 - 3 / 5) + (2 / 3 - 2 / 5), abs=1e-15)
    assert all(type(measure(ARROWS, LABELS)) is float for measure in (class_homophily, edge_homophily, node_homophily))
    assert edge_homophily(ARROWS, LABELS) == pytest.approx(4 / 6, abs=1e-15)
    nan = math.nan
    expected = torch.tensor([0.5, 1.0, nan, 1.0, 0.5, nan], dtype=torch.float64)
    assert torch.equal(local_homophily(ARROWS, LABELS).nan_to_num(-1), expected.nan_to_num(-1))
    assert node_homophily(ARROWS, LABELS) == pytest.approx(3 / 4, abs=1e-15)


def test_a_class_below_its_share_counts_as_zero_not_less() -> None:
    path, y = tiny("path").edge_index, torch.tensor([0, 1, 0, 1, 0])
    assert class_homophily(path, y) == 0.0
    assert edge_homophily(path, y) == node_homophily(path, y) == 0.0


def test_labels_may_leave_gaps_and_stand_in_a_column() -> None:
    wide = torch.where(LABELS == 1, 7, LABELS)
    assert class_homophily(ARROWS, wide) == class_homophily(ARROWS, LABELS)
    for measure in (class_homophily, edge_homophily, node_homophily):
        assert measure(ARROWS, LABELS[:, None]) == measure(ARROWS, LABELS)


def test_without_labelled_edges_edge_and_node_homophily_are_undefined() -> None:
    loops = torch.tensor([[0, 1, 5], [0, 1, 3]])
    assert math.isnan(edge_homophily(loops, LABELS))
    assert math.isnan(node_homophily(loops, LABELS))
    assert class_homophily(loops, LABELS) == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_homophily_of_a_random_graph_equals_a_naive_loop(seed: int) -> None:
    rng = random.Random(seed)
    n, classes = 40, 4
    y = [rng.randrange(-1, classes) for _ in range(n)]
    edges = [(rng.randrange(n), rng.randrange(n)) for _ in range(300)]
    edges += [(u, v) for u, v in edges for _ in range(2) if y[u] == y[v]]
    assert any(u == v for u, v in edges)
    assert -1 in y
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

    edge_index, labels = torch.tensor(edges).t(), torch.tensor(y)
    assert class_homophily(edge_index, labels) == pytest.approx(total / (classes - 1), abs=1e-12)
    assert total > 0
    assert edge_homophily(edge_index, labels) == pytest.approx(
        sum(y[u] == y[v] for u, v in counted) / len(counted), abs=1e-12
    )
    assert local_homophily(edge_index, labels).tolist() == pytest.approx(shares, nan_ok=True)
    known = [share for share in shares if not math.isnan(share)]
    assert node_homophily(edge_index, labels) == pytest.approx(sum(known) / len(known), abs=1e-12)


def test_edge_and_node_homophily_agree_with_pyg_where_its_definitions_do() -> None:
    # undirected, no self-loops, no isolated or unlabelled nodes
    edges, y = tiny("grid").edge_index, torch.tensor([0, 1, 2, 0, 0, 1, 1, 2, 0, 0, 1, 2])
    assert edge_homophily(edges, y) == pytest.approx(homophily(edges, y, method="edge"), abs=1e-6)
    assert node_homophily(edges, y) == pytest.approx(homophily(edges, y, method="node"), abs=1e-6)


@pytest.mark.parametrize(("name", "expected"), [("cornell", 0.047), ("texas", 0.001), ("tolokers", 0.180)])
def test_class_homophily_of_real_graphs_is_as_measured(
    name: str, expected: float, real_data: Callable[[str], Data]
) -> None:
    data = real_data(name)
    assert class_homophily(data.edge_index, data.y) == pytest.approx(expected, abs=0.0005)


def test_the_real_cornell_is_directed_and_the_view_says_so(real_data: Callable[[str], Data]) -> None:
    data = real_data("cornell")
    with pytest.warns(GraphWarning, match=r"made \d+ one-way edges undirected"):
        graph = Graph.from_data(data)
    pairs = {frozenset(edge) for edge in data.edge_index.t().tolist() if edge[0] != edge[1]}
    assert graph.num_nodes == 183
    assert graph.num_edges == len(pairs)
