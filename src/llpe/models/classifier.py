"""Where features and encoding meet: a node classifier, [x Wᵀ + b ‖ encoding] → backbone → linear head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from llpe.models.base import check_count, check_share
from llpe.models.dropout import dropout as drop
from llpe.models.features import FeatureLinear

if TYPE_CHECKING:
    from llpe.encodings.base import Encoding


@final
class Classifier(nn.Module):
    """Class scores of nodes from their features and their positional encoding.

    Features are projected to ``hidden`` columns and set beside the ``encoding.dim`` columns of the encoding;
    the backbone works on that width, ``hidden + encoding.dim``, and a linear map gives one score per class.

    Args:
        encoding: a module with ``dim`` (0 for none), ``forward(data)`` → [rows, dim], ``penalty(data)`` and
            ``reset_parameters()``.
        in_features: columns of ``data.x``; 0 uses the encoding alone.
        num_classes: number of classes.
        model: a name (see :func:`~llpe.models.make_backbone`) or a module with ``forward(x, edge_index)`` of
            that width.
        hidden: width of the projected features; also the default inner width of feed-forward parts.
        layers: how many layers the backbone has; by default 2 plain or 4 strong ones.
        dropout: share of entries dropped after each layer, while training.
        input_dropout: share of entries of the features and of the encoding dropped before they enter, while training.
        variant: ``"plain"``, the paper's bases, or ``"strong"``, with residuals and normalisation.
        options: further ones of the backbone, such as ``heads`` (see :func:`~llpe.models.backbone_options`).

    Shapes: ``data.x`` [rows, in_features], dense or sparse (CSR stays sparse) → [rows, num_classes]. With
    ``model="mlp"`` any rows of a graph will do.

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
        **options: Any,
    ) -> None:
        super().__init__()
        from llpe.models import make_backbone  # the table of names, which imports this file

        check_count("in_features", in_features, least=0)
        check_count("num_classes", num_classes, least=2)
        check_count("hidden", hidden)
        self.dim = check_count("encoding.dim", getattr(encoding, "dim", None), least=0)
        if not in_features and not self.dim:
            raise ValueError(
                "`in_features` must be at least 1 without an encoding, got 0. Give features or an encoding."
            )
        options = {"layers": layers, "dropout": dropout, "variant": variant, **options}
        if isinstance(model, str):
            options.setdefault("feedforward", hidden)
        width = self.dim + (hidden if in_features else 0)
        self.name = model if isinstance(model, str) else type(model).__name__
        self.encoding = encoding
        self.input_dropout = check_share("input_dropout", input_dropout)
        self.features = FeatureLinear(in_features, hidden, self.input_dropout) if in_features else None
        self.backbone = make_backbone(model, width=width, **options)
        self.head = nn.Linear(width, num_classes)

    def forward(self, data: Data, rows: Tensor | None = None) -> Tensor:
        """Scores of ``rows``, by default of all; what only other rows need is not computed."""
        return self.judge(self.states(data), data, rows)

    def states(self, data: Data) -> Tensor:
        """What goes into the backbone: features and encoding side by side, [rows, hidden + encoding.dim]."""
        if self.backbone.whole_graph and isinstance(data, Batch) and data.num_graphs > 1:
            raise ValueError(
                f"`data` must be one graph where all nodes see each other, got {data.num_graphs} graphs. "
                "Pass them one by one."
            )
        parts = []
        if self.features is not None:
            parts.append(self.features(data.x))
        if self.dim:
            parts.append(drop(self._encode(data), self.input_dropout, self.training))
        if len(parts) == 2 and parts[0].size(0) != parts[1].size(0):
            raise ValueError(
                f"`encoding(data)` must have one row for each of {parts[0].size(0)} rows of data.x, "
                f"got {parts[1].size(0)}. Prepare the data after changing its nodes, or slice both alike."
            )
        return torch.cat(parts, dim=1)

    def judge(self, states: Tensor, data: Data, rows: Tensor | None = None) -> Tensor:
        """Scores of ``rows`` from the states of all: ``model(data, rows)`` is ``judge(states(data), data, rows)``."""
        return self.head(self.backbone(states, data.edge_index, data.edge_weight, rows))

    def _encode(self, data: Data) -> Tensor:
        encoding = self.encoding(data)
        if encoding.dim() != 2 or encoding.size(1) != self.dim:
            raise ValueError(
                f"`encoding(data)` must have shape [rows, {self.dim}], got {list(encoding.shape)}. "
                "An encoding returns as many columns as its `dim` says."
            )
        return encoding

    def penalty(self, data: Data) -> Tensor:
        """The encoding's penalty, a scalar."""
        return self.encoding.penalty(data)

    def reset_parameters(self) -> None:
        """Draws all parameters anew, the encoding's too."""
        self.encoding.reset_parameters()
        if self.features is not None:
            self.features.reset_parameters()
        self.backbone.reset_parameters()
        self.head.reset_parameters()
