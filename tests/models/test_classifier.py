"""The classifier: features and encoding joined, any backbone, a head."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from llpe.graph import tiny
from llpe.models import BACKBONES, VARIANTS, Classifier, take_rows
from llpe.models.fixed_matrix import quiet

every_model = pytest.mark.parametrize("model", [*BACKBONES, "GAT"])
every_variant = pytest.mark.parametrize("variant", VARIANTS)


class FakeEncoding(nn.Module):
    """Positions times a learned matrix."""

    def __init__(self, dim: int = 4) -> None:
        super().__init__()
        self.dim = dim
        self.theta = nn.Parameter(torch.empty(2, dim))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.normal_(self.theta)

    def forward(self, data: Data) -> Tensor:
        return data.place @ self.theta

    def penalty(self, data: Data) -> Tensor:
        return self.theta.abs().sum()


@pytest.fixture
def data() -> Data:
    torch.manual_seed(0)
    data = tiny("grid")
    data.x = torch.rand(12, 6) * (torch.rand(12, 6) < 0.5)
    data.place = torch.randn(12, 2)
    return data


def make(encoding: nn.Module | None = None, **options: object) -> Classifier:
    torch.manual_seed(1)
    return Classifier(encoding or FakeEncoding(), **{"in_features": 6, "num_classes": 3, "hidden": 8, **options})


@every_model
@every_variant
def test_logits_have_a_row_per_node_and_a_column_per_class(data: Data, model: str, variant: str) -> None:
    classifier = make(model=model, variant=variant, layers=1, dropout=0.2)
    logits = classifier(data)
    assert logits.shape == (12, 3)
    (logits * torch.randn(12, 3)).sum().backward()
    assert all(parameter.grad is not None for parameter in classifier.parameters())


@every_model
@every_variant
def test_state_dict_round_trip(data: Data, model: str, variant: str) -> None:
    first, second = make(model=model, variant=variant), make(model=model, variant=variant)
    second.reset_parameters()
    assert not torch.equal(first(data), second(data))
    second.load_state_dict(first.state_dict())
    assert torch.equal(first(data), second(data))


def test_the_classifier_is_its_formula(data: Data) -> None:
    classifier = make(model="mlp", layers=1)
    W, b = classifier.features.weight, classifier.features.bias
    h = torch.cat([data.x @ W + b, data.place @ classifier.encoding.theta], dim=1)
    layer = classifier.backbone.layers[0].operation
    h = (h @ layer.weight.T + layer.bias).relu()
    torch.testing.assert_close(classifier(data), h @ classifier.head.weight.T + classifier.head.bias)


@every_model
def test_sparse_features_give_the_logits_and_gradients_of_dense_ones(data: Data, model: str) -> None:
    sparse = copy.copy(data)
    with quiet():
        sparse.x = data.x.to_sparse_csr()
    results = []
    for each in (data, sparse):
        classifier = make(model=model)
        logits = classifier(each)
        logits.square().sum().backward()
        results.append([logits, *(parameter.grad for parameter in classifier.parameters())])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-5)


def test_mlp_takes_any_rows_of_a_graph_dense_or_sparse(data: Data) -> None:
    classifier = make(model="mlp")
    rows = torch.tensor([3, 0, 7])
    expected = classifier(data)[rows]
    part = Data(x=data.x[rows], place=data.place[rows])
    torch.testing.assert_close(classifier(part), expected)
    with quiet():
        part.x = take_rows(data.x.to_sparse_csr(), rows)
    part.edge_index = data.edge_index  # edges of the whole graph do not matter
    torch.testing.assert_close(classifier(part), expected)


def test_models_without_features_and_models_without_encoding_work(data: Data) -> None:
    positions_only = make(in_features=0)
    assert positions_only.features is None
    assert positions_only.head.in_features == 4
    data_without_x = Data(place=data.place, edge_index=data.edge_index)
    assert torch.equal(positions_only(data_without_x), positions_only(data))
    features_only = make(FakeEncoding(dim=0))
    assert features_only.head.in_features == 8
    assert features_only(data).shape == (12, 3)


def test_edge_weights_are_used(data: Data) -> None:
    classifier = make(model="sage")
    before = classifier(data)
    data.edge_weight = torch.rand(data.num_edges)
    assert not torch.equal(before, classifier(data))


def test_the_penalty_is_that_of_the_encoding(data: Data) -> None:
    classifier = make()
    assert torch.equal(classifier.penalty(data), classifier.encoding.theta.abs().sum())


def test_parameters_come_from_the_global_generator_of_torch() -> None:
    first, second = make(model="gt"), make(model="gt")
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))
    second.reset_parameters()
    assert not torch.equal(first.encoding.theta, second.encoding.theta)
    assert not torch.equal(first.features.weight, second.features.weight)
    assert not torch.equal(first.head.weight, second.head.weight)


def test_feed_forward_parts_are_as_wide_as_hidden_unless_told() -> None:
    assert make(model="gt").backbone.feedforward == 8
    assert make(model="gt", feedforward=5).backbone.feedforward == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"in_features": -1}, "`in_features` must be an integer of at least 0, got -1"),
        ({"num_classes": 1}, "`num_classes` must be an integer of at least 2, got 1"),
        ({"hidden": 0}, "`hidden` must be an integer of at least 1, got 0"),
        ({"encoding": nn.Linear(2, 2)}, "`encoding.dim` must be an integer of at least 0, got None"),
        ({"encoding": FakeEncoding(0), "in_features": 0}, "`in_features` must be at least 1 without an encoding"),
        ({"model": "gt", "hidden": 7}, "`width` must be a multiple of heads=4, got 11"),
        ({"model": "nothing"}, "`model` must be one of mlp, sage"),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(**options)


def test_rows_that_do_not_fit_are_refused(data: Data) -> None:
    data.place = data.place[:5]
    with pytest.raises(ValueError, match=r"one row for each of 12 rows of data.x, got 5\. Prepare the data"):
        make()(data)


def test_an_encoding_that_breaks_its_word_is_refused(data: Data) -> None:
    encoding = FakeEncoding()
    classifier = make(encoding)
    encoding.theta.data = torch.zeros(2, 9)
    with pytest.raises(ValueError, match=r"`encoding\(data\)` must have shape \[rows, 4\], got \[12, 9\]"):
        classifier(data)


def test_several_graphs_are_refused_where_all_nodes_see_each_other(data: Data) -> None:
    batch = Batch.from_data_list([data, data])
    with pytest.raises(ValueError, match=r"`data` must be one graph .* got 2 graphs\. Pass them one by one"):
        make(model="gt")(batch)
    sage = make(model="sage")
    torch.testing.assert_close(sage(batch), torch.cat([sage(data), sage(data)]))


def test_entries_of_features_and_encoding_are_dropped_in_training_only(data: Data) -> None:
    plain, dropping = make(), make(input_dropout=0.5)
    dropping.load_state_dict(plain.state_dict())
    assert torch.equal(dropping.eval()(data), plain.eval()(data))
    torch.manual_seed(0)
    encoding = dropping.train().states(data)[:, -4:]
    exact = plain.states(data)[:, -4:]
    kept = encoding != 0
    assert 0 < int(kept.sum()) < kept.numel()
    torch.testing.assert_close(encoding[kept], 2 * exact[kept])
    assert not torch.equal(dropping.states(data)[:, :8], plain.states(data)[:, :8])


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_a_share_of_the_input_that_cannot_be_dropped_is_refused(share: object) -> None:
    with pytest.raises(ValueError, match="`input_dropout` must be"):
        make(input_dropout=share)
