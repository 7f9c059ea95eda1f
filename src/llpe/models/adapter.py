"""Backbones by name, ours and PyG's, and any module as a backbone.

By name (``"gcn"``, ``"GAT"``), an operation of ours or one layer of the PyG model is stacked, plain or strong. By
instance, the module is the whole backbone and is called as it is.
"""

from __future__ import annotations

import inspect
import warnings
from typing import Any, final

from torch import Tensor, nn
from torch_geometric.nn.models import basic_gnn
from torch_geometric.nn.models.basic_gnn import BasicGNN

from llpe.checks import check_count, checked, refusal, show
from llpe.models.backbone import Backbone, Stack
from llpe.models.operations import Attention, Edges, GcnOperation, LinearOperation, Operation, SageOperation

BACKBONES: dict[str, type[Operation]] = {
    "mlp": LinearOperation,
    "sage": SageOperation,
    "gcn": GcnOperation,
    "gt": Attention,
}
"""The one table of names, with the operation of each. Capitals matter: ``gcn`` is ours, ``GCN`` is PyG's."""

PYG_MODELS: dict[str, type[BasicGNN]] = {
    name: value
    for name, value in sorted(vars(basic_gnn).items())
    if inspect.isclass(value) and issubclass(value, BasicGNN) and value is not BasicGNN
}
"""The PyG models that can be asked for by class name."""


@final
class Adapter(Backbone):
    """Any module with ``forward(x, edge_index)`` as a backbone: [rows, width] → [rows, width].

    ``edge_weight`` is passed on when the module takes it; otherwise weights are ignored, with a warning.

    Args:
        module: a PyG ``BasicGNN`` or a module of your own.
        width: width of the node states.

    Example:
        >>> import torch
        >>> from torch_geometric.nn import GIN
        >>> from llpe.graph import tiny
        >>> gin = Adapter(GIN(8, 16, num_layers=2, out_channels=8), width=8)
        >>> gin(torch.ones(5, 8), tiny("path").edge_index).shape
        torch.Size([5, 8])
    """

    @checked
    def __init__(self, module: nn.Module, *, width: int) -> None:
        super().__init__()
        check_count("width", width)
        if not isinstance(module, nn.Module):
            raise refusal("module", "be a torch.nn.Module", type(module).__name__)
        self.layers, self.norm = nn.ModuleList([Wrapped(module, width, width)]), nn.Identity()
        self.whole_graph = bool(getattr(module, "whole_graph", False))
        self.row_wise = bool(getattr(module, "row_wise", False))


class Wrapped(Operation):
    """A module from ``width`` to ``out`` columns as an operation."""

    def __init__(self, module: nn.Module, width: int, out: int) -> None:
        super().__init__()
        self.module, self.out = module, out
        for attribute, needed in (("width", width), ("in_channels", width), ("out_channels", out)):
            has = getattr(module, attribute, needed)
            if isinstance(has, int) and has not in (needed, -1):
                instead = f"Build it from {width} to {out} channels: a backbone keeps the width, hidden + encoding.dim."
                raise refusal(f"{type(module).__name__}.{attribute}", f"be {needed}", has, instead)
        takes_weight = getattr(module, "supports_edge_weight", None)
        if takes_weight is None:
            takes_weight = "edge_weight" in inspect.signature(module.forward).parameters
        self.takes_weight = bool(takes_weight)

    def forward(self, h: Tensor, edges: Edges) -> Tensor:
        name = type(self.module).__name__
        weight = {} if edges.weight is None else {"edge_weight": edges.weight}
        if weight and not self.takes_weight:
            warnings.warn(f"{name} takes no edge weights: they are ignored.", UserWarning, stacklevel=2)
            weight = {}
        result = self.module(h, edges.index, **weight)
        shape = list(result.shape) if isinstance(result, Tensor) else type(result).__name__
        if shape != [h.size(0), self.out]:
            instead = "A backbone keeps the number of rows and the width; the classes come after it."
            raise refusal(f"{name}.forward", f"return a tensor of shape {[h.size(0), self.out]}", shape, instead)
        return edges.pick(result)


@final
class PyGOperation(Wrapped):
    """One layer of the PyG model ``name``; ``options`` are those of its class."""

    def __init__(self, width: int, out: int, *, name: str, **options: Any) -> None:
        for key in ("in_channels", "hidden_channels", "num_layers", "out_channels", "norm", "norm_kwargs", "jk"):
            if key in options:
                instead = "Widths, layers and normalisation are set by width, layers and variant; "
                instead += f"or build the {name} yourself and pass the instance."
                raise refusal(key, "be left out when a PyG model is named", repr(options[key]), instead)
        options["dropout"] = options.pop("inner_dropout", 0.0)
        try:
            model = PYG_MODELS[name](width, out, num_layers=1, **options)
        except Exception as error:  # PyG lets all kinds through
            rule = f"be buildable from {width} to {out} channels with the options {options}"
            got, instead = f"{type(error).__name__}: {error}", f"See torch_geometric.nn.models.{name}."
            raise refusal(name, rule, got, instead) from error
        super().__init__(model, width, out)


def backbone_options(model: str) -> dict[str, Any]:
    """The options of a named backbone besides ``width``, with their defaults.

    A PyG model takes further ones, those of its class.

    Example:
        >>> backbone_options("gt")["heads"]
        4
        >>> list(backbone_options("mlp"))
        ['layers', 'dropout', 'variant', 'feedforward', 'norm_eps', 'residual', 'normalise']
    """
    if not isinstance(model, str) or (model not in BACKBONES and model not in PYG_MODELS):
        names = f"{', '.join(BACKBONES)}, a PyG model ({', '.join(PYG_MODELS)})"
        raise refusal("model", f"be one of {names} or a module", show(model))
    known = [*inspect.signature(Stack).parameters.values()]
    if model in BACKBONES:
        known += inspect.signature(BACKBONES[model]).parameters.values()
    return {each.name: each.default for each in known if each.kind is each.KEYWORD_ONLY and each.name != "width"}


def make_backbone(model: str | nn.Module, *, width: int, **options: Any) -> Backbone:
    """A backbone on node states of width ``width``.

    Args:
        model: one of ``BACKBONES``, the class name of a PyG model such as ``"GAT"``, or a module with
            ``forward(x, edge_index)``, which takes no options.
        width: width of the node states.
        options: those of :func:`backbone_options`.

    Example:
        >>> make_backbone("gt", width=64, heads=8, variant="strong").variant
        'strong'
        >>> make_backbone("gtt", width=64)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        ValueError: `model` must be one of mlp, sage, gcn, gt, a PyG model (...) or a module, got 'gtt'.
    """
    if isinstance(model, nn.Module):
        defaults = backbone_options("mlp")
        if changed := [name for name, value in options.items() if value != defaults.get(name, ...)]:
            rule, got = f"be a name to take {', '.join(changed)}", f"a {type(model).__name__}"
            raise refusal("model", rule, got, "Give them to the module itself.")
        return Adapter(model, width=width)
    known = backbone_options(model)
    if model in PYG_MODELS:
        options.setdefault("inner_dropout", options.get("dropout", 0.0))
        return Stack(PyGOperation, width=width, name=model, **options)
    for name, value in options.items():
        if name not in known:
            raise refusal(name, f"be left out for {model}", repr(value), f"Its options are {', '.join(known)}.")
    return Stack(BACKBONES[model], width=width, **options)
