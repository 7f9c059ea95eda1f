"""The plain functions against the formula, the encodings and the transforms that are made from them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from llpe import (
    Graph,
    ProbeLLPE,
    filtered_probes,
    full_spectrum,
    functional,
    laplacian_eigenvectors,
    random_walk_return,
    tiny,
)
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


def given(dense: np.ndarray) -> Data:
    """A graph with these weights, which walks follow as they are."""
    source, target = dense.nonzero()
    edge_index = torch.from_numpy(np.stack([source, target]))
    return Data(edge_index=edge_index, edge_weight=torch.from_numpy(dense[source, target]), num_nodes=len(dense))


def naive_returns(dense: np.ndarray, steps: int) -> Tensor:
    """diag(P^m) with P = D⁻¹A in float64; the row of a node without edges is zero."""
    degree = dense.sum(axis=1, keepdims=True)
    transition = np.divide(dense, degree, out=np.zeros_like(dense), where=degree > 0)
    powers = [np.linalg.matrix_power(transition, m).diagonal() for m in range(1, steps + 1)]
    return torch.from_numpy(np.stack(powers, axis=1))


def random_weights(*, directed: bool, weighted: bool, loops: bool, n: int = 41) -> np.ndarray:
    """A random graph with two nodes that have no edges at all and, if directed, one that is only entered."""
    rng = np.random.default_rng(0)
    dense = (rng.random((n, n)) < 0.12).astype(float)
    if weighted:
        dense *= rng.uniform(0.1, 5.0, (n, n))
    if not loops:
        np.fill_diagonal(dense, 0)
    if not directed:
        dense = np.triu(dense) + np.triu(dense, 1).T
    dense[[3, n - 1]] = dense[:, [3, n - 1]] = 0
    if directed:
        dense[5] = 0
        assert dense[:, 5].any()
    return dense


def fading(gap: float) -> np.ndarray:
    """Weights of a kernel that fades to nothing."""
    places = np.append(np.random.default_rng(0).normal(size=20), [gap, gap + 1])
    return np.exp(-((places[:, None] - places) ** 2)) * (1 - np.eye(22))


KINDS = [
    dict(zip(("directed", "weighted", "loops"), on, strict=True)) for on in itertools.product((False, True), repeat=3)
]
WEIGHTS = [
    *(Graph.from_data(tiny(name), warn=False).adjacency.toarray() for name in TINY),
    *(random_weights(**kind) for kind in KINDS),
    *(random_weights(**KINDS[3]) * scale for scale in (1e-200, 1e-12, 1e12, 1e200)),
    *map(fading, (4, 8, 12, 24)),
    np.array([[0, 1, 0], [1, 0, 1e-60], [0, 1e-60, 0]]),  # a node that hangs on by almost nothing
]


@pytest.mark.usefixtures("dense_and_sparse")
@pytest.mark.parametrize("steps", [1, 2, 12])
@pytest.mark.parametrize("dense", WEIGHTS)
def test_returns_of_walks_are_those_of_the_dense_power(dense: np.ndarray, steps: int) -> None:
    expected = naive_returns(dense, steps)
    data = given(dense)
    returns = random_walk_return(data, steps)
    assert returns.dtype == torch.float32
    torch.testing.assert_close(returns.double(), expected, rtol=0, atol=1e-6)
    assert np.array_equal(given(dense).edge_weight, data.edge_weight)


@pytest.mark.parametrize(("columns", "width"), [(0.5, 1), (7, 7), (10.2, 10), (40, 40)])
@pytest.mark.parametrize("kind", [KINDS[3], KINDS[7]])
def test_blocks_of_walks_have_their_limit_and_change_nothing(
    kind: dict[str, bool], columns: float, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = given(random_weights(**kind))
    whole, widths = random_walk_return(data, 8), []
    monkeypatch.setattr(functional, "SMALL", 0)
    monkeypatch.setattr(functional, "FEWEST", 1)
    monkeypatch.setattr(functional, "BLOCK_ENTRIES", int(columns * data.num_nodes))
    monkeypatch.setattr(functional, "multiply", lambda matrix, block: widths.append(block.size(1)) or matrix @ block)
    torch.testing.assert_close(random_walk_return(data, 8), whole, rtol=0, atol=1e-6)
    assert max(widths) == width


@pytest.mark.usefixtures("dense_and_sparse")
def test_known_returns_are_exact_and_follow_the_edges_or_the_undirected_view() -> None:
    # on a ring of 8, back after 2j < 8 steps: j of them one way, j the other
    out = random_walk_return(tiny("ring"), 6)
    assert torch.equal(out, torch.tensor([0, 2 / 4, 0, 6 / 16, 0, 20 / 64]).expand(8, 6))
    # a lone self-loop always leads back, a node without edges never returns
    assert random_walk_return(sp.csr_array(np.diag([2.0, 0.0])), 3).tolist() == [[1.0] * 3, [0.0] * 3]
    ring = tiny("directed")  # 0 → 1 → 2 → 3 → 0 and 0 → 2: no way back in two steps
    assert random_walk_return(ring, 4)[:, 1].tolist() == [0.0] * 4
    assert (random_walk_return(Graph.from_data(ring), 2)[:, 1] > 0).all()


@pytest.mark.parametrize("probes", [1, 8])
@pytest.mark.parametrize("bank", ["heat", "step"])
def test_filtered_probes_are_what_the_encoding_begins_with(bank: str, probes: int) -> None:
    data = sbm(n=300, homophily=0.1)  # order 8: sharper low passes leave rounding errors, which are not the same
    encoding = ProbeLLPE(2 * probes, order=8, probes=probes, start=bank, size=1.0, frozen=True, seed=5)
    result = filtered_probes(data, 2 * probes, probes=probes, order=8, bank=bank, seed=5)
    assert result.shape == (300, 2 * probes)
    assert torch.allclose(result, encoding(encoding.prepare(data)), atol=1e-3)


def test_filtered_probes_have_the_defaults_of_the_encoding_and_rows_of_mean_square_one() -> None:
    data = sbm(n=300, homophily=0.1)
    encoding = ProbeLLPE(96, size=1.0, frozen=True)
    assert torch.allclose(filtered_probes(data, 96), encoding(encoding.prepare(data)), atol=1e-4)
    columns = filtered_probes(tiny("grid"), 24, probes=8).view(12, 8, 3)
    assert torch.allclose(columns.square().mean(dim=1), torch.ones(12, 3), atol=1e-4)


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (laplacian_eigenvectors, {"k": 0}, "`k` must be an integer of at least 1, got 0"),
        (laplacian_eigenvectors, {"k": 2, "ends": "low"}, "`ends` must be one of 'first', 'last', 'both'"),
        (laplacian_eigenvectors, {"k": 2, "laplacian": "L"}, "`laplacian` must be one of 'sym', 'rw'"),
        (random_walk_return, {"steps": 0}, "`steps` must be an integer of at least 1, got 0"),
        (filtered_probes, {"dim": 9, "probes": 8}, "`dim` must be probes × filters, a multiple of probes=8"),
        (filtered_probes, {"dim": 32, "probes": 0}, "`probes` must be an integer of at least 1, got 0"),
        (filtered_probes, {"dim": 32, "bank": "wide"}, "`bank` must be one of 'heat', 'step', got 'wide'"),
        (filtered_probes, {"dim": 32, "order": 0}, "`order` must be an integer of at least 1, got 0"),
    ],
)
def test_bad_arguments_are_refused(function, arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        function(tiny("path"), **arguments)
