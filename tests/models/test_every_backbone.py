"""One contract for all backbones, ours and PyG's, plain and strong."""

import copy
import pickle

import pytest
import torch

from llpe.graph import TINY, tiny
from llpe.models import BACKBONES, VARIANTS, backbone_options, make_backbone

WIDTH = 8
NAMES = [*BACKBONES, "GAT", "GIN", "GCN", "GraphSAGE", "EdgeCNN"]
GRID = tiny("grid")


@pytest.fixture(params=[(name, variant) for name in NAMES for variant in VARIANTS], ids="-".join)
def make(request):
    """Makes a backbone, the same one each time."""

    def make(**options):
        torch.manual_seed(0)
        name, variant = request.param
        return make_backbone(name, width=WIDTH, variant=variant, **options)

    make.name = request.param[0]
    return make


def states(num_nodes=12, seed=1):
    return torch.randn(num_nodes, WIDTH, generator=torch.Generator().manual_seed(seed))


def drawn(module):
    """Parameters drawn at random, i.e. neither biases nor scales that start at a constant."""
    return {name: value for name, value in module.named_parameters() if value.detach().unique().numel() > 1}


def test_width_and_rows_are_kept_and_finite(make):
    backbone = make()
    for graph in TINY:
        data = tiny(graph)
        h = backbone(states(data.num_nodes), data.edge_index)
        assert h.shape == (data.num_nodes, WIDTH), graph
        assert h.isfinite().all(), graph


@pytest.mark.parametrize("layers", [1, 2])
def test_rows_asked_for_are_those_of_the_whole_in_value_and_gradient(make, layers):
    rows, backbone = torch.tensor([5, 0, 3]), make(layers=layers)
    for weight in (None, torch.rand(GRID.num_edges)) if make.name in BACKBONES else (None,):
        h = states().requires_grad_()
        some = backbone(h, GRID.edge_index, weight, rows)
        whole = backbone(h, GRID.edge_index, weight)[rows]
        torch.testing.assert_close(some, whole)
        target = states(len(rows), seed=2)
        grads = [torch.autograd.grad((each * target).sum(), [h, *backbone.parameters()]) for each in (some, whole)]
        torch.testing.assert_close(*grads, atol=1e-5, rtol=1e-4)


def test_gradients_reach_every_parameter_and_the_input(make):
    backbone, h = make(), states().requires_grad_()
    (backbone(h, GRID.edge_index) * states(seed=2)).sum().backward()
    assert h.grad.abs().sum() > 0
    for key, parameter in backbone.named_parameters():
        assert parameter.grad is not None, key
        assert parameter.grad.isfinite().all(), key
        key_bias = key.endswith("project.bias")  # its middle third, the keys', drops out of the softmax
        assert parameter.grad.abs().sum() > (1e-6 if key_bias else 0), key


def test_reset_draws_again_reproducibly_and_a_state_dict_brings_all_back(make):
    backbone, h = make(), states()
    state, before = copy.deepcopy(backbone.state_dict()), copy.deepcopy(drawn(backbone))
    result = backbone.eval()(h, GRID.edge_index)
    torch.manual_seed(7)
    backbone.reset_parameters()
    once = copy.deepcopy(drawn(backbone))
    assert before
    assert all(not torch.equal(before[key], once[key]) for key in before)
    torch.manual_seed(7)
    backbone.reset_parameters()
    assert all(torch.equal(once[key], value) for key, value in drawn(backbone).items())
    backbone.load_state_dict(state)
    assert torch.equal(backbone(h, GRID.edge_index), result)


def test_dropout_acts_in_training_only(make):
    backbone, h = make(dropout=0.5), states()
    assert not torch.equal(backbone(h, GRID.edge_index), backbone(h, GRID.edge_index))
    backbone.eval()
    assert torch.equal(backbone(h, GRID.edge_index), backbone(h, GRID.edge_index))


def test_relabelling_nodes_permutes_rows(make):
    backbone, h = make().eval(), states()
    order = torch.randperm(12, generator=torch.Generator().manual_seed(3))
    relabelled = backbone(h[order], torch.argsort(order)[GRID.edge_index])
    torch.testing.assert_close(relabelled, backbone(h, GRID.edge_index)[order], rtol=1e-5, atol=1e-6)


def test_a_changed_graph_changes_the_result_if_edges_are_used(make):
    backbone, h, edge_index = make().eval(), states(), GRID.edge_index.clone()
    before = backbone(h, edge_index)
    edge_index[:, 0] = torch.tensor([0, 11])  # in place: nothing of the old graph may be remembered
    assert torch.equal(before, backbone(h, edge_index)) == (make.name in ("mlp", "gt"))


def test_a_backbone_can_be_pickled_and_moved_to_double(make):
    backbone = pickle.loads(pickle.dumps(make())).double()
    assert backbone(states().double(), GRID.edge_index).dtype == torch.float64


def test_layers_have_a_default_for_each_variant():
    for variant, count in VARIANTS.items():
        assert len(make_backbone("mlp", width=WIDTH, variant=variant).layers) == count
        assert len(make_backbone("mlp", width=WIDTH, variant=variant, layers=3).layers) == 3


def test_every_option_is_listed_with_its_default():
    shared = {"layers": None, "dropout": 0.0, "variant": "plain", "feedforward": None, "norm_eps": 1e-5}
    shared |= {"residual": False, "normalise": "none"}
    assert backbone_options("sage") == backbone_options("GAT") == shared
    assert backbone_options("gt") == {**shared, "heads": 4, "attention_dropout": 0.0}


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("SAGE", {}, "must be one of mlp, sage, gcn, gt, a PyG model .*GAT.*, got 'SAGE'"),
        ("mlp", {"heads": 4}, r"`heads` must be left out for mlp, got 4\. Its options are layers, "),
        ("mlp", {"layers": 0}, "`layers` must be an integer of at least 1, got 0"),
        ("GAT", {"dropout": 1.0}, r"`dropout` must be at least 0 and below 1, got 1\.0"),
        ("sage", {"variant": "weak"}, "`variant` must be one of 'plain', 'strong', got 'weak'"),
        ("gcn", {"normalise": "group"}, "`normalise` must be one of 'none', 'layer', 'batch', got 'group'"),
        ("gcn", {"normalise": "batch", "variant": "strong"}, "`residual` must be left out, as `normalise`"),
        ("gcn", {"residual": True, "variant": "strong"}, "`residual` must be left out, as `normalise`"),
        ("gt", {"residual": True}, "`residual` must be left out, as `normalise`"),
        ("gt", {"norm_eps": -1e-5}, "`norm_eps` must be a finite number of at least 0, got -1e-05"),
        ("gt", {"width": 10}, r"`width` must be a multiple of heads=4, got 10\. Change heads"),
        ("gt", {"attention_dropout": 1}, "`attention_dropout` must be at least 0 and below 1, got 1"),
    ],
)
def test_options_that_do_not_fit_are_refused(name, options, message):
    with pytest.raises(ValueError, match=message):
        make_backbone(name, **{"width": WIDTH, **options})


@pytest.mark.parametrize("name", ["sage", "gcn"])
@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ({"edge_index": None}, "`edge_index` must be .*, got None. Give the edges"),
        ({"edge_index": torch.zeros(3, 2, dtype=torch.int64)}, r"must have shape \[2, num_edges\], got \[3, 2\]"),
        ({"edge_index": torch.zeros(2, 3)}, "must have dtype torch.int64, got torch.float32"),
        ({"edge_index": torch.tensor([[0], [5]])}, r"must name nodes 0 … 4, got an edge to node 5\. A part of"),
        ({"edge_index": torch.tensor([[-1], [1]])}, "must name nodes 0 … 4, got an edge to node -1"),
        ({"edge_weight": torch.ones(3)}, "`edge_weight` must have one weight for each of 8 edges, got 3"),
        ({"edge_weight": torch.ones(8, requires_grad=True)}, "`edge_weight` must not require gradients"),
    ],
)
def test_bad_edges_are_refused(name, edges, message):
    with pytest.raises(ValueError, match=message):
        make_backbone(name, width=WIDTH)(states(5), **{"edge_index": tiny("path").edge_index, **edges})
