"""The first layer: features, dense or sparse, to a narrow dense matrix."""

from __future__ import annotations

from typing import final

import torch
from torch import Tensor, nn

from llpe.models.dropout import dropout
from llpe.models.sparse import FixedMatrix, remember


@final
class FeatureLinear(nn.Module):
    """x W + b, where a sparse ``x`` (layout CSR, CSC or COO) stays sparse, forwards and backwards.

    ``weight`` has shape [in_features, out_features], the transpose of ``torch.nn.Linear``'s: a sparse product needs
    it by rows, and so no step has to copy it. It is initialised alike. What a sparse ``x`` needs besides itself, xᵀ by
    rows, is made in the first backward pass and kept as long as ``x`` lives. While training, a share ``dropout`` of the
    entries of ``x`` is dropped: for a bag of words, some of its words.

    Example:
        >>> x = torch.tensor([[0.0, 1.0, 0.0], [2.0, 0.0, 0.0]])
        >>> linear = FeatureLinear(3, 4)
        >>> torch.allclose(linear(x.to_sparse()), linear(x))
        True
    """

    def __init__(self, in_features: int, out_features: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.in_features, self.out_features, self.dropout = in_features, out_features, dropout
        self.weight = nn.Parameter(torch.empty(in_features, out_features))
        self.bias = nn.Parameter(torch.empty(out_features))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = self.in_features**-0.5
        nn.init.uniform_(self.weight, -bound, bound)
        nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, x: Tensor) -> Tensor:
        self._check(x)
        if x.layout == torch.strided:
            return torch.addmm(self.bias, dropout(x, self.dropout, self.training), self.weight)
        matrix = remember("features", (x,), lambda: FixedMatrix(lambda: x))
        if self.training and self.dropout:
            return matrix.dropped(self.weight, self.dropout) + self.bias
        return matrix @ self.weight + self.bias

    def _check(self, x: Tensor | None) -> None:
        if not isinstance(x, Tensor):
            raise ValueError(
                f"`data.x` must be a tensor of {self.in_features} features per node, got {type(x).__name__}. "
                "Give features, or say in_features=0."
            )
        if x.dim() != 2 or x.size(1) != self.in_features:
            raise ValueError(
                f"`data.x` must have shape [rows, {self.in_features}], got {list(x.shape)}. "
                "The model was made for another number of features: see in_features."
            )
        if x.dtype != self.weight.dtype:
            raise ValueError(
                f"`data.x` must have dtype {self.weight.dtype}, got {x.dtype}. Convert it with "
                f"data.x.to({self.weight.dtype})."
            )
        if x.layout != torch.strided and x.requires_grad:
            raise ValueError(
                "`data.x` must not require gradients while sparse, got a tensor that does. "
                "Convert it with data.x.to_dense()."
            )
