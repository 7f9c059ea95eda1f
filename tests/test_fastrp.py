"""Promises of FastRP: the formula, written plainly."""

import numpy as np
import pytest
import torch

from llpe import make_encoding, tiny
from llpe.graph import TINY, Graph
from llpe.probes import draw

pytestmark = pytest.mark.filterwarnings("ignore::llpe.GraphWarning")


def unit(rows: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(length > 0, length, 1)


@pytest.mark.parametrize("name", TINY)
def test_it_is_the_plain_formula(name):
    graph = Graph.from_data(tiny(name))
    adjacency, degree = graph.adjacency.toarray(), np.maximum(graph.degree, 1e-300)
    walk = np.where(graph.degree[:, None] > 0, adjacency / degree[:, None], 0)
    signal = draw(graph.num_nodes, 6, 3) * np.where(graph.degree > 0, degree, 1)[:, None] ** -0.7
    powers = [np.linalg.matrix_power(walk, k) @ signal for k in (1, 2, 3, 4)]
    expected = 0.5 * np.sqrt(6) * unit(sum(unit(each) for each in powers))
    encoding = make_encoding("fastrp", dim=6, powers=4, exponent=-0.7, size=0.5, seed=3)
    found = encoding(encoding.prepare(tiny(name), cache=False))
    assert torch.allclose(found, torch.from_numpy(expected).float(), atol=1e-4)


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
