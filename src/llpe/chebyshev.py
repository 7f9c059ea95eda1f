"""Chebyshev series on the spectrum [0, 2]: basis, recurrence, coefficients, spectral density, banks of filters.

With λ̃ = λ − 1 ∈ [−1, 1], T_0 = 1, T_1 = x and T_{m+1} = 2x·T_m − T_{m−1}. A series of ``order`` M has the terms
m = 0 … M−1. The recurrence is used instead of cos(m·arccos x), which is NaN as soon as an eigenvalue rounds outside
[−1, 1]. For numbers it goes in strides, T_{k+j} = 2·T_k·T_j − T_{k−j}, each of which doubles the terms.

Learning starts from a bank of filters: half of them are low passes, the others their mirror images λ → 2 − λ.
White noise through a random filter is still noise; through these it shows the two ends of the spectrum at once.

NOTE[PAPER]: the paper sums m = 0 … M and leaves "normalised eigenvalues" open; the authors' code keeps m < M and
min-max scales the eigenvalues of each graph. Here λ̃ = λ − 1 always, so that Θ means the same filter on every graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy.special
import torch
from torch import Tensor

from llpe.checks import check_count, refusal

MOST_SIGNALS = 128  # unless more are asked for
FAINT = 1e-10  # of a signal's energy: a row that a filter leaves less of is rounding error, and stays small
TINIEST = 1e-20  # keeps a row of zeros from 0/0
LONGEST = 32.0  # time of the heat kernel; far longer ones smooth away all but components and the largest clusters


def basis(values: Tensor, order: int) -> Tensor:
    """T_m(λ − 1) for every λ in ``values`` (any shape …), shape (…, order), computed in float64.

    Example:
        >>> basis(torch.tensor([0.0, 1.0, 2.0]), 3)
        tensor([[ 1., -1.,  1.],
                [ 1.,  0., -1.],
                [ 1.,  1.,  1.]])
    """
    check_count("order", order)
    x = values.double() - 1
    out = torch.stack([torch.ones_like(x), x], dim=-1)[..., :order]
    while (k := out.size(-1) - 1) < order - 1:
        j = min(k, order - 1 - k)
        more = 2 * out[..., k:] * out[..., 1 : j + 1] - out[..., k - j : k].flip(-1)
        out = torch.cat([out, more], dim=-1)
    return out.to(values.dtype)


def recurrence(apply: Callable[[Tensor], Tensor], start: Tensor, order: int) -> Iterator[Tensor]:
    """T_0(X)s, T_1(X)s, …, T_{order−1}(X)s for the linear map X = ``apply`` and s = ``start``.

    Only two earlier terms are kept, so memory stays at three copies of ``start``.
    """
    before, term = start, start
    for m in range(order):
        if m == 1:
            before, term = term, apply(term)
        elif m > 1:
            before, term = term, torch.add(apply(term), before, alpha=-0.5).mul_(2)
        yield term


def coefficients(function: Callable[[np.ndarray], np.ndarray], order: int) -> Tensor:
    """The Chebyshev coefficients of a function of λ on [0, 2], shape (order,), float64.

    Interpolates at max(4·order, 256) Chebyshev nodes, so functions smoother than that are exact to rounding.

    Example:
        >>> coefficients(lambda v: v**2, 4).round(decimals=6).tolist()  # λ² = 3/2 + 2·T_1 + T_2/2
        [1.5, 2.0, 0.5, 0.0]
    """
    check_count("order", order)
    count = max(4 * order, 256)
    angle = np.pi * (np.arange(count) + 0.5) / count
    samples = np.asarray(function(1 + np.cos(angle)), dtype=np.float64)
    if samples.shape != angle.shape or not np.isfinite(samples).all():
        raise ValueError("`function` must return one finite number for each λ in [0, 2]. Check it at 0 and at 2.")
    out = 2 / count * np.cos(np.outer(np.arange(order), angle)) @ samples
    out[0] /= 2
    return torch.from_numpy(out)


def jackson(order: int) -> np.ndarray:
    """Jackson's damping factors: a damped series of a non-negative density stays non-negative."""
    m = np.arange(order)
    angle = np.pi / (order + 1)
    return ((order - m + 1) * np.cos(m * angle) + np.sin(m * angle) / np.tan(angle)) / (order + 1)


def density(moments: np.ndarray, points: int) -> tuple[np.ndarray, np.ndarray]:
    """The kernel polynomial method: spectral density from Chebyshev moments.

    Args:
        moments: μ_m = mean of T_m(λ̃) over the spectrum, m = 0, 1, …
        points: number of Chebyshev nodes.

    Returns:
        The nodes λ (ascending) and their weights: ∫f dρ ≈ Σ weight·f(node); weights sum to μ_0.
    """
    damped = jackson(moments.size) * moments
    damped[1:] *= 2
    angle = np.pi * (np.arange(points) + 0.5) / points
    weights = np.cos(np.outer(angle, np.arange(moments.size))) @ damped / points
    return 1 + np.cos(angle[::-1]), np.maximum(weights[::-1], 0.0)


def heat_bank(order: int, filters: int) -> Tensor:
    """Low passes e^(−tλ) and high passes e^(−t(2−λ)), shape (order, filters).

    e^(−tλ) = e^(−t)I_0(t) + 2 Σ_m (−1)^m e^(−t)I_m(t) T_m(λ̃), with I_m the modified Bessel functions. The times t are
    spread geometrically up to ``LONGEST``, or order²/8 if that is less, about the sharpest that ``order`` terms
    resolve: the series falls as e^(−m²/2t). A single filter is the sum of one low and one high pass.
    """
    lows = max(1, (filters + 1) // 2)
    times = np.geomspace(1.0, max(1.0, min(LONGEST, order**2 / 8)), lows + 1)[1:]
    m = np.arange(order)[:, None]
    series = 2 * (-1.0) ** m * scipy.special.ive(m, times)
    series[0] /= 2
    return _mirrored(torch.from_numpy(series), filters)


def step_bank(order: int, filters: int) -> Tensor:
    """Low passes 1[λ < c] and high passes 1[λ > 2 − c] with Jackson's damping, shape (order, filters).

    With λ = 1 + cos φ, what ``order`` terms resolve is the same everywhere in φ, so the cutoffs are evenly spread in φ,
    below λ = 1. The series of a step from φ_c to π is 1 − φ_c/π − Σ_m 2·sin(m·φ_c)/(mπ)·T_m; damped, it falls off as
    the cube of (order × distance) away from the step instead of ringing. Few large blocks need that: each of their
    eigenvectors holds 1/n of a probe's energy, and the other n − 1 must stay below it together.
    """
    lows = max(1, (filters + 1) // 2)
    cutoff = np.pi - np.pi / 2 * np.arange(1, lows + 1) / (lows + 1)
    m = np.arange(1, order)[:, None]
    series = np.concatenate([1 - cutoff[None] / np.pi, -2 * np.sin(m * cutoff) / (m * np.pi)])
    return _mirrored(torch.from_numpy(jackson(order)[:, None] * series), filters)


def _mirrored(low: Tensor, filters: int) -> Tensor:
    """The low passes and as many mirror images as there is room for; for a single filter the sum of both."""
    high = low * (-1.0) ** torch.arange(low.size(0), dtype=torch.float64)[:, None]
    return low + high if filters == 1 else torch.cat([low, high[:, : filters - low.size(1)]], dim=1)


BANKS: dict[str, Callable[[int, int], Tensor]] = {"heat": heat_bank, "step": step_bank}


def count_signals(name: str, signals: int | None, dim: int, default: int | None = None) -> int:
    """How many signals an encoding of ``dim`` columns has: as given, else the most that divide ``dim``, up to 128."""
    if signals is None:
        signals = default or max(count for count in range(1, min(dim, MOST_SIGNALS) + 1) if dim % count == 0)
    check_count(name, signals)
    if dim % signals:
        instead = f"Take dim={signals}, {2 * signals}, … or another number of {name}."
        raise refusal("dim", f"be {name} × filters, a multiple of {name}={signals}", dim, instead)
    return signals


def to_unit_rows(filtered: Tensor, coefficients: Tensor, signals: Tensor) -> Tensor:
    """The factors that scale the rows of ``filtered``, over its signals, to mean square 1: shape (rows, 1, filters).

    Args:
        filtered: signals through filters, shape (rows, signals, filters).
        coefficients: of the filters, shape (order, filters).
        signals: before the filters, shape (rows, signals, 1).
    """
    faint = FAINT * coefficients.detach().abs().sum(dim=0) ** 2 * signals.square().mean(dim=1, keepdim=True)
    return (filtered.square().mean(dim=1, keepdim=True) + faint + TINIEST).rsqrt()


def spread(filtered: Tensor) -> Tensor:
    """The standard deviation of each filter's output, at least a tenth of its size, and 1 for zeros: (filters,)."""
    columns = filtered.flatten(0, -2)
    found = torch.maximum(columns.std(dim=0, correction=0), 0.1 * columns.square().mean(dim=0).sqrt())
    return torch.where(found > 0, found, 1.0)
