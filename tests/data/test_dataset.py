"""Promises of the checked data set, its features, its giant component, and the one text that names any graph."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from llpe.data import NodeDataset, giant_component, load_graph, sbm, scaled_features, sparse_features, undirected
from llpe.graph import Graph, tiny
from llpe.lab import ConfigError, resolve

EDGES = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
MASK = torch.ones(4, 1, dtype=torch.bool)
DENSE = torch.tensor([[1.0, -2.0, 5.0], [3.0, 0.5, 5.0], [8.0, 1.5, 5.0], [0.0, 4.0, 5.0]])
WORDS = torch.tensor([[3.0, 0.0, 4.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0]])


def make(**changes):
    return Data(**{"x": torch.ones(4, 2), "y": torch.tensor([0, 1, 0, -1]), "edge_index": EDGES} | changes)


def dataset(data=None, *, metric="accuracy", num_classes=2, **fields):
    return NodeDataset("toy", make() if data is None else data, metric, num_classes, **fields)


def test_counts_are_those_of_the_data():
    assert (dataset().num_nodes, dataset().num_features, dataset().num_labelled) == (4, 2, 3)
    assert repr(dataset()).startswith("NodeDataset('toy', num_nodes=4, num_edges=4, num_features=2, num_classes=2")
    assert dataset(make(y=torch.full((4,), -1)), num_classes=0).num_labelled == 0


def test_fingerprint_depends_on_every_part_of_the_content_and_on_nothing_else():
    base = dataset().fingerprint
    assert replace(dataset(), name="other", notes=("a",)).fingerprint == base
    changed = [
        make(x=torch.zeros(4, 2)),
        make(y=torch.tensor([0, 1, 1, -1])),
        make(edge_index=torch.tensor([[0, 1], [1, 0]])),
        make(edge_weight=torch.ones(4)),
        make(x=torch.ones(4, 2, dtype=torch.float64)),
    ]
    assert len({dataset(data).fingerprint for data in changed} | {base}) == 6


@pytest.mark.parametrize(
    ("changes", "fields", "match"),
    [
        ({"x": None}, {}, "toy: `data.x` must be a float tensor .*, got NoneType"),
        ({"x": torch.ones(4, 2, dtype=torch.int64)}, {}, "got torch.int64 of shape"),
        ({"x": torch.ones(4)}, {}, r"`data.x` must be a float tensor .*, got torch.float32 of shape \[4\]"),
        ({"x": torch.full((4, 2), float("nan"))}, {}, "`data.x` must be finite"),
        ({"y": None}, {}, "`y` must be a tensor of classes, got NoneType"),
        ({"y": torch.rand(4)}, {}, "`y` must hold integer classes, .* Regression targets are not supported"),
        ({"y": torch.zeros(4, 2, dtype=torch.int64)}, {}, r"one class for each of 4 nodes, got shape \[4, 2\]"),
        ({"y": torch.zeros(3, dtype=torch.int64)}, {}, r"one class for each of 4 nodes, got shape \[3\]"),
        ({"y": torch.zeros(4, dtype=torch.int32)}, {}, "must have dtype torch.int64"),
        ({"y": torch.tensor([0, 1, -2, 0])}, {}, "or −1 for unlabelled, got -2"),
        ({"y": torch.tensor([0, 1, 2, 0])}, {}, "classes below num_classes=2, got 2"),
        ({"edge_index": torch.tensor([[0], [9]])}, {}, "`data.edge_index` must name nodes"),
        ({}, {"metric": "f1"}, "`metric` must be one of accuracy, auroc, got 'f1'"),
        ({}, {"metric": "auroc", "num_classes": 3}, "metric 'auroc' must have 2 classes, got 3"),
        ({}, {"class_names": ("a",)}, "`class_names` must name 2 classes, got 1"),
        ({}, {"masks": {"train": MASK}}, "`masks` must have the keys train, val, test, got train"),
        ({}, {"masks": {"train": MASK, "val": MASK, "test": MASK[:3]}}, r"`masks\['test'\]` must be boolean of shape"),
        ({}, {"masks": {"train": MASK, "val": MASK, "test": MASK.expand(4, 2)}}, "same number of splits in each part"),
    ],
)
def test_bad_data_and_bad_fields_are_refused(changes, fields, match):
    with pytest.raises(ValueError, match=match):
        dataset(make(**changes), **fields)


def test_undirected_view_keeps_weights_and_says_what_changed():
    weighted = make(edge_index=torch.tensor([[0, 1, 2], [1, 2, 2]]), edge_weight=torch.tensor([2.0, 3.0, 1.0]))
    simple, changes = undirected(weighted)
    assert torch.equal(simple.edge_index, EDGES)
    assert simple.edge_weight.tolist() == [2.0, 2.0, 3.0, 3.0]
    assert changes == ("dropped 1 self-loops", "made 2 one-way edges undirected")
    assert undirected(tiny("no-edges"))[0].num_nodes == 4
    simple, changes = undirected(sbm(100))  # is clean
    assert torch.equal(simple.edge_index, sbm(100).edge_index)
    assert (simple.edge_weight, changes) == (None, ())


def test_bags_of_words_become_sparse_and_dense_features_stay():
    words = (torch.rand(50, 40) < 0.05).float()
    packed = sparse_features(words)
    assert packed.layout == torch.sparse_csr
    assert torch.equal(packed.to_dense(), words)
    assert sparse_features(DENSE) is DENSE
    assert sparse_features(packed) is packed


def test_rows_are_scaled_to_length_one_and_a_row_of_zeros_stays():
    scaled, words = scaled_features(WORDS, "rows")
    torch.testing.assert_close(scaled, torch.tensor([[0.6, 0.0, 0.8, 0.0], [0.0] * 4, [0.0, 1.0, 0.0, 0.0]]))
    assert words == "each row of the features is scaled to length 1"


def test_columns_are_scaled_to_mean_0_and_variance_1_over_their_number():
    scaled, words = scaled_features(DENSE, "columns")
    varying = DENSE[:, :2].double()
    expected = (varying - varying.mean(dim=0)) / varying.var(dim=0, correction=0).sqrt() / 3**0.5
    torch.testing.assert_close(scaled[:, :2], expected.float())
    assert scaled[:, :2].square().sum(dim=1).mean().item() == pytest.approx(2 / 3)  # mean square 1/3 a column
    assert words == "each column of the features is scaled to mean 0 and variance 1"


@pytest.mark.parametrize("value", [0.0, 5.0, 0.1, -1e-20, 1e30])
def test_a_constant_column_becomes_0_and_one_that_varies_little_does_not(value):
    little = torch.ones(1001)
    little[0] = torch.nextafter(little[0], torch.tensor(2.0))
    x = torch.stack([torch.arange(1001.0), torch.full((1001,), value), little], dim=1)
    scaled = scaled_features(x, "columns")[0]
    assert scaled[:, 1].count_nonzero() == 0
    assert scaled[:, 0].std(correction=0).item() == pytest.approx((1 / 3) ** 0.5)
    assert scaled[0, 2].item() > 10


@pytest.mark.parametrize(
    ("x", "how"),
    [
        (WORDS, "rows"),
        (torch.eye(5), "rows"),
        (DENSE, "columns"),
        (-WORDS, "columns"),  # mostly zero, but no counts
        (torch.ones(3, 2), "columns"),
        (torch.empty(4, 0), "rows"),
    ],
)
def test_bags_of_words_are_scaled_by_rows_and_others_by_columns(x, how):
    (found, words), (expected, expected_words) = scaled_features(x, "auto"), scaled_features(x, how)
    assert torch.equal(found, expected)
    assert words == expected_words


def test_raw_features_stay_none_are_changed_in_place_and_other_ways_refused():
    before = DENSE.clone()
    for how in ("auto", "rows", "columns"):
        scaled_features(DENSE, how)
    assert torch.equal(DENSE, before)
    scaled, words = scaled_features(DENSE, "raw")
    assert scaled is DENSE
    assert words == "features are used as they are"
    with pytest.raises(ValueError, match="`how` must be one of 'auto', 'rows', 'columns', 'raw', got 'row'"):
        scaled_features(DENSE, "row")


@pytest.mark.parametrize("x", [DENSE, WORDS])
@pytest.mark.parametrize("factor", [1e-30, 1e-3, 1e3, 1e30])
def test_the_scale_of_features_does_not_matter(x, factor):
    torch.testing.assert_close(scaled_features(factor * x, "auto")[0], scaled_features(x, "auto")[0])


def test_the_giant_component_keeps_rows_weights_and_masks_of_its_nodes():
    """A path 0 – 3 – 5 – 6 with weights, and a triangle 1, 2, 4."""
    pairs = torch.tensor([(0, 3), (3, 5), (5, 6), (1, 2), (2, 4), (4, 1)]).t()
    weight = torch.tensor([1.0, 2.0, 3.0, 9.0, 9.0, 9.0]).repeat(2)
    y = torch.tensor([0, 2, 2, 1, 2, 0, -1])
    data = make(x=torch.eye(7), y=y, edge_index=torch.cat([pairs, pairs.flip(0)], dim=1), edge_weight=weight)
    masks = {part: torch.arange(7)[:, None] % 3 == i for i, part in enumerate(("train", "val", "test"))}
    giant = giant_component(dataset(data, num_classes=3, masks=masks))
    assert (giant.name, giant.num_classes, giant.data.y.tolist()) == ("giant:toy", 3, [0, 1, 0, -1])
    assert torch.equal(giant.data.x, torch.eye(7)[[0, 3, 5, 6]])
    assert giant.masks["train"][:, 0].tolist() == [True, True, False, True]
    assert Graph.from_data(giant.data).adjacency.toarray()[0:3, 1:4].diagonal().tolist() == [1.0, 2.0, 3.0]
    assert giant.notes[-1] == "the largest of 2 components: 4 of 7 nodes"


def test_a_prefix_names_the_giant_component_the_first_of_two_that_are_equal():
    assert load_graph("giant:sbm:n=60,homophily=1").data.y.unique().tolist() == [0]
    giant = load_graph("giant:sbm:n=200,degree=2")
    assert giant.num_nodes < 200
    assert len(Graph.from_data(giant.data).component_nodes) == 1
    assert giant.fingerprint == giant_component(load_graph("sbm:n=200,degree=2")).fingerprint
    assert resolve({"dataset": "giant:cora"}).dataset == "giant:cora"
    with pytest.raises(ConfigError, match="Did you mean 'cora'"):
        resolve({"dataset": "giant:coraa"})


def test_a_benchmark_name_loads_a_benchmark(mirror, tmp_path, monkeypatch):
    monkeypatch.setenv("LLPE_DATA_MIRROR", str(mirror))
    texas = load_graph("Texas", data_root=tmp_path / "data")
    assert (texas.name, texas.published) == ("texas", True)
    assert (tmp_path / "data" / "texas" / "raw").is_dir()


def test_a_spec_makes_a_synthetic_graph_and_a_path_reads_a_file(tmp_path):
    made = load_graph("pa:n=90,classes=3")
    assert (made.name, made.num_classes, made.num_nodes) == ("pa:n=90,classes=3", 3, 90)
    path = tmp_path / "toy.npz"
    np.savez(path, x=np.eye(2), y=[0, 1], edges=[[0, 1]])
    assert load_graph(path).name == load_graph(str(path)).name == "toy"


@pytest.mark.parametrize(
    ("spec", "match"),
    [
        ("cora_fulll", r"must be a benchmark .*texas.*, a synthetic .*sbm:.* file .*npz.* Did you mean 'cora-full'\?"),
        ("sbm:k=3", "with the keys n, blocks"),
        ("missing.npz", "the file must exist"),
    ],
)
def test_an_unknown_graph_is_told_the_possibilities(spec, match):
    with pytest.raises(ValueError, match=match):
        load_graph(spec)
