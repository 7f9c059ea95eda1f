"""Features and encoding side by side: a node classifier, [x Wᵀ + b ‖ encoding] → backbone → linear head."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from llpe.checks import check_choice, check_count, checked, refusal
from llpe.device import no_autocast
from llpe.models.adapter import make_backbone
from llpe.models.fixed_matrix import FeatureLinear, FixedMatrix
from llpe.models.fixed_matrix import dropout as drop
from llpe.models.operations import Edges, check_share
from llpe.storage import require_memory

if TYPE_CHECKING:
    from llpe.encodings.base import Encoding

PLACES = ("input", "layers")
"""Where the encoding enters: next to the features, or added to the node states before each layer."""


@dataclass(frozen=True)
class Inputs:
    """A graph as a classifier reads it, with sparse features and adjacency by rows: see :meth:`Classifier.inputs`.

    ``asked`` are the edges of the last layer, for the rows whose logits are wanted.
    """

    data: Data
    x: Tensor | FixedMatrix | None
    edges: Edges
    asked: Edges

    def take(self, rows: Tensor) -> Inputs:
        """The same graph, asked for the logits of ``rows``; what only other rows need is not computed."""
        return replace(self, asked=self.edges.take(rows))

    def to(self, device: torch.device) -> Inputs:
        """The same on another device, except ``data.x`` where that is sparse: it is read through ``x``."""
        if device.type == "cpu":
            return self  # where it was made
        data, edges = copy.copy(self.data), self.edges.to(device)
        data.num_nodes = self.data.num_nodes
        for name, value in self.data.to_dict().items():
            if isinstance(value, Tensor):
                data[name] = value.to(device) if value.layout == torch.strided else None
        x = data.x if isinstance(self.x, Tensor) else self.x and self.x.to(device)
        return Inputs(data, x, edges, edges if self.asked is self.edges else self.asked.to(device))


@final
class Classifier(nn.Module):
    """Logits of nodes from their features and their positional encoding.

    Features are projected to ``hidden`` columns and placed next to the ``encoding.dim`` columns of the encoding; the
    backbone works on that width, ``hidden + encoding.dim``, and a linear map gives one logit per class.

    Args:
        encoding: a module with ``dim`` (0 for none), ``forward(data)`` → [rows, dim], ``penalty(data)`` and
            ``reset_parameters()``.
        in_features: columns of ``data.x``; 0 uses the encoding alone.
        num_classes: number of classes.
        model: a name (see :func:`~llpe.models.make_backbone`) or a module with ``forward(x, edge_index)`` of that
            width.
        hidden: width of the projected features; also the default inner width of feed-forward parts.
        layers: how many layers the backbone has; by default 2 plain or 4 strong ones.
        dropout: share of entries dropped after each layer, while training.
        input_dropout: share of entries of the features and of the encoding dropped before they enter, while training.
        variant: ``"plain"``, the paper's bases, or ``"strong"``, with residuals and normalisation.
        where: ``"input"``, or ``"layers"``: a linear map of the encoding is added to the node states before each layer
            instead, and the backbone has the width ``hidden``.
        options: further ones of the backbone, such as ``heads`` (see :func:`~llpe.models.backbone_options`).

    Shapes: ``data.x`` [rows, in_features], dense or sparse (CSR stays sparse) → [rows, num_classes]. With
    ``model="mlp"`` a subset of the rows of a graph suffices.

    Example:
        >>> from llpe.encodings import RWSE
        >>> from llpe.graph import tiny
        >>> data = tiny("ring")
        >>> data.x = torch.ones(8, 3)
        >>> encoding = RWSE(dim=4, steps=3)
        >>> model = Classifier(encoding, in_features=3, num_classes=2, model="sage", hidden=16)
        >>> model(encoding.prepare(data)).shape
        torch.Size([8, 2])
    """

    @checked
    def __init__(
        self,
        encoding: Encoding,
        *,
        in_features: int,
        num_classes: int,
        model: str | nn.Module = "mlp",
        hidden: int = 128,
        layers: int | None = None,
        dropout: float = 0.0,
        input_dropout: float = 0.0,
        variant: str = "plain",
        where: str = "input",
        **options: Any,
    ) -> None:
        super().__init__()
        self.dim: int = getattr(encoding, "dim", None)  # type: ignore[assignment]  # checked below
        check_count("in_features", in_features, least=0)
        check_count("num_classes", num_classes, least=2)
        check_count("hidden", hidden)
        check_count("encoding.dim", self.dim, least=0)
        check_share("input_dropout", input_dropout)
        check_choice("where", where, PLACES)
        if not in_features and not self.dim:
            raise refusal("in_features", "be at least 1 without an encoding", 0, "Give features or an encoding.")
        options = {"layers": layers, "dropout": dropout, "variant": variant, **options}
        if isinstance(model, str):
            options.setdefault("feedforward", hidden)
        every = where == "layers" and self.dim > 0 and in_features > 0
        width = hidden if every else self.dim + (hidden if in_features else 0)
        require_memory(
            4 * (in_features * hidden + width * num_classes), "a model of these widths", "Choose smaller ones."
        )
        self.name = model if isinstance(model, str) else type(model).__name__
        self.encoding = encoding
        self.input_dropout = input_dropout
        self.features = FeatureLinear(in_features, hidden, input_dropout) if in_features else None
        self.backbone = make_backbone(model, width=width, **options)
        self.head = nn.Linear(width, num_classes)
        layers = len(self.backbone.layers) if every else 0
        self.added = nn.ModuleList(nn.Linear(self.dim, width) for _ in range(layers))

    def inputs(self, data: Data) -> Inputs:
        """What a forward pass needs of a graph and never changes, made once; ``model(data)`` makes it in each call.

        Example:
            >>> from llpe.data import sbm
            >>> from llpe.encodings import NoEncoding
            >>> data = sbm(n=50)
            >>> model = Classifier(NoEncoding(), in_features=data.num_features, num_classes=2, model="gcn")
            >>> inputs = model.inputs(data)
            >>> torch.equal(model(inputs), model(data))
            True
        """
        _check_graph(data)
        edges = self.backbone.edges(data.edge_index, data.edge_weight, int(data.num_nodes or 0), self.head.weight.dtype)
        return Inputs(data, self.features and self.features.matrix(data.x), edges, edges)

    def forward(self, data: Data | Inputs, rows: Tensor | None = None) -> Tensor:
        """Logits of ``rows`` of a graph, by default of all; what only other rows need is not computed."""
        return self.logits(self.states(data), data, rows)

    def states(self, data: Data | Inputs) -> Tensor:
        """What goes into the backbone: features and encoding side by side, [rows, hidden + encoding.dim]."""
        graph = data.data if isinstance(data, Inputs) else data
        _check_graph(graph)
        if self.backbone.whole_graph and isinstance(graph, Batch) and graph.num_graphs > 1:
            rule, got = "be one graph where all nodes see each other", f"{graph.num_graphs} graphs"
            raise refusal("data", rule, got, "Pass them one by one.")
        parts = []
        if self.features is not None:
            parts.append(self.features(data.x))
        if self.dim:
            with no_autocast(self.head.weight.device):  # positions keep all their digits
                encoding = self.encoding(graph)
            if encoding.dim() != 2 or encoding.size(1) != self.dim:
                instead = "An encoding returns as many columns as its `dim` says."
                raise refusal("encoding(data)", f"have shape [rows, {self.dim}]", list(encoding.shape), instead)
            parts.append(drop(encoding, self.input_dropout, self.training))
        if len(parts) == 2 and parts[0].size(0) != parts[1].size(0):
            rule = f"have one row for each of {parts[0].size(0)} rows of data.x"
            instead = "Prepare the data after changing its nodes, or slice both alike."
            raise refusal("encoding(data)", rule, parts[1].size(0), instead)
        return torch.cat(parts, dim=1)

    def logits(self, states: Tensor, data: Data | Inputs, rows: Tensor | None = None) -> Tensor:
        """The second half of ``model(data, rows)``, which is ``logits(states(data), data, rows)``."""
        if not isinstance(data, Inputs):
            edges = self.backbone.edges(data.edge_index, data.edge_weight, states.size(0), states.dtype)
            asked = edges.take(rows)
        else:
            edges, asked = data.edges, data.asked if rows is None else data.edges.take(rows)
        if not self.added:
            return self.head(self.backbone.run(states, edges, asked))
        h, encoding = states[:, : -self.dim], states[:, -self.dim :]
        return self.head(self.backbone.run(h, edges, asked, lambda layer: self.added[layer](encoding)))

    def penalty(self, data: Data) -> Tensor:
        """The encoding's penalty, a scalar."""
        return self.encoding.penalty(data)

    def reset_parameters(self) -> None:
        """Draws all parameters again, the encoding's too."""
        for part in (self.encoding, self.features, self.backbone, self.head, *self.added):
            if part is not None:
                part.reset_parameters()


def _check_graph(data: Data) -> None:
    if not isinstance(data, Data):
        raise refusal("data", "be a torch_geometric.data.Data", type(data).__name__, "Prepare it first.")
