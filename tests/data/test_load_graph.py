"""Promises of the one text that names any graph."""

from __future__ import annotations

import numpy as np
import pytest

from llpe.data import load_graph


def test_a_benchmark_name_loads_a_benchmark(mirror, tmp_path, monkeypatch):
    monkeypatch.setenv("LLPE_DATA_MIRROR", str(mirror))
    dataset = load_graph("Texas", data_root=tmp_path / "data")
    assert dataset.name == "texas"
    assert dataset.published
    assert (tmp_path / "data" / "texas" / "raw").is_dir()


def test_a_spec_makes_a_synthetic_graph():
    dataset = load_graph("pa:n=90,classes=3")
    assert dataset.name == "pa:n=90,classes=3"
    assert (dataset.num_classes, dataset.num_nodes, dataset.metric) == (3, 90, "accuracy")


def test_a_path_reads_a_file(tmp_path):
    path = tmp_path / "toy.npz"
    np.savez(path, x=np.eye(2), y=[0, 1], edges=[[0, 1]])
    assert load_graph(path).name == load_graph(str(path)).name == "toy"
    with pytest.raises(ValueError, match="the file must exist"):
        load_graph(tmp_path / "missing.npz")


def test_an_unknown_graph_is_told_the_three_possibilities():
    with pytest.raises(ValueError, match=r"must be a benchmark .*texas.*, a synthetic graph .*sbm:.*file .*npz") as e:
        load_graph("cora_fulll")
    assert "Did you mean 'cora-full'?" in str(e.value)
    with pytest.raises(ValueError, match=r"with the keys n, blocks"):
        load_graph("sbm:k=3")
