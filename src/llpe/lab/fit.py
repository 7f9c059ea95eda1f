"""One call from a graph to scores: for a PyG ``Data``, or for a config with a run folder."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor, nn
from torch_geometric.data import Data

from llpe.data import NodeDataset, Split, make_splits
from llpe.encodings import Encoding
from llpe.lab.config import Config, ConfigError, assign, resolve
from llpe.lab.engine import plan, run_splits
from llpe.lab.traces import finish_split, load_classifier, write_config, write_spectrum
from llpe.lab.train import Outcome, Progress, Task, make_task, predict, train_split
from llpe.models import Classifier
from llpe.runs import RunFolder

Tell = Callable[[Progress], None]


@dataclass(repr=False)
class Fit:
    """What :func:`fit` found; printed, it is a line.

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
        encoding: a name or an encoding; its fixed part is prepared here.
        model: the name of a backbone, or a module with ``forward(x, edge_index)`` of width hidden + encoding.dim.
        splits: how many random 60/20/20 splits, or the splits themselves. By default the masks of ``data`` if it has
            them, else one random split.
        metric: ``"accuracy"`` or ``"auroc"``.
        workers: splits trained at once, by default one per core.
        cache: keep the prepared graph on disk.
        runs: folder to keep results in, resumable; by default no file is written.
        on_progress: called with the progress of a split, a few times a second.
        settings: any key of the config, such as ``lr=0.05``, ``epochs=200``, ``hidden=64``, ``order=32``.

    Example:
        >>> from llpe.data import sbm
        >>> result = fit(sbm(n=200, homophily=1), encoding="llpe", dim=16, order=32, epochs=20, splits=3)
        >>> len(result.test), result.predictions.shape, result.encoding(result.data).shape
        (3, torch.Size([200]), torch.Size([200, 16]))
    """
    dataset = data if isinstance(data, NodeDataset) else _dataset(data, metric)
    raw: dict[str, Any] = {"dataset": dataset.name, "encoding": {}, "model": {}}
    if isinstance(encoding, str):
        raw["encoding"]["name"] = encoding
    if isinstance(model, str):
        raw["model"]["name"] = model
    config = resolve(assign(raw, settings), find_dataset=False)
    build = None
    if isinstance(encoding, Encoding) or isinstance(model, nn.Module):
        if runs is not None:
            raise ValueError(
                "`runs` must be left out with a module as encoding or model: a run needs names. Use names."
            )
        build = partial(_build, encoding, model, config, dataset)
    return run(
        dataset,
        config,
        splits=_splits(dataset, splits),
        root=runs,
        workers=workers,
        cache=cache,
        on_progress=on_progress,
        build=build,
    )


def run(
    dataset: NodeDataset,
    config: Config,
    *,
    splits: list[Split] | None = None,
    root: str | Path | None = None,
    workers: int | None = None,
    cache: bool = True,
    on_progress: Tell | None = None,
    on_outcome: Callable[[Outcome], None] | None = None,
    build: Callable[[], Classifier] | None = None,
) -> Fit:
    """Trains every split of a config on a loaded data set; with ``root``, in a resumable run folder below it."""
    if config.data not in (None, dataset.fingerprint):
        raise ConfigError([f"`data`: {dataset.name} must be the graph the config was made for, got other content."])
    config = config.model_copy(update={"data": dataset.fingerprint})
    kind, count, seed = config.splits.kind, config.splits.count, config.splits.seed
    splits = make_splits(dataset, kind, count=count, seed=seed) if splits is None else splits
    encoding = config.make_encoding() if build is None else build().encoding
    task = make_task(dataset, encoding, features=config.training.features, cache=cache)
    if root is None:
        job = partial(_train, task, splits, config, build, None)
        every = list(range(len(splits)))
        outcomes = list(_tell(run_splits(job, every, plan(len(splits), workers), on_progress), on_outcome))
        return _collect(outcomes, task, config, build, None)
    folder = RunFolder.of(root, config)
    with folder.locked():
        outcomes = train_in(
            folder, dataset, task, splits, workers=workers, build=build, on_progress=on_progress, on_outcome=on_outcome
        )
        return _collect(outcomes, task, config, build, folder)


def train_in(
    folder: RunFolder,
    dataset: NodeDataset,
    task: Task,
    splits: list[Split],
    *,
    only: Iterable[int] | None = None,
    pause: int | None = None,
    workers: int | None = None,
    build: Callable[[], Classifier] | None = None,
    on_progress: Tell | None = None,
    on_outcome: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """The outcomes of the splits ``only`` (all by default): read where finished, else trained and kept.

    The folder must be locked. ``pause`` stops after so many epochs, see
    :func:`~llpe.lab.train.train_split`.
    """
    wanted = list(range(len(splits)) if only is None else only)
    write_config(folder)
    write_spectrum(folder, dataset.data)
    reports = {index: folder.report(index) for index in wanted}
    old = [_outcome(report) for report in reports.values() if report is not None]
    job = partial(_train, task, splits, Config.model_validate(folder.config), build, pause)
    keep = partial(_train_and_keep, job, folder, splits, dataset)
    pending = [index for index in wanted if reports[index] is None]
    new = _tell(run_splits(keep, pending, plan(len(splits), workers), on_progress), on_outcome)
    return sorted([*old, *new], key=lambda outcome: outcome.split)


def _tell(outcomes: Iterable[Outcome], on_outcome: Callable[[Outcome], None] | None) -> Iterable[Outcome]:
    for outcome in outcomes:
        if on_outcome is not None:
            on_outcome(outcome)
        yield outcome


def _train(
    task: Task,
    splits: list[Split],
    config: Config,
    build: Callable[[], Classifier] | None,
    pause: int | None,
    index: int,
    tell: Tell,
    checkpoint: Path | None = None,
) -> Outcome:
    model = None if build is None else build()
    return train_split(
        task, splits[index], index, config, model=model, checkpoint=checkpoint, on_epoch=tell, pause=pause
    )


def _train_and_keep(
    job: Callable[..., Outcome], folder: RunFolder, splits: list[Split], dataset: NodeDataset, index: int, tell: Tell
) -> Outcome:
    outcome = job(index, tell, checkpoint=folder.checkpoint(index))
    if outcome.status != "paused":
        finish_split(folder, outcome, splits[index], dataset)
    return outcome


def _outcome(report: dict[str, Any]) -> Outcome:
    names = Outcome.__dataclass_fields__.keys() - {"state", "traces"}
    return Outcome(**{name: report[name] for name in names})


def _collect(
    outcomes: list[Outcome],
    task: Task,
    config: Config,
    build: Callable[[], Classifier] | None,
    folder: RunFolder | None,
) -> Fit:
    outcomes = sorted(outcomes, key=lambda outcome: outcome.split)
    done = [outcome for outcome in outcomes if outcome.status == "done"]
    if not done:
        raise RuntimeError(f"every split failed; split {outcomes[0].split}: {outcomes[0].reason}.")
    best = max(done, key=lambda outcome: outcome.val or 0.0)
    model = config.make_classifier(task.num_features, task.num_classes) if build is None else build()
    model.encoding.initialise(task.data)
    if best.state is not None:
        model.load_state_dict(best.state)
    elif folder is not None:
        model = load_classifier(folder, best.split)
    return Fit(outcomes, model.eval(), predict(model, task.data), task.data, folder.path if folder else None)


def _dataset(data: Data, metric: str) -> NodeDataset:
    y = data.y
    classes = int(y.max()) + 1 if isinstance(y, Tensor) and not y.is_floating_point() and y.numel() else 0
    masks = None
    if all(isinstance(data.get(f"{part}_mask"), Tensor) for part in ("train", "val", "test")):
        masks = {
            part: data[f"{part}_mask"].reshape(data[f"{part}_mask"].size(0), -1) for part in ("train", "val", "test")
        }
    return NodeDataset("data", data, metric=metric, num_classes=classes, masks=masks)


def _splits(dataset: NodeDataset, splits: int | Split | Iterable[Split] | None) -> list[Split]:
    if isinstance(splits, Split):
        return [splits]
    if splits is None and dataset.masks is not None:
        return make_splits(dataset, "official")
    if splits is None or isinstance(splits, int):
        return make_splits(dataset, "random", count=1 if splits is None else splits)
    return list(splits)


def _build(encoding: str | Encoding, model: str | nn.Module, config: Config, dataset: NodeDataset) -> Classifier:
    import copy

    chosen = copy.deepcopy(encoding) if isinstance(encoding, Encoding) else config.make_encoding()
    options = config.model.model_dump(exclude={"name"}) if isinstance(model, str) else {"hidden": config.model.hidden}
    return Classifier(
        chosen,
        in_features=dataset.num_features,
        num_classes=dataset.num_classes,
        model=config.model.name if isinstance(model, str) else copy.deepcopy(model),
        **options,
    )
