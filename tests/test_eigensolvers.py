"""Eigenpairs by iteration, against dense eigendecompositions and known spectra."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from llpe import Graph, end_spectrum, full_spectrum
from llpe.data import sbm
from llpe.eigensolvers import end_pairs
from llpe.krylov import EndFilter, quadrature
from llpe.laplacian import laplacian

NOTHING = torch.empty(1200, 0, dtype=torch.float64)


def diagonal(*values: np.ndarray) -> sp.csr_array:
    every = np.concatenate(values)
    return sp.csr_array(sp.diags_array(np.random.default_rng(0).permutation(every)))


@pytest.mark.parametrize("homophily", [0.1, 0.9])
def test_both_ends_are_those_of_lapack(homophily):
    graph = Graph.from_data(sbm(n=1500, homophily=homophily, seed=1))
    ends, again = (end_spectrum(graph, first=40, last=50, cache=False) for _ in range(2))
    full = full_spectrum(graph, cache=False)
    assert torch.equal(ends.vectors, again.vectors)
    assert "filter" in ends.solver
    assert torch.allclose(ends.values, torch.cat([full.values[:40], full.values[-50:]]), atol=1e-12)
    assert torch.allclose(ends.vectors, torch.cat([full.vectors[:, :40], full.vectors[:, -50:]], dim=1), atol=1e-6)
    assert float(ends.residuals.max()) < 2e-8


def test_the_quadrature_counts_eigenvalues_from_either_end():
    matrix = sp.csr_array(laplacian(Graph.from_data(sbm(n=1500, homophily=0.9, seed=1))) - sp.eye_array(1500))
    exact = np.linalg.eigvalsh(matrix.toarray())
    spread = quadrature(matrix, 0)
    for count in (50, 200, 750):
        assert abs((exact > spread.value(count)).sum() - count) < 0.2 * count
        assert abs((exact < -spread.reversed().value(count)).sum() - count) < 0.2 * count


def test_what_was_found_is_not_found_again():
    matrix = diagonal(np.linspace(0.8, 0.9, 50), np.linspace(-1, 0.5, 1150))
    top = EndFilter(matrix, quadrature(matrix, 0), 40, 1e-9)
    first = top.pairs(20, NOTHING, 1e-9, seed=0)
    assert first is not None
    second = top.pairs(20, torch.from_numpy(first[1]), 1e-9, seed=0)
    assert second is not None
    expected = np.linspace(0.8, 0.9, 50)[::-1][:40]
    assert np.allclose(np.concatenate([first[0], second[0]]), expected, atol=1e-12)
    assert np.abs(first[1].T @ second[1]).max() < 1e-10


def test_an_eigenvalue_with_more_copies_than_the_block_has_columns_is_found_whole(monkeypatch):
    monkeypatch.setattr("llpe.shift_invert.Shape.thin", False)
    matrix = diagonal(np.full(60, 0.1), np.linspace(0.2, 1.9, 1140))
    pairs = end_pairs(matrix, [], low=70, high=0, centre=1.0, seed=0)
    assert int((np.abs(pairs.values - 0.1) < 1e-10).sum()) == 60
    assert np.abs(pairs.vectors.T @ pairs.vectors - np.eye(70)).max() < 1e-9


def test_pairs_that_do_not_stand_out_are_left_to_arpack():
    matrix = diagonal(np.linspace(0.1, 1.9, 200), np.full(1000, 0.05))  # the low end is one eigenvalue, and too many
    spread = quadrature(sp.csr_array(sp.eye_array(1200) - matrix), 0)
    assert EndFilter(sp.csr_array(sp.eye_array(1200) - matrix), spread, 40, 1e-9).pairs(40, NOTHING, 1e-9, 0) is None
