"""Training one split: full batch or mini-batches, validation in eval mode, early stopping, test once.

After 0, 1, 2, … epochs the model is evaluated on the validation nodes. The best weights (by the metric, ties by the
loss) are kept, and training ends ``patience`` epochs after the last improvement. A checkpoint holds all that the future
depends on, random generator included: a resumed split ends with the same bits. It may resume on another device.
"""

from __future__ import annotations

import copy
import io
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from llpe.data import Split
from llpe.device import CPU, autocast, find_device, random_state, set_random_state, subnormals_flushed
from llpe.lab.batches import View, all_logits, make_batches, typical_rows
from llpe.lab.config import TrainingConfig
from llpe.lab.task import Task
from llpe.lab.traces import Traces, trace
from llpe.sealed import DamagedError, DamageWarning, read, write_zip
from llpe.storage import peak_memory

CHECKPOINT_SECONDS = 5.0
FUSED = ("cpu", "cuda", "mps")  # devices that update all weights in one kernel


@dataclass
class Progress:
    """How far a split is, reported after every epoch."""

    split: int
    epoch: int
    val: float
    best_val: float
    best_epoch: int


@dataclass
class Outcome:
    """The result of a split: ``done``, ``failed`` (``reason`` says why) or ``paused``.

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
        """With arrays for another process: torch would pass tensors through files of a process that may end."""
        state = None if self.state is None else {name: tensor.numpy() for name, tensor in self.state.items()}
        return self.__dict__ | {"state": state}

    def __setstate__(self, fields: dict[str, Any]) -> None:
        self.__dict__ |= fields
        if self.state is not None:
            self.state = {name: torch.as_tensor(array) for name, array in self.state.items()}

    def scores(self) -> dict[str, Any]:
        """Everything but the weights and the traces."""
        return {name: getattr(self, name) for name in SCORES}


SCORES = [each.name for each in fields(Outcome) if each.name not in ("state", "traces")]


@subnormals_flushed()
def train_split(
    task: Task,
    split: Split,
    index: int,
    *,
    checkpoint: Path | None = None,
    on_epoch: Callable[[Progress], None] | None = None,
    pause: int | None = None,
) -> Outcome:
    """Trains split number ``index`` from seed + index, or from its checkpoint if there is one.

    Args:
        checkpoint: file to write to every few seconds and on interruption, and to resume from.
        on_epoch: called with the progress after every evaluation.
        pause: stop after this many epochs with the outcome ``paused`` and its best validation score so far; the next
            call goes on from the checkpoint.
    """
    settings, outcome = task.config.training, Outcome(index, "done", task.dataset.metric)
    run = _Run(task, split, index)
    if checkpoint is not None and checkpoint.exists():
        run.load(checkpoint)
    saved = time.perf_counter()
    try:
        while True:
            run.evaluate()
            if on_epoch is not None:
                on_epoch(Progress(index, run.epoch, run.val[-1], run.best[0], run.best_epoch))
            paused = pause is not None and run.epoch >= pause
            if checkpoint is not None and (paused or time.perf_counter() - saved > CHECKPOINT_SECONDS):
                run.save(checkpoint)
                saved = time.perf_counter()
            if paused:
                outcome.status, outcome.val = "paused", run.best[0]
                break
            if run.epoch >= settings.epochs or run.epoch - run.best_epoch >= settings.patience:
                break
            if (failure := run.train()) is not None:
                outcome.status, outcome.reason = "failed", failure
                break
    except KeyboardInterrupt:
        if checkpoint is not None and run.resumable:
            run.save(checkpoint)
        raise
    if outcome.status == "done":
        _finish(outcome, task, split, run)
    outcome.best_epoch, outcome.epochs = run.best_epoch, run.epoch
    outcome.traces["curves"] = {"val": np.array(run.val), "loss": np.array(run.loss)}
    outcome.seconds, outcome.peak_memory = time.perf_counter() - run.start, peak_memory()
    return outcome


class _Run:
    """What changes while a split is trained. A checkpoint holds all of it, as it is between two epochs."""

    def __init__(self, task: Task, split: Split, index: int) -> None:
        self.start = time.perf_counter()
        self.settings, self.metric = task.config.training, task.dataset.metric
        self.device = find_device(self.settings.device)
        model = copy.deepcopy(task.model)
        torch.manual_seed(self.settings.seed + index)
        model.reset_parameters()  # on the CPU: training begins with the same weights on every device
        model.encoding.initialise(typical_rows(task.data))
        self.model = model.to(self.device)
        self.optimiser = make_optimiser(self.model, self.settings)
        self.parameters = list(self.model.parameters())
        self.batches = make_batches(self.model, task.data, task.inputs, split, self.settings.batch, self.device)
        self.shared: Tensor | None = None  # see Batches
        self.epoch = self.best_epoch = 0
        self.best = (-math.inf, -math.inf)  # validation score, and minus the loss there
        self.best_state: dict[str, Tensor] = {}
        self.val: list[float] = []
        self.loss: list[float] = []
        self.resumable = False  # an interrupted step cannot be resumed, bit for bit

    def logits(self, view: View) -> Tensor:
        """The logits of some rows, from what training and evaluation share if they share anything."""
        with autocast(self.device, self.settings.autocast):
            if self.shared is None:
                found = self.model(view.inputs)
            elif self.batches.share == "logits":
                found = self.shared
            else:
                found = self.model.logits(self.shared, view.inputs)
        return found[view.rows].float() if self.settings.autocast else found[view.rows]

    def evaluate(self) -> None:
        """Notes the score on the validation nodes, and keeps the weights if they are the best so far."""
        self.model.train()
        if self.batches.share is not None:
            forward = self.model if self.batches.share == "logits" else self.model.states
            with autocast(self.device, self.settings.autocast):
                self.shared = forward(self.batches.together)
        self.model.eval()
        with torch.no_grad():
            found = [(self.logits(view), view.target) for view in self.batches.val]
        logits, target = (torch.cat(each) for each in zip(*found, strict=True))
        val = score(self.metric, logits, target)
        self.val.append(val)
        loss = nn.functional.cross_entropy(logits, target).item() if val >= self.best[0] else math.inf
        if (val, -loss) > self.best:
            self.best, self.best_epoch = (val, -loss), self.epoch
            for name, tensor in self.model.state_dict().items():
                self.best_state.setdefault(name, torch.empty_like(tensor)).copy_(tensor)
        self.resumable = True

    def train(self) -> str | None:
        """One epoch; why it failed, if it did. The losses are fetched from the device once, after it."""
        self.resumable = False
        self.model.train()
        losses = []
        for view in self.batches.train:
            loss = nn.functional.cross_entropy(self.logits(view), view.target)
            loss = loss + self.model.penalty(self.batches.graph)
            for parameter in self.parameters:
                parameter.grad = None
            loss.backward()
            self.optimiser.step()
            losses.append(loss.detach())
        values = torch.stack(losses).tolist()
        for value in values:
            if not math.isfinite(value):
                return f"the loss was {value} after {self.epoch} epochs; try a smaller lr"
        self.loss.append(fmean(values))
        self.epoch += 1
        return None

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        state = {
            "epoch": self.epoch,
            "best_epoch": self.best_epoch,
            "best": list(self.best),
            "best_state": self.best_state,
            "model": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "random": torch.get_rng_state(),
            "device": self.device.type,
            "device_random": random_state(self.device),
            "val": self.val[: self.epoch],  # the last score is found again
            "loss": self.loss,
            "seconds": time.perf_counter() - self.start,
        }
        buffer = io.BytesIO()
        torch.save(state, buffer)
        write_zip(path, buffer)

    def load(self, path: Path) -> None:
        """Continues from a checkpoint; a damaged one is reported, and the split starts again."""
        try:
            content = io.BytesIO(read(path, "Its split starts again."))
            saved = torch.load(content, weights_only=True, map_location=CPU)
        except DamagedError as error:
            warnings.warn(str(error), DamageWarning, stacklevel=2)
            return
        self.epoch, self.best_epoch = saved["epoch"], saved["best_epoch"]
        self.best = tuple(saved["best"])
        self.best_state = {name: tensor.to(self.device) for name, tensor in saved["best_state"].items()}
        self.val, self.loss = saved["val"], saved["loss"]
        self.model.load_state_dict(saved["model"])
        self.optimiser.load_state_dict(saved["optimiser"])
        torch.set_rng_state(saved["random"])
        if saved.get("device") == self.device.type:
            set_random_state(self.device, saved["device_random"])
        self.start -= saved["seconds"]


@torch.no_grad()
def _finish(outcome: Outcome, task: Task, split: Split, run: _Run) -> None:
    """Scores of the best weights on all three parts: the test nodes are evaluated here, once, without autocast."""
    model, data = run.model, task.data
    model.load_state_dict(run.best_state)
    logits = all_logits(model.eval(), data, task.inputs).cpu()
    model.cpu()
    parts = (split.train, split.val, split.test)
    outcome.train, outcome.val, outcome.test = (score(outcome.metric, logits[part], data.y[part]) for part in parts)
    outcome.state = {name: tensor.cpu() for name, tensor in run.best_state.items()}
    outcome.traces |= trace(model, data, split.test, logits)


def make_optimiser(model: nn.Module, settings: TrainingConfig) -> torch.optim.Optimizer:
    """Adam, or SGD with momentum, in the fused form where the device has it."""
    own: Any = {"lr": settings.lr, "weight_decay": settings.weight_decay}
    own["fused"] = all(parameter.device.type in FUSED for parameter in model.parameters())
    if settings.optimizer == "adam":
        return torch.optim.Adam(model.parameters(), **own)
    return torch.optim.SGD(model.parameters(), momentum=settings.momentum, **own)


def score(metric: str, logits: Tensor, target: Tensor) -> float:
    """Accuracy, or the area under the ROC curve of the second class, in 0 … 1."""
    if metric == "accuracy":
        return int((logits.argmax(dim=1) == target).sum()) / len(target)
    from sklearn.metrics import roc_auc_score

    margin, target = (logits[:, 1] - logits[:, 0]).cpu().double().numpy(), target.cpu()
    if not np.isfinite(margin).all() or target.unique().numel() < 2:
        return float("nan")
    return float(roc_auc_score(target.numpy(), margin))
