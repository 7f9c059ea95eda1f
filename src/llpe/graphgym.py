"""LLPE as a GraphGym node encoder. Importing this module registers it and its options.

In a GraphGym project, ``import llpe.graphgym`` next to the other custom modules, then in the config:

    dataset:
      node_encoder: true
      node_encoder_name: LLPE
    llpe:
      source: probes
      probes: 32
    gnn:
      dim_inner: 64

The features are projected to dim_inner − llpe.dim columns and the encoding fills the rest (llpe.dim: 0 means half).
A batch that was not prepared (``pre_transform=Prepare(...)`` is the fast way) is prepared graph by graph on first
sight, from the cache where it can.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.register import register_config, register_node_encoder
from torch_geometric.nn import Linear

from llpe.encodings import LLPE


@register_config("llpe")
def add_llpe_options(config: Any) -> None:
    """The ``llpe`` section of a GraphGym config, with the defaults of :class:`llpe.LLPE`."""
    from yacs.config import CfgNode

    config.llpe = CfgNode(
        {
            "dim": 0,
            "order": 64,
            "source": "full",
            "k": 0,
            "probes": 0,
            "start": "",
            "scaling": "unit",
            "seed": 0,
        }
    )


@register_node_encoder("LLPE")
class LLPENodeEncoder(nn.Module):
    """batch.x ← [Linear(x) ‖ LLPE], ``dim_emb`` columns in all.

    Args:
        dim_emb: width of the result.
        expand_x: project the features; False keeps batch.x as it is and appends the encoding.
    """

    def __init__(self, dim_emb: int, expand_x: bool = True) -> None:
        super().__init__()
        options = {name: value for name, value in cfg.llpe.items() if name != "dim" and value not in (0, "")}
        self.encoding = LLPE(cfg.llpe.dim or dim_emb // 2, **options)
        if self.encoding.dim >= dim_emb:
            raise ValueError(
                f"`llpe.dim` must leave room for the features in gnn.dim_inner={dim_emb}, got {self.encoding.dim}."
            )
        self.project = Linear(-1, dim_emb - self.encoding.dim) if expand_x else nn.Identity()

    def forward(self, batch: Data) -> Data:
        name = self.encoding.attribute("basis")
        if name not in batch:
            batch[name] = self._prepare(batch).to(batch.x.device)
        batch.x = torch.cat([self.project(batch.x), self.encoding(batch)], dim=-1)
        return batch

    def _prepare(self, batch: Data) -> Tensor:
        graphs = batch.to_data_list() if isinstance(batch, Batch) else [batch]
        name = self.encoding.attribute("basis")
        return torch.cat([self.encoding.prepare(graph)[name] for graph in graphs])
