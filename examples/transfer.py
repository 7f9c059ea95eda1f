"""Trained on one graph, used on another: which encodings mean the same on both?

Two block models with weak features: one of 1000 nodes to train on, and a larger one to test on. For most encodings
signs or random numbers decide which block is which, so that on the other graph an MLP is right on nearly all nodes, on
nearly none, or on any number between. `llpe-invariant` filters the features, which mean the same on both graphs.
"""

import torch
from torch import nn

from llpe import Encoding, make_encoding
from llpe.data import sbm
from llpe.models import Classifier

ENCODINGS = ("none", "rwse", "lpe-flk", "llpe", "llpe-probes", "llpe-invariant")


def train(encoding: Encoding, data, rows, steps: int = 60) -> Classifier:
    torch.manual_seed(0)
    model = Classifier(encoding, in_features=data.num_features, num_classes=2, model="mlp", hidden=32, layers=1)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for _ in range(steps):
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(model(data)[rows], data.y[rows]) + encoding.penalty(data)
        loss.backward()
        optimiser.step()
    return model.eval()


@torch.no_grad()
def accuracy(model: Classifier, data, rows=slice(None)) -> float:
    return (model(data).argmax(dim=1) == data.y)[rows].double().mean().item()


def main() -> None:
    rows = torch.rand(1000, generator=torch.Generator().manual_seed(0)) < 0.6
    for homophily in (0.1, 0.9):
        own, other = (sbm(n, homophily=homophily, seed=n) for n in (1000, 2000))
        print(f"homophily {homophily}\n  {'encoding':16}own graph  other graph  comparable")
        for name in ENCODINGS:
            encoding = make_encoding(name, dim=32)
            model = train(encoding, encoding.prepare(own), rows)
            here, there = accuracy(model, encoding.prepare(own), ~rows), accuracy(model, encoding.prepare(other))
            print(f"  {name:16}{here:<11.1%}{there:<13.1%}{'yes' if encoding.comparable else 'no'}", flush=True)


if __name__ == "__main__":
    main()
