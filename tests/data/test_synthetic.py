"""Promises of the generators."""

from __future__ import annotations

import time
from collections import Counter

import pytest
import torch

from llpe.data.synthetic import parse_spec, preferential_attachment, sbm
from llpe.homophily import edge_homophily


@pytest.mark.parametrize("make", [sbm, preferential_attachment])
def test_same_seed_gives_same_bytes_and_edges_are_sorted_simple_and_in_both_directions(make):
    one, two, other = (make(300, homophily=0.4, seed=seed) for seed in (3, 3, 4))
    for key in ("x", "y", "edge_index"):
        assert torch.equal(one[key], two[key])
    assert not torch.equal(one.x, other.x)
    assert one.edge_index.tolist() != other.edge_index.tolist()
    assert one.is_coalesced()
    assert one.is_undirected()
    assert not one.has_self_loops()
    assert [one[key].dtype for key in ("x", "y", "edge_index")] == [torch.float32, torch.int64, torch.int64]
    assert set(one.keys()) == {"x", "y", "edge_index"}


@pytest.mark.parametrize("blocks", [2, 5])
@pytest.mark.parametrize("homophily", [0.0, 0.2, 0.5, 1.0])
def test_block_model_has_the_degree_and_homophily_asked_for(blocks, homophily):
    data = sbm(8000, blocks=blocks, degree=10, homophily=homophily, seed=1)
    assert data.num_edges / 8000 == pytest.approx(10, abs=0.2)
    assert edge_homophily(data.edge_index, data.y) == pytest.approx(homophily, abs=0.02)


def test_blocks_are_equal_up_to_one_node_and_share_the_foreign_neighbours_evenly():
    assert sbm(11, blocks=3, degree=0).y.bincount().tolist() == [3, 4, 4]
    data = sbm(9000, blocks=3, homophily=0.4, seed=2)
    pairs = torch.bincount(data.y[data.edge_index[0]] * 3 + data.y[data.edge_index[1]], minlength=9) / 3000
    expected = torch.full((3, 3), 3.0).fill_diagonal_(4.0)
    assert torch.allclose(pairs.reshape(3, 3), expected, atol=0.2)


@pytest.mark.parametrize(("homophily", "degree"), [(1, 9), (0, 30), (0, 0)])
def test_probability_one_gives_the_complete_graph_of_each_kind_and_zero_no_edges(homophily, degree):
    data = sbm(40, blocks=4, homophily=homophily, degree=degree)
    assert data.edge_index.shape == (2, 40 * degree)
    assert ((data.y[data.edge_index[0]] == data.y[data.edge_index[1]]) == homophily).all()


def test_a_million_nodes_take_seconds():
    start = time.perf_counter()
    data = sbm(1_000_000, homophily=0.3)
    assert time.perf_counter() - start < 60  # about 3 s on one quiet core
    assert data.num_edges / 1e6 == pytest.approx(10, abs=0.05)
    assert edge_homophily(data.edge_index, data.y) == pytest.approx(0.3, abs=0.005)
    assert int(data.edge_index.min()) >= 0
    assert int(data.edge_index.max()) < 1_000_000


def class_means(data):
    return torch.stack([data.x[data.y == label].mean(dim=0) for label in data.y.unique()])


def test_features_have_the_means_and_spread_of_the_paper():
    binary = sbm(20000, mean=0.5, std=2.0)
    expected = torch.stack([torch.zeros(10), torch.full((10,), 0.5)])
    assert torch.allclose(class_means(binary), expected, atol=0.08)
    assert binary.x[binary.y == 0].std() == pytest.approx(2.0, abs=0.05)
    many = sbm(20000, blocks=4, features=6, mean=3.0)
    assert torch.allclose(class_means(many), 3.0 * torch.eye(4, 6), atol=0.08)


@pytest.mark.parametrize(("n", "blocks", "low", "high"), [(2000, 2, 0.60, 0.67), (5000, 5, 0.46, 0.53)])
def test_features_alone_are_weak(n, blocks, low, high):
    data = sbm(n, blocks=blocks)
    accuracy = (torch.cdist(data.x, class_means(data)).argmin(dim=1) == data.y).double().mean()
    assert low < accuracy < high


def test_each_new_node_brings_m_edges_and_some_become_hubs():
    data = preferential_attachment(3000, classes=3, homophily=0.5, m=4)
    seeds = 3 * 4
    assert data.num_edges == 2 * (seeds - 1 + (3000 - seeds) * 4)
    source, target = data.edge_index
    older = torch.bincount(source[target < source], minlength=3000)
    assert torch.equal(older[seeds:], torch.full((3000 - seeds,), 4))
    assert torch.bincount(source).max() > 60
    assert data.y.bincount().tolist() == [1000, 1000, 1000]


@pytest.mark.parametrize("homophily", [0.0, 0.3, 0.8, 1.0])
def test_attachment_has_the_homophily_asked_for(homophily):
    data = preferential_attachment(5000, classes=4, homophily=homophily)
    assert edge_homophily(data.edge_index, data.y) == pytest.approx(homophily, abs=0.03)
    if homophily == 1:  # the chain of seed nodes alone links the classes
        assert int((data.y[data.edge_index[0]] != data.y[data.edge_index[1]]).sum()) == 2 * 3


def test_targets_are_drawn_by_degree_times_compatibility():
    counts = Counter()
    for seed in range(2000):
        source, target = preferential_attachment(4, classes=3, homophily=0.5, m=1, seed=seed).edge_index
        counts[int(target[source == 3])] += 1
    # chain 0-1-2 of classes 0, 1, 2: degrees 1, 2, 1; the new node has class 0: weights 1·½, 2·¼, 1·¼
    assert [counts[v] / 2000 for v in range(3)] == pytest.approx([0.4, 0.4, 0.2], abs=0.04)


@pytest.mark.parametrize(
    ("make", "arguments", "match"),
    [
        (sbm, {"n": 3}, "`n` must be an integer of at least 4, got 3"),
        (sbm, {"blocks": 1}, "`blocks` must be an integer of at least 2"),
        (sbm, {"homophily": 1.5}, "`homophily` must be a share between 0 and 1, got 1.5"),
        (sbm, {"n": 20, "degree": 11, "homophily": 1}, "`degree` must not be negative nor exceed"),
        (sbm, {"features": 0}, "`features` must be an integer of at least 1"),
        (sbm, {"blocks": 5, "features": 3}, "`features` must be an integer of at least 5"),
        (sbm, {"std": -1}, "`std` must be a finite number of at least 0, got -1"),
        (preferential_attachment, {"n": 9}, "`n` must be an integer of at least 10"),
        (preferential_attachment, {"m": 0}, "`m` must be an integer of at least 1"),
        (preferential_attachment, {"homophily": -0.1}, "`homophily` must be a share"),
    ],
)
def test_impossible_requests_are_refused(make, arguments, match):
    with pytest.raises(ValueError, match=match):
        make(**arguments)


def test_spec_is_the_same_as_the_call():
    spec = parse_spec("sbm: n=60, blocks=3, homophily=1, seed=7,")()
    call = sbm(60, blocks=3, homophily=1, seed=7)
    assert torch.equal(spec.x, call.x)
    assert torch.equal(spec.edge_index, call.edge_index)
    assert parse_spec("pa:n=50,m=2,std=2").keywords == {"n": 50, "m": 2, "std": 2.0}
    assert parse_spec("sbm:").keywords == {}


@pytest.mark.parametrize(
    ("spec", "match"),
    [
        ("ring:n=3", "`spec` must start with sbm: or pa:, got 'ring:n=3'"),
        ("sbm", "`spec` must start with"),
        ("sbm:nodes=3", "with the keys n, blocks, degree, .*, got 'nodes=3'"),
        ("pa:n", "with the keys n, classes, homophily, m, .*, got 'n'"),
        ("sbm:n=4,n=5", "each key once, got `n` twice"),
        ("sbm:n=1e3", "`n` in 'sbm:n=1e3' must be an integer, got '1e3'"),
        ("sbm:homophily=low", "`homophily` in .* must be a number, got 'low'"),
    ],
)
def test_bad_specs_say_what_is_allowed(spec, match):
    with pytest.raises(ValueError, match=match):
        parse_spec(spec)
