"""Models: what stands between an encoding and the classes.

* :class:`Classifier` joins features and encoding, and adds a head to a backbone.
* :func:`make_backbone` makes a backbone from its name: ``mlp``, ``sage``, ``gcn``, ``gt``, or a PyG model.
* :class:`Adapter` makes a backbone of any module.
* :func:`take_rows` slices features, sparse ones too, into mini-batches.
"""

from __future__ import annotations

import inspect
from typing import Any

from torch import nn

from llpe.models.adapter import PYG_MODELS, Adapter, PyGBackbone
from llpe.models.backbone import VARIANTS, Backbone, Stack
from llpe.models.classifier import Classifier, Inputs
from llpe.models.fixed_matrix import take_rows
from llpe.models.gt import GT
from llpe.models.operations import GCN, MLP, SAGE

__all__ = [
    "BACKBONES",
    "GCN",
    "GT",
    "MLP",
    "PYG_MODELS",
    "SAGE",
    "VARIANTS",
    "Adapter",
    "Backbone",
    "Classifier",
    "Inputs",
    "backbone_options",
    "make_backbone",
    "take_rows",
]

BACKBONES: dict[str, type[Stack]] = {"mlp": MLP, "sage": SAGE, "gcn": GCN, "gt": GT}
"""The one table of names. Capitals matter: ``gcn`` is ours, ``GCN`` is PyG's."""


def backbone_options(model: str) -> dict[str, Any]:
    """The options of a named backbone besides ``width``, with their defaults.

    A PyG model takes further ones, those of its class.

    Example:
        >>> backbone_options("gt")["heads"]
        4
        >>> list(backbone_options("mlp"))
        ['layers', 'dropout', 'variant', 'feedforward', 'norm_eps']
    """
    if model not in BACKBONES and model not in PYG_MODELS:
        raise ValueError(
            f"`model` must be one of {', '.join(BACKBONES)}, a PyG model ({', '.join(PYG_MODELS)}) "
            f"or a module, got {model!r}."
        )
    known = inspect.signature(Stack).parameters | inspect.signature(BACKBONES.get(model, Stack)).parameters
    return {name: each.default for name, each in known.items() if each.default is not each.empty}


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
        changed = [name for name, value in options.items() if value != defaults.get(name, ...)]
        if changed:
            raise ValueError(
                f"`model` must be a name to take {', '.join(changed)}, got a {type(model).__name__}. "
                "Give them to the module itself."
            )
        return Adapter(model, width=width)
    known = backbone_options(model)
    if model in PYG_MODELS:
        return PyGBackbone(model, width=width, **options)
    for name, value in options.items():
        if name not in known:
            raise ValueError(
                f"`{name}` must be left out for {model}, got {value!r}. Its options are {', '.join(known)}."
            )
    return BACKBONES[model](width=width, **options)
