"""Which encodings find the two blocks of a graph, when neighbours agree (homophily 1) and when they differ (0)?

A linear classifier on the encoding alone, without features, trained on 60 % of the nodes and tested on 40 %.
"""

import torch
from torch import nn

from llpe import Encoding, make_encoding
from llpe.data import sbm


def accuracy(encoding: Encoding, data, steps: int = 120) -> float:
    torch.manual_seed(0)
    data = encoding.prepare(data)
    head = nn.Linear(encoding.dim, 2)
    order = torch.randperm(data.num_nodes)
    train, test = order[: int(0.6 * len(order))], order[int(0.6 * len(order)) :]
    optimiser = torch.optim.Adam([*encoding.parameters(), *head.parameters()], lr=0.05)
    for _ in range(steps):
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(head(encoding(data))[train], data.y[train])
        (loss + encoding.penalty(data)).backward()
        optimiser.step()
    with torch.no_grad():
        return (head(encoding(data)).argmax(dim=1) == data.y)[test].double().mean().item()


def main() -> None:
    encodings = {
        "lpe-fk, first 16 eigenvectors": lambda: make_encoding("lpe-fk", dim=16, k=16),
        "lpe-flk, first and last 16": lambda: make_encoding("lpe-flk", dim=16, k=16),
        "llpe, full spectrum": lambda: make_encoding("llpe", dim=16),
        "llpe-ends, first and last 16": lambda: make_encoding("llpe-ends", dim=16, k=16),
        "llpe-probes, no eigenvectors": lambda: make_encoding("llpe-probes", dim=16, probes=8),
    }
    graphs = {h: sbm(n=2000, blocks=2, degree=10, homophily=h) for h in (0.0, 1.0)}
    print(f"{'encoding':34}" + "".join(f"homophily {h:<8g}" for h in graphs))
    for name, build in encodings.items():
        print(f"{name:34}" + "".join(f"{accuracy(build(), data):<18.1%}" for data in graphs.values()), flush=True)


if __name__ == "__main__":
    main()
