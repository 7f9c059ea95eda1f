"""Draws docs/filters.png: what LLPE learns in examples/filters.py, over the spectrum of each graph.

python docs/filters.py
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

from llpe import LLPE, full_spectrum
from llpe.data import sbm
from llpe.report.figures import new_figure, plain_axes, save_figure
from llpe.report.palette import SERIES, styles

DOCS = Path(__file__).parent
BINS, GRID = np.linspace(0, 2, 33), np.linspace(0, 2, 500)


def draw(ax: Any, encoding: LLPE, values: np.ndarray, labels: np.ndarray) -> None:
    """Eigenvalues, the labels' energy at them, and Σ_j h_j(λ)², the energy that the filters let through."""
    for name, weights, look in (
        ("eigenvalues", np.ones_like(values), {"fill": True, "color": "#d9d9d9"}),
        ("energy of the labels", labels, {"color": SERIES[0], "linewidth": 2}),
    ):
        height, _ = np.histogram(values, BINS, weights=weights)
        ax.stairs(height / height.max(), BINS, label=name, **look)
    gain = encoding.response(GRID).detach().square().sum(dim=1).numpy()
    ax.plot(
        GRID,
        gain / gain.max(),
        color=styles(["llpe"])["llpe"].colour,
        linewidth=2.5,
        label="energy of the learned filters",
    )
    plain_axes(ax)
    ax.set(xlabel="eigenvalue λ of the Laplacian", xlim=(0, 2), xticks=np.arange(0, 2.5, 0.5), yticks=[])


def main() -> None:
    sys.path.insert(0, str(DOCS.parent / "examples"))
    from filters import train  # the example, so that the figure shows what it does

    figure = new_figure(9, 3.2)
    axes = figure.subplots(1, 2)
    for ax, homophily, words in zip(axes, (0.95, 0.05), ("neighbours agree", "neighbours differ"), strict=True):
        data = sbm(n=600, homophily=homophily)
        spectrum = full_spectrum(data)
        encoding = LLPE(dim=8, order=32, size=1.0, start="uniform", l1=1e-4)
        train(encoding, encoding.prepare(data))
        labels = (spectrum.vectors.T @ (data.y.double() - 0.5)).square()
        draw(ax, encoding, spectrum.values.numpy(), labels.numpy())
        ax.set_title(f"{words} (homophily {homophily})")
    axes[0].set_ylabel("relative to the largest")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    save_figure(figure, DOCS / "filters.png")


if __name__ == "__main__":
    main()
