"""The same graph in every form people have it in gives the same, and what is no graph is refused in words."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import networkx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data, HeteroData
from torch_geometric.transforms import ToSparseTensor
from torch_geometric.utils import to_networkx

import llpe
from llpe import LLPE, Graph, Prepare, make_encoding, tiny
from llpe.inputs import as_data, check_data

pytestmark = [
    pytest.mark.filterwarnings("ignore::llpe.GraphWarning"),
    pytest.mark.filterwarnings("ignore:Sparse (CSR|CSC) tensor support is in beta"),
    pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled"),
]


GRID = tiny("grid").edge_index


def weighted() -> Data:
    """Directed, with weights, a self-loop, and an isolated node at the end."""
    edge_index = torch.tensor([[0, 1, 1, 2, 3, 2], [1, 0, 2, 3, 0, 2]])
    return Data(edge_index=edge_index, edge_weight=torch.tensor([1.0, 2.0, 0.5, 3.0, 0.25, 4.0]), num_nodes=5)


def matrix(data: Data) -> sp.coo_array:
    weight = torch.ones(data.num_edges) if data.edge_weight is None else data.edge_weight
    return sp.coo_array((weight.numpy(), data.edge_index.numpy()), shape=(data.num_nodes, data.num_nodes))


class SparseTensor:
    """What llpe uses of torch_sparse.SparseTensor."""

    def __init__(self, data: Data) -> None:
        source, target = data.edge_index
        self.row, self.col, self.value, self.count = target, source, data.edge_weight, data.num_nodes

    def coo(self) -> tuple[Tensor, Tensor, Tensor | None]:
        return self.row, self.col, self.value

    def size(self, _: int) -> int:
        return self.count


def networkx_of(data: Data) -> networkx.DiGraph:
    attributes = None if data.edge_weight is None else ["edge_weight"]
    graph = to_networkx(data, edge_attrs=attributes)
    for *_, edge in graph.edges(data=True):
        if "edge_weight" in edge:
            edge["weight"] = edge.pop("edge_weight")
    return networkx.relabel_nodes(graph, lambda node: f"node {node}")


FORMS: dict[str, Callable[[Data], object]] = {
    "csr_array": lambda data: sp.csr_array(matrix(data)),
    "csc_matrix": lambda data: sp.csc_matrix(matrix(data)),
    "coo_array": matrix,
    "lil_matrix": lambda data: sp.lil_matrix(matrix(data)),
    "networkx": networkx_of,
    "adj_t csr": ToSparseTensor(layout=torch.sparse_csr),
    "adj_t coo": ToSparseTensor(layout=torch.sparse_coo),
    "adj_t torch_sparse": lambda data: Data(adj_t=SparseTensor(data), num_nodes=data.num_nodes),
}


@pytest.mark.parametrize("make", [partial(tiny, "grid"), weighted])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_holds_the_same_edges(form: str, make: Callable[[], Data]) -> None:
    data = as_data(FORMS[form](make()))  # type: ignore[arg-type]
    assert (data.edge_weight is None) == (make().edge_weight is None)
    assert data.num_nodes == make().num_nodes
    assert np.array_equal(matrix(data).toarray(), matrix(make()).toarray())


def test_a_pair_is_a_graph_and_a_graph_is_its_undirected_view() -> None:
    data = as_data((GRID, 12))
    assert (data.edge_index.tolist(), data.num_nodes) == (GRID.tolist(), 12)
    view = Graph.from_data(weighted())
    assert Graph.from_data(view) is view
    assert Graph.from_data(as_data(view)).fingerprint == view.fingerprint


@pytest.mark.parametrize("form", FORMS)
def test_every_function_and_encoding_takes_every_form(form: str) -> None:
    given = FORMS[form](weighted())
    assert Graph.from_data(given).fingerprint == Graph.from_data(weighted()).fingerprint
    for function in (
        lambda graph: llpe.full_spectrum(graph).vectors,
        lambda graph: llpe.end_spectrum(graph, first=2).vectors,
        lambda graph: llpe.probe_features(graph, order=4, probes=2)[0],
        lambda graph: llpe.laplacian_eigenvectors(graph, 2),
        lambda graph: llpe.random_walk_return(graph, 4),
        lambda graph: llpe.filtered_probes(graph, 4, probes=2),
    ):
        assert torch.allclose(function(given), function(weighted()), atol=1e-6)
    encoding = make_encoding("rwse", dim=4, steps=3)
    prepared = Prepare(encoding)(given) if isinstance(given, Data) else encoding.prepare(given)
    assert type(prepared) is Data
    assert torch.equal(encoding(prepared), encoding(encoding.prepare(weighted())))
    assert ("edge_index" in prepared) != form.startswith("adj_t")  # what came as a Data stays as it was
    if form.startswith("adj_t"):
        assert torch.equal(encoding(given), encoding(prepared))


def test_sparse_tensors_are_prepared_before_batching() -> None:
    encoding = make_encoding("rwse", dim=4, steps=3)
    transform = ToSparseTensor(layout=torch.sparse_csr)
    graphs = [transform(tiny(name)) for name in ("path", "grid")]
    with pytest.raises(ValueError, match=r"must not be a Batch with torch's sparse tensors as adj_t.* before batching"):
        encoding.prepare(Batch.from_data_list(graphs))
    batch = Batch.from_data_list([encoding.prepare(graph) for graph in graphs])
    assert torch.equal(encoding(batch), torch.cat([encoding(graph) for graph in graphs]))


@pytest.mark.parametrize("kind", [networkx.Graph, networkx.MultiGraph, networkx.DiGraph, networkx.MultiDiGraph])
def test_every_kind_of_networkx_graph_is_taken(kind: type[networkx.Graph]) -> None:
    graph = kind([("a", "b"), ("b", "c"), ("c", "c")])
    graph.add_node("alone")
    adjacency = np.zeros((4, 4))
    adjacency[[0, 1, 2], [1, 2, 2]] = 1
    if not graph.is_directed():
        adjacency[[1, 2], [0, 1]] = 1
    assert np.array_equal(matrix(as_data(graph)).toarray(), adjacency)


def test_weights_of_parallel_edges_add_up_and_what_was_given_stays_as_it_was() -> None:
    graph = networkx.MultiDiGraph([(0, 1), (0, 1), (1, 2)])
    assert Graph.from_data(graph).adjacency.toarray()[0, 1] == 1
    networkx.set_edge_attributes(graph, np.float32(2), "weight")
    assert Graph.from_data(graph).adjacency.toarray()[0, 1] == 4
    given = sp.csr_array((np.ones(3), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    assert as_data(given).edge_weight.tolist() == [2.0, 1.0]
    assert given.nnz == 3
    assert as_data(sp.csr_array(np.array([[False, True], [True, False]]))).edge_weight is None


NO_FORM: dict[str, tuple[Callable[[], object], str]] = {
    "a dense array": (lambda: np.eye(3), r"`data` must be a .*Data, \(edge_index, num_nodes\), .* got ndarray\. Conv"),
    "hetero": (HeteroData, r"networkx graph, got HeteroData\. Convert it, e\.g\. with HeteroData\.to_homogeneous"),
    "a name": (lambda: "cora", r"networkx graph, got str"),
    "edges alone": (lambda: (GRID,), r"must be \(edge_index, num_nodes\) .*, got \(Tensor\)"),
    "weights": (lambda: (GRID, torch.ones(34)), r"got \(Tensor, Tensor\)\. Use Data\(edge_index"),
    "an array": (lambda: (GRID.numpy(), 12), r"got \(ndarray, int\)"),
    "too few nodes": (lambda: (GRID, 3), r"must name nodes 0 … 2, got an edge to node 11"),
    "no nodes": (lambda: (GRID[:, :0], 0), r"must have at least one node, got 0"),
    "not square": (lambda: sp.csr_array((3, 4)), r"`data` must be square.* got shape \[3, 4\]"),
    "complex": (lambda: sp.csr_array(np.array([[0, 1j], [1j, 0]])), r"`data` must have real entries, got complex128"),
    "negative": (lambda: sp.csr_array([[0.0, -1.0], [-1.0, 0.0]]), r"edge_weight` must not be negative, got -1"),
    **{
        f"{weight} as weight": (
            partial(networkx.Graph, [(0, 1, {"weight": 2.0}), (1, 2, {"weight": weight})]),
            r"`weight` must be a number on every edge of `data`, got .*\. Set it, or remove it",
        )
        for weight in (None, "much", 10**400, 1j, [1])
    },
    "nothing": (networkx.Graph, r"must have at least one node, got 0"),
    "a rectangular adj_t": (
        lambda: Data(adj_t=torch.ones(2, 3).to_sparse(), num_nodes=3),
        r"`data\.adj_t` must be square.* got shape \[2, 3\]",
    ),
}


@pytest.mark.parametrize("name", NO_FORM)
def test_what_is_no_graph_is_refused_in_words(name: str) -> None:
    make, message = NO_FORM[name]
    for use in (LLPE(2).prepare, partial(llpe.end_spectrum, first=1)):
        with pytest.raises(ValueError, match=message):
            use(make())


PATH = tiny("path").edge_index
NAN = torch.nan
WEIGHT, X = torch.ones(8), torch.ones(5, 2)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("edge_index", None, r"be a .* tensor, got None"),
        ("edge_index", GRID.tolist(), "be a tensor, got list"),
        ("edge_index", GRID.numpy(), "be a tensor, got ndarray"),
        ("edge_index", GRID.to_sparse(), r"be dense, got torch\.sparse_coo"),
        ("edge_index", GRID.to("meta"), "hold numbers, got a tensor on the device meta"),
        ("edge_index", PATH.float(), r"have dtype torch\.int64, got torch\.float32\. Convert it"),
        ("edge_index", PATH.int(), r"have dtype torch\.int64, got torch\.int32"),
        ("edge_index", PATH.t(), r"have shape \[2, num_edges\], got \[8, 2\]\. Transpose"),
        ("edge_index", PATH[0], r"have shape \[2, num_edges\], got \[8\]"),
        ("edge_index", 2 * PATH, r"name nodes 0 … 4, got an edge to node 8\. Set data\.num_nodes"),
        ("edge_index", -PATH, "name nodes 0 … 4, got an edge to node -4"),
        ("edge_index", PATH + 2**33, "name nodes 0 … 4, got an edge to node 85899345"),
        ("edge_weight", [1.0] * 8, "be a tensor, got list"),
        ("edge_weight", WEIGHT.numpy(), "be a tensor, got ndarray"),
        ("edge_weight", WEIGHT.to_sparse(), r"be dense, got torch\.sparse_coo"),
        ("edge_weight", WEIGHT > 0, r"be real numbers, got torch\.bool"),
        ("edge_weight", WEIGHT * 1j, r"be real numbers, got torch\.complex64"),
        ("edge_weight", WEIGHT.to(torch.float8_e5m2), "be real numbers, got torch.float8_e5m2"),
        ("edge_weight", WEIGHT[:7], "have one weight for each of 8 edges, got 7"),
        ("edge_weight", WEIGHT * NAN, "be finite, got 8 NaN"),
        ("edge_weight", -0.5 * WEIGHT, r"not be negative, got -0\.5"),
        ("x", X.tolist(), "be a tensor, got list"),
        ("x", torch.tensor(1.0), "have a row for each node, got a single number"),
        ("x", X.to("meta"), "hold numbers, got a tensor on the device meta"),
        ("x", X + 1j, "be real numbers, got torch.complex64"),
        ("x", X[:4], r"have a row for each of 5 nodes, got shape \[4, 2\]"),
        ("x", torch.tensor([0.0, NAN, 1.0, NAN, 0.0])[:, None], "be finite, got 2 NaN .* Clean"),
        ("x", -torch.inf * X, "be finite, got 10 NaN"),
        ("num_nodes", 5.5, r"be an integer of at least 0, got 5\.5"),
        ("num_nodes", "5", "be an integer of at least 0, got '5'"),
        ("num_nodes", 2**33, "be an integer of at most 2147483647"),
    ],
)
def test_a_bad_part_is_refused_in_words(name: str, value: object, words: str) -> None:
    data = tiny("path")
    data[name] = value
    for use in (check_data, Graph.from_data, LLPE(2).prepare, partial(llpe.random_walk_return, steps=2)):
        with pytest.raises(ValueError, match=rf"`data\.{name}` must {words}"):
            use(data)


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc])
def test_a_nan_is_found_in_sparse_features(layout: torch.layout) -> None:
    x = torch.eye(5)
    check_data(Data(edge_index=PATH, x=x.to_sparse(layout=layout)))
    x[3, 3] = NAN
    with pytest.raises(ValueError, match=r"`data\.x` must be finite, got 1 NaN"):
        check_data(Data(edge_index=PATH, x=x.to_sparse(layout=layout)))


def test_what_is_no_single_graph_is_refused() -> None:
    with pytest.raises(ValueError, match=r"`data` must be a single graph, got a Batch\. Prepare each graph before"):
        Graph.from_data(Batch.from_data_list([tiny("path"), tiny("ring")]))
    with pytest.raises(ValueError, match=r"`data` must be a torch_geometric\.data\.Data, got HeteroData\. Convert it"):
        check_data(HeteroData())  # type: ignore[arg-type]


def test_networkx_is_not_imported_for_other_graphs(run_python: Callable[..., str]) -> None:
    run_python("""
import sys
import scipy.sparse as sp
from llpe.inputs import as_data, check_data
before = "networkx" in sys.modules
as_data(sp.csr_array([[0.0, 1.0], [1.0, 0.0]]))
assert ("networkx" in sys.modules) == before
""")


def test_more_nodes_than_fit_in_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llpe.storage.available_memory", lambda: 2**30)
    with pytest.raises(llpe.SpectrumError, match="a graph of 2000000000 nodes needs about 128"):
        Graph.from_data((GRID, 2_000_000_000))
