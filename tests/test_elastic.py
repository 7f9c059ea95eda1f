"""Electrostatic potentials against closed forms, at any scale of the weights."""

import numpy as np
import pytest
import torch

from llpe import Graph, SpectrumError, tiny
from llpe.encodings.elastic import potentials
from llpe.graph import TINY
from llpe.laplacian import laplacian


def test_elastic_potentials_are_those_of_the_pseudo_inverse():
    for name in TINY:
        graph = Graph.from_data(tiny(name), warn=False)
        inverse = np.linalg.pinv(laplacian(graph, "comb").toarray(), hermitian=True)
        assert np.allclose(potentials(graph), inverse - np.diag(inverse), atol=1e-10)


@pytest.mark.parametrize("weight", [1e-30, 1e12, 1e16, 1e37])
def test_elastic_potentials_are_inverse_to_the_weights(weight):
    """A ring of m nodes: L⁺_ij = ((m² − 1)/12 − d(m − d)/2) / m for nodes d steps apart, over the weight."""
    data = tiny("ring")
    data.edge_weight = torch.full((16,), weight, dtype=torch.float64)
    distance = np.abs(np.subtract.outer(np.arange(8), np.arange(8)))
    expected = -distance * (8 - distance) / 16 / weight
    assert np.allclose(potentials(Graph.from_data(data)), expected, rtol=1e-12, atol=1e-13 / weight)


def test_elastic_refuses_what_cannot_be_represented():
    data = tiny("path")
    for weight in (1e-310, 1e-40, 1e40, 1e308):
        data.edge_weight = torch.full((8,), weight, dtype=torch.float64)
        with pytest.raises(ValueError, match=r"`data.edge_weight` must give potentials between 1e-38 and 3e\+38, got"):
            potentials(Graph.from_data(data))
    data.edge_weight = torch.tensor([1.0, 1.0, 1e-16, 1e-16, 1.0, 1.0, 1.0, 1.0], dtype=torch.float64)
    with pytest.raises(SpectrumError, match=r"mostly rounding errors.* 'llpe-probes'"):
        potentials(Graph.from_data(data))
    data.edge_weight = torch.tensor([1e-16, 1e-16, *[1.0] * 6], dtype=torch.float64)  # a node that hangs by a thread
    a = potentials(Graph.from_data(data))
    assert np.allclose(a[0, 1] - a[1, 1], -0.2e16, rtol=1e-6)


def test_elastic_refuses_what_does_not_fit_in_memory(monkeypatch):
    graph = Graph.from_data(tiny("grid"))
    monkeypatch.setattr("llpe.storage.SMALL_WORK", 0)
    monkeypatch.setattr("llpe.storage.available_memory", lambda: 100)
    with pytest.raises(SpectrumError, match=r"potentials of 12 nodes needs about .* 'llpe-probes'"):
        potentials(graph)
