"""Ten splits of MLP + LLPE against a plain loop: dense features, one split after another, two passes an epoch.

The same seeds, early stopping and (without dropout) the same accuracies; so the ratio is of the same work. Both sides
run in turn, and the ratio is the median over these pairs: a slow spell of the machine spoils a pair, not the result.
"""

import copy
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import nn

from llpe.data import DownloadError, NodeDataset, load_benchmark, make_splits
from llpe.experiments import Config, resolve, run
from llpe.experiments.train import score


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


def ten_splits(quick: bool) -> Iterator[dict[str, object]]:
    """Rows of the table; Texas and Cora, where their files are at hand."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    mirror = os.environ.get("LLPE_DATA_MIRROR") or beside
    for name in ("texas", "cora")[: 1 if quick else 2]:
        with tempfile.TemporaryDirectory() as folder:
            try:
                dataset = load_benchmark(name, root=os.environ.get("LLPE_DATA") or folder, mirror=mirror)
            except DownloadError as error:
                print(f"{name} is left out: {error}")
                continue
        yield _row(dataset, repeats=9 if name == "texas" else 1)


def _row(dataset: NodeDataset, repeats: int) -> dict[str, object]:
    raw = {"encoding": {"dim": 64}, "training": {"epochs": 300, "patience": 100}}
    config = resolve({"dataset": dataset.name, **raw})
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
    pairs = ", ".join(f"{slow:.1f}/{fast:.1f} s" for slow, fast in times)
    print(f"{dataset.name}: mean accuracies are {100 * apart:.2f} points apart; {pairs}")
    ratio = statistics.median(slow / fast for slow, fast in times)
    at = f"{dataset.name}, MLP + LLPE"
    return {
        "name": "ten splits",
        "at": at,
        "baseline": "plain loop",
        "ratio": round(ratio, 1),
        "target": 3,
        "met": ratio >= 3,
    }
