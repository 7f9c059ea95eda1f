"""LLPE as a GraphGym node encoder. Importing this module registers it and its options.

In a GraphGym project, ``import llpe.graphgym`` next to the other custom modules, then in the config:

    dataset:
      node_encoder: true
      node_encoder_name: LLPE
    llpe:
      name: llpe-probes
      probes: 32
    gnn:
      dim_inner: 64

The features are projected to dim_inner − llpe.dim columns and the encoding fills the rest (llpe.dim null: half).
A batch that was not prepared (``pre_transform=Prepare(...)`` is the fast way) is prepared graph by graph, from the
cache where it can. Prepare before sampling: what a sampler draws from a graph is no graph of its own, and is refused.
GraphGym's loss has no place for a penalty, so ``l1`` and ``l2`` are not among the options.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.register import register_config, register_node_encoder

from llpe.checks import refusal
from llpe.encodings import ENCODINGS, FilteredEncoding, make_encoding

if cfg is None:
    raise ImportError("`llpe.graphgym` must have GraphGym's own requirements: pip install 'llpe[graphgym]'.")


@register_config("llpe")
def add_llpe_options(config: Any) -> None:
    """The ``llpe`` section of a GraphGym config: a name, and its options; null is the option's default."""
    from yacs.config import CfgNode

    filtered = [named for named in ENCODINGS.values() if issubclass(named.kind, FilteredEncoding)]
    known = {option for named in filtered for option in inspect.signature(named.kind).parameters}
    config.llpe = CfgNode({"name": filtered[0].kind.name} | dict.fromkeys(sorted(known - {"l1", "l2"})))


if "llpe" not in cfg:  # GraphGym filled its config when it was imported, before this module could register
    add_llpe_options(cfg)


@register_node_encoder("LLPE")
class LLPENodeEncoder(nn.Module):
    """batch.x ← [Linear(x) ‖ LLPE], ``dim_emb`` columns in all.

    Args:
        dim_emb: width of the result.
        expand_x: project the features; False keeps batch.x as it is, dim_emb − llpe.dim wide, and appends.
    """

    def __init__(self, dim_emb: int, expand_x: bool = True) -> None:
        super().__init__()
        given = {key: value for key, value in cfg.llpe.items() if value is not None}
        self.encoding = make_encoding(**{"dim": dim_emb // 2} | given)
        rest = dim_emb - self.encoding.dim
        if rest < 1:
            rule = f"leave room for the features in gnn.dim_inner={dim_emb}"
            raise refusal("llpe.dim", rule, self.encoding.dim, "Make one smaller or the other larger.")
        self.dim_in = cfg.share.dim_in if expand_x else rest
        self.project = nn.Linear(self.dim_in, rest) if expand_x else nn.Identity()

    def forward(self, batch: Data) -> Data:
        if batch.x.size(-1) != self.dim_in:
            instead = "create_loader() sets cfg.share.dim_in; set it before create_model() where there is no loader."
            raise refusal("batch.x", f"have {self.dim_in} columns", batch.x.size(-1), instead)
        batch.x = torch.cat([self.project(batch.x), self.encoding(batch)], dim=-1)
        return batch
