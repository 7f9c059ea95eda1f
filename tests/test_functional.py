"""The plain functions against the formula, the encodings and the transforms that are made from them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from llpe import Graph, ProbeLLPE, filtered_probes, full_spectrum, laplacian_eigenvectors, random_walk_return, tiny
from llpe.data import sbm
from llpe.graph import TINY
from llpe.laplacian import laplacian

pytestmark = pytest.mark.filterwarnings("ignore::llpe.GraphWarning")


@pytest.mark.parametrize("name", TINY)
def test_eigenvectors_of_both_ends_are_those_of_the_whole_spectrum(name: str) -> None:
    spectrum = full_spectrum(tiny(name))
    n = spectrum.vectors.size(0)
    rest = spectrum.vectors[:, int(spectrum.trivial) :]
    first = torch.nn.functional.pad(rest[:, :3], (0, max(0, 3 - rest.size(1))))
    assert torch.allclose(laplacian_eigenvectors(tiny(name), 3), first)
    last = laplacian_eigenvectors(tiny(name), 3, ends="last")[:, : min(3, n)].numpy()
    values = (last * (laplacian(Graph.from_data(tiny(name))) @ last)).sum(axis=0)
    assert np.allclose(values, spectrum.values[-3:])
    both = laplacian_eigenvectors(tiny(name), 3, ends="both")
    assert both.shape == (n, 6)
    assert torch.equal(both[:, :3], laplacian_eigenvectors(tiny(name), 3))
    kept = both[:, both.abs().sum(dim=0) > 0]  # each eigenvector once
    assert torch.allclose(kept.T @ kept, torch.eye(kept.size(1), dtype=torch.float64), atol=1e-10)
    assert kept.size(1) == min(6, rest.size(1))


@pytest.mark.parametrize("kind", ["sym", "rw", "comb"])
def test_eigenvectors_are_eigenvectors_of_the_laplacian_asked_for(kind: str) -> None:
    vectors = laplacian_eigenvectors(tiny("grid"), 2, laplacian=kind, ends="both").numpy()
    product = laplacian(Graph.from_data(tiny("grid")), kind) @ vectors
    values = (product * vectors).sum(axis=0) / (vectors * vectors).sum(axis=0)
    assert np.allclose(product, values * vectors, atol=1e-8)
    assert (np.diff(values) > -1e-9).all()


def test_walks_follow_the_edges_as_given_and_on_a_graph_its_undirected_view() -> None:
    ring = tiny("directed")  # 0 → 1 → 2 → 3 → 0 and 0 → 2: no way back in two steps
    assert random_walk_return(ring, 4)[:, 1].tolist() == [0.0] * 4
    assert (random_walk_return(Graph.from_data(ring), 2)[:, 1] > 0).all()


@pytest.mark.parametrize("probes", [1, 8])
@pytest.mark.parametrize("bank", ["heat", "step"])
def test_filtered_probes_are_what_the_encoding_begins_with(bank: str, probes: int) -> None:
    data = sbm(n=300, homophily=0.1)  # order 8: sharper low passes leave rounding errors, which are not the same
    encoding = ProbeLLPE(2 * probes, order=8, probes=probes, start=bank, size=1.0, frozen=True, seed=5)
    expected = encoding(encoding.prepare(data))
    result = filtered_probes(data, 2 * probes, probes=probes, order=8, bank=bank, seed=5)
    assert result.shape == (300, 2 * probes)
    assert torch.allclose(result, expected, atol=1e-3)


def test_filtered_probes_have_the_defaults_of_the_encoding_and_rows_of_mean_square_one() -> None:
    data = sbm(n=300, homophily=0.1)
    encoding = ProbeLLPE(96, size=1.0, frozen=True)
    assert torch.allclose(filtered_probes(data, 96), encoding(encoding.prepare(data)), atol=1e-4)
    columns = filtered_probes(tiny("grid"), 24, probes=8).view(12, 8, 3)
    assert torch.allclose(columns.square().mean(dim=1), torch.ones(12, 3), atol=1e-4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: laplacian_eigenvectors(tiny("path"), 0), "`k` must be an integer of at least 1, got 0"),
        (lambda: laplacian_eigenvectors(tiny("path"), 2, ends="low"), "`ends` must be one of 'first', 'last', 'both'"),
        (lambda: laplacian_eigenvectors(tiny("path"), 2, laplacian="L"), "`laplacian` must be one of 'sym', 'rw'"),
        (lambda: random_walk_return(tiny("path"), 0), "`steps` must be an integer of at least 1, got 0"),
        (lambda: filtered_probes(tiny("path"), 9, probes=8), "`dim` must be probes × filters, a multiple of probes=8"),
        (lambda: filtered_probes(tiny("path"), 32, probes=0), "`probes` must be an integer of at least 1, got 0"),
        (lambda: filtered_probes(tiny("path"), 32, bank="wide"), "`bank` must be one of 'heat', 'step', got 'wide'"),
        (lambda: filtered_probes(tiny("path"), 32, order=0), "`order` must be an integer of at least 1, got 0"),
    ],
)
def test_bad_arguments_are_refused(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
