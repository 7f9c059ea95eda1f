"""Return probabilities against powers of the dense transition matrix."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from llpe import walks
from llpe.graph import TINY, Graph, tiny
from llpe.walks import return_probabilities

pytestmark = pytest.mark.usefixtures("dense_and_sparse")


def naive(adjacency: sp.csr_array, steps: int) -> Tensor:
    """diag(P^m) with P = D⁻¹A in float64; the row of a node without edges is zero."""
    dense = adjacency.toarray()
    degree = dense.sum(axis=1, keepdims=True)
    transition = np.divide(dense, degree, out=np.zeros_like(dense), where=degree > 0)
    power, out = np.eye(len(dense)), []
    for _ in range(steps):
        power = power @ transition
        out.append(np.diag(power))
    return torch.from_numpy(np.stack(out, axis=1))


def random_adjacency(*, directed: bool, weighted: bool, loops: bool, n: int = 41, seed: int = 0) -> sp.csr_array:
    """A random graph with two nodes that have no edges at all and, if directed, one that is only entered."""
    rng = np.random.default_rng(seed)
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
    return sp.csr_array(dense)


KINDS = [
    {"directed": directed, "weighted": weighted, "loops": loops}
    for directed, weighted, loops in itertools.product((False, True), repeat=3)
]


@pytest.mark.parametrize("steps", [1, 2, 9])
@pytest.mark.parametrize("name", TINY)
def test_returns_on_tiny_graphs_equal_the_dense_power(name: str, steps: int) -> None:
    adjacency = Graph.from_data(tiny(name), warn=False).adjacency
    out = return_probabilities(adjacency, steps)
    assert out.shape == (adjacency.shape[0], steps)
    assert out.dtype == torch.float32
    torch.testing.assert_close(out.double(), naive(adjacency, steps), rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_returns_on_random_graphs_equal_the_dense_power(kind: dict[str, bool]) -> None:
    adjacency = random_adjacency(**kind)
    before = adjacency.copy()
    expected = naive(adjacency, 12)
    assert (expected[:, -1] > 0.01).any()
    torch.testing.assert_close(return_probabilities(adjacency, 12).double(), expected, rtol=0, atol=1e-6)
    assert (adjacency != before).nnz == 0


@pytest.mark.parametrize(("columns", "width"), [(0.5, 1), (1, 1), (7, 7), (10.2, 10), (40, 40)])
@pytest.mark.parametrize("kind", [KINDS[3], KINDS[7]])
def test_blocks_have_their_limit_and_change_nothing(
    kind: dict[str, bool], columns: float, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    adjacency = random_adjacency(**kind)
    whole, widths = return_probabilities(adjacency, 8), []
    monkeypatch.setattr(walks, "SMALL", 0)
    monkeypatch.setattr(walks, "FEWEST", 1)
    monkeypatch.setattr(walks, "BLOCK_ENTRIES", int(columns * adjacency.shape[0]))
    monkeypatch.setattr(walks, "multiply", lambda matrix, block: widths.append(block.size(1)) or matrix @ block)
    torch.testing.assert_close(return_probabilities(adjacency, 8), whole, rtol=0, atol=1e-6)
    assert max(widths) == width


def test_known_returns_are_exact() -> None:
    # on a ring of 8, back after 2j < 8 steps: j of them one way, j the other
    out = return_probabilities(Graph.from_data(tiny("ring")).adjacency, 6)
    assert torch.equal(out, torch.tensor([0, 2 / 4, 0, 6 / 16, 0, 20 / 64]).expand(8, 6))
    # a lone self-loop always leads back, a node without edges never returns
    assert return_probabilities(sp.csr_array(np.diag([2.0, 0.0])), 3).tolist() == [[1.0] * 3, [0.0] * 3]


def test_the_scale_of_the_weights_does_not_matter() -> None:
    adjacency = random_adjacency(directed=False, weighted=True, loops=True)
    returns = return_probabilities(adjacency, 10)
    for scale in (1e-200, 1e-12, 1e12, 1e200):
        torch.testing.assert_close(return_probabilities(adjacency * scale, 10), returns, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("gap", [4, 8, 12, 24])
def test_weights_of_a_kernel_that_fades_to_nothing_are_exact(gap: float) -> None:
    places = np.append(np.random.default_rng(0).normal(size=20), [gap, gap + 1])
    weights = np.exp(-((places[:, None] - places) ** 2))
    np.fill_diagonal(weights, 0)
    adjacency = sp.csr_array(weights)
    torch.testing.assert_close(return_probabilities(adjacency, 9).double(), naive(adjacency, 9), rtol=0, atol=1e-6)


def test_a_node_that_hangs_on_by_almost_nothing_is_exact() -> None:
    adjacency = sp.csr_array(np.array([[0, 1, 0], [1, 0, 1e-60], [0, 1e-60, 0]]))
    torch.testing.assert_close(return_probabilities(adjacency, 6).double(), naive(adjacency, 6), rtol=0, atol=1e-6)
