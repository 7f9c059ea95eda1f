"""Dropout that spends one random number on four entries.

Drawing is what dropout costs on a CPU: torch draws one uniform number for each entry. Sixteen random bits are enough to
decide: an entry is dropped with probability p rounded to a multiple of 2⁻¹⁶, and what is kept is scaled by that same
probability, so that the expectation is exact. Bits come from torch's own generator, as seeds and checkpoints expect.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

LEVELS = 1 << 16  # values of sixteen bits


def dropout(h: Tensor, share: float, training: bool) -> Tensor:
    """Sets a ``share`` of the entries to 0 while training, and scales the others by 1 / (1 − share).

    Example:
        >>> _ = torch.manual_seed(0)
        >>> dropout(torch.ones(2, 4), 0.5, True).unique()
        tensor([0., 2.])
        >>> dropout(torch.ones(4), 0.5, False)
        tensor([1., 1., 1., 1.])
    """
    dropped = round(share * LEVELS)
    if not training or not 0 < dropped < LEVELS or h.device.type != "cpu":
        return F.dropout(h, share, training)
    draws = torch.empty((h.numel() + 3) // 4, dtype=torch.int64).random_(-(1 << 63), None)
    bits = draws.view(torch.int16)[: h.numel()].view(h.shape)
    keep = (bits >= dropped - LEVELS // 2).to(h.dtype)
    return h * keep.mul_(LEVELS / (LEVELS - dropped))
