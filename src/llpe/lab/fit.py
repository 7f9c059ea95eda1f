"""One call from a graph to scores: for a PyG ``Data``, or for a config with a run folder."""

from __future__ import annotations

import copy
import statistics
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor, nn
from torch_geometric.data import Data

from llpe.data import NodeDataset, Split, make_splits
from llpe.device import find_device
from llpe.encodings import Encoding
from llpe.lab.batches import predict
from llpe.lab.config import Config, ConfigError, assign, build
from llpe.lab.engine import Dask
from llpe.lab.task import Task, make_task
from llpe.lab.traces import read_weights, write_config, write_spectrum
from llpe.lab.train import SCORES, Outcome
from llpe.lab.workers import Tell, plan, train_away, train_here
from llpe.models import Classifier
from llpe.runs import RunFolder


@dataclass(repr=False)
class Fit:
    """The result of :func:`fit`; printed as one line.

    Attributes:
        outcomes: one per split, failed ones included.
        model: the classifier of the split with the best validation score.
        probabilities: its class probabilities for every node, shape (num_nodes, num_classes).
        data: the prepared graph.
        run: the run folder, if there is one.
    """

    outcomes: list[Outcome]
    model: Classifier
    probabilities: Tensor
    data: Data
    run: Path | None = None

    def __repr__(self) -> str:
        spread = f" ± {100 * self.std_test:.1f}" if len(self.test) > 1 else ""
        failed = f" ({len(self.outcomes) - len(self.test)} failed)" * (len(self.test) < len(self.outcomes))
        where = "" if self.run is None else f", in {self.run}"
        return (
            f"Fit: test {self.outcomes[0].metric} {100 * self.mean_test:.1f}{spread} % over {len(self.outcomes)} "
            f"split{'s' * (len(self.outcomes) > 1)}{failed}, {self.encoding.name} + {self.model.name}{where}"
        )

    @property
    def predictions(self) -> Tensor:
        """The most probable class of every node."""
        return self.probabilities.argmax(dim=1)

    @property
    def encoding(self) -> Encoding:
        """The learned encoding; ``fit.encoding(fit.data)`` is its output."""
        return self.model.encoding

    @property
    def scores(self) -> list[dict[str, Any]]:
        return [outcome.scores() for outcome in self.outcomes]

    @property
    def val(self) -> list[float]:
        return [outcome.val for outcome in self.outcomes if outcome.val is not None]

    @property
    def test(self) -> list[float]:
        return [outcome.test for outcome in self.outcomes if outcome.test is not None]

    @property
    def mean_test(self) -> float:
        return statistics.fmean(self.test)

    @property
    def std_test(self) -> float:
        return statistics.stdev(self.test) if len(self.test) > 1 else 0.0


def fit(
    data: Data | NodeDataset,
    *,
    encoding: str | Encoding = "llpe",
    model: str | nn.Module = "mlp",
    splits: int | Split | Iterable[Split] | None = None,
    metric: str = "accuracy",
    workers: int | None = None,
    engine: Dask | None = None,
    cache: bool = True,
    runs: str | Path | None = None,
    on_progress: Tell | None = None,
    **settings: Any,
) -> Fit:
    """Trains a node classifier with an encoding on one graph.

    Features are scaled first, rows or columns as :func:`~llpe.data.scaled_features` says; ``features="raw"`` leaves
    them as they are. ``data`` itself is not changed.

    Args:
        data: a graph with ``x`` and ``y`` (−1 is unlabelled).
        encoding: a name or an encoding; its fixed part is prepared here. By name, rows of LLPE are as long as those of
            the features with an MLP or a module (``share=1``), else 0.3 times as long. A module stays as it is.
        model: the name of a backbone, or a module with ``forward(x, edge_index)`` of width hidden + encoding.dim, which
            decides its own layers and dropout.
        splits: how many random 60/20/20 splits, or the splits themselves. By default the masks of ``data`` if it has
            them, else one random split.
        metric: ``"accuracy"`` or ``"auroc"``.
        workers: splits trained at once, by default one per core, on a GPU one.
        engine: a Dask cluster that trains the splits.
        cache: keep the prepared graph on disk.
        runs: folder to keep results in, resumable; by default no file is written.
        on_progress: called with the progress of a split, a few times a second.
        settings: any key of the config, such as ``lr=0.05``, ``epochs=200``, ``hidden=64``, ``order=32``,
            ``device="cuda"``. What comes back is on the CPU.

    Example:
        >>> from llpe.data import sbm
        >>> result = fit(sbm(n=200, homophily=1), encoding="llpe", dim=16, order=32, epochs=20, splits=3)
        >>> len(result.test), result.predictions.shape, result.encoding(result.data).shape
        (3, torch.Size([200]), torch.Size([200, 16]))
    """
    dataset = data if isinstance(data, NodeDataset) else _dataset(copy.copy(data).cpu(), metric)
    raw: dict[str, Any] = {"dataset": dataset.name, "encoding": {}, "model": {}}
    if isinstance(encoding, str):
        raw["encoding"]["name"] = encoding
    if isinstance(model, str):
        raw["model"]["name"] = model
    raw = assign(raw, settings)
    if isinstance(model, nn.Module) and (own := raw["model"].keys() - {"hidden", "input_dropout"}):
        raise ValueError(
            f"`{min(own)}` must be left out with a module as model, got it. The module itself decides that."
        )
    config, built = build(raw, find_dataset=False)
    if runs is not None and not (isinstance(encoding, str) and isinstance(model, str)):
        raise ValueError("`runs` must be left out with a module as encoding or model: a run needs names. Use names.")
    return run(
        dataset,
        config,
        splits=_splits(dataset, splits),
        root=runs,
        workers=workers,
        engine=engine,
        cache=cache,
        encoding=built if isinstance(encoding, str) else copy.deepcopy(encoding),
        model=None if isinstance(model, str) else copy.deepcopy(model),
        on_progress=on_progress,
    )


def run(
    dataset: NodeDataset,
    config: Config,
    *,
    splits: list[Split] | None = None,
    root: str | Path | None = None,
    workers: int | None = None,
    engine: Dask | None = None,
    cache: bool = True,
    encoding: Encoding | None = None,
    model: nn.Module | None = None,
    on_progress: Tell | None = None,
    on_outcome: Callable[[Outcome], None] | None = None,
) -> Fit:
    """Trains every split of a config on a loaded data set; with ``root``, in a resumable run folder below it.

    ``encoding`` and ``model`` are modules to train in place of those that the config names.
    """
    if config.data not in (None, dataset.fingerprint):
        raise ConfigError([f"`data`: {dataset.name} must be the graph the config was made for, got other content."])
    config = config.model_copy(update={"data": dataset.fingerprint})
    if splits is None:
        splits = make_splits(dataset, **config.splits.model_dump())
    device = find_device(config.training.device)
    plan(len(splits), workers)  # refuses before anything is written
    task = make_task(dataset, config, encoding=encoding, model=model, cache=cache)
    folder = None if root is None else RunFolder.of(root, config)
    with nullcontext() if folder is None else folder.locked():
        outcomes = train_splits(
            task,
            splits,
            folder=folder,
            workers=workers,
            engine=engine,
            on_progress=on_progress,
            on_outcome=on_outcome,
        )
        done = [outcome for outcome in outcomes if outcome.status == "done"]
        if not done:
            raise RuntimeError(f"every split failed; split {outcomes[0].split}: {outcomes[0].reason}.")
        best = max(done, key=lambda outcome: outcome.val or 0.0)
        if best.state is None:  # it was trained before
            assert folder is not None
            best.state = read_weights(folder, best.split)
    task.model.load_state_dict(best.state)
    probabilities = predict(task.model.to(device), task.data).cpu()
    return Fit(outcomes, task.model.cpu().eval(), probabilities, task.data, None if folder is None else folder.path)


def train_splits(
    task: Task,
    splits: list[Split],
    *,
    folder: RunFolder | None = None,
    only: Iterable[int] | None = None,
    pause: int | None = None,
    workers: int | None = None,
    engine: Dask | None = None,
    on_progress: Tell | None = None,
    on_outcome: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """The outcomes of the splits ``only`` (all by default).

    With a folder, which must be locked, finished splits are read from there and others are resumed and kept. ``pause``
    stops after this many epochs, see :func:`~llpe.lab.train.train_split`.
    """
    wanted = list(range(len(splits)) if only is None else only)
    outcomes = []
    if folder is not None:
        write_config(folder)
        write_spectrum(folder, task.dataset)
        reports = [report for index in wanted if (report := folder.report(index)) is not None]
        outcomes = [Outcome(**{name: report[name] for name in SCORES}) for report in reports]
        for outcome in outcomes:
            folder.checkpoint(outcome.split).unlink(missing_ok=True)  # of one that was killed just after its report
    finished = {outcome.split for outcome in outcomes}
    pending = [index for index in wanted if index not in finished]
    if engine is None:
        found = train_here(task, splits, folder, pause, pending, workers, on_progress)
    else:
        found = train_away(engine, task, splits, folder, pause, pending, on_progress)
    for outcome in found:
        if on_outcome is not None:
            on_outcome(outcome)
        outcomes.append(outcome)
    return sorted(outcomes, key=lambda outcome: outcome.split)


def _dataset(data: Data, metric: str) -> NodeDataset:
    y = data.y
    classes = int(y.max()) + 1 if isinstance(y, Tensor) and not y.is_floating_point() and y.numel() else 0
    masks = {part: data.get(f"{part}_mask") for part in ("train", "val", "test")}
    if not all(isinstance(mask, Tensor) for mask in masks.values()):
        return NodeDataset("data", data, metric=metric, num_classes=classes)
    columns = {part: mask.reshape(mask.size(0), -1) for part, mask in masks.items()}
    return NodeDataset("data", data, metric=metric, num_classes=classes, masks=columns)


def _splits(dataset: NodeDataset, splits: int | Split | Iterable[Split] | None) -> list[Split]:
    if isinstance(splits, Split):
        return [splits]
    if splits is None and dataset.masks is not None:
        return make_splits(dataset, "official")
    if splits is None or isinstance(splits, int):
        return make_splits(dataset, "random", count=1 if splits is None else splits)
    return list(splits)
