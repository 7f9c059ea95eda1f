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
from llpe.models.base import VARIANTS, Backbone
from llpe.models.classifier import Classifier
from llpe.models.gcn import GCN
from llpe.models.gt import GT
from llpe.models.mlp import MLP
from llpe.models.sage import SAGE
from llpe.models.sparse import take_rows

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
    "backbone_options",
    "make_backbone",
    "take_rows",
]

BACKBONES: dict[str, type[MLP] | type[SAGE] | type[GCN] | type[GT]] = {
    "mlp": MLP,
    "sage": SAGE,
    "gcn": GCN,
    "gt": GT,
}
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
    makers = (Backbone, BACKBONES.get(model, PyGBackbone))
    arguments = [argument for maker in makers for argument in inspect.signature(maker).parameters.values()]
    return {each.name: each.default for each in arguments if each.default is not each.empty}


def make_backbone(model: str | nn.Module, *, width: int, **options: Any) -> Backbone | Adapter:
    """A backbone on node states of width ``width``.

    Args:
        model: one of ``BACKBONES``, the class name of a PyG model such as ``"GAT"``, or a module with
            ``forward(x, edge_index)``, which takes no options.
        width: width of the node states.
        options: ``layers``, ``dropout``, ``variant``, ``feedforward``, ``norm_eps`` (see
            :class:`~llpe.models.base.Backbone`) and the backbone's own, such as ``heads``.

    Example:
        >>> make_backbone("gt", width=64, heads=8, variant="strong").variant
        'strong'
        >>> make_backbone("gtt", width=64)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        ValueError: `model` must be one of mlp, sage, gcn, gt, a PyG model (...) or a module, got 'gtt'.
    """
    if isinstance(model, nn.Module):
        changed = [name for name, value in options.items() if value != _SHARED.get(name, ...)]
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


_SHARED = backbone_options("mlp")
