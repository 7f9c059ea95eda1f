"""The classifier: features and encoding joined, any backbone, a head."""

import copy

import pytest
import torch
from torch import nn
from torch_geometric.data import Batch, Data

from llpe.graph import tiny
from llpe.models import BACKBONES, VARIANTS, Classifier, take_rows
from llpe.spmm import quiet

every_model = pytest.mark.parametrize("model", [*BACKBONES, "GAT"])
every_variant = pytest.mark.parametrize("variant", VARIANTS)


class FakeEncoding(nn.Module):
    """Positions times a learned matrix."""

    def __init__(self, dim=4):
        super().__init__()
        self.dim = dim
        self.theta = nn.Parameter(torch.empty(2, dim))
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.normal_(self.theta)

    def forward(self, data):
        return data.place @ self.theta

    def penalty(self, data):
        return self.theta.abs().sum()


@pytest.fixture
def data():
    torch.manual_seed(0)
    data = tiny("grid")
    data.x = torch.rand(12, 6) * (torch.rand(12, 6) < 0.5)
    data.place = torch.randn(12, 2)
    return data


def sparse(data):
    data = copy.copy(data)
    with quiet():
        data.x = data.x.to_sparse_csr()
    return data


def make(encoding=None, **options):
    torch.manual_seed(1)
    return Classifier(encoding or FakeEncoding(), **{"in_features": 6, "num_classes": 3, "hidden": 8, **options})


@every_model
@every_variant
def test_logits_have_a_row_per_node_and_a_column_per_class(data, model, variant):
    classifier = make(model=model, variant=variant, layers=1, dropout=0.2)
    logits = classifier(data)
    assert logits.shape == (12, 3)
    (logits * torch.randn(12, 3)).sum().backward()
    assert all(parameter.grad is not None for parameter in classifier.parameters())


@every_model
@every_variant
def test_reset_draws_every_part_from_torchs_generator_and_a_state_dict_brings_it_back(data, model, variant):
    first, second = make(model=model, variant=variant), make(model=model, variant=variant)
    assert torch.equal(first(data), second(data))
    second.reset_parameters()
    for part in ("encoding.theta", "features.weight", "head.weight"):
        assert not torch.equal(first.get_parameter(part), second.get_parameter(part))
    assert not torch.equal(first(data), second(data))
    second.load_state_dict(first.state_dict())
    assert torch.equal(first(data), second(data))


def test_the_classifier_is_its_formula_and_its_penalty_that_of_the_encoding(data):
    classifier = make(model="mlp", layers=1)
    W, b = classifier.features.weight, classifier.features.bias
    h = torch.cat([data.x @ W + b, data.place @ classifier.encoding.theta], dim=1)
    layer = classifier.backbone.layers[0].operation
    h = (h @ layer.weight.T + layer.bias).relu()
    torch.testing.assert_close(classifier(data), h @ classifier.head.weight.T + classifier.head.bias)
    assert torch.equal(classifier.penalty(data), classifier.encoding.theta.abs().sum())


@every_model
def test_sparse_features_give_the_logits_and_gradients_of_dense_ones(data, model):
    results = []
    for each in (data, sparse(data)):
        classifier = make(model=model)
        logits = classifier(each)
        logits.square().sum().backward()
        results.append([logits, *(parameter.grad for parameter in classifier.parameters())])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-5)


@every_model
def test_inputs_made_once_give_the_bits_of_those_made_in_each_call(data, model):
    classifier, rows = make(model=model).eval(), torch.tensor([3, 0, 7])
    for each in (data, sparse(data)):
        inputs = classifier.inputs(each)
        assert torch.equal(classifier(inputs), classifier(each))
        assert torch.equal(classifier(inputs.take(rows)), classifier(each, rows))
        assert torch.equal(classifier(inputs, rows), classifier(each, rows))
        torch.testing.assert_close(classifier(inputs.take(rows)), classifier(each)[rows])


def test_mlp_takes_any_rows_of_a_graph_dense_or_sparse(data):
    classifier, rows = make(model="mlp"), torch.tensor([3, 0, 7])
    expected = classifier(data)[rows]
    part = Data(x=data.x[rows], place=data.place[rows])
    torch.testing.assert_close(classifier(part), expected)
    part.x = take_rows(sparse(data).x, rows)
    part.edge_index = data.edge_index  # edges of the whole graph do not matter
    torch.testing.assert_close(classifier(part), expected)


def test_models_without_features_and_models_without_encoding_work(data):
    positions_only, features_only = make(in_features=0), make(FakeEncoding(dim=0))
    assert (positions_only.head.in_features, features_only.head.in_features) == (4, 8)
    without_x = Data(place=data.place, edge_index=data.edge_index)
    assert torch.equal(positions_only(without_x), positions_only(data))
    assert features_only(data).shape == (12, 3)


def test_feed_forward_parts_are_as_wide_as_hidden_unless_given():
    assert make(model="gt").backbone.feedforward == 8
    assert make(model="gt", feedforward=5).backbone.feedforward == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_classes": 1}, "`num_classes` must be an integer of at least 2, got 1"),
        ({"encoding": nn.Linear(2, 2)}, "`encoding.dim` must be an integer of at least 0, got None"),
        ({"encoding": FakeEncoding(0), "in_features": 0}, "`in_features` must be at least 1 without an encoding"),
        ({"model": "gt", "hidden": 7}, "`width` must be a multiple of heads=4, got 11"),
        ({"input_dropout": -0.1}, "`input_dropout` must be at least 0 and below 1"),
        ({"where": "head"}, "`where` must be one of 'input', 'layers', got 'head'"),
    ],
)
def test_bad_arguments_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


def test_an_encoding_that_does_not_fit_is_refused(data):
    classifier = make()
    classifier.encoding.theta.data = torch.zeros(2, 9)
    with pytest.raises(ValueError, match=r"`encoding\(data\)` must have shape \[rows, 4\], got \[12, 9\]"):
        classifier(data)
    with pytest.raises(ValueError, match=r"`data` must be a torch_geometric\.data\.Data, got Tensor\. Prepare it"):
        classifier(data.x)
    data.place = data.place[:5]
    with pytest.raises(ValueError, match=r"one row for each of 12 rows of data.x, got 5\. Prepare the data"):
        make()(data)


def test_several_graphs_are_refused_where_all_nodes_see_each_other(data):
    batch = Batch.from_data_list([data, data])
    with pytest.raises(ValueError, match=r"`data` must be one graph .* got 2 graphs\. Pass them one by one"):
        make(model="gt")(batch)
    sage = make(model="sage")
    torch.testing.assert_close(sage(batch), torch.cat([sage(data), sage(data)]))


def test_entries_of_features_and_encoding_are_dropped_in_training_only(data):
    plain, dropping = make(), make(input_dropout=0.5)
    assert torch.equal(dropping.eval()(data), plain.eval()(data))
    encoding, exact = dropping.train().states(data)[:, -4:], plain.states(data)[:, -4:]
    kept = encoding != 0
    assert 0 < int(kept.sum()) < kept.numel()
    torch.testing.assert_close(encoding[kept], 2 * exact[kept])
    assert not torch.equal(dropping.states(data)[:, :8], plain.states(data)[:, :8])


@every_model
@every_variant
def test_an_encoding_may_be_added_before_every_layer(data, model, variant):
    classifier = make(model=model, variant=variant, layers=2, where="layers").eval()
    edges = classifier.backbone.edges(data.edge_index, None, 12, torch.float32)
    h, positions = classifier.features(data.x), classifier.encoding(data)
    for add, layer in zip(classifier.added, classifier.backbone.layers, strict=True):
        h = layer(h + positions @ add.weight.T + add.bias, edges)
    expected = classifier.head(classifier.backbone.norm(h))
    torch.testing.assert_close(classifier(data), expected)
    torch.testing.assert_close(classifier(classifier.inputs(data), torch.tensor([4, 1])), expected[[4, 1]])
