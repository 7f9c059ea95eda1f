"""Many splits side by side on one machine, without oversubscribing its cores.

Splits are independent, so each worker process trains one at a time. A split has one thread, unless there are fewer
splits than cores and much work in each: threads wait for each other after every operation, so a small split gains
nothing from a second one, and is ten times slower when another program takes a core. The number of threads does not
depend on how many splits are left to do: a resumed run is computed as the uninterrupted one was. Workers are forked
where the system can, so that they share the prepared graph.

Ctrl-C reaches the parent alone. It tells the workers to stop, and they do so after the epoch they are in, with a
checkpoint.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch

from llpe.device import CPU
from llpe.lab.train import Outcome, Progress

Tell = Callable[[Progress], None]
Train = Callable[[int, Tell], Outcome]
REPORT_SECONDS = 0.2
MUCH_WORK = 10**7  # numbers in a layer; with fewer, a second thread costs more than it brings on a busy machine


class WorkerError(RuntimeError):
    """A worker process died."""


class Plan(NamedTuple):
    """How many splits at once, with how many threads each, and whether processes can be forked."""

    workers: int
    threads: int
    fork: bool = sys.platform == "linux"


def plan(splits: int, workers: int | None = None, *, work: int = 0, device: torch.device = CPU) -> Plan:
    """One worker per core, at most one per split; where there is much work, the cores are shared out evenly.

    On a GPU it is one worker unless more are asked for, and those are started afresh: a GPU cannot be forked.

    There are never more threads than torch is set to, by ``OMP_NUM_THREADS`` or ``torch.set_num_threads``.

    Args:
        work: how many numbers a layer holds, over all nodes.
        device: where splits are trained.

    Example:
        >>> plan(10, workers=1)[:2], plan(10, device=torch.device("cuda"))
        ((1, 1), Plan(workers=1, threads=1, fork=False))
    """
    if workers is not None and workers < 1:
        raise ValueError(f"`workers` must be an integer of at least 1, got {workers!r}.")
    share = min(cores() // min(cores(), splits), torch.get_num_threads()) if work >= MUCH_WORK else 1
    if device.type != "cpu":
        return Plan(min(workers or 1, splits), share, fork=False)
    return Plan(min(workers or cores(), splits), share)


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_splits(train: Train, pending: list[int], plan: Plan, on_progress: Tell | None = None) -> Iterator[Outcome]:
    """Trains the pending splits and yields their outcomes as they come.

    Args:
        train: trains one split, given its number and a function to tell progress to.
        pending: the splits to train.
        plan: see :func:`plan`.
        on_progress: told the progress of any split, a few times a second.
    """
    tell = on_progress or (lambda progress: None)
    count = min(plan.workers, len(pending))
    if count > 1:
        yield from _in_processes(train, pending, plan._replace(workers=count), tell)
        return
    with using_threads(plan.threads):
        for index in pending:
            yield train(index, seldom(tell))


def _in_processes(train: Train, pending: list[int], plan: Plan, tell: Tell) -> Iterator[Outcome]:
    context: Any = multiprocessing.get_context("fork" if plan.fork else "spawn")
    progress, stop = context.SimpleQueue(), context.Value("b", 0, lock=False)
    arguments = (train, plan.threads, progress, stop, os.getpid())  # passed to workers when they start, not pickled
    children: list[Any] = []
    try:
        with ProcessPoolExecutor(plan.workers, context, _start, arguments) as pool:
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
