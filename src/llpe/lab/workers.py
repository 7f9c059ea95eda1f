"""Many splits side by side: in processes of this machine, or on the workers of a cluster.

Splits are independent, so each worker process trains one at a time. A split has one thread, unless there are fewer
splits than cores and much work in each: threads wait for each other after every operation, so a small split gains
nothing from a second one, and is ten times slower when another program takes a core. The number of threads does not
depend on how many splits are left to do: a resumed run is computed as the uninterrupted one was. Processes are forked
where the system can, so that they share the prepared graph.

Ctrl-C reaches the parent alone. It tells the workers to stop, and they do so after the epoch they are in, with a
checkpoint.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from llpe.data import MappedDataset, Split
from llpe.device import CPU, find_device
from llpe.lab.task import Task
from llpe.lab.traces import finish_split
from llpe.lab.train import Outcome, Progress, train_split
from llpe.runs import RunFolder
from llpe.storage import replacing

if TYPE_CHECKING:
    from llpe.lab.engine import Dask

Tell = Callable[[Progress], None]
Train = Callable[[int, Tell], Outcome]
Files = dict[str, bytes]
REPORT_SECONDS = 0.2
MUCH_WORK = 10**7  # numbers in a layer; with fewer, a second thread costs more than it brings on a busy machine
SHARED = ("dataset", "data", "inputs")  # what the trials of a search have in common


class WorkerError(RuntimeError):
    """A worker process died."""


def plan(splits: int, workers: int | None = None, *, work: int = 0, device: torch.device = CPU) -> tuple[int, int]:
    """How many splits are trained at once, and with how many threads each.

    It is one worker per core, on a GPU one, unless more are asked for, and at most one per split. Where there is much
    work, the cores are shared out evenly, but there are never more threads than torch is set to, by
    ``OMP_NUM_THREADS`` or ``torch.set_num_threads``.

    Args:
        work: how many numbers a layer holds, over all nodes.
        device: where splits are trained.

    Example:
        >>> plan(10, workers=1), plan(10, device=torch.device("cuda"))
        ((1, 1), (1, 1))
    """
    if workers is not None and workers < 1:
        raise ValueError(f"`workers` must be an integer of at least 1, got {workers!r}.")
    threads = min(cores() // min(cores(), splits), torch.get_num_threads()) if work >= MUCH_WORK else 1
    return min(workers or (cores() if device.type == "cpu" else 1), splits), threads


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def train_one(
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


def train_here(
    task: Task,
    splits: Sequence[Split],
    folder: RunFolder | None,
    pause: int | None,
    pending: Sequence[int],
    workers: int | None,
    on_progress: Tell | None,
) -> Iterator[Outcome]:
    """Trains the pending splits on this machine and yields their outcomes as they come."""
    device = find_device(task.config.training.device)
    work = task.dataset.num_nodes * (task.config.model.hidden + task.model.encoding.dim)
    workers, threads = plan(len(splits), workers, work=work, device=device)
    train = partial(train_one, task, splits, folder, pause)
    tell = on_progress or (lambda progress: None)
    if min(workers, len(pending)) > 1:
        fork = device.type == "cpu" and sys.platform == "linux"  # a GPU cannot be forked
        yield from _in_processes(train, pending, min(workers, len(pending)), threads, fork, tell)
        return
    with using_threads(threads):
        for index in pending:
            yield train(index, seldom(tell))


def _in_processes(
    train: Train, pending: Sequence[int], workers: int, threads: int, fork: bool, tell: Tell
) -> Iterator[Outcome]:
    context: Any = multiprocessing.get_context("fork" if fork else "spawn")
    progress, stop = context.SimpleQueue(), context.Value("b", 0, lock=False)
    arguments = (train, threads, progress, stop, os.getpid())  # passed to workers when they start, not pickled
    children: list[Any] = []
    try:
        with ProcessPoolExecutor(workers, context, _start, arguments) as pool:
            try:
                waiting = {pool.submit(_work, index) for index in pending}
                children = multiprocessing.active_children()
                while waiting:
                    done, waiting = wait(waiting, REPORT_SECONDS, FIRST_COMPLETED)
                    while not progress.empty():
                        tell(progress.get())
                    for future in done:
                        yield future.result()
            except BaseException:
                stop.value = 1
                pool.shutdown(cancel_futures=True)
                raise
    except BrokenProcessPool:
        codes = [child.exitcode for child in children if child.exitcode not in (None, 0, -signal.SIGTERM)]
        how = f" ({f'signal {-codes[0]}' if codes[0] < 0 else f'exit code {codes[0]}'})" if codes else ""
        raise WorkerError(
            f"a worker process died{how}; signal 9 usually means that memory ran out. "
            "What was finished is kept: run the same again, with fewer workers."
        ) from None


_work_on: Callable[[int], Outcome]  # in a worker: trains a split


def _start(train: Train, threads: int, progress: Any, stop: Any, parent: int) -> None:
    """Turns this process into a worker."""
    global _work_on
    torch.set_num_threads(threads)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent sets `stop`
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()

    def check() -> None:
        if stop.value:
            raise KeyboardInterrupt

    def work(index: int) -> Outcome:
        check()
        told = seldom(progress.put)

        def tell(now: Progress) -> None:
            check()
            told(now)

        return train(index, tell)

    _work_on = work


def _work(index: int) -> Outcome:
    return _work_on(index)


def _end_with(parent: int) -> None:
    """Ends this worker, busy or idle, soon after its parent has ended."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def seldom(tell: Tell) -> Tell:
    """The same function, but called a few times a second at most."""
    last = 0.0

    def now_and_then(progress: Progress) -> None:
        nonlocal last
        if time.monotonic() - last > REPORT_SECONDS:
            last = time.monotonic()
            tell(progress)

    return now_and_then


@contextmanager
def using_threads(count: int) -> Iterator[None]:
    """Inside, torch works with ``count`` threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def train_away(
    engine: Dask,
    task: Task,
    splits: Sequence[Split],
    folder: RunFolder | None,
    pause: int | None,
    pending: Sequence[int],
    on_progress: Tell | None,
) -> Iterator[Outcome]:
    """The same on the workers of a cluster. The files of a split, such as its checkpoint, are sent and come back."""
    if isinstance(task.dataset, MappedDataset):
        raise ValueError("`engine` must be the local one for a mapped graph, got Dask: it would be sent as a whole.")
    blank: Any = dict.fromkeys(SHARED)
    own = replace(task, **blank)
    shared = {name: getattr(task, name) for name in SHARED}
    config = None if folder is None else folder.config
    sent = [{} if folder is None else _read(folder.split(index)) for index in pending]
    items = [(own, splits[index], config, files, pause, index) for index, files in zip(pending, sent, strict=True)]
    for outcome, files in engine.run(_train_in_scratch, items, shared=shared, on_progress=on_progress):
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
        return train_one(task, {index: split}, None, pause, index, tell), {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = RunFolder(Path(scratch), config)
        _write(folder.split(index), files)
        return train_one(task, {index: split}, folder, pause, index, tell), _read(folder.split(index))


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
