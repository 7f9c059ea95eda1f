"""Promises of a single measurement; each test starts a process."""

from __future__ import annotations

from pathlib import Path

import pytest

from llpe.paper.measuring import measure_apart, write_graph


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("measuring") / "graphs" / "sbm.npz"
    write_graph(path, 3000, seed=0)
    return path


def test_memory_holds_the_result_and_not_the_libraries(graph):
    result = measure_apart(graph, "probes", 0, limit=300)
    assert isinstance(result, dict), result
    features = 3000 * 32 * 64 * 4
    assert features <= result["bytes"] < 3 * features  # importing torch alone takes more than that
    assert result["seconds"] > 0


def test_what_takes_too_long_is_ended_and_what_fails_says_why(graph, tmp_path):
    assert measure_apart(graph, "both", 256, limit=0.01) == "took more than 0.01 s"
    result = measure_apart(tmp_path / "none.npz", "first", 2, limit=300)
    assert isinstance(result, str)
    assert result.startswith("failed: FileNotFoundError")
