"""Chebyshev series on the spectrum [0, 2]: basis, recurrence, coefficients, spectral density.

With λ̃ = λ − 1 ∈ [−1, 1], T_0 = 1, T_1 = x and T_{m+1} = 2x·T_m − T_{m−1}. A series of ``order`` M has the terms
m = 0 … M−1. The recurrence is used instead of cos(m·arccos x), which is NaN as soon as an eigenvalue rounds outside
[−1, 1]. For numbers it goes in strides, T_{k+j} = 2·T_k·T_j − T_{k−j}, each of which doubles the terms.

NOTE[PAPER]: the paper sums m = 0 … M and leaves "normalised eigenvalues" open; the authors' code keeps m < M and
min-max scales the eigenvalues of each graph. Here λ̃ = λ − 1 always, so that Θ means the same filter on every graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy.special
import torch
from torch import Tensor


def basis(values: Tensor, order: int) -> Tensor:
    """T_m(λ − 1) for every λ in ``values`` (any shape …), shape (…, order), computed in float64.

    Example:
        >>> basis(torch.tensor([0.0, 1.0, 2.0]), 3)
        tensor([[ 1., -1.,  1.],
                [ 1.,  0., -1.],
                [ 1.,  1.,  1.]])
    """
    check_order(order)
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
    check_order(order)
    count = max(4 * order, 256)
    angle = np.pi * (np.arange(count) + 0.5) / count
    samples = np.asarray(function(1 + np.cos(angle)), dtype=np.float64)
    if samples.shape != angle.shape or not np.isfinite(samples).all():
        raise ValueError("`function` must return one finite number for each λ in [0, 2]. Check it at 0 and at 2.")
    out = 2 / count * np.cos(np.outer(np.arange(order), angle)) @ samples
    out[0] /= 2
    return torch.from_numpy(out)


def heat(times: np.ndarray, order: int) -> Tensor:
    """Coefficients of e^(−tλ), one column for each t, shape (order, len(times)), float64.

    e^(−tλ) = e^(−t)I_0(t) + 2 Σ_m (−1)^m e^(−t)I_m(t) T_m(λ̃), with I_m the modified Bessel functions. The mirror
    image e^(−t(2−λ)) has the same coefficients without the signs (−1)^m.
    """
    check_order(order)
    m = np.arange(order)[:, None]
    out = 2 * (-1.0) ** m * scipy.special.ive(m, np.asarray(times, dtype=np.float64)[None, :])
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

    Example:
        >>> values, weights = density(np.array([1.0, 0.0, -1.0]), 8)  # moments of λ = 1
        >>> float((weights * values).sum().round(12)), float(weights.sum().round(12))
        (1.0, 1.0)
    """
    damped = jackson(moments.size) * moments
    damped[1:] *= 2
    angle = np.pi * (np.arange(points) + 0.5) / points
    weights = np.cos(np.outer(angle, np.arange(moments.size))) @ damped / points
    return 1 + np.cos(angle[::-1]), np.maximum(weights[::-1], 0.0)


def check_order(order: int) -> None:
    if not isinstance(order, int) or order < 1:
        raise ValueError(f"`order` must be an integer of at least 1, got {order!r}.")
