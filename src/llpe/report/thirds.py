"""Where in the spectrum something is: its shares in the low, middle and high third of [0, 2].

For filters h_1 … h_d the energy at λ is Σ_j h_j(λ)²·ρ(λ), with ρ the density of the graph's eigenvalues. Its integral
is ‖P‖²/n of the encoding P = U·h(λ), so a share of it is the share of the encoding that comes from those eigenvalues.
Rows of unit length (``rows="unit"``) take away the scale of each filter; then each h_j is taken with energy 1.
"""

from __future__ import annotations

import numpy as np

THIRDS = ("low", "middle", "high")
BORDERS = (2 / 3, 4 / 3)


def shares(lambdas: np.ndarray, weights: np.ndarray) -> list[float]:
    """The share of the weights in each third.

    Example:
        >>> shares(np.array([0.0, 1.0, 1.1, 2.0]), np.array([1.0, 1.0, 2.0, 0.0]))
        [0.25, 0.75, 0.0]
    """
    third = np.digitize(lambdas, BORDERS)
    total = float(weights.sum()) or 1.0
    return [float(weights[third == index].sum()) / total for index in range(3)]


def filter_shares(
    lambdas: np.ndarray, density: np.ndarray, grid: np.ndarray, response: np.ndarray, *, unit: bool = False
) -> list[float]:
    """The share of the filters' energy in each third.

    Args:
        lambdas, density: nodes of the graph's spectral density and their weights.
        grid, response: the filters' values, shape (len(grid), filters).
        unit: the encoding scales what each filter gives to the same length, so each counts alike.
    """
    gains = np.square(response, dtype=np.float64).T
    energies = np.stack([np.interp(lambdas, grid, gain) for gain in gains]) * density
    if unit:
        total = energies.sum(axis=1, keepdims=True)
        energies = np.divide(energies, total, out=np.zeros_like(energies), where=total > 0)
    return shares(lambdas, energies.sum(axis=0))


def in_words(name: str, parts: list[float], eigenvalues: list[float]) -> str:
    """
    Example:
        >>> in_words("the labels", [0.01, 0.03, 0.96], [0.2, 0.6, 0.2])
        'The energy of the labels is 1 % low, 3 % middle, 96 % high: the high third holds 4.8 times its share of \
eigenvalues.'
    """
    gains = [part / there if there > 0 else 0.0 for part, there in zip(parts, eigenvalues, strict=True)]
    most = int(np.argmax(gains))
    listed = ", ".join(f"{100 * part:.0f} % {third}" for part, third in zip(parts, THIRDS, strict=True))
    return (
        f"The energy of {name} is {listed}: the {THIRDS[most]} third holds {gains[most]:.1f} times its share of "
        "eigenvalues."
    )
