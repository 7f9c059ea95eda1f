"""What training costs: a step, its memory, an epoch and ten splits of LLPE with an MLP; steps of SignNet and attention;
epochs with and without subnormal numbers.

Steps and epochs against the reference formulation, in float32, dim 128, order 64, with the penalty; ten splits against
a plain loop: dense features, one split after another, two passes an epoch. There the seeds, early stopping and (without
dropout) accuracies are the same; so the ratio is of the same work.
"""

import copy
import statistics
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from graphs import load, real
from reference import Reference, noise
from rows import Action, Row, Size, against, amount, compare, duration, limit_row, measured, once, row
from torch import Tensor, nn
from torch_geometric.data import Data

from llpe import LLPE, Graph, make_encoding
from llpe.cache import Cache
from llpe.data import DownloadError, NodeDataset, Split, load_graph, make_splits
from llpe.device import cpu_has_bfloat16
from llpe.encodings import SignNet
from llpe.encodings.llpe import penalty_parts
from llpe.lab import Config, resolve, run
from llpe.lab.spaces import as_in_the_paper
from llpe.lab.task import make_task
from llpe.lab.train import Progress, score, train_split
from llpe.measuring import Work
from llpe.models import Classifier
from llpe.models.operations import Attention, Edges
from llpe.spectrum import full_spectrum

DIM, ORDER, PENALTY = 128, 64, 1e-3
STEPS = {"full": ((2708, 50), (7650, 100), (13752, 200)), "quick": ((2708, 50),), "tiny": ((200, 50),)}
MEMORY = {"full": 13752, "quick": 2708, "tiny": 200}
EPOCHS = {
    "full": (("cora", 5), ("photo", 12)),
    "quick": (("cora", 5),),
    "tiny": (("sbm:n=200,homophily=0.8", 5),),
}

SPLIT = {"full": ("texas", "cora"), "quick": ("texas",), "tiny": ("sbm:n=100",)}
REPEATS = {"texas": 9, "cora": 1}
SPLIT_EPOCHS = {"full": 300, "quick": 300, "tiny": 3}
ATTENTION = {"full": 2708, "quick": 2708, "tiny": 100}
SUBNORMAL = {"full": ("cora", 128, 60), "quick": ("cora", 128, 60), "tiny": ("sbm:n=100", 4, 2)}
PLACES = {"input": "the input", "layers": "every layer"}
WIDE, NARROW = (890, 512, 5, {"input": 2, "layers": 1.5}), (2708, 64, 2, {"input": 5, "layers": 3})
BESIDE = {"full": (WIDE, NARROW), "quick": (WIDE, NARROW), "tiny": ((100, 8, 2, {"input": 100, "layers": 100}),)}
SIGNNET = {"full": (13752, 128), "quick": (2708, 64), "tiny": (100, 4)}


def step(size: Size) -> Iterator[Row]:
    """Forward, backward and penalty of one training step."""
    for n, target in STEPS[size]:
        ours, reference = llpe_step(n), reference_step(n)
        ratio, times = compare(ours, reference, pairs=5, calls=20)
        yield row("LLPE step", f"{n} nodes", "reference formulation", ratio, target, times)


def memory(size: Size) -> Iterator[Row]:
    """The peak of that step beyond the features: what it is computed from (U, or B), and all on the way."""
    n = MEMORY[size]
    ours = measured("training", "step_from_nothing", kind="llpe", n=n)["bytes"]
    theirs = measured("training", "step_from_nothing", kind="reference", n=n)["bytes"]
    words = f"{amount(ours)} against {amount(theirs)}"
    yield row("memory of the LLPE step", f"{n} nodes", "reference formulation", theirs / ours, 50, words)


def epoch(size: Size) -> Iterator[Row]:
    """One epoch of MLP + LLPE: a step on the training nodes and an evaluation on the validation nodes.

    The reference does what one would write first: dense features, two forward passes of the whole graph. Both start
    from the same weights, so that their scores can be compared.
    """
    for name, target in EPOCHS[size]:
        dataset, at = load(name)
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs = epoch_times(dataset, Cache(folder), epochs=10)
        (fast, mine), (slow, other) = ours, theirs
        words = f"{duration(fast)} against {duration(slow)}; validation {100 * mine:.1f} % and {100 * other:.1f} %"
        yield row("epoch of MLP + LLPE", at, "reference formulation", slow / fast, target, words)


def beside(size: Size) -> Iterator[Row]:
    """An epoch of GCN with 128 columns of probes, beside the features or added at every layer, against one without.

    The models are those of the benchmark: a tuned one for filtered chameleon, and Kipf and Welling's on Cora.
    """
    for n, hidden, layers, limits in BESIDE[size]:
        model = {"name": "gcn", "hidden": hidden, "layers": layers}
        for where, limit in limits.items():
            with_probes = {"encoding": {"name": "llpe-probes", "dim": 128}, "model": model | {"where": where}}
            ours, plain = (epochs_of(n, raw) for raw in (with_probes, {"encoding": {"name": "none"}, "model": model}))
            ratio, words = compare(plain, ours, pairs=7)
            at = f"{n} nodes, {layers} layers of {hidden}, at {PLACES[where]}"
            yield limit_row("epoch of GCN + probes / epoch of GCN", at, limit, ratio, f"{words}, five epochs")


def epochs_of(n: int, raw: dict[str, Any], epochs: int = 5) -> Action:
    config = resolve(raw | {"dataset": f"sbm:n={n}", "training": {"epochs": epochs, "patience": epochs}})
    dataset = load_graph(config.dataset)
    task, split = make_task(dataset, config, cache=False), make_splits(dataset)[0]
    return lambda: train_split(task, split, 0)


def llpe_step(n: int) -> Action:
    encoding = LLPE(DIM, order=ORDER, l1=PENALTY, l2=PENALTY, scaling="minmax")
    data = Data(num_nodes=n)
    data[encoding.attribute("basis")] = torch.randn(n, ORDER)
    values = np.linspace(0, 2, n)
    for part, tensor in penalty_parts(values, np.ones(n), ORDER, n).items():
        data[encoding.attribute(part)] = tensor.float()
    gradient = torch.randn(n, DIM)
    return lambda: backward(encoding, data, gradient)


def reference_step(n: int) -> Action:
    reference = Reference(*noise(n), dim=DIM, order=ORDER, l1=PENALTY, l2=PENALTY)
    data, gradient = Data(num_nodes=n), torch.randn(n, DIM)
    return lambda: backward(reference, data, gradient)


def backward(encoding: nn.Module, data: Data, gradient: Tensor) -> None:
    """The gradient of Θ, given what comes back from the model above."""
    encoding.zero_grad()
    torch.autograd.backward((encoding(data), encoding.penalty(data)), (gradient, None))


def step_from_nothing(kind: str, n: int) -> Work:
    """For its memory: what the step is computed from is made as well."""
    make = {"llpe": llpe_step, "reference": reference_step}[kind]
    make(100)()
    return Work(lambda: make(n)())


Epoch = tuple[float, float]  # seconds, and the last score on the validation nodes


def epoch_times(dataset: NodeDataset, cache: Cache, *, epochs: int) -> tuple[Epoch, Epoch]:
    """Ours and the reference's, each the median over ``epochs``."""
    spectrum = full_spectrum(Graph.from_data(dataset.data), cache=cache)
    raw = {
        "encoding": {"name": "llpe-minmax", "dim": DIM, "order": ORDER, "l1": PENALTY, "l2": PENALTY},
        "training": {"epochs": epochs, "patience": epochs},
    }
    config = resolve(as_in_the_paper({"dataset": dataset.name, **raw}))
    split = make_splits(dataset)[0]
    task = make_task(dataset, config, cache=cache)
    when: list[float] = []
    scores: list[float] = []

    def on_epoch(progress: Progress) -> None:
        when.append(time.perf_counter())
        scores.append(progress.val)

    train_split(task, split, 0, on_epoch=on_epoch)
    ours = statistics.median(np.diff(when)), scores[-1]

    values, vectors = spectrum.values.float(), spectrum.vectors.float()
    encoding = Reference(values, vectors, dim=DIM, order=ORDER, l1=PENALTY, l2=PENALTY)
    options = {"in_features": dataset.num_features, "num_classes": dataset.num_classes}
    model = Classifier(encoding, **options, hidden=config.model.hidden)
    torch.manual_seed(config.training.seed)
    model.reset_parameters()
    optimiser = torch.optim.Adam(model.parameters(), lr=config.training.lr)
    data, y = dataset.data, dataset.data.y

    def evaluate() -> float:
        model.eval()
        with torch.no_grad():
            return score(dataset.metric, model(data)[split.val], y[split.val])

    def plain_epoch() -> None:
        plain_step(model, data, split, optimiser)
        evaluate()

    theirs = statistics.median([once(plain_epoch) for _ in range(epochs)]), evaluate()
    return ours, theirs


def plain_step(model: nn.Module, data: Data, split: Split, optimiser: torch.optim.Optimizer) -> None:
    model.train()
    optimiser.zero_grad()
    loss = nn.functional.cross_entropy(model(data)[split.train], data.y[split.train]) + model.penalty(data)
    loss.backward()
    optimiser.step()


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
            plain_step(model, data, split, optimiser)
            epoch += 1
        model.load_state_dict(best_state)
        model.eval()
        with torch.no_grad():
            accuracies.append(score("accuracy", model(data)[split.test], y[split.test]))
    return accuracies


def ten_splits(size: Size) -> Iterator[Row]:
    """Texas and Cora, where their files are at hand. Both sides run in turn, and the median over these pairs counts."""
    for name in SPLIT[size]:
        try:
            dataset = load_graph(name) if ":" in name else real(name)
        except DownloadError as error:
            print(f"{name} is left out: {error}")
            continue
        yield splits_row(dataset, SPLIT_EPOCHS[size], repeats=REPEATS[name] if size == "full" else 1)


def splits_row(dataset: NodeDataset, epochs: int, repeats: int) -> Row:
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


def signnet(size: Size) -> Iterator[Row]:
    """Forward and backward, against evaluating its φ at every entry of every eigenvector, to the same result."""
    n, k = SIGNNET[size]
    encoding = make_encoding("signnet", dim=64, k=k)
    assert isinstance(encoding, SignNet)
    vectors = torch.randn(n, k, generator=torch.Generator().manual_seed(0)) / n**0.5
    data = Data(num_nodes=n)
    data[encoding.attribute("vectors")] = vectors
    data[encoding.attribute("mask")] = torch.ones(n, k, dtype=torch.bool)

    def ours() -> None:
        encoding(data).square().sum().backward()

    def theirs() -> None:
        evaluated(encoding, vectors).square().sum().backward()

    with torch.no_grad():
        apart = float((encoding(data) - evaluated(encoding, vectors)).abs().max())
    ratio, times = compare(ours, theirs, pairs=3, calls=5)
    words = f"{times}; results {apart:.0e} apart"
    yield row("SignNet step", f"{n} nodes, {k} eigenvectors", "evaluating φ", ratio, 1, words, sound=apart < 1e-4)


def attention(size: Size) -> Iterator[Row]:
    """Full attention of the training rows to all nodes, forward and backward, by one thread, as workers have it."""
    if not cpu_has_bfloat16():
        return
    n, threads = ATTENTION[size], torch.get_num_threads()
    operation, h = Attention(192, 192), torch.randn(n, 192)
    edges = Edges(None, rows=torch.arange(int(0.6 * n)))

    def work(autocast: bool) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            out = operation(h, edges)
        out.float().square().sum().backward()
        return out.detach().float()

    apart = float((work(True) - work(False)).norm() / work(False).norm())
    torch.set_num_threads(1)
    ratio, times = compare(lambda: work(True), lambda: work(False), pairs=3, calls=5)
    torch.set_num_threads(threads)
    at, words = f"{n} nodes, width 192, one thread", f"{times}; results {100 * apart:.1f} % apart"
    yield row("attention step, bfloat16", at, "float32", ratio, 1, words, sound=apart < 0.02)


def subnormals(size: Size) -> Iterator[Row]:
    """Epochs of a graph transformer at a rate where it stops learning, by one thread, as workers have it."""
    name, k, epochs = SUBNORMAL[size]
    raw = {
        "encoding": {"name": "lpe-flk", "dim": 128, "k": k},
        "model": {"name": "gt", "hidden": 64, "layers": 1},
        "training": {"lr": 0.05, "epochs": epochs, "patience": epochs},
    }
    dataset, at = load(name)
    task = make_task(dataset, resolve(as_in_the_paper(raw | {"dataset": dataset.name})), cache=False)
    split, threads = make_splits(dataset)[0], torch.get_num_threads()
    kept = train_split.__wrapped__  # type: ignore[attr-defined]  # the same without its decorator
    torch.set_num_threads(1)
    ratio, times = compare(lambda: train_split(task, split, 0), lambda: kept(task, split, 0), pairs=2)
    torch.set_num_threads(threads)
    words = f"{times}, {epochs} epochs"
    yield row("GT with subnormal numbers as 0", f"{at}, lr 0.05", "subnormal numbers kept", ratio, 1.3, words)


def evaluated(encoding: SignNet, vectors: Tensor) -> Tensor:
    """ρ(Σ_i [φ(u_i) + φ(−u_i)]), as it stands."""
    entries = vectors[..., None]
    return encoding.rho((encoding.phi(entries) + encoding.phi(-entries)).sum(dim=1))
