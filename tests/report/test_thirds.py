"""Promises of the thirds: shares add up to one, and the energy of filters is that of the encoding."""

import numpy as np
import pytest

from llpe.data import sbm
from llpe.encodings import LLPE
from llpe.graph import Graph
from llpe.report.thirds import filter_shares, in_words, shares
from llpe.spectrum import full_spectrum


def test_the_energy_of_filters_is_the_norm_of_what_they_pass_of_each_third():
    graph = Graph.from_data(sbm(n=60, homophily=0.3))
    values = full_spectrum(graph, cache=False).values
    encoding = LLPE(3, order=12)
    gains = encoding.response(values.float()).detach().double().numpy()
    grid = np.linspace(0, 2, 4001)
    response = encoding.response(grid).detach().numpy()
    found = filter_shares(values.numpy(), np.full(60, 1 / 60), grid, response)
    third = np.digitize(values.numpy(), (2 / 3, 4 / 3))
    expected = [np.square(gains[third == i]).sum() / np.square(gains).sum() for i in range(3)]
    assert found == pytest.approx(expected, abs=1e-4)
    assert sum(found) == pytest.approx(1)


def test_filters_that_pass_nothing_have_no_shares():
    assert filter_shares(np.array([0.5, 1.5]), np.ones(2), np.array([0.0, 2.0]), np.zeros((2, 3))) == [0, 0, 0]
    assert shares(np.array([0.5]), np.zeros(1)) == [0, 0, 0]


def test_words_name_the_third_that_stands_out_not_the_largest():
    assert "the low third holds 3.0 times" in in_words("it", [0.3, 0.6, 0.1], [0.1, 0.8, 0.1])
    assert "the middle third" in in_words("it", [0.0, 1.0, 0.0], [0.0, 1.0, 0.0])


def test_filters_without_a_scale_of_their_own_count_alike():
    grid = np.linspace(0, 2, 5)
    response = np.array([[1.0, 0.0]] * 2 + [[0.0, 0.0]] + [[0.0, 1e6]] * 2)
    assert filter_shares(grid, np.ones(5), grid, response) == pytest.approx([0, 0, 1])
    assert filter_shares(grid, np.ones(5), grid, response, unit=True) == pytest.approx([0.5, 0, 0.5])
    assert filter_shares(grid, np.ones(5), grid, 0 * response, unit=True) == [0, 0, 0]
