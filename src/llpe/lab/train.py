"""Training one split: full batch or rows in batches, validation in eval mode, early stopping, test once.

After 0, 1, 2, … epochs the model is judged on the validation nodes; the best weights (by the metric, ties by the
loss) are kept, and training ends ``patience`` judgements after the last improvement. Where a forward pass, or its first
part, does the same in training as in evaluation (no dropout, no random sign flips), it is done once for both.

A checkpoint holds all that the future depends on, random generator included: a resumed split ends with the same bits.
"""

from __future__ import annotations

import copy
import math
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from llpe.data import NodeDataset, Split, scaled_features, sparse_features
from llpe.encodings import Encoding, FilteredEncoding
from llpe.lab.config import Config, TrainingConfig
from llpe.lab.traces import Curves, Traces, picture, pictured_nodes, trace_filters, trace_predictions
from llpe.lab.views import View, batch_of, batches, logits_of, look, rows_of
from llpe.models import Classifier
from llpe.storage import peak_memory, replacing

CHECKPOINT_SECONDS = 5.0


@dataclass(frozen=True)
class Task:
    """What every split shares: the prepared graph, with sparse features where that pays."""

    data: Data
    num_features: int
    num_classes: int
    metric: str


@dataclass
class Progress:
    """Where a split is: told after every judgement."""

    split: int
    epoch: int
    val: float
    best_val: float
    best_epoch: int


@dataclass
class Outcome:
    """What came of a split: ``done``, ``failed`` (``reason`` says why) or ``paused``.

    ``state`` are the best weights, ``traces`` what reports draw.
    """

    split: int
    status: str
    metric: str
    reason: str | None = None
    train: float | None = None
    val: float | None = None
    test: float | None = None
    best_epoch: int = 0
    epochs: int = 0
    seconds: float = 0.0
    peak_memory: int = 0
    state: dict[str, Tensor] | None = field(default=None, repr=False)
    traces: Traces = field(default_factory=dict, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """For another process: arrays, which are far quicker to pass on than tensors."""
        state = None if self.state is None else {name: tensor.numpy() for name, tensor in self.state.items()}
        return self.__dict__ | {"state": state}

    def __setstate__(self, fields: dict[str, Any]) -> None:
        self.__dict__ |= fields
        if self.state is not None:
            self.state = {name: torch.as_tensor(array) for name, array in self.state.items()}

    def scores(self) -> dict[str, Any]:
        """Everything but the weights and the traces."""
        return {key: value for key, value in asdict(self).items() if key not in ("state", "traces")}


def make_task(dataset: NodeDataset, encoding: Encoding, *, features: str = "auto", cache: bool = True) -> Task:
    """Prepares the graph for an encoding, once for all splits."""
    if dataset.num_classes < 2:
        raise ValueError(f"{dataset.name}: training must have at least 2 classes, got {dataset.num_classes}.")
    data = prepared(dataset.data, encoding, features=features, cache=cache)
    return Task(data, dataset.num_features, dataset.num_classes, dataset.metric)


def prepared(data: Data, encoding: Encoding, *, features: str, cache: bool = True) -> Data:
    """A graph as models see it: features on their scale, sparse where that pays, and the encoding's fixed part."""
    data = copy.copy(data)
    data.x = scaled_features(data.x, features)[0]
    data = encoding.prepare(data, cache=cache)
    data.x = sparse_features(data.x)
    return data


def train_split(
    task: Task,
    split: Split,
    index: int,
    config: Config,
    *,
    model: Classifier | None = None,
    checkpoint: Path | None = None,
    on_epoch: Callable[[Progress], None] | None = None,
    pause: int | None = None,
) -> Outcome:
    """Trains split number ``index`` from seed + index, or from its checkpoint if there is one.

    Args:
        model: a classifier to train instead of the one the config describes.
        checkpoint: file to write to every few seconds and on interruption, and to resume from.
        on_epoch: called with the progress after every judgement.
        pause: stop after so many epochs with the outcome ``paused`` and its best validation score so far; the
            checkpoint is kept, and the next call goes on from there.
    """
    start = time.perf_counter()
    run = _Run(task, split, index, config, model)
    before = run.resume(checkpoint) if checkpoint is not None and checkpoint.exists() else 0.0
    saved = time.perf_counter()
    outcome = Outcome(index, "done", task.metric)
    try:
        for progress in run.epochs():
            if on_epoch is not None:
                on_epoch(progress)
            if checkpoint is not None and time.perf_counter() - saved > CHECKPOINT_SECONDS:
                run.save(checkpoint, before + time.perf_counter() - start)
                saved = time.perf_counter()
            if pause is not None and checkpoint is not None and progress.epoch >= pause:
                run.save(checkpoint, before + time.perf_counter() - start)
                outcome.status, outcome.val = "paused", run.best[0]
                break
    except KeyboardInterrupt:
        if checkpoint is not None:
            run.save(checkpoint, before + time.perf_counter() - start)
        raise
    except _NotFiniteError as error:
        outcome.status, outcome.reason = "failed", str(error)
    if outcome.status == "done":
        outcome.train, outcome.val, outcome.test = run.final_scores()
        outcome.state = run.best_state
    outcome.best_epoch, outcome.epochs = run.best_epoch, run.epoch
    outcome.traces = run.traces | {"curves": run.curves.up_to(run.epoch)}
    outcome.seconds = before + time.perf_counter() - start
    outcome.peak_memory = peak_memory()
    return outcome


class _NotFiniteError(ArithmeticError):
    """The loss is NaN or infinite."""


class _Run:
    """The state of one split in training."""

    def __init__(self, task: Task, split: Split, index: int, config: Config, model: Classifier | None) -> None:
        self.task, self.split, self.index, self.settings = task, split, index, config.training
        self.model = config.make_classifier(task.num_features, task.num_classes) if model is None else model
        self.model.encoding.initialise(task.data)  # sizes what depends on the graph, before parameters are drawn
        torch.manual_seed(config.training.seed + index)
        self.model.reset_parameters()
        self.model.encoding.initialise(task.data)
        self.optimiser = make_optimiser(self.model, config.training)
        self.parameters = list(self.model.parameters())
        self.batch = batch_of(config.training.batch, self.model, len(split.train))
        self.looks = look(self.model, task.data, split) if self.batch is None else None
        self.epoch = self.best_epoch = 0
        self.best = (-math.inf, -math.inf)
        self.best_state: dict[str, Tensor] = {}
        self.curves = Curves(config.training.epochs)
        self.traces: Traces = {}

    def epochs(self) -> Iterator[Progress]:
        """Judges and steps in turn, until patience or epochs run out; yields after each judgement."""
        settings = self.settings
        self.model.train()
        while True:
            begun = None if self.looks is None else self.looks.begin(self.model)
            yield self._judge(begun)
            if self.epoch >= settings.epochs or self.epoch - self.best_epoch >= settings.patience:
                return
            self.model.train()
            if self.looks is not None:
                mean = self._step(*self.looks.scores(self.looks.train, self.model, begun))
            else:
                views = self._batches(self.split.train, shuffle=True)
                mean = statistics.fmean(self._step(self.model(view.data), view.target) for view in views)
            self.curves.loss[self.epoch] = mean
            self.epoch += 1

    def _step(self, scores: Tensor, target: Tensor) -> float:
        """One step of the optimiser; the loss before it."""
        loss = nn.functional.cross_entropy(scores, target) + self.model.penalty(self.task.data)
        value = loss.item()
        if not math.isfinite(value):
            raise _NotFiniteError(f"the loss was {value} after {self.epoch} epochs; try a smaller lr")
        for parameter in self.parameters:
            parameter.grad = None
        loss.backward()
        self.optimiser.step()
        return value

    @torch.no_grad()
    def _judge(self, begun: Tensor | None) -> Progress:
        """The score on the validation nodes, from what was begun if it serves both."""
        chosen, target = self._val_scores(begun)
        self.curves.val[self.epoch] = val = score(self.task.metric, chosen, target)
        loss = nn.functional.cross_entropy(chosen, target).item() if val >= self.best[0] else math.inf
        if (val, -loss) > self.best:
            self.best, self.best_epoch = (val, -loss), self.epoch
            for name, tensor in self.model.state_dict().items():
                self.best_state.setdefault(name, torch.empty_like(tensor)).copy_(tensor)
        return Progress(self.index, self.epoch, val, self.best[0], self.best_epoch)

    def _val_scores(self, begun: Tensor | None) -> tuple[Tensor, Tensor]:
        """Output for the validation nodes, and their classes."""
        self.model.eval()
        if self.looks is not None:
            return self.looks.scores(self.looks.val, self.model, begun)
        val = self.split.val
        return torch.cat([self.model(view.data) for view in self._batches(val)]), self.task.data.y[val]

    def _batches(self, rows: Tensor, *, shuffle: bool = False) -> Iterator[View]:
        assert self.batch is not None
        return batches(self.task.data, rows, self.batch, shuffle=shuffle)

    def final_scores(self) -> tuple[float, float, float]:
        """Train, val and test score of the best weights: the only look at the test nodes."""
        self.model.load_state_dict(self.best_state)
        y = self.task.data.y
        with torch.no_grad():
            logits = logits_of(self.model.eval(), self.task.data)
        parts = (self.split.train, self.split.val, self.split.test)
        train, val, test = (score(self.task.metric, logits[part], y[part]) for part in parts)
        self.traces["predictions"] = trace_predictions(self.task.data, self.split.test, logits)
        if isinstance(self.model.encoding, FilteredEncoding):
            self.traces["filters"] = trace_filters(self.model.encoding)
        if self.model.encoding.dim:
            rows = rows_of(self.task.data, pictured_nodes(len(y)))
            with torch.no_grad():
                self.traces["picture"] = picture(self.model.encoding(rows), rows.y)
        return train, val, test

    def save(self, path: Path, seconds: float) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        state = {
            "epoch": self.epoch,
            "best_epoch": self.best_epoch,
            "best": list(self.best),
            "best_state": self.best_state,
            "model": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "random": torch.get_rng_state(),
            "curves": {name: torch.from_numpy(values) for name, values in self.curves.up_to(self.epoch).items()},
            "seconds": seconds,
        }
        with replacing(path) as partial:
            torch.save(state, partial)

    def resume(self, path: Path) -> float:
        saved = torch.load(path, weights_only=True)
        self.epoch, self.best_epoch = saved["epoch"], saved["best_epoch"]
        self.best, self.best_state = tuple(saved["best"]), saved["best_state"]
        self.model.load_state_dict(saved["model"])
        self.optimiser.load_state_dict(saved["optimiser"])
        torch.set_rng_state(saved["random"])
        self.curves.restore(saved.get("curves", {}))
        return float(saved["seconds"])


def make_optimiser(model: nn.Module, settings: TrainingConfig) -> torch.optim.Optimizer:
    """Adam, or SGD with momentum, in the fused form."""
    lr, decay = settings.lr, settings.weight_decay
    if settings.optimizer == "adam":
        return torch.optim.Adam(model.parameters(), lr=lr, weight_decay=decay, fused=True)
    return torch.optim.SGD(model.parameters(), lr=lr, momentum=settings.momentum, weight_decay=decay, fused=True)


def score(metric: str, logits: Tensor, target: Tensor) -> float:
    """Accuracy, or the area under the ROC curve of the second class, in 0 … 1."""
    if metric == "accuracy":
        return int((logits.argmax(dim=1) == target).sum()) / len(target)
    from sklearn.metrics import roc_auc_score

    margin = (logits[:, 1] - logits[:, 0]).double().numpy()
    if not np.isfinite(margin).all() or target.unique().numel() < 2:
        return float("nan")
    return float(roc_auc_score(target.numpy(), margin))


def predict(model: Classifier, data: Data) -> Tensor:
    """Class probabilities of every row, in eval mode, shape (rows, num_classes)."""
    model = copy.copy(model).eval()
    with torch.no_grad():
        return logits_of(model, data).softmax(dim=1)
