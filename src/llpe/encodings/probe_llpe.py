"""LLPE without eigenvectors: the same learned filters over the whole spectrum, applied to random probes.

    P[v] = [h_1(L)S[v], …, h_F(L)S[v]],   h_f(L)S = Σ_m C[m, f]·T_m(L̃)S

with probes S ∈ R^(n × probes), and C ∈ R^(order × filters) all that is learned. T_m(L̃)S is computed once. What the
distances between rows mean: :mod:`llpe.probes`.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, final

import torch
from torch import Tensor
from torch_geometric.data import Data

from llpe.cache import Cache
from llpe.chebyshev import count_signals
from llpe.checks import check_count, refusal
from llpe.encodings.filtered import SHARE, FilteredEncoding, Rows, Start, density_parts
from llpe.features import Features
from llpe.graph import Graph
from llpe.probes import probe_features


@final
class ProbeLLPE(FilteredEncoding):
    """Learnable Laplacian positional encoding from random probes, without an eigenvector.

    Args:
        dim: width of the output, probes × filters.
        order: number of Chebyshev terms of a filter.
        probes: how many random probes; by default as many as ``dim``, at most 128.
        start: where the filters start: ``"heat"``, a bank of low-pass e^(−tλ) and high-pass e^(−t(2−λ)) kernels;
            ``"step"``, one of sharp cutoffs (for few large blocks; needs a high order); ``"uniform"``, coefficients
            drawn from ±1/√order, which gives noise at first. What is learned then: see :mod:`llpe.encodings.filtered`.
        rows: ``"unit"`` takes the trivial eigenvector out and scales what a filter gives a node, one number for each
            probe, to mean square 1: its direction says where the node is, its length how well connected. ``"plain"``
            keeps all as it is, and with it the distances of :mod:`llpe.probes`. Default: ``unit`` with two probes or
            more, else ``plain``.
        share: mean length of the rows, relative to that of the features' rows.
        size: a fixed factor of the encoding instead.
        l1, l2: coefficients of the :meth:`penalty`. Default: 0 and 0.01, with a uniform start 0 and 0.
        frozen: the filters stay as they start; nothing is learned.
        seed: of the probes and of a uniform start.

    Example:
        >>> from llpe.graph import tiny
        >>> encoding = ProbeLLPE(8, probes=4)
        >>> data = encoding.prepare(tiny("ring"))
        >>> encoding(data).shape, encoding.coefficients.shape
        (torch.Size([8, 8]), torch.Size([16, 2]))
    """

    name = "llpe-probes"
    fixed_by = ("order", "probes", "rows", "seed")
    paper_options: ClassVar = {"order": 64, "size": 1.0}  # rows are not scaled by the features
    invariances = frozenset({"sign", "basis"})
    on_device = True
    needs = "T_m(L̃)S, no eigenvector"
    keeps = "n × probes × order"
    cost = "order · probes · edges, sparse products"
    reference = "ours, after Ito et al., 2025"

    def __init__(
        self,
        dim: int,
        *,
        order: int = 16,
        probes: int | None = None,
        start: Start = "heat",
        rows: Rows | None = None,
        share: float = SHARE,
        size: float | None = None,
        l1: float = 0.0,
        l2: float | None = None,
        frozen: bool = False,
        seed: int = 0,
    ) -> None:
        check_count("dim", dim)
        probes = count_signals("probes", probes, dim)
        shared: dict[str, Any] = {"share": share, "size": size, "l1": l1, "l2": l2, "frozen": frozen, "seed": seed}
        super().__init__(dim, probes, order=order, start=start, rows=rows, **shared)
        self.probes = probes

    @classmethod
    def space(cls, preset: str, decided: Mapping[str, Any]) -> dict[str, list[Any]]:
        if preset == "extended":
            return {"order": [16, 32], "probes,dim": [[64, 128], [128, 128], [256, 256]], "share": [0.1, 0.3, 1.0, 3.0]}
        widths = [[32, 128], [64, 128], [64, 256], [128, 256], [256, 512]]
        return {"order": [16, 32, 64], "probes,dim": widths, "size": [0.1, 1.0]}

    def probe_arguments(self) -> dict[str, Any]:
        """What :func:`~llpe.probes.probe_features` and :func:`~llpe.out_of_core.encode_folder` are called with."""
        return {"order": self.order, "probes": self.probes, "centred": self.rows == "unit", "seed": self.seed}

    def compute(self, graph: Graph, cache: bool | Cache) -> dict[str, Tensor]:
        basis, moments = probe_features(graph, **self.probe_arguments(), device=graph.device)
        return {"basis": basis, **density_parts(moments, self.order, graph.num_nodes)}

    def prepare_from(self, features: Features | str | Path, data: Data) -> Data:
        """A shallow copy of ``data`` with the fixed part from a folder that ``llpe encode`` has written.

        Its rows are read when they are needed: those of ``n_id``, the numbers of nodes that PyG's loaders give to a
        sample; here it is set to all nodes. So the features may be larger than memory.
        """
        features = features if isinstance(features, Features) else Features.open(features)
        wanted = self.probe_arguments() | {"num_nodes": data.num_nodes}
        found = features.arguments | {"num_nodes": features.num_nodes}
        if found != wanted:
            differ = ", ".join(f"{name}={found[name]!r}" for name in wanted if found[name] != wanted[name])
            instead = "Encode the graph again, or take the arguments that the features have."
            raise refusal("features", f"be those of {self!r} and of the graph", differ, instead)
        out = copy.copy(data)
        parts = {"basis": features, **density_parts(features.moments, self.order, features.num_nodes)}
        for part in filter(self.uses, parts):
            tensor = parts[part]
            out[self.attribute(part)] = tensor.to(self._dtype(data)) if isinstance(tensor, Tensor) else tensor
        out.n_id = torch.arange(features.num_nodes)
        return out
