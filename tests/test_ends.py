"""The ends of graphs that iteration finds hard, against closed forms and against dense eigendecompositions."""

from __future__ import annotations

from unittest import mock

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch

from llpe import Graph, Spectrum, end_spectrum, full_spectrum
from llpe.data import sbm
from llpe.eigensolvers import end_pairs
from llpe.krylov import EndFilter, eigenvalue_counter, factorisation_cost, factorise
from llpe.laplacian import laplacian
from llpe.probes import draw

LARGE = 100_000
NOTHING = torch.empty(1200, 0, dtype=torch.float64)


@pytest.fixture
def no_graph_is_thin(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that inverses are not the first choice."""
    monkeypatch.setattr(
        "llpe.eigensolvers.factorisation_cost", lambda matrix: factorisation_cost(matrix)._replace(thin=False)
    )


def graph_of(source: np.ndarray, target: np.ndarray, n: int) -> Graph:
    half = sp.coo_array((np.ones(source.size), (source, target)), shape=(n, n))
    return Graph(sp.csr_array(half + half.T))


def path(n: int) -> Graph:
    return graph_of(np.arange(n - 1), np.arange(1, n), n)


def ring(n: int) -> Graph:
    return graph_of(np.arange(n), np.roll(np.arange(n), -1), n)


def spider(legs: int, length: int) -> nx.Graph:
    return nx.from_edgelist(
        (0 if step == 0 else (leg, step - 1), (leg, step)) for leg in range(legs) for step in range(length)
    )


def gram_schmidt(columns: np.ndarray) -> np.ndarray:
    basis, upper = np.linalg.qr(columns)
    return basis * np.sign(np.diag(upper))


def test_a_path_of_a_hundred_thousand_nodes_has_its_closed_form():
    ends = end_spectrum(path(LARGE), first=8, last=8, cache=False)
    angle = np.pi * np.arange(8) / (LARGE - 1)
    low = 2 * np.sin(angle / 2) ** 2
    assert np.allclose(ends.values[:8], low, rtol=1e-6, atol=1e-15)
    assert np.allclose(2 - ends.values[8:].flip(0), low, rtol=0, atol=1e-14)
    expected = np.cos(np.outer(np.arange(LARGE), angle))
    expected[[0, -1]] *= 0.5**0.5
    expected /= np.linalg.norm(expected, axis=0)
    assert np.allclose(np.abs(expected.T @ ends.vectors[:, :8].numpy()), np.eye(8), atol=1e-6)
    assert float(ends.residuals.max()) < 1e-13
    assert ends.spaces.tolist() == list(range(16))


@pytest.mark.parametrize("n", [LARGE, 20_001])  # an odd ring is not bipartite: its upper end is not known
def test_a_large_ring_has_double_eigenvalues_in_the_canonical_basis(n):
    ends = end_spectrum(ring(n), first=7, last=6, cache=False)
    low = 2 * np.sin(np.pi * np.array([0, 1, 1, 2, 2, 3, 3]) / n) ** 2
    assert np.allclose(ends.values[:7], low, rtol=1e-5, atol=1e-15)
    assert ends.spaces[:7].tolist() == [0, 1, 1, 2, 2, 3, 3]
    for number in (1, 2, 3):
        turn = 2 * np.pi * number * np.arange(n) / n
        space = np.column_stack([np.cos(turn), np.sin(turn)]) * (2 / n) ** 0.5
        expected = gram_schmidt(space @ (space.T @ draw(n, 2, 0)))
        assert np.allclose(ends.vectors[:, 2 * number - 1 : 2 * number + 1], expected, atol=1e-6)
    top = n // 2 - np.array([2, 2, 1, 1, 0, 0] if n % 2 else [3, 2, 2, 1, 1, 0])
    assert np.allclose(ends.values[7:], 1 - np.cos(2 * np.pi * top / n), rtol=0, atol=1e-13)


def test_a_grid_of_ninety_thousand_nodes_has_its_closed_form():
    side, k = 300, 8
    grid = np.arange(side**2).reshape(side, side)
    source, target = (
        np.concatenate([a.ravel(), b.ravel()]) for a, b in ((grid[1:], grid[:, 1:]), (grid[:-1], grid[:, :-1]))
    )
    ends = end_spectrum(graph_of(source, target, side**2), first=k, last=k, laplacian="comb", cache=False)
    line = 4 * np.sin(np.pi * np.arange(side) / side / 2) ** 2
    expected = np.sort(np.add.outer(line, line).ravel())
    assert np.allclose(ends.values[:k], expected[:k], rtol=1e-9, atol=1e-13)
    assert np.allclose(ends.values[k:], expected[-k:], rtol=0, atol=1e-11)
    assert float(ends.residuals.max()) < 1e-9


def test_a_star_gets_its_pairs_in_the_canonical_basis():
    n = 5000
    star = graph_of(np.zeros(n - 1, dtype=int), np.arange(1, n), n)
    ends = end_spectrum(star, first=4, last=3, cache=False)
    assert np.allclose(ends.values, [0, 1, 1, 1, 1, 1, 2], rtol=0, atol=1e-12)
    probes = draw(n, 5, 0).astype(np.float64)
    probes[0] = 0
    probes[1:] -= probes[1:].mean(axis=0)
    assert np.allclose(ends.vectors[:, 1:6], gram_schmidt(probes), atol=1e-9)
    assert np.allclose(end_spectrum(star, last=3, cache=False).vectors[:, :2], ends.vectors[:, 1:3], atol=1e-9)
    assert len(ends.cut) == 1
    assert "the eigenspace of 1 has dimension" in ends.cut[0]
    assert "or more, of which 5 are kept" in ends.cut[0]


HARD = {
    "barbell": lambda: nx.barbell_graph(301, 0),
    "complete": lambda: sp.csr_array(np.ones((700, 700)) - np.eye(700)),
    "complete bipartite": lambda: nx.complete_bipartite_graph(90, 70),
    "windmill": lambda: nx.windmill_graph(80, 3),
    "spider": lambda: spider(20, 14),
    "hypercube": lambda: nx.hypercube_graph(8),
    "lollipop": lambda: nx.lollipop_graph(60, 200),
    "caterpillar": lambda: nx.from_prufer_sequence([*range(50)] * 3),
    "tree": lambda: nx.random_labeled_tree(300, seed=0),
    "mesh": lambda: nx.triangular_lattice_graph(10, 40),
    "two of a kind": lambda: nx.disjoint_union(nx.star_graph(150), nx.star_graph(120)),
    "different": lambda: nx.disjoint_union(nx.complete_graph(120), nx.random_regular_graph(4, 150, seed=0)),
    "expander with a tail": lambda: nx.compose(nx.random_regular_graph(5, 150, seed=0), nx.path_graph(range(149, 400))),
    "road": lambda: nx.grid_2d_graph(16, 16).edge_subgraph(list(nx.grid_2d_graph(16, 16).edges)[7:440]),
}


def end_and_dense(graph: Graph, monkeypatch: pytest.MonkeyPatch, kind: str = "sym") -> Spectrum:
    """The ends by iteration, compared with those by LAPACK."""
    spectra = []
    for dense_below in (0, graph.num_nodes):
        monkeypatch.setattr("llpe.spectrum.DENSE_BELOW", dense_below)
        spectra.append(end_spectrum(graph, first=9, last=6, laplacian=kind, cache=False))
    ends, dense = spectra
    assert (dense.solver, ends.solver == "lapack") == ("lapack", False)
    size = float(dense.values.max())
    assert np.allclose(ends.values, dense.values, rtol=0, atol=1e-10 * size)
    assert float(ends.residuals.max()) < 1e-8 * size
    assert ends.spaces.tolist() == dense.spaces.tolist()
    assert np.allclose(ends.vectors, dense.vectors, rtol=0, atol=1e-6)
    return ends


@pytest.mark.parametrize("kind", ["sym", "comb"])
@pytest.mark.parametrize("name", HARD)
def test_iteration_gives_what_lapack_gives(name, kind, monkeypatch):
    graph = HARD[name]()
    matrix = graph if sp.issparse(graph) else nx.to_scipy_sparse_array(graph, dtype=np.float64)
    end_and_dense(Graph(sp.csr_array(matrix)), monkeypatch, kind)


@pytest.mark.parametrize(
    ("change", "solver"),
    [
        ({"PATIENCE": 1}, "inverse"),
        ({"PATIENCE": 1, "MOST_WORK": -1}, "arpack"),
        ({"PATIENCE": 1, "factorise": mock.Mock(side_effect=MemoryError)}, "arpack"),
    ],
)
@pytest.mark.usefixtures("no_graph_is_thin")
def test_what_does_not_converge_is_factorised_if_it_can_be(change, solver, monkeypatch):
    for name, value in change.items():
        monkeypatch.setattr(f"llpe.eigensolvers.{name}", value)
    assert end_and_dense(path(300), monkeypatch).solver == solver


def test_thin_graphs_are_told_from_those_that_expand():
    expander = sp.csr_array(nx.to_scipy_sparse_array(nx.random_regular_graph(4, 1000, seed=0)))
    costs = [factorisation_cost(matrix) for matrix in (path(1000).adjacency, ring(1000).adjacency, expander)]
    assert [cost.thin for cost in costs] == [True, True, False]
    assert [cost.work for cost in costs[:2]] == pytest.approx([0, 1000 * 2**2], rel=0.1)
    assert costs[2].work > 1000 * 100**2


def test_a_shift_inside_the_spectrum_is_moved_out_of_it():
    factors, shift = factorise(laplacian(ring(100)), 1, 1.9, 0.01)
    assert shift == pytest.approx(1.9 + 0.16)
    start = np.random.default_rng(0).standard_normal(100)
    assert np.allclose(shift * factors.solve(start) - laplacian(ring(100)) @ factors.solve(start), start)


def diagonal(*values: np.ndarray) -> sp.csr_array:
    every = np.concatenate(values)
    return sp.csr_array(sp.diags_array(np.random.default_rng(0).permutation(every)))


@pytest.mark.parametrize(("homophily", "first", "last", "solver"), [(0.2, 20, 20, "arpack"), (0.9, 40, 50, "filter")])
def test_both_ends_are_those_of_lapack_and_the_same_each_time(homophily, first, last, solver):
    graph = Graph.from_data(sbm(n=1500, homophily=homophily, seed=1))
    ends, again = (end_spectrum(graph, first=first, last=last, cache=False) for _ in range(2))
    full = full_spectrum(graph, cache=False)
    chosen = [*range(first), *range(1500 - last, 1500)]
    assert torch.equal(ends.vectors, again.vectors)
    assert (full.solver, solver in ends.solver) == ("lapack", True)
    assert torch.allclose(ends.values, full.values[chosen], atol=1e-12)
    assert torch.allclose(ends.vectors, full.vectors[:, chosen], atol=1e-6)
    assert float(ends.residuals.max()) < 2e-8


@pytest.mark.parametrize(("solver", "k"), [("arpack", 13), ("filter", 25), ("inverse", 25)])
@pytest.mark.parametrize("kind", ["sym", "rw", "comb"])
def test_iteration_finds_every_copy_of_a_repeated_eigenvalue(kind, solver, k, request):
    """Every inner eigenvalue of a torus is at least 4-fold; a single Lanczos run returns too few copies."""
    graph = Graph.from_data(nx.grid_2d_graph(30, 30, periodic=True))
    if solver != "inverse":
        request.getfixturevalue("no_graph_is_thin")
    ends = end_spectrum(graph, first=k, last=k, laplacian=kind, cache=False)
    full = full_spectrum(graph, laplacian=kind, cache=False)
    assert solver in ends.solver
    assert torch.allclose(ends.values, full.values[[*range(k), *range(900 - k, 900)]], atol=1e-9)
    assert float(ends.residuals.max()) < 1e-6


def test_eigenvalues_are_counted_from_either_end():
    matrix = sp.csr_array(laplacian(Graph.from_data(sbm(n=1500, homophily=0.9, seed=1))) - sp.eye_array(1500))
    exact = np.linalg.eigvalsh(matrix.toarray())
    upper, lower = eigenvalue_counter(matrix, 0), eigenvalue_counter(-matrix, 0)
    for count in (50, 200, 750):
        assert abs((exact > upper(count)).sum() - count) < 0.2 * count
        assert abs((exact < -lower(count)).sum() - count) < 0.2 * count


def test_what_was_found_is_not_found_again():
    matrix = diagonal(np.linspace(0.8, 0.9, 50), np.linspace(-1, 0.5, 1150))
    top = EndFilter(matrix, 40, 1e-9, seed=0)
    first = top.pairs(20, NOTHING, 1e-9)
    assert first is not None
    second = top.pairs(20, torch.from_numpy(first[1]), 1e-9)
    assert second is not None
    expected = np.linspace(0.8, 0.9, 50)[::-1][:40]
    assert np.allclose(np.concatenate([first[0], second[0]]), expected, atol=1e-12)
    assert np.abs(first[1].T @ second[1]).max() < 1e-10


@pytest.mark.usefixtures("no_graph_is_thin")
def test_an_eigenvalue_with_more_copies_than_the_block_has_columns_is_found_whole():
    matrix = diagonal(np.full(60, 0.1), np.linspace(0.2, 1.9, 1140))
    pairs = end_pairs(matrix, [], low=70, high=0, centre=1.0, seed=0)
    assert int((np.abs(pairs.values - 0.1) < 1e-10).sum()) == 60
    assert np.abs(pairs.vectors.T @ pairs.vectors - np.eye(70)).max() < 1e-9


def test_pairs_that_do_not_stand_out_are_left_to_arpack():
    matrix = diagonal(np.linspace(0.1, 1.9, 200), np.full(1000, 0.05))  # the low end is one eigenvalue, and too many
    assert EndFilter(sp.csr_array(sp.eye_array(1200) - matrix), 40, 1e-9, seed=0).pairs(40, NOTHING, 1e-9) is None
