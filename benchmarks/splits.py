"""Ten splits of MLP + LLPE against a plain loop: dense features, one split after another, two passes an epoch.

The same seeds, early stopping and (without dropout) the same accuracies; so the ratio is of the same work. Both sides
run in turn, and the ratio is the median over these pairs: a slow spell of the machine spoils a pair, not the result.
"""

import copy
import statistics
import time
from collections.abc import Iterator

import torch
from graphs import real
from rows import Row, Size, against, row
from torch import nn

from llpe.data import DownloadError, NodeDataset, load_graph, make_splits
from llpe.lab import Config, resolve, run
from llpe.lab.spaces import as_in_the_paper
from llpe.lab.train import score

GRAPHS = {"full": ("texas", "cora"), "quick": ("texas",), "tiny": ("sbm:n=100",)}
REPEATS = {"texas": 9, "cora": 1}
EPOCHS = {"full": 300, "quick": 300, "tiny": 3}


def plain_loop(dataset: NodeDataset, config: Config) -> list[float]:
    """What one would write first."""
    data = config.make_encoding().prepare(dataset.data)
    y, accuracies = data.y, []
    for index, split in enumerate(make_splits(dataset)):
        model = config.make_classifier(dataset.num_features, dataset.num_classes)
        torch.manual_seed(index)
        model.reset_parameters()
        optimiser = torch.optim.Adam(model.parameters(), lr=config.training.lr)
        best, best_epoch, best_state, epoch = (-1.0, -float("inf")), 0, {}, 0
        while True:
            model.eval()
            with torch.no_grad():
                logits = model(data)[split.val]
            now = (score("accuracy", logits, y[split.val]), -nn.functional.cross_entropy(logits, y[split.val]).item())
            if now > best:
                best, best_epoch, best_state = now, epoch, copy.deepcopy(model.state_dict())
            if epoch >= config.training.epochs or epoch - best_epoch >= config.training.patience:
                break
            model.train()
            optimiser.zero_grad()
            loss = nn.functional.cross_entropy(model(data)[split.train], y[split.train]) + model.penalty(data)
            loss.backward()
            optimiser.step()
            epoch += 1
        model.load_state_dict(best_state)
        model.eval()
        with torch.no_grad():
            accuracies.append(score("accuracy", model(data)[split.test], y[split.test]))
    return accuracies


def ten_splits(size: Size) -> Iterator[Row]:
    """Texas and Cora, where their files are at hand."""
    for name in GRAPHS[size]:
        try:
            dataset = load_graph(name) if ":" in name else real(name)
        except DownloadError as error:
            print(f"{name} is left out: {error}")
            continue
        yield _row(dataset, EPOCHS[size], repeats=REPEATS[name] if size == "full" else 1)


def _row(dataset: NodeDataset, epochs: int, repeats: int) -> Row:
    raw = {"encoding": {"dim": 64}, "training": {"epochs": epochs, "patience": 100}}
    config = resolve(as_in_the_paper({"dataset": dataset.name, **raw}))
    config.make_encoding().prepare(dataset.data)
    times: list[tuple[float, float]] = []
    apart = 0.0
    for _ in range(repeats):
        start = time.perf_counter()
        ours = run(dataset, config).test
        middle = time.perf_counter()
        plain = plain_loop(dataset, config)
        times.append((time.perf_counter() - middle, middle - start))
        apart = max(apart, abs(statistics.fmean(ours) - statistics.fmean(plain)))
    slow, fast = (statistics.median(side) for side in zip(*times, strict=True))
    ratio = statistics.median(slow / fast for slow, fast in times)
    words = f"{against(fast, slow)}; mean accuracies {100 * apart:.2f} points apart"
    return row("ten splits", f"{dataset.name}, MLP + LLPE", "plain loop", ratio, 3, words)
