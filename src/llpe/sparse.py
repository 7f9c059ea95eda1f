"""scipy's sparse matrices as torch's, for products with dense blocks in float32."""

from __future__ import annotations

import warnings

import scipy.sparse as sp
import torch
from torch import Tensor


def torch_csr(matrix: sp.csr_array) -> Tensor:
    """The matrix in torch's CSR layout: float32 values and, where they suffice, 32-bit indices."""
    index = torch.int32 if max(matrix.nnz, *matrix.shape) < 2**31 else torch.int64
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # torch calls its CSR support a beta
        return torch.sparse_csr_tensor(
            torch.from_numpy(matrix.indptr).to(index),
            torch.from_numpy(matrix.indices).to(index),
            torch.from_numpy(matrix.data).float(),
            size=matrix.shape,
            check_invariants=False,
        )
