"""Models: from features and encoding to classes.

* :class:`Classifier` joins features and encoding, and adds a head to a backbone.
* :func:`make_backbone` makes a backbone from its name: ``mlp``, ``sage``, ``gcn``, ``gt``, or a PyG model.
* :class:`Adapter` makes a backbone of any module.
* :func:`take_rows` slices features, sparse ones too, into mini-batches.
"""

from __future__ import annotations

import inspect
from typing import Any

from torch import nn

from llpe.checks import refusal, show
from llpe.models.adapter import PYG_MODELS, Adapter, PyGOperation
from llpe.models.backbone import VARIANTS, Backbone, Stack
from llpe.models.classifier import Classifier, Inputs
from llpe.models.fixed_matrix import take_rows
from llpe.models.operations import Attention, GcnOperation, LinearOperation, Operation, SageOperation

__all__ = [
    "BACKBONES",
    "PYG_MODELS",
    "VARIANTS",
    "Adapter",
    "Backbone",
    "Classifier",
    "Inputs",
    "backbone_options",
    "make_backbone",
    "take_rows",
]

BACKBONES: dict[str, type[Operation]] = {
    "mlp": LinearOperation,
    "sage": SageOperation,
    "gcn": GcnOperation,
    "gt": Attention,
}
"""The one table of names, with the operation of each. Capitals matter: ``gcn`` is ours, ``GCN`` is PyG's."""


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
