"""Promises of the checked data set."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch_geometric.data import Data

from llpe.data import NodeDataset, sbm, scaled_features, sparse_features, undirected
from llpe.graph import tiny


def make(**changes):
    data = Data(
        x=torch.ones(4, 2),
        y=torch.tensor([0, 1, 0, -1]),
        edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]),
    )
    for key, value in changes.items():
        data[key] = value
    return data


def dataset(data=None, *, metric="accuracy", num_classes=2, **fields):
    return NodeDataset("toy", make() if data is None else data, metric, num_classes, **fields)


def test_counts_are_those_of_the_data():
    toy = dataset()
    assert (toy.num_nodes, toy.num_features, toy.num_labelled) == (4, 2, 3)
    assert "num_nodes=4" in repr(toy)
    assert "num_edges=4" in repr(toy)


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
    fingerprints = {dataset(data).fingerprint for data in changed}
    assert len(fingerprints | {base}) == 6


def test_a_graph_without_labels_is_a_data_set_of_zero_classes():
    bare = dataset(make(y=torch.full((4,), -1)), num_classes=0)
    assert bare.num_labelled == 0


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"x": None}, "toy: `data.x` must be a float tensor .*, got NoneType"),
        ({"x": torch.ones(4, 2, dtype=torch.int64)}, "got torch.int64 of shape"),
        ({"x": torch.ones(4)}, r"`data.x` must be a float tensor .*, got torch.float32 of shape \[4\]"),
        ({"x": torch.full((4, 2), float("nan"))}, "`data.x` must be finite"),
        ({"y": None}, "`y` must be a tensor of classes, got NoneType"),
        ({"y": torch.rand(4)}, "`y` must hold integer classes, .* Regression targets are not supported"),
        ({"y": torch.zeros(4, 2, dtype=torch.int64)}, r"one class for each of 4 nodes, got shape \[4, 2\]"),
        ({"y": torch.zeros(3, dtype=torch.int64)}, r"one class for each of 4 nodes, got shape \[3\]"),
        ({"y": torch.zeros(4, dtype=torch.int32)}, "must have dtype torch.int64"),
        ({"y": torch.tensor([0, 1, -2, 0])}, "or −1 for unlabelled, got -2"),
        ({"y": torch.tensor([0, 1, 2, 0])}, "classes below num_classes=2, got 2"),
        ({"edge_index": torch.tensor([[0], [9]])}, "`data.edge_index` must name nodes"),
    ],
)
def test_bad_data_is_refused(changes, match):
    with pytest.raises(ValueError, match=match):
        dataset(make(**changes))


MASK = torch.ones(4, 1, dtype=torch.bool)


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"metric": "f1"}, "`metric` must be one of accuracy, auroc, got 'f1'"),
        ({"metric": "auroc", "num_classes": 3}, "metric 'auroc' must have 2 classes, got 3"),
        ({"class_names": ("a",)}, "`class_names` must name 2 classes, got 1"),
        ({"masks": {"train": MASK}}, "`masks` must have the keys train, val, test, got train"),
        ({"masks": {"train": MASK, "val": MASK, "test": MASK[:3]}}, r"`masks\['test'\]` must be boolean of shape"),
        ({"masks": {"train": MASK, "val": MASK, "test": MASK.expand(4, 2)}}, "same number of splits in each part"),
    ],
)
def test_bad_fields_are_refused(fields, match):
    with pytest.raises(ValueError, match=match):
        dataset(**fields)


def test_undirected_view_keeps_weights_and_says_what_changed():
    weighted = make(edge_index=torch.tensor([[0, 1, 2], [1, 2, 2]]), edge_weight=torch.tensor([2.0, 3.0, 1.0]))
    simple, changes = undirected(weighted)
    assert simple.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert simple.edge_weight.tolist() == [2.0, 2.0, 3.0, 3.0]
    assert changes == ("dropped 1 self-loops", "made 2 one-way edges undirected")
    assert undirected(tiny("no-edges"))[0].num_nodes == 4


def test_undirected_view_of_a_clean_graph_is_the_graph():
    data = sbm(100)
    simple, changes = undirected(data)
    assert torch.equal(simple.edge_index, data.edge_index)
    assert simple.edge_weight is None
    assert changes == ()


def test_bags_of_words_become_sparse_and_dense_features_stay():
    words = (torch.rand(50, 40) < 0.05).float()
    packed = sparse_features(words)
    assert packed.layout == torch.sparse_csr
    assert torch.equal(packed.to_dense(), words)
    dense = torch.ones(5, 5)
    assert sparse_features(dense) is dense
    assert sparse_features(packed) is packed


DENSE = torch.tensor([[1.0, -2.0, 5.0], [3.0, 0.5, 5.0], [8.0, 1.5, 5.0], [0.0, 4.0, 5.0]])
WORDS = torch.tensor([[3.0, 0.0, 4.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0]])


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
def test_a_constant_column_says_nothing_and_becomes_0(value):
    x = torch.cat([torch.arange(1001.0)[:, None], torch.full((1001, 1), value)], dim=1)
    scaled = scaled_features(x, "columns")[0]
    assert scaled[:, 1].count_nonzero() == 0
    assert scaled[:, 0].std(correction=0).item() == pytest.approx(0.5**0.5)


def test_a_column_that_varies_little_is_not_taken_for_a_constant():
    x = torch.ones(1000, 1)
    x[0] = torch.nextafter(x[0], torch.tensor(2.0))
    assert scaled_features(x, "columns")[0][0].item() > 10


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
    found, words = scaled_features(x, "auto")
    expected, expected_words = scaled_features(x, how)
    assert torch.equal(found, expected)
    assert words == expected_words


def test_raw_features_stay_and_none_are_changed_in_place():
    before = DENSE.clone()
    for how in ("auto", "rows", "columns", "raw"):
        scaled_features(DENSE, how)
    assert torch.equal(DENSE, before)
    scaled, words = scaled_features(DENSE, "raw")
    assert scaled is DENSE
    assert words == "features are used as they are"


@pytest.mark.parametrize("x", [DENSE, WORDS])
@pytest.mark.parametrize("factor", [1e-30, 1e-3, 1e3, 1e30])
def test_the_scale_of_features_does_not_matter(x, factor):
    torch.testing.assert_close(scaled_features(factor * x, "auto")[0], scaled_features(x, "auto")[0])
