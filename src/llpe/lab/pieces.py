"""Pieces of work: a split, trained beside its run folder or by a worker that does not see it; a block of probes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from llpe.data import MappedDataset, Split
from llpe.device import find_device
from llpe.features import Features
from llpe.lab.engine import Dask
from llpe.lab.task import Task
from llpe.lab.traces import finish_split
from llpe.lab.train import Outcome, train_split
from llpe.lab.workers import Tell
from llpe.out_of_core import encode_block
from llpe.runs import RunFolder
from llpe.storage import replacing

Files = dict[str, bytes]
SHARED = ("dataset", "data", "inputs")  # what the trials of a search have in common


def train_here(
    task: Task,
    splits: Sequence[Split] | Mapping[int, Split],
    folder: RunFolder | None,
    pause: int | None,
    index: int,
    tell: Tell,
) -> Outcome:
    """Trains a split and writes what it leaves behind."""
    checkpoint = None if folder is None else folder.checkpoint(index)
    outcome = train_split(task, splits[index], index, checkpoint=checkpoint, on_epoch=tell, pause=pause)
    if folder is not None and outcome.status != "paused":
        finish_split(folder, outcome, splits[index], task.dataset, device=find_device(task.config.training.device))
    return outcome


def train_away(
    engine: Dask,
    task: Task,
    splits: Sequence[Split],
    folder: RunFolder | None,
    pause: int | None,
    pending: Sequence[int],
    tell: Tell | None,
) -> Iterator[Outcome]:
    """Trains splits on workers. The files of a split, such as its checkpoint, are sent and come back."""
    if isinstance(task.dataset, MappedDataset):
        raise ValueError("`engine` must be the local one for a mapped graph, got Dask: it would be sent as a whole.")
    blank: Any = dict.fromkeys(SHARED)
    own = replace(task, **blank)
    shared = {name: getattr(task, name) for name in SHARED}
    config = None if folder is None else folder.config
    sent = [{} if folder is None else _read(folder.split(index)) for index in pending]
    items = [(own, splits[index], config, files, pause, index) for index, files in zip(pending, sent, strict=True)]
    for outcome, files in engine.run(_train_in_scratch, items, shared=shared, on_progress=tell):
        if folder is not None:
            _write(folder.split(outcome.split), files)
        yield outcome


def _train_in_scratch(
    shared: dict[str, Any],
    own: Task,
    split: Split,
    config: dict[str, Any] | None,
    files: Files,
    pause: int | None,
    index: int,
    tell: Tell,
) -> tuple[Outcome, Files]:
    """Trains a split in a temporary run folder; called in a worker."""
    task = replace(own, **shared)
    if config is None:
        return train_here(task, {index: split}, None, pause, index, tell), {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = RunFolder(Path(scratch), config)
        _write(folder.split(index), files)
        return train_here(task, {index: split}, folder, pause, index, tell), _read(folder.split(index))


def encode_blocks(engine: Dask, graph: Path, out: Path, blocks: list[int], tell: Callable[[int, int], None]) -> None:
    """Computes blocks of probes of a graph in a folder, which workers see under the same path."""
    items = [(graph.absolute(), out.absolute(), block) for block in blocks]
    for done in engine.run(_encode_block, items, on_progress=lambda progress: tell(*progress)):
        tell(*done)


def _encode_block(
    shared: None, graph: Path, out: Path, block: int, tell: Callable[[tuple[int, int]], None]
) -> tuple[int, int]:
    """Computes a block; returns it, and how many products it has. Called in a worker."""
    encode_block(graph, out, block, lambda products: tell((block, products)))
    features = Features.read(out)
    return block, len(features.columns(block)) * features.order


def _read(folder: Path) -> Files:
    return {file.name: file.read_bytes() for file in folder.glob("[!.]*")}


def _write(folder: Path, files: Files) -> None:
    """The files of a split, its report last; a checkpoint that is not among them is deleted."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in sorted(files, key="report.json".__eq__):
        with replacing(folder / name) as partial:
            partial.write_bytes(files[name])
    if "report.json" in files:
        (folder / "checkpoint.pt").unlink(missing_ok=True)
