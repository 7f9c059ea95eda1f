"""Which third of the spectrum do the learned filters use?

Two block models, one where neighbours agree and one where they differ. The filters start as noise, flat over the
spectrum; an l1 penalty takes away what does not help. Beside them: where the labels themselves are.

    python examples/filters.py                # in numbers
    python examples/filters.py filters.png    # and as a picture
"""

import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

from llpe import LLPE, full_spectrum
from llpe.data import sbm
from llpe.report.figures import PALETTE, new_figure, plain_axes, save_figure
from llpe.report.thirds import THIRDS, shares


def train(encoding: LLPE, data, steps: int = 200) -> None:
    torch.manual_seed(0)
    head = nn.Linear(encoding.dim, 2)
    train = torch.rand(data.num_nodes) < 0.6
    optimiser = torch.optim.Adam([*encoding.parameters(), *head.parameters()], lr=0.02)
    for _ in range(steps):
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(head(encoding(data))[train], data.y[train])
        (loss + encoding.penalty(data)).backward()
        optimiser.step()
    hits = (head(encoding(data)).argmax(dim=1) == data.y)[~train]
    print(f"  test accuracy {hits.double().mean():.1%}")


def energy(encoding: LLPE, values: np.ndarray) -> np.ndarray:
    """Σ_j h_j(λ)², the energy that the filters let through at each λ."""
    return encoding.response(values.clip(0, 2)).detach().square().sum(dim=1).numpy()


def draw(ax, title: str, encoding: LLPE, values: np.ndarray, labels: np.ndarray) -> None:
    bins, grid = np.linspace(0, 2, 33), np.linspace(0, 2, 500)
    for name, weights, look in (
        ("eigenvalues", np.ones_like(values), {"fill": True, "color": "#d9d9d9"}),
        ("energy of the labels", labels, {"color": PALETTE[4], "linewidth": 2}),
    ):
        height, _ = np.histogram(values, bins, weights=weights)
        ax.stairs(height / height.max(), bins, label=name, **look)
    gain = energy(encoding, grid)
    ax.plot(grid, gain / gain.max(), color=PALETTE[3], linewidth=2.5, label="energy of the learned filters")
    plain_axes(ax)
    ax.set(
        title=title,
        xlabel="eigenvalue λ of the Laplacian",
        xlim=(0, 2),
        xticks=np.arange(0, 2.5, 0.5),
        ylim=(0, 1.05),
        yticks=[],
    )


def main(picture: str | None = None) -> None:
    figure = new_figure(9, 3.2)
    axes = figure.subplots(1, 2)
    for ax, homophily, title in zip(axes, (0.95, 0.05), ("neighbours agree", "neighbours differ"), strict=True):
        print(f"homophily {homophily}")
        data = sbm(n=600, homophily=homophily)
        spectrum = full_spectrum(data)
        values, labels = spectrum.values.numpy(), (spectrum.vectors.T @ (data.y.double() - 0.5)).square().numpy()
        encoding = LLPE(dim=8, order=32, l1=1e-4)
        rows = {"filters before": energy(encoding, values)}
        train(encoding, encoding.prepare(data))
        rows |= {"filters after": energy(encoding, values), "labels": labels}
        for name, weights in rows.items():
            parts = zip(shares(values, weights), THIRDS, strict=True)
            print(f"  {name:15}" + ", ".join(f"{part:4.0%} {third}" for part, third in parts))
        draw(ax, f"{title} (homophily {homophily})", encoding, values, labels)
    if picture:
        axes[0].set_ylabel("relative to the largest")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
        save_figure(figure, Path(picture))


if __name__ == "__main__":
    main(*sys.argv[1:2])
