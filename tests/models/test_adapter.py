"""PyG models and modules of the user's own as backbones."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GAT, GCN, GIN

from llpe.graph import tiny
from llpe.models import GT, PYG_MODELS, Adapter, make_backbone

DATA = tiny("grid")
H = torch.randn(12, 8, generator=torch.Generator().manual_seed(0))


class Own(nn.Module):
    """A module as a user would write it."""

    def __init__(self, out: int = 8) -> None:
        super().__init__()
        self.linear = nn.Linear(8, out)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.linear(x)


class Weighted(nn.Module):
    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        return x if edge_weight is None else x * edge_weight.sum()


class Scale(nn.Module):
    """Owns a parameter and cannot draw it anew."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(8))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return x * self.scale


def test_pyg_models_are_found_by_class_name() -> None:
    assert {"GCN", "GraphSAGE", "GIN", "GAT", "PNA", "EdgeCNN"} <= set(PYG_MODELS)


def test_a_named_model_is_stacked_like_ours_layer_by_layer() -> None:
    backbone = make_backbone("GAT", width=8, layers=2, heads=2)
    h = H
    for layer in backbone.layers:
        h = layer.operation.module.convs[0](h, DATA.edge_index).relu()
    torch.testing.assert_close(backbone(H, DATA.edge_index), h)


def test_an_instance_is_called_as_it_is() -> None:
    model = GIN(8, 16, num_layers=3, out_channels=8, norm="layer_norm", jk="cat")
    backbone = make_backbone(model, width=8, layers=None, dropout=0.0, variant="plain")
    assert isinstance(backbone, Adapter)
    assert torch.equal(backbone(H, DATA.edge_index), model(H, DATA.edge_index))


def test_a_backbone_of_ours_can_be_given_as_an_instance() -> None:
    backbone = make_backbone(GT(width=8, heads=2), width=8)
    assert backbone.whole_graph
    assert backbone(H, None).shape == (12, 8)
    with pytest.raises(ValueError, match=r"`GT\.width` must be 12, got 8"):
        make_backbone(GT(width=8, heads=2), width=12)


def test_a_module_of_ones_own_is_a_backbone_and_can_be_reset() -> None:
    backbone = make_backbone(Own(), width=8)
    assert backbone(H, DATA.edge_index).shape == (12, 8)
    before = backbone.layers[0].module.linear.weight.clone()
    torch.manual_seed(3)
    backbone.reset_parameters()
    once = backbone.layers[0].module.linear.weight.clone()
    assert not torch.equal(before, once)
    torch.manual_seed(3)
    backbone.reset_parameters()
    assert torch.equal(once, backbone.layers[0].module.linear.weight)


def test_a_module_that_cannot_be_reset_says_so() -> None:
    with pytest.raises(ValueError, match="`Scale` must have a method reset_parameters, got none"):
        make_backbone(Scale(), width=8).reset_parameters()


def test_edge_weights_reach_a_module_that_takes_them() -> None:
    weight = torch.full((DATA.num_edges,), 0.5)
    torch.testing.assert_close(Adapter(Weighted(), width=8)(H, DATA.edge_index, weight), H * weight.sum())
    gcn = GCN(8, 8, num_layers=1)
    torch.testing.assert_close(
        Adapter(gcn, width=8)(H, DATA.edge_index, weight), gcn(H, DATA.edge_index, edge_weight=weight)
    )


@pytest.mark.parametrize("model", [Own(), GAT(8, 8, num_layers=1)])
def test_ignoring_edge_weights_is_said(model: nn.Module) -> None:
    with pytest.warns(UserWarning, match="takes no edge weights: they are ignored"):
        Adapter(model, width=8)(H, DATA.edge_index, torch.ones(DATA.num_edges))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (GAT(4, 8, num_layers=1), r"`GAT.in_channels` must be 8, got 4\. Build it from 8 to 8 channels"),
        (GAT(8, 4, num_layers=1), r"`GAT.out_channels` must be 8, got 4\. Build it from 8 to 8 channels"),
    ],
)
def test_widths_that_do_not_fit_are_refused_at_once(model: nn.Module, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_backbone(model, width=8)


def test_a_result_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"`Own.forward` must return a tensor of shape \[12, 8\], got \[12, 5\]"):
        Adapter(Own(out=5), width=8)(H, DATA.edge_index)


def test_options_next_to_an_instance_are_refused() -> None:
    with pytest.raises(ValueError, match="`model` must be a name to take layers, variant, got a Own"):
        make_backbone(Own(), width=8, layers=3, variant="strong")


@pytest.mark.parametrize("option", ["num_layers", "jk", "norm", "out_channels"])
def test_options_that_are_ours_to_set_are_refused_for_a_named_model(option: str) -> None:
    with pytest.raises(ValueError, match=f"`{option}` must be left out .* or build the GAT yourself"):
        make_backbone("GAT", width=8, **{option: 2})


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("GAT", {"heads": 3}, "`GAT` must be buildable from 8 to 8 channels .* got ValueError"),
        ("PNA", {}, "`PNA` must be buildable .* See torch_geometric.nn.models.PNA"),
        ("GIN", {"colour": "red"}, "`GIN` must be buildable .* got TypeError"),
    ],
)
def test_a_named_model_that_cannot_be_built_says_why(model: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_backbone(model, width=8, **options)
