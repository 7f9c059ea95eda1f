"""Promises of FastRP: the formula, written plainly."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from llpe import make_encoding, tiny
from llpe.graph import TINY, Graph
from llpe.probes import draw

pytestmark = pytest.mark.filterwarnings("ignore::llpe.GraphWarning")


def unit(rows: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(length > 0, length, 1)


def weighted(widest: float) -> Data:
    """A ring of 200 nodes with chords, and weights from 1e-widest to 1e+widest."""
    nodes = torch.arange(200)
    edges = torch.stack([nodes.repeat(2), torch.cat([nodes + 1, nodes + 7]) % 200])
    weights = 10.0 ** torch.linspace(-widest, widest, 400, dtype=torch.float64)
    return Data(edge_index=edges, edge_weight=weights, num_nodes=200)


GRAPHS = {name: tiny(name) for name in TINY} | {f"1e{w}": weighted(w) for w in (2, 20, 60)}


@pytest.mark.parametrize("name", GRAPHS)
def test_it_is_the_plain_formula(name):
    graph = Graph.from_data(GRAPHS[name])
    adjacency, degree = graph.adjacency.toarray(), np.maximum(graph.degree, 1e-300)
    walk = np.where(graph.degree[:, None] > 0, adjacency / degree[:, None], 0)
    signal = draw(graph.num_nodes, 6, 3) * np.where(graph.degree > 0, degree, 1)[:, None] ** -0.7
    powers = [np.linalg.matrix_power(walk, k) @ signal for k in (1, 2, 3, 4)]
    expected = 0.5 * np.sqrt(6) * unit(sum(unit(each) for each in powers))
    encoding = make_encoding("fastrp", dim=6, powers=4, exponent=-0.7, size=0.5, seed=3)
    found = encoding(encoding.prepare(GRAPHS[name], cache=False))
    assert torch.allclose(found, torch.from_numpy(expected).float(), atol=1e-4)


def test_degrees_too_far_apart_are_refused():
    with pytest.raises(ValueError, match="no power of the degrees, to -2, is below 1e-150 of the largest"):
        make_encoding("fastrp", dim=4, exponent=-2).prepare(weighted(140), cache=False)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"powers": 0}, "`powers` must be an integer of at least 1, got 0"),
        ({"exponent": "x"}, "`exponent` must be a finite number, got 'x'"),
        ({"size": 0}, "`size` must be a finite number above 0, got 0"),
    ],
)
def test_bad_arguments_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        make_encoding("fastrp", dim=4, **options)
