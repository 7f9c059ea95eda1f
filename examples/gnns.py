"""A heterophilous and a spectral GNN of PyG, with and without LLPE: python examples/gnns.py texas

FAGCN (FAConv) learns for each edge whether a neighbour attracts or repels; ChebConv is a polynomial filter of the
features. Each is a plain module with forward(x, edge_index), which llpe takes as a backbone. Without an argument the
graph is a synthetic one whose edges mostly lead to the other class: there LLPE helps FAGCN, but not ChebConv.
"""

import sys

import torch
from torch import Tensor, nn
from torch_geometric.nn import ChebConv, FAConv

from llpe import ProbeLLPE, make_encoding
from llpe.data import load_graph
from llpe.experiments import fit

HIDDEN = 32


class FAGCN(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.convs = nn.ModuleList(FAConv(width, eps=0.3) for _ in range(2))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        first = x
        for conv in self.convs:
            x = conv(x, first, edge_index)
        return x


class Cheb(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.convs = nn.ModuleList(ChebConv(width, width, K=3) for _ in range(2))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        for conv in self.convs:
            x = conv(x, edge_index).relu()
        return x


def main() -> None:
    dataset = load_graph(sys.argv[1] if len(sys.argv) > 1 else "sbm:n=400,homophily=0.2")
    print(dataset)
    for model in (FAGCN, Cheb):
        for encoding in (make_encoding("none"), ProbeLLPE(32, probes=16, order=32)):
            torch.manual_seed(0)
            backbone = model(HIDDEN + encoding.dim)
            result = fit(dataset, encoding=encoding, model=backbone, hidden=HIDDEN, splits=3, epochs=60)
            score = f"{result.mean_test:.1%} ± {result.std_test:.1%}"
            print(f"{model.__name__:6} + {encoding.name:11} test {dataset.metric} {score}", flush=True)


if __name__ == "__main__":
    main()
