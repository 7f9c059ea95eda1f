"""Banks of filters to start from, as Chebyshev coefficients: low and high passes, soft or sharp.

Half of a bank are low passes, the other half their mirror images λ → 2 − λ. White noise through a random filter is
still noise; through these it shows the two ends of the spectrum from the first step.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from llpe import chebyshev

LONGEST = 32.0  # time of the heat kernel; far longer ones smooth away all but components and the largest clusters


def heat_bank(order: int, filters: int) -> Tensor:
    """Low passes e^(−tλ) and high passes e^(−t(2−λ)), shape (order, filters).

    The times t are spread geometrically up to ``LONGEST``, or order²/8 if that is less, about the sharpest that
    ``order`` terms resolve: the series of e^(−tλ) falls as e^(−m²/2t). A single filter is the sum of one low and one
    high pass.
    """
    lows = max(1, (filters + 1) // 2)
    times = np.geomspace(1.0, max(1.0, min(LONGEST, order**2 / 8)), lows + 1)[1:]
    return _mirrored(chebyshev.heat(times, order), filters)


def step_bank(order: int, filters: int) -> Tensor:
    """Low passes 1[λ < c] and high passes 1[λ > 2 − c] with Jackson's damping, shape (order, filters).

    With λ = 1 + cos φ, what ``order`` terms resolve is the same everywhere in φ, so the cutoffs are evenly spread in φ,
    below λ = 1. The series of a step from φ_c to π is 1 − φ_c/π − Σ_m 2·sin(m·φ_c)/(mπ)·T_m; damped, it falls off as
    the cube of (order × distance) away from the step instead of ringing. Few large blocks need that: each of their
    eigenvectors holds 1/n of a probe's energy, and the other n − 1 must stay below it together.

    Example:
        >>> low = chebyshev.basis(torch.tensor([0.0, 0.2, 0.9, 2.0]), 64) @ step_bank(64, 2)[:, 0].float()
        >>> low.round(decimals=2).abs().tolist()
        [1.0, 1.0, 0.0, 0.0]
    """
    lows = max(1, (filters + 1) // 2)
    cutoff = np.pi - np.pi / 2 * np.arange(1, lows + 1) / (lows + 1)
    m = np.arange(1, order)[:, None]
    series = np.concatenate([1 - cutoff[None] / np.pi, -2 * np.sin(m * cutoff) / (m * np.pi)])
    return _mirrored(torch.from_numpy(chebyshev.jackson(order)[:, None] * series), filters)


def _mirrored(low: Tensor, filters: int) -> Tensor:
    """The low passes and as many of their mirror images as are wanted; for a single filter the sum of both."""
    high = low * (-1.0) ** torch.arange(low.size(0), dtype=torch.float64)[:, None]
    return low + high if filters == 1 else torch.cat([low, high[:, : filters - low.size(1)]], dim=1)


BANKS: dict[str, Callable[[int, int], Tensor]] = {"heat": heat_bank, "step": step_bank}
