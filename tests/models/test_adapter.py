"""PyG models and modules of the user's own as backbones."""

import pytest
import torch
from torch import nn
from torch_geometric.nn import GAT, GCN, GIN

from llpe.graph import tiny
from llpe.models import PYG_MODELS, Adapter, make_backbone

DATA = tiny("grid")
H = torch.randn(12, 8, generator=torch.Generator().manual_seed(0))


class Own(nn.Module):
    """A module as a user would write it."""

    def __init__(self, out=8):
        super().__init__()
        self.linear = nn.Linear(8, out)

    def forward(self, x, edge_index):
        return self.linear(x)


class Weighted(nn.Module):
    def forward(self, x, edge_index, edge_weight=None):
        return x if edge_weight is None else x * edge_weight.sum()


class Scale(nn.Module):
    """Owns a parameter and cannot draw it again."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(8))

    def forward(self, x, edge_index):
        return x * self.scale


def test_a_named_model_is_stacked_like_ours_layer_by_layer():
    assert {"GCN", "GraphSAGE", "GIN", "GAT", "PNA", "EdgeCNN"} <= set(PYG_MODELS)
    backbone, h = make_backbone("GAT", width=8, layers=2, heads=2), H
    for layer in backbone.layers:
        h = layer.operation.module.convs[0](h, DATA.edge_index).relu()
    torch.testing.assert_close(backbone(H, DATA.edge_index), h)


def test_an_instance_is_called_as_it_is():
    model = GIN(8, 16, num_layers=3, out_channels=8, norm="layer_norm", jk="cat")
    backbone = make_backbone(model, width=8, layers=None, dropout=0.0, variant="plain")
    assert isinstance(backbone, Adapter)
    assert torch.equal(backbone(H, DATA.edge_index), model(H, DATA.edge_index))


def test_a_backbone_of_ours_can_be_given_as_an_instance():
    gt = make_backbone("gt", width=8, heads=2)
    backbone = make_backbone(gt, width=8)
    assert backbone.whole_graph
    assert torch.equal(backbone(H, None), gt(H, None))


def test_a_module_of_ones_own_is_a_backbone_and_can_be_reset():
    module = Own()
    backbone, before = make_backbone(module, width=8), module.linear.weight.clone()
    backbone.reset_parameters()
    assert not torch.equal(before, module.linear.weight)
    assert torch.equal(backbone(H, DATA.edge_index), module(H, None))
    with pytest.raises(ValueError, match="`Scale` must have a method reset_parameters, got none"):
        make_backbone(Scale(), width=8).reset_parameters()


def test_edge_weights_reach_a_module_that_takes_them_and_are_else_ignored_with_a_warning():
    weight, gcn = torch.full((DATA.num_edges,), 0.5), GCN(8, 8, num_layers=1)
    torch.testing.assert_close(Adapter(Weighted(), width=8)(H, DATA.edge_index, weight), H * weight.sum())
    theirs = gcn(H, DATA.edge_index, edge_weight=weight)
    torch.testing.assert_close(Adapter(gcn, width=8)(H, DATA.edge_index, weight), theirs)
    for model in (Own(), GAT(8, 8, num_layers=1)):
        with pytest.warns(UserWarning, match="takes no edge weights: they are ignored"):
            Adapter(model, width=8)(H, DATA.edge_index, weight)


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (GAT(8, 4, num_layers=1), {}, r"`GAT.out_channels` must be 8, got 4\. Build it from 8 to 8 channels"),
        (make_backbone("gt", width=12), {}, r"`Stack\.width` must be 8, got 12"),
        (Own(), {"layers": 3, "variant": "strong"}, "`model` must be a name to take layers, variant, got a Own"),
        ("GAT", {"num_layers": 2}, "`num_layers` must be left out .* or build the GAT yourself"),
        ("GAT", {"jk": 2}, "`jk` must be left out .* or build the GAT yourself"),
        ("GAT", {"heads": 3}, "`GAT` must be buildable from 8 to 8 channels .* got ValueError"),
        ("PNA", {}, "`PNA` must be buildable .* See torch_geometric.nn.models.PNA"),
        ("GIN", {"colour": "red"}, "`GIN` must be buildable .* got TypeError"),
    ],
)
def test_what_does_not_fit_is_refused_at_once(model, options, message):
    with pytest.raises(ValueError, match=message):
        make_backbone(model, width=8, **options)


def test_what_is_no_module_and_a_result_that_does_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"`module` must be a torch\.nn\.Module, got str"):
        Adapter("GAT", width=8)
    with pytest.raises(ValueError, match=r"`Own.forward` must return a tensor of shape \[12, 8\], got \[12, 5\]"):
        Adapter(Own(out=5), width=8)(H, DATA.edge_index)


def test_dropout_inside_a_pyg_layer_is_that_of_the_stack_unless_it_is_given():
    for options, inner in (({}, 0.5), ({"inner_dropout": 0.0}, 0.0)):
        gat = make_backbone("GAT", width=8, dropout=0.5, **options)
        assert gat.layers[0].operation.module.convs[0].dropout == inner
