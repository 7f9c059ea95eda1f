"""Many splits side by side on one machine, without oversubscribing its cores.

Splits are independent, so each worker process trains one at a time with its share of the cores. How many threads a
split gets depends on the number of splits and cores only, never on how many are left to do: a resumed run is computed
as the uninterrupted one was. Workers are forked where the system can, so that they share the prepared graph.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import queue
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from llpe.lab.train import Outcome, Progress

Train = Callable[[int, Callable[[Progress], None]], Outcome]
REPORT_SECONDS = 0.2


class EngineError(RuntimeError):
    """A worker process died."""


@dataclass(frozen=True)
class Plan:
    """How many splits at once, and with how many threads each."""

    workers: int
    threads: int


def plan(splits: int, workers: int | None = None) -> Plan:
    """One worker per core, at most one per split; the cores are shared out evenly.

    Example:
        >>> plan(10, workers=1).workers
        1
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if workers is not None and workers < 1:
        raise ValueError(f"`workers` must be an integer of at least 1, got {workers!r}.")
    return Plan(min(workers or cores, splits), max(1, cores // min(cores, splits)))


def run_splits(
    train: Train, pending: list[int], plan: Plan, on_progress: Callable[[Progress], None] | None = None
) -> Iterator[Outcome]:
    """Trains the pending splits and yields their outcomes as they come.

    Args:
        train: trains one split, given its number and a function to tell progress to.
        pending: the splits to train.
        plan: see :func:`plan`.
        on_progress: told the progress of any split, a few times a second.
    """
    tell = on_progress or (lambda progress: None)
    if min(plan.workers, len(pending)) <= 1:
        with using_threads(plan.threads):
            for index in pending:
                yield train(index, _seldom(tell))
        return
    yield from _in_processes(train, pending, plan, tell)


def _in_processes(train: Train, pending: list[int], plan: Plan, tell: Callable[[Progress], None]) -> Iterator[Outcome]:
    context: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    taken, done = context.Value("i", 0), context.Queue()
    arguments = (train, pending, taken, done, plan.threads, os.getpid())
    workers = [
        context.Process(target=_work, args=arguments, daemon=True) for _ in range(min(plan.workers, len(pending)))
    ]
    for worker in workers:
        worker.start()
    try:
        left = len(pending)
        while left:
            message = _next_message(done, workers)
            if isinstance(message, Progress):
                tell(message)
            elif isinstance(message, BaseException):
                raise message
            else:
                left -= 1
                yield message
    except BaseException:
        _stop(workers)
        raise
    for worker in workers:
        worker.join(timeout=5)


def _next_message(done: Any, workers: list[Any]) -> Any:
    while True:
        try:
            return pickle.loads(done.get(timeout=0.5))
        except queue.Empty:
            dead = [worker for worker in workers if worker.exitcode not in (None, 0)]
            if dead:
                code = dead[0].exitcode
                how = f"signal {-code}" if code < 0 else f"exit code {code}"
                raise EngineError(
                    f"a worker process died ({how}); signal 9 usually means that memory ran out. "
                    "What was finished is kept: run the same again, with fewer workers."
                ) from None


def _stop(workers: list[Any]) -> None:
    """Lets workers write their checkpoints (as Ctrl-C does), then ends them."""
    for worker in workers:
        if worker.is_alive():
            os.kill(worker.pid, signal.SIGINT)
    limit = time.monotonic() + 10
    for worker in workers:
        worker.join(timeout=max(0.1, limit - time.monotonic()))
        if worker.is_alive():
            worker.terminate()


def _interrupt_once(*_: object) -> None:
    """Ctrl-C reaches a worker twice, from the terminal and from :func:`_stop`; the second must not break the save."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def _work(train: Train, pending: list[int], taken: Any, done: Any, threads: int, parent: int) -> None:
    """A worker: takes splits until there are none, and ends when its parent does."""
    torch.set_num_threads(threads)
    signal.signal(signal.SIGINT, _interrupt_once)

    def put(message: object) -> None:
        done.put(pickle.dumps(message))  # as bytes: torch would pass tensors through files of a process that may end

    def alive(progress: Progress) -> None:
        if os.getppid() != parent:
            os._exit(1)
        seldom(progress)

    try:
        while True:
            with taken.get_lock():
                position, taken.value = taken.value, taken.value + 1
            if position >= len(pending):
                return
            seldom = _seldom(put)
            put(train(pending[position], alive))
    except KeyboardInterrupt:
        done.cancel_join_thread()
    except Exception as error:
        put(error)


def _seldom(tell: Callable[[Progress], None]) -> Callable[[Progress], None]:
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
