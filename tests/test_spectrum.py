"""Eigenpairs against closed forms, and conventions that no solver can change."""

from functools import partial

import networkx as nx
import numpy as np
import pytest
import scipy.linalg
import torch
from scipy.sparse.linalg import ArpackNoConvergence
from scipy.stats import ortho_group
from torch_geometric.data import Data

import llpe.spectrum
from llpe import Graph, SpectrumError, end_spectrum, full_spectrum, tiny
from llpe.data.synthetic import sbm
from llpe.graph import TINY
from llpe.inputs import GraphLike, as_data
from llpe.laplacian import laplacian
from llpe.storage import available_memory

KINDS = ("sym", "rw", "comb")


TORUS = nx.grid_2d_graph(30, 30, periodic=True)  # every inner eigenvalue is at least 4-fold
TREES = [nx.random_labeled_tree(23, seed=seed) for seed in range(4)]  # leaves repeat the eigenvalue 1; bipartite


def quiet(data: GraphLike) -> Graph:
    return Graph.from_data(data, warn=False)


@pytest.mark.usefixtures("dense_and_sparse")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TINY)
def test_every_tiny_graph_is_decomposed(name, kind):
    graph = quiet(tiny(name))
    spectrum = full_spectrum(graph, laplacian=kind, cache=False)
    naive = np.sort(scipy.linalg.eigvals(laplacian(graph, kind).toarray()).real)
    assert np.allclose(spectrum.values, naive, atol=1e-7)
    assert float(spectrum.residuals.max()) < 1e-12
    metric = np.diag(np.where(graph.degree > 0, graph.degree, 1.0)) if kind == "rw" else np.eye(graph.num_nodes)
    gram = spectrum.vectors.numpy().T @ metric @ spectrum.vectors.numpy()
    assert np.allclose(gram, np.eye(graph.num_nodes), atol=1e-12)


@pytest.mark.usefixtures("dense_and_sparse")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TINY)
def test_ends_of_every_tiny_graph_are_the_ends_of_the_full_spectrum(name, kind):
    graph = quiet(tiny(name))
    n = graph.num_nodes
    full = full_spectrum(graph, laplacian=kind, cache=False)
    for first, last in ((1, 0), (0, 1), (2, 1), (2, 2), (50, 0), (3, 50), (50, 50)):
        ends = end_spectrum(graph, first=first, last=last, laplacian=kind, cache=False)
        low = min(first, n)
        high = min(last, n - low)
        wanted = torch.cat([full.values[:low], full.values[n - high :]])
        assert torch.allclose(ends.values, wanted, atol=1e-12)
        assert float(ends.residuals.max()) < 1e-12
        assert ends.vectors.shape == (n, low + high)
        assert (ends.first, ends.trivial) == (low, full.trivial and low > 0)


def test_eigenvalues_of_a_ring_a_complete_graph_and_a_star_are_known():
    expected = np.sort(1 - np.cos(2 * np.pi * np.arange(40) / 40))
    for graph, values in (
        (nx.cycle_graph(40), expected),
        (nx.complete_graph(6), [0, *[6 / 5] * 5]),
        (nx.star_graph(5), [0, 1, 1, 1, 1, 2]),
    ):
        assert np.allclose(full_spectrum(graph, cache=False).values, values, rtol=0, atol=1e-13)


def test_iteration_finds_the_null_space_of_many_components():
    parts = nx.cycle_graph(700), *[nx.complete_graph(6)] * 9, nx.empty_graph(30), *[nx.path_graph(5)] * 4
    ends = end_spectrum(nx.disjoint_union_all(parts), first=20, last=12, cache=False)
    assert int((ends.values.abs() < 1e-10).sum()) == 1 + 9 + 4
    assert int((ends.values > 2 - 1e-10).sum()) == 1 + 4  # bipartite: the even ring and the paths
    assert float(ends.residuals.max()) < 1e-8


@pytest.mark.usefixtures("dense_and_sparse")
@pytest.mark.parametrize("name", ["ring", "complete", "two-triangles", "star", "no-edges", "isolated-node", "path"])
def test_vectors_do_not_depend_on_the_basis_the_solver_returns(name, monkeypatch):
    graph = quiet(tiny(name))
    before, cut = full_spectrum(graph, cache=False), end_spectrum(graph, first=3, cache=False)
    if name == "complete":
        assert cut.cut == ("the eigenspace of 1.2 has dimension 5, of which 2 are kept",)
    monkeypatch.setattr("llpe.spectrum.dense_pairs", _rotating_solver)
    assert torch.allclose(before.vectors, full_spectrum(graph, cache=False).vectors, atol=1e-10)
    assert torch.allclose(cut.vectors, end_spectrum(graph, first=3, cache=False).vectors, atol=1e-10)


def _rotating_solver(matrix, known):
    """LAPACK's eigenpairs in another basis of every eigenspace, and with other signs."""
    values, vectors = scipy.linalg.eigh(matrix)
    groups = np.split(np.arange(values.size), np.flatnonzero(np.diff(values) > 1e-8) + 1)
    for group in groups:
        turn = ortho_group.rvs(group.size, random_state=7) if group.size > 1 else np.array([[-1.0]])
        vectors[:, group] = vectors[:, group] @ turn
    return llpe.spectrum.Pairs(values, vectors, values.size, 0, "lapack")


@pytest.mark.usefixtures("dense_and_sparse")
@pytest.mark.parametrize("name", ["path", "two-triangles", "isolated-node", "ring"])
def test_first_vector_is_the_trivial_one(name):
    graph = quiet(tiny(name))
    spectrum = full_spectrum(graph, cache=False)
    trivial = np.sqrt(graph.degree) / np.linalg.norm(np.sqrt(graph.degree))
    assert spectrum.trivial
    assert np.allclose(spectrum.vectors[:, 0], trivial, atol=1e-12)
    edgeless = full_spectrum(tiny("no-edges"), cache=False)  # has no trivial vector
    assert (edgeless.trivial, edgeless.values.tolist()) == (False, [1.0] * 4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("data", [*map(tiny, TINY), *TREES[:2], nx.disjoint_union(*TREES[2:])])
def test_small_graphs_have_the_spectrum_that_large_ones_would_have(data, kind, monkeypatch):
    for solve in (full_spectrum, partial(end_spectrum, first=3, last=2)):
        spectra = []
        for small in (128, 0):
            for module in ("graph", "probes", "spectrum"):
                monkeypatch.setattr(f"llpe.{module}.SMALL", small)
            spectra.append(solve(quiet(data), laplacian=kind, cache=False))
        dense, sparse = spectra
        assert torch.allclose(dense.values, sparse.values, rtol=0, atol=1e-12)
        assert torch.allclose(dense.vectors, sparse.vectors, rtol=0, atol=1e-9)
        assert torch.equal(dense.spaces, sparse.spaces)
        for fact in ("first", "trivial", "solver", "cut"):
            assert getattr(dense, fact) == getattr(sparse, fact)


def test_each_component_has_its_exact_zero_and_two():
    """Whatever LAPACK makes of them: the known pairs are put in, for small components of small graphs too."""
    parts = TREES[1], nx.cycle_graph(8), nx.path_graph(5)
    values = full_spectrum(nx.disjoint_union_all(parts), cache=False).values
    assert int((values == 0).sum()) == 3
    assert int((values == 2).sum()) == 3


def test_an_eigenspace_that_does_not_end_in_sight_is_projected_on(monkeypatch):
    graph = quiet(TORUS)
    expected = end_spectrum(graph, first=2, cache=False)
    monkeypatch.setattr("llpe.spectrum.GUARD", 1)
    ends = end_spectrum(graph, first=2, cache=False)
    assert torch.allclose(ends.vectors, expected.vectors, atol=1e-6)
    assert expected.cut == ("the eigenspace of 0.0109262 has dimension 4, of which 1 are kept",)
    assert ends.cut == ("the eigenspace of 0.0109262 has dimension 2 or more, of which 1 are kept",)
    monkeypatch.setattr("llpe.eigensolvers.lanczos", lambda apply, start, *limits: (1.0, 1.0, start))
    with pytest.raises(SpectrumError, match=r"0.0109262 of a component of 900 nodes is repeated.*'llpe-probes'"):
        end_spectrum(graph, first=2, cache=False)


def test_relabelled_nodes_have_the_relabelled_spectrum_and_weights_count():
    data = sbm(n=120, homophily=0.3, seed=1)
    order = torch.randperm(120, generator=torch.Generator().manual_seed(0))
    moved = Data(edge_index=order[data.edge_index], num_nodes=120)
    one, two = full_spectrum(data, cache=False), full_spectrum(moved, cache=False)
    assert torch.allclose(one.values, two.values, atol=1e-12)
    assert torch.allclose(one.vectors.abs(), two.vectors[order].abs(), atol=1e-8)
    data.edge_weight = (data.edge_index.sum(dim=0) % 3 + 1).double()
    weighted = full_spectrum(data, cache=False)
    assert not torch.allclose(weighted.values, one.values)
    assert float(weighted.residuals.max()) < 1e-13


@pytest.mark.usefixtures("dense_and_sparse")
@pytest.mark.parametrize("weight", [1e12, 1e16, 1e307, 1.7e308, 1e-310, 5e-324])
def test_spectra_of_extreme_weights_are_those_of_ones(weight):
    data = as_data(nx.cycle_graph(40))
    expected = full_spectrum(data, cache=False)
    data.edge_weight = torch.full((80,), weight, dtype=torch.float64)
    for kind, length in (("sym", 1.0), ("rw", 2**0.5 * weight**0.5)):
        spectrum = full_spectrum(data, laplacian=kind, cache=False)
        assert torch.allclose(spectrum.values, expected.values, atol=1e-13)
        assert torch.allclose(spectrum.vectors * length, expected.vectors, atol=1e-10)
    if 1e-280 < weight < 1e308:
        comb = full_spectrum(data, laplacian="comb", cache=False)
        assert torch.allclose(comb.values / weight, 2 * expected.values, atol=1e-13)
        assert torch.allclose(comb.vectors, expected.vectors, atol=1e-10)
    else:
        with pytest.raises(SpectrumError, match="eigenvalues of 'comb' are beyond the range of float64"):
            full_spectrum(data, laplacian="comb", cache=False)


def test_vectors_stay_orthonormal_where_the_first_eigenvalue_is_nearly_double():
    edge_index, weight = torch.tensor([[0, 1, 2], [1, 2, 3]]), torch.tensor([1e12, 1e-5, 1e12], dtype=torch.float64)
    data = Data(edge_index=edge_index, edge_weight=weight, num_nodes=4)
    vectors = full_spectrum(quiet(data), cache=False).vectors
    assert torch.allclose(vectors.T @ vectors, torch.eye(4, dtype=torch.float64), atol=1e-12)


def test_full_refuses_what_does_not_fit_in_memory_and_names_the_alternatives(monkeypatch):
    assert 10**7 < available_memory() < 10**14
    monkeypatch.setattr("llpe.storage.available_memory", lambda: 1000)
    with pytest.raises(SpectrumError, match=r"needs about .* GB.*'llpe-ends'.*'llpe-probes'"):
        full_spectrum(nx.cycle_graph(700), cache=False)


def test_failures_of_the_solvers_are_said_with_their_cause(monkeypatch):
    def fails(*args, **kwargs):
        raise ArpackNoConvergence("no", np.empty(0), np.empty((0, 0)))

    monkeypatch.setattr("llpe.eigensolvers.dsyevd", lambda matrix, **options: (matrix[0], matrix, 3))
    with pytest.raises(SpectrumError, match=r"LAPACK did not converge on a component of 12 nodes \(dsyevd: 3\)"):
        full_spectrum(tiny("grid"), cache=False)
    monkeypatch.setattr("llpe.eigensolvers.eigsh", fails)
    with pytest.raises(SpectrumError, match=r"did not converge to .*clustered"):
        end_spectrum(nx.cycle_graph(700), first=3, cache=False)


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match=r"`first` \+ `last` must be at least 1"):
        end_spectrum(tiny("path"))
    with pytest.raises(ValueError, match="`laplacian` must be one of 'sym', 'rw', 'comb', got 'signless'"):
        end_spectrum(tiny("path"), first=1, laplacian="signless")


def test_spectrum_says_how_it_was_made():
    spectrum = end_spectrum(tiny("path"), first=2, last=1, seed=4)
    assert spectrum.made == {"laplacian": "sym", "seed": 4, "first": 2, "last": 1}
    assert repr(spectrum).startswith("Spectrum(3 pairs of 5 nodes, laplacian='sym', seed=4, first=2, last=1, solver=")
    again = end_spectrum(tiny("path"), first=2, last=1, seed=4)  # from the cache
    assert torch.equal(again.vectors, spectrum.vectors)
    assert (again.first, again.trivial, again.solver) == (spectrum.first, spectrum.trivial, spectrum.solver)
