"""Draws docs/optimisers.png: how one step of SGD and one of Adam change LLPE's encoding, from smooth to rough changes.

python docs/optimisers.py          (needs Cora)

Let J = Σ_i σ_i·a_i·b_iᵀ be the derivative of the encoding P by Θ: a change of Θ along b_i changes P along a_i, a signal
on the nodes, by σ_i. SGD changes Θ by lr·G, where G is the gradient; Adam, in its first step, by lr·sign(G). The
energies of the change of P along a_i are lr²σ_i²(b_iᵀG)² and lr²σ_i²(b_iᵀsign(G))². They are drawn relative to ‖P‖²,
ordered from smooth to rough by the Rayleigh quotient a_iᵀLa_i.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from llpe import LLPE, Graph
from llpe.data import load_graph, scaled_features
from llpe.laplacian import normalised_adjacency
from llpe.report.figures import new_figure, plain_axes, save_figure
from llpe.report.palette import SERIES

FORMS: dict[str, dict[str, Any]] = {
    "plain formula: one signal": {"size": 1.0, "start": "uniform", "order": 64},
    "default: change of a bank": {},
}
DRAWS, LR = 20, 0.01


def energies(encoding: LLPE, data: Any, adjacency: Any, classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rayleigh quotients, and the energy that a step of SGD and of Adam puts on each, relative to the encoding's."""
    prepared = encoding.prepare(data)
    labelled = data.train_mask.nonzero().view(-1)
    theta = encoding.theta
    assert theta is not None

    def output(flat: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(encoding, {"theta": flat.view_as(theta)}, (prepared,))

    start = theta.detach().flatten()
    jacobian = torch.func.jacfwd(output)(start).reshape(-1, start.numel())  # what a change of Θ does to P
    left, size, right = torch.linalg.svd(jacobian.double(), full_matrices=False)
    keep = size > 1e-8 * size[0]
    signals = left[:, keep].view(data.num_nodes, encoding.dim, -1)
    neighbours = torch.from_numpy(adjacency @ signals.flatten(1).numpy()).view_as(signals)
    rough = 1 - (signals * neighbours).sum(dim=(0, 1))
    shares = []
    for change in (lambda gradient: gradient, torch.sign):
        total = 0.0
        for seed in range(DRAWS):
            torch.manual_seed(seed)
            head = torch.nn.Linear(encoding.dim, classes)
            flat = start.clone().requires_grad_()
            F.cross_entropy(head(output(flat)[labelled]), data.y[labelled]).backward()
            energy = ((LR * size * (right @ change(flat.grad.double()))) ** 2)[keep]
            total = total + energy / output(start).double().square().sum() / DRAWS
        shares.append(total.numpy())
    return rough.numpy(), *shares


def main() -> None:
    dataset = load_graph("cora")
    data = dataset.data.clone()
    data.x, _ = scaled_features(data.x, "rows")
    data.train_mask = dataset.masks["train"][:, 0]
    adjacency = normalised_adjacency(Graph.from_data(data))
    figure = new_figure(9, 3.2)
    bins = np.linspace(0, 2, 9)
    axes = figure.subplots(1, 2, sharey=True)
    for ax, (words, options) in zip(axes, FORMS.items(), strict=True):
        rough, sgd, adam = energies(LLPE(16, **options), data, adjacency, dataset.num_classes)
        for name, share, colour in (("SGD", sgd, SERIES[0]), ("Adam", adam, SERIES[1])):
            height, _ = np.histogram(rough, bins, weights=share)
            ax.stairs(height, bins, label=name, color=colour, linewidth=2.5)
            smooth = 100 * share[rough < 0.5].sum() / share.sum()
            print(f"{words}, {name}: moves {100 * share.sum() ** 0.5:.2g} % of its length, {smooth:.0f} % of it smooth")
        plain_axes(ax)
        ax.set(title=words, xlabel="smooth ← Rayleigh quotient of the change → rough", xlim=(0, 2), yscale="log")
    axes[0].set_ylabel("energy of a step / energy of P")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    save_figure(figure, Path(__file__).parent / "optimisers.png")


if __name__ == "__main__":
    main()
