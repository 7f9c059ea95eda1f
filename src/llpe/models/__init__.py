"""Models: from features and encoding to classes.

* :class:`Classifier` joins features and encoding, and adds a head to a backbone.
* :func:`make_backbone` makes a backbone from its name: ``mlp``, ``sage``, ``gcn``, ``gt``, or a PyG model.
* :class:`Adapter` makes a backbone of any module.
* :func:`take_rows` slices features, sparse ones too, into mini-batches.
"""

from llpe.models.adapter import BACKBONES, PYG_MODELS, Adapter, backbone_options, make_backbone
from llpe.models.backbone import VARIANTS, Backbone
from llpe.models.classifier import Classifier, Inputs
from llpe.models.fixed_matrix import take_rows

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
