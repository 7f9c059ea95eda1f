"""The first layer: features, dense or sparse, to a narrow dense matrix."""

from __future__ import annotations

from typing import final

import torch
from torch import Tensor, nn

from llpe.checks import refusal
from llpe.inputs import FEATURE_LAYOUTS, check_tensor
from llpe.models.dropout import dropout
from llpe.models.fixed_matrix import FixedMatrix


@final
class FeatureLinear(nn.Module):
    """x W + b, where a sparse ``x`` (layout CSR, CSC or COO) stays sparse, forwards and backwards.

    ``weight`` has shape [in_features, out_features], the transpose of ``torch.nn.Linear``'s: a sparse product needs it
    by rows, and so no step has to copy it. It is initialised alike. While training, a share ``dropout`` of the entries
    of ``x`` is dropped: for a bag of words, some of its words.

    Example:
        >>> x = torch.tensor([[0.0, 1.0, 0.0], [2.0, 0.0, 0.0]])
        >>> linear = FeatureLinear(3, 4)
        >>> torch.allclose(linear(x.to_sparse()), linear(x))
        True
    """

    def __init__(self, in_features: int, out_features: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.in_features, self.dropout = in_features, dropout
        self.weight = nn.Parameter(torch.empty(in_features, out_features))
        self.bias = nn.Parameter(torch.empty(out_features))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = self.in_features**-0.5
        nn.init.uniform_(self.weight, -bound, bound)
        nn.init.uniform_(self.bias, -bound, bound)

    def matrix(self, x: Tensor | None) -> Tensor | FixedMatrix:
        """Features as :meth:`forward` reads them: checked, and with sparse ones by rows. Made once per graph."""
        if not isinstance(x, Tensor):
            rule = f"be a tensor of {self.in_features} features per node"
            raise refusal("data.x", rule, type(x).__name__, "Give features, or say in_features=0.")
        check_tensor("data.x", x, FEATURE_LAYOUTS)
        if x.dim() != 2 or x.size(1) != self.in_features:
            instead = "The model was made for another number of features: see in_features."
            raise refusal("data.x", f"have shape [rows, {self.in_features}]", list(x.shape), instead)
        dtype = self.weight.dtype
        if x.dtype != dtype:
            raise refusal("data.x", f"have dtype {dtype}", x.dtype, f"Convert it with data.x.to({dtype}).")
        if x.layout == torch.strided:
            return x
        if x.requires_grad:
            rule, instead = "not require gradients while sparse", "Convert it with data.x.to_dense()."
            raise refusal("data.x", rule, "a tensor that does", instead)
        return FixedMatrix(x)

    def forward(self, x: Tensor | FixedMatrix) -> Tensor:
        x = x if isinstance(x, FixedMatrix) else self.matrix(x)
        if isinstance(x, Tensor):
            return torch.addmm(self.bias, dropout(x, self.dropout, self.training), self.weight)
        if self.training and self.dropout:
            return x.dropped(self.weight, self.dropout) + self.bias
        return x @ self.weight + self.bias
