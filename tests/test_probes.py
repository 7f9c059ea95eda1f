"""Probes against the exact formulas: features, moments, and the distances of the paper's Definition 1."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from llpe import Graph, chebyshev, full_spectrum, probe_features, tiny
from llpe.data.synthetic import sbm
from llpe.functional import random_walk_return
from llpe.graph import TINY
from llpe.laplacian import normalised_adjacency
from llpe.probes import draw, probe_block, probe_range
from llpe.spmm import torch_csr


def exact_terms(graph, order):
    """T_m(L̃) as dense matrices, from the eigendecomposition."""
    spectrum = full_spectrum(graph, cache=False)
    terms = chebyshev.basis(spectrum.values, order)
    return [spectrum.vectors @ torch.diag(terms[:, m]) @ spectrum.vectors.T for m in range(order)]


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize(("order", "probes"), [(1, 1), (2, 3), (40, 5)])
def test_features_are_chebyshev_polynomials_of_the_laplacian_with_or_without_the_trivial_vector(name, order, probes):
    graph = Graph.from_data(tiny(name), warn=False)
    features, found = probe_features(graph, order=order, probes=probes, seed=2)
    terms = exact_terms(graph, order)
    start = torch.from_numpy(draw(graph.num_nodes, probes, 2)).double() / probes**0.5
    for m in range(order):
        assert torch.allclose(features[:, :, m].double(), terms[m] @ start, atol=2e-5)
        quadratic = torch.trace(start.T @ terms[m] @ start) / torch.trace(start.T @ start)
        assert found[m] == pytest.approx(float(quadratic), abs=1e-5)
    trivial = torch.from_numpy(np.sqrt(graph.degree / max(graph.degree.sum(), 1)))
    centred = probe_features(graph, order=order, probes=probes, centred=True, seed=2)[0].double()
    without = features - torch.einsum("v,w,wsm->vsm", trivial, trivial, features.double())
    torch.testing.assert_close(centred, without, atol=2e-5, rtol=0)


@pytest.mark.parametrize("order", [33, 65])
@pytest.mark.parametrize("cuts", [(0, 40), (0, 1, 4, 12, 40), (0, 33, 40)])
def test_ranges_of_probes_are_those_of_the_whole_to_the_last_bit(monkeypatch, cuts, order):
    graph = Graph.from_data(sbm(n=1000, seed=0))
    options = {"order": order, "probes": 40, "centred": True}
    whole, inner = probe_range(graph, 0, 40, **options)
    monkeypatch.setattr("llpe.probes.ROWS", 60)  # which are worked on at once
    parts = [probe_range(graph, *ends, **options) for ends in pairwise(cuts)]
    assert torch.equal(torch.cat([features for features, _ in parts], dim=1), whole)
    assert np.array_equal(np.concatenate([products for _, products in parts], axis=2), inner)
    few, _ = probe_features(graph, **options | {"probes": 10, "centred": False})
    many, _ = probe_features(graph, **options | {"centred": False})
    assert torch.equal(few * 0.5, many[:, :10])  # the same probes, variance 1/10 against 1/40


def test_threads_change_nothing(monkeypatch):
    graph = Graph.from_data(sbm(n=1000, seed=0))
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = probe_range(graph, 0, 5, order=9, probes=5, centred=True)
        for module in ("probes", "spmm"):
            monkeypatch.setattr(f"llpe.{module}.ROWS", 100)
        torch.set_num_threads(3)
        together = probe_range(graph, 0, 5, order=9, probes=5, centred=True)
        assert torch.get_num_threads() == 3
        assert torch.equal(together[0], alone[0])
        assert np.array_equal(together[1], alone[1])
    finally:
        torch.set_num_threads(before)


def test_moments_are_those_of_the_features():
    features, found = probe_features(sbm(n=1000, seed=0), order=6, probes=3)
    terms = features.double()
    squares, neighbours = (terms**2).sum(dim=(0, 1)), (terms[..., 1:] * terms[..., :-1]).sum(dim=(0, 1))
    expected = torch.stack([2 * squares[1:] - squares[0], 2 * neighbours - neighbours[0]]) / squares[0]
    np.testing.assert_allclose(found[2::2], expected[0], rtol=0, atol=1e-8)
    np.testing.assert_allclose(found[1::2], expected[1], rtol=0, atol=1e-8)


def test_moments_give_the_spectral_density():
    graph = Graph.from_data(sbm(n=1500, homophily=0.5, seed=0))
    values, weights = chebyshev.density(probe_features(graph, order=64, probes=64)[1], 512)
    exact = full_spectrum(graph, cache=False).values.numpy()
    for cut in (0.5, 0.8, 1.0, 1.2, 1.5):
        assert weights[values < cut].sum() == pytest.approx((exact < cut).mean(), abs=0.02)


def test_mean_squared_distance_over_seeds_is_definition_1():
    """E‖P_i − P_j‖² = Σ_k h(λ_k)²(u_k[i] − u_k[j])², within three standard errors, for a low and a high pass."""
    graph = Graph.from_data(sbm(n=60, degree=6, homophily=0.2, seed=1))
    spectrum = full_spectrum(graph, cache=False)
    pairs = [(0, 1), (0, 59), (10, 40), (3, 7)]
    for kernel in (lambda v: np.exp(-2 * v), lambda v: np.exp(-3 * (2 - v))):
        theta = chebyshev.coefficients(kernel, 32)
        gains = torch.from_numpy(kernel(spectrum.values.numpy()) ** 2)
        samples = np.stack([_distances(graph, theta, pairs, probes=16, seed=seed) for seed in range(100)])
        for column, (i, j) in enumerate(pairs):
            exact = float((gains * (spectrum.vectors[i] - spectrum.vectors[j]) ** 2).sum())
            error = samples[:, column].std(ddof=1) / 100**0.5
            assert abs(samples[:, column].mean() - exact) < 3 * error


def _distances(graph, theta, pairs, probes, seed):
    features, _ = probe_features(graph, order=theta.numel(), probes=probes, seed=seed)
    encoding = features.double() @ theta
    return np.array([float(((encoding[i] - encoding[j]) ** 2).sum()) for i, j in pairs])


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize(("few", "many"), [(1, 10_000), (20, 3000)])
@pytest.mark.parametrize(("order", "error"), [(16, 1e-4), (64, 2e-3), (256, 1e-6)])
def test_terms_are_those_of_float64_even_beside_hubs(few, many, order, error, centred):
    """The worst case: hubs, whose whole energy is at the two ends of the spectrum."""
    there = sp.csr_array(np.ones((few, many)))
    graph = Graph(sp.csr_array(sp.block_array([[None, there], [there.T, None]])))
    features, _ = probe_features(graph, order=order, probes=4, centred=centred)
    start = probe_block(graph.degree, 0, 4, variance=1 / 4, centred=centred, seed=0).double()
    operator = torch_csr(-normalised_adjacency(graph), torch.float64)
    for m, exact in enumerate(chebyshev.recurrence(operator.matmul, start, order)):
        assert torch.linalg.norm(features[..., m] - exact) < error * torch.linalg.norm(exact)


@pytest.mark.parametrize("weight", [5e-324, 1e-310, 1e-40, 1e150, 1.7e308])
@pytest.mark.parametrize("n", [60, 300])
def test_the_unit_of_the_weights_does_not_matter(n, weight):
    data = sbm(n=n, seed=0)
    plain = probe_features(data, order=8, probes=2, centred=True), random_walk_return(data, 8)
    data.edge_weight = torch.full(data.edge_index.shape[1:], weight, dtype=torch.float64)
    (features, moments), returns = probe_features(data, order=8, probes=2, centred=True), random_walk_return(data, 8)
    torch.testing.assert_close(features, plain[0][0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(moments, plain[0][1], atol=1e-6)
    torch.testing.assert_close(returns, plain[1], rtol=1e-5, atol=1e-6)
