"""Our five lines in PyG's own script: what an encoding beside the features does to a model that is not tuned for it.

python benchmarks/drop_in.py                              # every graph at hand; half an hour on two cores
python benchmarks/drop_in.py cora                         # one of them; a few minutes
python benchmarks/drop_in.py --no-penalty                 # the same with encoding.penalty(data) forgotten
python benchmarks/drop_in.py my-graph.npz -o drop-in.csv

The script is that of PyG's examples/gcn.py: rows of the features scaled to sum 1, two layers, 16 hidden units (GAT: 8
heads of 8), dropout 0.5, Adam with a rate of 0.01 and a weight decay of 5e-4 on the first layer, 200 epochs, the test
score of the epoch with the best validation score. Nothing is tuned. Splits: the public one, or 20 labels of each class
(few); 60/20/20 at random (random). Every encoding sees the same splits, initial weights of the rest of the model and
dropped entries, so that what differs is the encoding. Mean over five seeds, each of initial weights and of a split; on
graphs below 1000 nodes, whose test sets are small, a seed is the mean of eight splits.
"""

import argparse
import csv
import statistics
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import torch
import torch.nn.functional as F
import torch_geometric.transforms as T
from graphs import BESIDE, real
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GATConv, GCNConv, SAGEConv

from llpe import LLPE, Encoding, ProbeLLPE, make_encoding
from llpe.data import DownloadError, NodeDataset, load_graph
from llpe.models.fixed_matrix import FixedMatrix

GRAPHS = ("cora", "cora-ml", "texas", "cornell")
FILES = ("chameleon_filtered",)  # beside the checkout, no benchmark of PyG's
FEW = ("cora", "cora-ml")  # where scores from few labels are far from chance
MODELS = ("mlp", "gcn", "sage", "gat")
SEEDS, SPLITS, SMALL = 5, 8, 1000
EPOCHS, HIDDEN, DROPOUT = 200, 16, 0.5
LABELS, VALIDATION, TEST = 20, 500, 1000
PYG = "PyG's LapPE 16"
ENCODINGS: dict[str, Callable[[], Encoding]] = {
    "none": lambda: make_encoding("none"),
    PYG: lambda: make_encoding("none"),  # its eigenvectors are columns of x
    "LLPE(16)": lambda: LLPE(16),
    "ProbeLLPE(64)": lambda: ProbeLLPE(64),
}


@dataclass(frozen=True)
class Cell:
    """One entry of the table."""

    graph: str
    labels: str
    model: str
    encoding: str
    penalty: bool = True


class FirstLinear(nn.Module):
    """dropout([x ‖ pe])·W in two parts: the bag of words x stays sparse, which is ten times as fast."""

    def __init__(self, words: int, columns: int, width: int) -> None:
        super().__init__()
        self.bound = (6 / (words + columns + width)) ** 0.5  # Glorot's, of the whole
        self.weight = nn.Parameter(torch.empty(words, width).uniform_(-self.bound, self.bound))
        self.more = nn.Parameter(torch.empty(columns, width))  # drawn after all other weights

    def forward(self, x: FixedMatrix) -> Tensor:
        return x.dropped(self.weight, DROPOUT) if self.training else x @ self.weight


class Net(nn.Module):
    """The two layers of PyG's script: its convolutions, the first with its linear maps taken out."""

    def __init__(self, model: str, words: int, columns: int, classes: int) -> None:
        super().__init__()
        self.width = width = 64 if model == "gat" else HIDDEN
        count = 2 if model == "sage" else 1  # of neighbours and of the node itself
        self.inside = nn.ModuleList(FirstLinear(words, columns, width) for _ in range(count))
        if model == "mlp":
            self.first: nn.Module = Pass()
            self.second: nn.Module = Pass(nn.Linear(HIDDEN, classes))
        elif model == "gat":
            self.first, self.second = GATConv(width, 8, heads=8), GATConv(width, classes)
            self.first.lin = nn.Identity()
        elif model == "gcn":
            self.first, self.second = GCNConv(width, width, cached=True), GCNConv(width, classes, cached=True)
            self.first.lin = nn.Identity()
        else:
            self.first, self.second = SAGEConv(width, width), SAGEConv(width, classes)
            self.first.lin_l = self.first.lin_r = nn.Identity()
        for linear in self.inside:
            nn.init.uniform_(linear.more, -linear.bound, linear.bound)

    def forward(self, x: FixedMatrix, pe: Tensor, edge_index: Tensor) -> Tensor:
        """What is drawn for pe is drawn last, so that all else is the same with every encoding."""
        kept = F.dropout(torch.ones(pe.size(0), self.width), DROPOUT, self.training)
        words = [linear(x) for linear in self.inside]
        pe = F.dropout(pe, DROPOUT, self.training)
        inside = tuple(part + pe @ linear.more for part, linear in zip(words, self.inside, strict=True))
        h = self.first(inside[0] if len(inside) == 1 else inside, edge_index).relu()
        return self.second(h * kept, edge_index)


class Pass(nn.Module):
    """A layer without neighbours, with the signature of the others."""

    def __init__(self, linear: nn.Module | None = None) -> None:
        super().__init__()
        self.linear = nn.Identity() if linear is None else linear

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.linear(x)


def score(data: Data, split: tuple[Tensor, ...], cell: Cell, seed: int, classes: int) -> float:
    """PyG's script with our five lines, which are marked."""
    train, val, test = split
    torch.manual_seed(seed)
    encoding = ENCODINGS[cell.encoding]()  # 1
    data = encoding.prepare(data)  # 2
    fixed = torch.empty(data.num_nodes, 0)
    if cell.encoding == PYG:
        fixed = T.AddLaplacianEigenvectorPE(16, is_undirected=True)(data.clone()).laplacian_eigenvector_pe
    x = FixedMatrix(data.x.to_sparse())
    model = Net(cell.model, data.x.size(1), fixed.size(1) + encoding.dim, classes)
    first = [*model.inside.parameters(), *model.first.parameters()]
    rest = [*model.second.parameters(), *encoding.parameters()]  # 3
    groups = [{"params": first, "weight_decay": 5e-4}, {"params": rest, "weight_decay": 0}]
    optimizer = torch.optim.Adam(groups, lr=0.01)
    best, found = -1.0, 0.0
    for epoch in range(EPOCHS):
        torch.manual_seed(EPOCHS * seed + epoch)
        model.train()
        optimizer.zero_grad()
        out = model(x, torch.cat([fixed, encoding(data)], dim=1), data.edge_index)  # 4
        loss = F.cross_entropy(out[train], data.y[train])
        if cell.penalty:
            loss = loss + encoding.penalty(data)  # 5
        loss.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            right = model(x, torch.cat([fixed, encoding(data)], dim=1), data.edge_index).argmax(dim=1) == data.y
        now = float(right[val].float().mean())
        if now > best:
            best, found = now, float(right[test].float().mean())
    return 100 * found


def split_of(dataset: NodeDataset, labels: str, seed: int) -> tuple[Tensor, ...]:
    """Nodes to train on, to choose the epoch by, and to score."""
    if labels == "few" and dataset.masks is not None:
        return tuple(dataset.masks[part][:, 0].nonzero().view(-1) for part in ("train", "val", "test"))
    y = dataset.data.y
    order = torch.randperm(dataset.num_nodes, generator=torch.Generator().manual_seed(seed))
    order = order[y[order] >= 0]
    if labels == "few":
        train = torch.cat([order[y[order] == c][:LABELS] for c in range(dataset.num_classes)])
        rest = order[~torch.isin(order, train)]
        return train, rest[:VALIDATION], rest[VALIDATION : VALIDATION + TEST]
    first, second = int(0.6 * len(order)), int(0.8 * len(order))
    return order[:first], order[first:second], order[second:]


def load(graph: str) -> NodeDataset:
    return load_graph(graph) if Path(graph).exists() or ":" in graph else real(graph)


def compute(cell: Cell) -> float:
    """The mean over seeds."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    dataset = load(cell.graph)
    data = T.NormalizeFeatures()(dataset.data.clone())
    splits = SPLITS if dataset.num_nodes < SMALL else 1
    seeds = [(seed, SPLITS * seed + split) for seed in range(SEEDS) for split in range(splits)]
    runs = [score(data, split_of(dataset, cell.labels, nodes), cell, nodes, dataset.num_classes) for _, nodes in seeds]
    return statistics.fmean(runs)


def cells(graphs: list[str], encodings: list[str], penalty: bool) -> Iterator[Cell]:
    for graph in graphs:
        for labels in ("few", "random") if graph in FEW else ("random",):
            for model, encoding in product(MODELS, encodings):
                yield Cell(graph, labels, model, encoding, penalty)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    beside = [str(path) for path in (BESIDE / "yandex" / f"{name}.npz" for name in FILES) if path.exists()]
    parser.add_argument("graphs", nargs="*", default=[*GRAPHS, *beside], help="benchmarks or files")
    parser.add_argument("--no-penalty", action="store_true", help="forget the penalty")
    parser.add_argument("--workers", type=int, default=2, help="cells at once")
    parser.add_argument("-o", "--output", type=Path, help="a CSV file for the scores")
    options = parser.parse_args()
    known = []
    for graph in options.graphs:
        try:
            load(graph)
            known.append(graph)
        except DownloadError as error:
            print(f"{graph} is left out: {error}", file=sys.stderr)
    names = [name for name in ENCODINGS if name != PYG or not options.no_penalty]  # PyG's has no penalty to forget
    todo = list(cells(known, names, not options.no_penalty))
    print(f"{'graph':22} {'labels':7} {'model':5}" + "".join(f"{name:>16}" for name in names), flush=True)
    found: dict[Cell, float] = {}
    with ProcessPoolExecutor(options.workers) as pool:
        for cell, value in zip(todo, pool.map(compute, todo), strict=True):
            found[cell] = value
            if cell.encoding == names[-1]:
                line = [found[Cell(cell.graph, cell.labels, cell.model, name, cell.penalty)] for name in names]
                texts = [f"{line[0]:16.1f}", *(f"{value:9.1f} ({value - line[0]:+4.1f})" for value in line[1:])]
                print(f"{Path(cell.graph).stem:22} {cell.labels:7} {cell.model:5}" + "".join(texts), flush=True)
    for name in names[1:]:
        gains = [found[cell] - found[without(cell)] for cell in found if cell.encoding == name]
        print(
            f"{name}: at worst {min(gains):+.1f}, at best {max(gains):+.1f}, on average {statistics.fmean(gains):+.1f}"
        )
    if options.output:
        with options.output.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["graph", "labels", "model", "encoding", "penalty", "test"])
            for cell, value in found.items():
                row = [Path(cell.graph).stem, cell.labels, cell.model, cell.encoding, cell.penalty, f"{value:.2f}"]
                writer.writerow(row)


def without(cell: Cell) -> Cell:
    return Cell(cell.graph, cell.labels, cell.model, "none", cell.penalty)


if __name__ == "__main__":
    main()
