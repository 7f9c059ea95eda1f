"""Which third of the spectrum do the learned filters use?

Two block models, one where neighbours agree and one where they differ. The filters start as noise, flat over the
spectrum, and an l1 penalty removes what does not help. For comparison: where in the spectrum the labels are.
"""

import torch
from torch import nn

from llpe import LLPE, full_spectrum
from llpe.data import sbm
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
    correct = (head(encoding(data)).argmax(dim=1) == data.y)[~train]
    print(f"  test accuracy {correct.double().mean():.1%}")


def energy(encoding: LLPE, values) -> list[float]:
    """The share of Σ_j h_j(λ_i)², summed over the eigenvalues, in each third of [0, 2]."""
    gain = encoding.response(values.clamp(0, 2)).detach().square().sum(dim=1)
    return shares(values.numpy(), gain.numpy())


def main() -> None:
    for homophily in (0.95, 0.05):
        print(f"homophily {homophily}")
        data = sbm(n=600, homophily=homophily)
        spectrum = full_spectrum(data)
        labels = (spectrum.vectors.T @ (data.y.double() - 0.5)).square()
        encoding = LLPE(dim=8, order=32, size=1.0, start="uniform", l1=1e-4)
        prepared = encoding.prepare(data)
        rows = {"filters before": energy(encoding, spectrum.values)}
        train(encoding, prepared)
        rows["filters after"] = energy(encoding, spectrum.values)
        rows["labels"] = shares(spectrum.values.numpy(), labels.numpy())
        for name, parts in rows.items():
            print(f"  {name:15}" + ", ".join(f"{part:4.0%} {third}" for part, third in zip(parts, THIRDS, strict=True)))


if __name__ == "__main__":
    main()
