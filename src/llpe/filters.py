"""Banks of filters to start from, as Chebyshev coefficients: low and high passes, soft or sharp.

Half of a bank are low passes, the other half their mirror images λ → 2 − λ. White noise through a random filter is
still noise; through these it shows the two ends of the spectrum from the first step. Also the scale of what they give.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from llpe import chebyshev

MOST = 128  # signals, unless said otherwise
FAINT = 1e-10  # of a signal's energy: a row that a filter leaves less of is rounding error, and stays small
NOTHING = 1e-20  # keeps a row of zeros from 0/0
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


def count_signals(name: str, signals: int | None, dim: int, default: int | None = None) -> int:
    """How many signals an encoding of ``dim`` columns has: as given, else the most up to ``MOST`` that divide dim."""
    if signals is None:
        signals = default or max(count for count in range(1, min(dim, MOST) + 1) if dim % count == 0)
    if not isinstance(signals, int) or isinstance(signals, bool) or signals < 1:
        raise ValueError(f"`{name}` must be an integer of at least 1, got {signals!r}.")
    if dim % signals:
        raise ValueError(
            f"`dim` must be {name} × filters, a multiple of {name}={signals}, got {dim}. "
            f"Take dim={signals}, {2 * signals}, … or another number of {name}."
        )
    return signals


def to_unit_rows(filtered: Tensor, coefficients: Tensor, signals: Tensor) -> Tensor:
    """What scales each row of ``filtered``, one number for each signal, to mean square 1: shape (rows, 1, filters).

    Args:
        filtered: signals through filters, shape (rows, signals, filters).
        coefficients: those of the filters, shape (order, filters).
        signals: as they were before, shape (rows, signals, 1).
    """
    faint = FAINT * coefficients.detach().abs().sum(dim=0) ** 2 * signals.square().mean(dim=1, keepdim=True)
    return (filtered.square().mean(dim=1, keepdim=True) + faint + NOTHING).rsqrt()


def spread(filtered: Tensor) -> Tensor:
    """The standard deviation of what each filter gives, at least a tenth of its size, and 1 for nothing: (filters,)."""
    columns = filtered.flatten(0, -2)
    found = torch.maximum(columns.std(dim=0, correction=0), 0.1 * columns.square().mean(dim=0).sqrt())
    return torch.where(found > 0, found, 1.0)
