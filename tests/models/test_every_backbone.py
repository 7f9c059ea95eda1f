"""One contract for all backbones, ours and PyG's, plain and strong."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch
from torch import Tensor, nn

from llpe.graph import TINY, tiny
from llpe.models import BACKBONES, GT, MLP, VARIANTS, Backbone, backbone_options, make_backbone

WIDTH = 8
NAMES = [*BACKBONES, "GAT", "GIN", "GCN", "GraphSAGE", "EdgeCNN"]
every_backbone = pytest.mark.parametrize("name", NAMES)
every_variant = pytest.mark.parametrize("variant", VARIANTS)


def make(name: str, variant: str, **options: object) -> Backbone:
    torch.manual_seed(0)
    return make_backbone(name, width=WIDTH, variant=variant, **options)


def states(num_nodes: int, seed: int = 1) -> Tensor:
    return torch.randn(num_nodes, WIDTH, generator=torch.Generator().manual_seed(seed))


def drawn(module: nn.Module) -> dict[str, Tensor]:
    """Parameters drawn at random, i.e. neither biases nor scales that start at a constant."""
    return {name: value for name, value in module.named_parameters() if value.detach().unique().numel() > 1}


@every_backbone
@every_variant
@pytest.mark.parametrize("graph", TINY)
def test_width_and_rows_are_kept_and_finite(name: str, variant: str, graph: str) -> None:
    data = tiny(graph)
    h = make(name, variant)(states(data.num_nodes), data.edge_index)
    assert h.shape == (data.num_nodes, WIDTH)
    assert h.isfinite().all()


@every_backbone
@every_variant
@pytest.mark.parametrize("layers", [1, 2])
def test_rows_asked_for_are_those_of_the_whole_in_value_and_gradient(name: str, variant: str, layers: int) -> None:
    data, rows = tiny("grid"), torch.tensor([5, 0, 3])
    backbone = make(name, variant, layers=layers)
    for weight in (None, torch.rand(data.num_edges)) if name in BACKBONES else (None,):
        h = states(data.num_nodes).requires_grad_()
        some = backbone(h, data.edge_index, weight, rows)
        whole = backbone(h, data.edge_index, weight)[rows]
        torch.testing.assert_close(some, whole)
        target = states(len(rows), seed=2)
        grads = [torch.autograd.grad((each * target).sum(), [h, *backbone.parameters()]) for each in (some, whole)]
        torch.testing.assert_close(*grads, atol=1e-5, rtol=1e-4)


@every_backbone
@every_variant
def test_gradients_reach_every_parameter_and_the_input(name: str, variant: str) -> None:
    data = tiny("grid")
    backbone = make(name, variant)
    h = states(data.num_nodes).requires_grad_()
    (backbone(h, data.edge_index) * states(data.num_nodes, seed=2)).sum().backward()
    assert h.grad.abs().sum() > 0
    for key, parameter in backbone.named_parameters():
        assert parameter.grad is not None, key
        assert parameter.grad.isfinite().all(), key
        key_bias = key.endswith("project.bias")  # its middle third, the keys', drops out of the softmax
        assert parameter.grad.abs().sum() > (1e-6 if key_bias else 0), key


@every_backbone
@every_variant
def test_state_dict_round_trip(name: str, variant: str) -> None:
    data = tiny("grid")
    first, second = make(name, variant), make(name, variant)
    second.reset_parameters()
    second.load_state_dict(first.state_dict())
    h = states(data.num_nodes)
    assert torch.equal(first.eval()(h, data.edge_index), second.eval()(h, data.edge_index))


@every_backbone
@every_variant
def test_reset_changes_the_parameters_reproducibly_and_equals_a_new_one(name: str, variant: str) -> None:
    backbone = make(name, variant)
    before = copy.deepcopy(drawn(backbone))
    assert before
    torch.manual_seed(7)
    backbone.reset_parameters()
    once = copy.deepcopy(drawn(backbone))
    assert all(not torch.equal(before[key], once[key]) for key in before)
    torch.manual_seed(7)
    backbone.reset_parameters()
    assert all(torch.equal(once[key], value) for key, value in drawn(backbone).items())


@every_backbone
@every_variant
def test_dropout_acts_in_training_only(name: str, variant: str) -> None:
    data = tiny("grid")
    backbone = make(name, variant, dropout=0.5)
    h = states(data.num_nodes)
    assert not torch.equal(backbone(h, data.edge_index), backbone(h, data.edge_index))
    backbone.eval()
    assert torch.equal(backbone(h, data.edge_index), backbone(h, data.edge_index))


@every_backbone
@every_variant
def test_relabelling_nodes_permutes_rows(name: str, variant: str) -> None:
    data = tiny("grid")
    backbone = make(name, variant).eval()
    h = states(data.num_nodes)
    order = torch.randperm(data.num_nodes, generator=torch.Generator().manual_seed(3))
    place = torch.argsort(order)
    relabelled = backbone(h[order], place[data.edge_index])
    torch.testing.assert_close(relabelled, backbone(h, data.edge_index)[order], rtol=1e-5, atol=1e-6)


@every_backbone
@every_variant
def test_a_changed_graph_changes_the_result_if_edges_are_used(name: str, variant: str) -> None:
    data = tiny("grid")
    backbone = make(name, variant).eval()
    h = states(data.num_nodes)
    edge_index = data.edge_index.clone()
    before = backbone(h, edge_index)
    assert torch.equal(before, backbone(h, data.edge_index))
    edge_index[:, 0] = torch.tensor([0, 11])
    assert torch.equal(before, backbone(h, edge_index)) == (name in ("mlp", "gt"))


@every_backbone
@every_variant
def test_a_backbone_can_be_pickled_and_moved_to_double(name: str, variant: str) -> None:
    data = tiny("grid")
    backbone = pickle.loads(pickle.dumps(make(name, variant))).double()
    assert backbone(states(data.num_nodes).double(), data.edge_index).dtype == torch.float64


@every_variant
def test_layers_have_a_default_for_each_variant(variant: str) -> None:
    assert len(MLP(width=WIDTH, variant=variant).layers) == VARIANTS[variant]
    assert len(MLP(width=WIDTH, variant=variant, layers=3).layers) == 3


def test_every_option_is_listed_with_its_default() -> None:
    shared = {"layers": None, "dropout": 0.0, "variant": "plain", "feedforward": None, "norm_eps": 1e-5}
    assert backbone_options("sage") == backbone_options("GAT") == shared
    assert backbone_options("gt") == {**shared, "heads": 4, "attention_dropout": 0.0}


@every_backbone
@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"layers": 0}, "`layers` must be an integer of at least 1, got 0"),
        ({"layers": 1.5}, r"`layers` must be an integer of at least 1, got 1\.5"),
        ({"dropout": 1.0}, r"`dropout` must be at least 0 and below 1, got 1\.0"),
        ({"variant": "weak"}, "`variant` must be one of plain, strong, got 'weak'"),
        ({"feedforward": 0}, "`feedforward` must be an integer of at least 1, got 0"),
        ({"norm_eps": -1e-5}, "`norm_eps` must be a finite number of at least 0, got -1e-05"),
        ({"width": 0}, "`width` must be an integer of at least 1, got 0"),
        ({"width": True}, "`width` must be an integer of at least 1, got True"),
    ],
)
def test_bad_arguments_are_refused(name: str, option: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_backbone(name, **{"width": WIDTH, **option})


def test_an_unknown_name_lists_the_choices() -> None:
    message = "must be one of mlp, sage, gcn, gt, a PyG model .*GAT.*, got 'SAGE'"
    with pytest.raises(ValueError, match=message):
        make_backbone("SAGE", width=WIDTH)
    with pytest.raises(ValueError, match=message):
        backbone_options("SAGE")


def test_an_unknown_option_lists_the_choices() -> None:
    with pytest.raises(ValueError, match=r"`heads` must be left out for mlp, got 4\. Its options are layers, "):
        make_backbone("mlp", width=WIDTH, heads=4)


def test_a_width_that_the_heads_do_not_divide_is_refused() -> None:
    with pytest.raises(ValueError, match=r"`width` must be a multiple of heads=4, got 10\. Change heads"):
        GT(width=10)
    with pytest.raises(ValueError, match="`heads` must be an integer of at least 1, got 0"):
        GT(width=8, heads=0)
    with pytest.raises(ValueError, match="`attention_dropout` must be at least 0 and below 1, got 1"):
        GT(width=8, attention_dropout=1)


@pytest.mark.parametrize("name", ["sage", "gcn"])
@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ({"edge_index": None}, "`edge_index` must be a .* tensor, got None. Give the edges"),
        ({"edge_index": torch.zeros(3, 2, dtype=torch.int64)}, r"of shape \[2, num_edges\], got torch.int64 of"),
        ({"edge_index": torch.zeros(2, 3)}, "must be an int64 tensor of shape .*, got torch.float32"),
        ({"edge_index": torch.tensor([[0], [5]])}, r"must name nodes 0 … 4, got 0 … 5\. A part of a graph"),
        ({"edge_index": torch.tensor([[-1], [1]])}, "must name nodes 0 … 4, got -1 … 1"),
        ({"edge_weight": torch.ones(3)}, "`edge_weight` must have one weight for each of 8 edges, got 3"),
        ({"edge_weight": torch.ones(8, requires_grad=True)}, "`edge_weight` must not require gradients"),
    ],
)
def test_bad_edges_are_refused(name: str, edges: dict[str, Tensor | None], message: str) -> None:
    backbone = make(name, "plain")
    with pytest.raises(ValueError, match=message):
        backbone(states(5), **{"edge_index": tiny("path").edge_index, **edges})
