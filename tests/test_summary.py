"""Promises of a graph's summary: known spectra, honest estimates, gaps that exist."""

import numpy as np
import pytest

from llpe import summary
from llpe.data import load_graph
from llpe.graph import TINY, Graph, tiny
from llpe.spectrum import end_spectrum, full_spectrum
from llpe.storage import SpectrumError


@pytest.mark.parametrize("name", TINY)
def test_multiplicities_are_those_of_the_eigenvalues(name):
    graph = Graph.from_data(tiny(name), warn=False)
    values = full_spectrum(graph, cache=False).values
    counted = {"0": int((values < 1e-9).sum()), "2": int((values > 2 - 1e-9).sum())}
    assert summary.multiplicities(graph) == counted


@pytest.mark.parametrize("block", [summary.BLOCK, 4 * 400 * 64 * 3], ids=["all probes at once", "three at a time"])
def test_estimated_shares_are_close_to_the_exact_ones(block, monkeypatch):
    graph = Graph.from_data(load_graph("sbm:n=400,homophily=0.9").data)
    exact = summary.thirds(summary.exact_shares(full_spectrum(graph, cache=False).values.numpy()))
    monkeypatch.setattr(summary, "BLOCK", block)
    shares = summary.estimated_shares(graph, order=64, probes=32)
    assert shares.sum() == pytest.approx(1)
    assert summary.thirds(shares) == pytest.approx(exact, abs=0.02)


def test_eigenvalues_on_a_border_are_in_the_middle():
    values = np.array([2 / 3 - 1e-15, 2 / 3 + 1e-15, 4 / 3 - 1e-15, 4 / 3 + 1e-15, 0.0, 2.0])
    assert summary.thirds(summary.exact_shares(values)) == pytest.approx({"low": 1 / 6, "middle": 4 / 6, "high": 1 / 6})


def test_a_gap_between_the_two_ends_does_not_count():
    ends = summary.extremes(end_spectrum(tiny("ring"), first=2, last=1, cache=False))  # 0, 1 − cos 45°, …, 2
    assert ends["complete"] is False
    assert ends["largest_gap"]["width"] == pytest.approx(1 - np.cos(np.pi / 4))
    assert summary.extremes(end_spectrum(tiny("ring"), first=1, last=1, cache=False))["largest_gap"] is None


def test_without_the_ends_the_rest_is_still_told(monkeypatch):
    def refuse(*_, **__):
        raise SpectrumError("an eigenvalue is repeated too often.")

    monkeypatch.setattr(summary, "end_spectrum", refuse)
    graph = load_graph("sbm:n=60")
    with pytest.warns(summary.SummaryWarning, match="extreme eigenvalues are left out: an eigenvalue is repeated"):
        document, _ = summary.summarise(graph)
    assert document["ends"] is None
    assert "smallest" not in summary.describe(document)
    assert summary.summarise(graph, ends=False)[0]["ends"] is None
    monkeypatch.setattr(summary, "full_spectrum", refuse)
    with pytest.raises(SpectrumError, match="repeated"):
        summary.summarise(graph, exact=True)
