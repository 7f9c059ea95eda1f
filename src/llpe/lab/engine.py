"""Pieces of work on the workers of a Dask cluster: splits, the trials of a search, the cells of a table.

The driver, which is the process of the command, keeps run folders and studies. Workers compute pieces and return what
they found. A piece is the same function as on one machine, with one thread and a seed of its own, so its result is the
same. Dask runs the pieces of a worker that died again on another one.

Dask is imported when an engine is made, not before.
"""

from __future__ import annotations

import errno
import logging
import math
import pickle
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, as_completed, wait
from contextlib import ExitStack
from queue import SimpleQueue
from threading import Lock
from typing import Any, Self, TypeVar
from uuid import uuid4

from llpe.extra import require
from llpe.lab import workers as local
from llpe.lab.traces import VERSIONS

Item = TypeVar("Item")
Result = TypeVar("Result")
CONNECT_SECONDS = 10.0
IDLE_SECONDS = 180.0  # without any worker, before work is given up
RESUME = "What is finished is kept, and the same command resumes."
START = "dask worker {} --nthreads 1"
LOOK_SECONDS = 5.0  # between two looks for workers


class EngineError(ConnectionError):
    """A cluster that cannot be reached or used."""


class Dask:
    """The workers of a Dask cluster.

    Args:
        scheduler: the address of a running scheduler; by default a cluster of processes is started on this machine,
            and stopped at the end.
        workers: processes of that cluster; default one per core.

    Example:
        >>> with Dask(workers=2) as engine:  # doctest: +SKIP
        ...     fit(data, splits=10, engine=engine)
    """

    def __init__(self, scheduler: str | None = None, *, workers: int | None = None) -> None:
        require("cluster", "the engine dask")
        if scheduler is not None and workers is not None:
            raise ValueError(f"`workers` must be left out with a scheduler, got {workers}. Its workers are used.")
        import dask
        from distributed import Client, LocalCluster
        from distributed.utils import silence_logging_cmgr

        count = local.plan(10**6, workers)[0] if scheduler is None else 0
        self.topic, self.stopped, self.lock = f"llpe-{uuid4().hex}", False, Lock()
        self.heard: dict[str, SimpleQueue[Any]] = {}
        self.looked = self.seen = time.monotonic()
        with ExitStack() as stack:
            stack.enter_context(silence_logging_cmgr(logging.CRITICAL))  # errors are raised, in one paragraph
            stack.enter_context(dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}))
            cluster: Any = scheduler
            if scheduler is None:
                quiet = {"silence_logs": logging.CRITICAL, "dashboard_address": "127.0.0.1:0"}
                cluster = stack.enter_context(LocalCluster(n_workers=count, threads_per_worker=1, **quiet))
            try:
                self.client = stack.enter_context(Client(cluster, timeout=CONNECT_SECONDS, set_as_default=False))
            except OSError as error:
                raise EngineError(
                    f"`scheduler` must be the address of a running Dask scheduler, got {scheduler!r}, where none "
                    "answers. Start one with `dask scheduler`, and take the address that it prints."
                ) from error
            self.address = self.client.scheduler.address
            self.pool = self.client.get_executor(pure=False)
            self.client.subscribe_topic(self.topic, self._hear)
            self._check_workers()
            self.stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped = True
        self.stack.close()

    def __repr__(self) -> str:
        return f"Dask({self.address!r})"

    @property
    def dashboard(self) -> str:
        """Where the state of the cluster is shown in a browser."""
        return str(self.client.dashboard_link)

    @property
    def workers(self) -> int:
        """How many workers there are now."""
        try:
            return len(self.client.nthreads())
        except OSError as error:  # before the client knows it
            raise self._gone() from error

    def _check_workers(self) -> None:
        """Waits for the first worker and refuses workers that would compute something else."""
        try:
            self.client.wait_for_workers(1, timeout=IDLE_SECONDS)
        except TimeoutError:
            raise EngineError(
                f"the scheduler at {self.address} has no worker. Start one with: {START.format(self.address)}"
            ) from None
        for address, found in self.client.run(_here, on_error="return").items():
            if isinstance(found, Exception):
                raise EngineError(
                    f"the worker {address} cannot run llpe: {found}. Install there what is installed here."
                )
            _check_same(address, VERSIONS, *found)

    def _hear(self, event: tuple[float, tuple[str, bytes]]) -> None:
        key, progress = event[1]
        if (queue := self.heard.get(key)) is not None:
            queue.put(pickle.loads(progress))

    def run(
        self,
        piece: Callable[..., Result],
        items: Iterable[tuple[Any, ...]],
        *,
        shared: Any = None,
        on_progress: Callable[[Any], None] | None = None,
    ) -> Iterator[Result]:
        """Yields ``piece(shared, *item, tell)`` for every item as they complete.

        Args:
            piece: a function of a module that workers can import.
            items: the arguments of each piece.
            shared: what all pieces need, sent once.
            on_progress: called with what pieces tell, a few times a second.
        """
        self._check_alive()
        queue: SimpleQueue[Any] = SimpleQueue()
        held = self.client.submit(_same, shared)  # by its content; unlike scattered data it outlives its worker
        waiting: set[Future[Result]] = set()
        keys = []
        for item in items:
            keys.append(f"{piece.__name__.strip('_')}-{uuid4().hex}")
            self.heard[keys[-1]] = queue
            waiting.add(self.pool.submit(_work, piece, VERSIONS, self.topic, held, item, key=keys[-1]))
        try:
            while waiting:
                done, waiting = wait(waiting, local.REPORT_SECONDS, FIRST_COMPLETED)
                while not queue.empty():
                    progress = queue.get()
                    if on_progress is not None:
                        with self.lock:
                            on_progress(progress)
                failed = {future for future in done if future.cancelled() or future.exception() is not None}
                yield from (future.result() for future in done - failed)
                for future in failed:
                    self._raise(future)
                self._check_alive()
        finally:
            for future in waiting:
                future.cancel()
            for key in keys:
                del self.heard[key]

    def _check_alive(self) -> None:
        """Raises if the scheduler is gone, or if there has been no worker for a while."""
        now = time.monotonic()
        if self.stopped:
            raise CancelledError
        if self.client.status != "running":
            raise self._gone()
        if now - self.looked > LOOK_SECONDS:
            self.looked = now
            if self.workers:
                self.seen = now
            elif now - self.seen > IDLE_SECONDS:
                start = START.format(self.address)
                raise EngineError(f"no worker is left at {self.address}. Start one with: {start}. {RESUME}")

    def _gone(self) -> EngineError:
        return EngineError(f"the scheduler at {self.address} went away. Start it again. {RESUME}")

    def _raise(self, future: Future[Any]) -> None:
        """The error of a piece, in our words."""
        from distributed import KilledWorker

        if future.cancelled():
            raise self._gone()
        error = future.exception()
        if isinstance(error, KilledWorker):
            raise local.WorkerError(
                f"a piece ended {error.allowed_failures + 1} workers, the last one at {error.last_worker.address}; "
                f"usually memory ran out. Give workers more (--memory-limit), or start fewer on a machine. {RESUME}"
            ) from None
        future.result()


def each(
    engine: Dask | None, function: Callable[[Item], Result], items: Sequence[Item], *, pieces: int
) -> Iterator[tuple[Item, Result]]:
    """Each item and its result: in order without an engine; with one as they complete, each in a thread.

    After an error no further item starts, and those that did end first. An interrupt stops all at once.

    Args:
        function: computes an item; if that is done by an engine, as many are computed at a time as keep it busy.
        items: what to compute.
        pieces: how many pieces an item has at least.
    """
    if engine is None:
        yield from ((item, function(item)) for item in items)
        return
    with ThreadPoolExecutor(1 + math.ceil(engine.workers / pieces)) as pool:
        futures = {pool.submit(function, item): item for item in items}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException as error:
            engine.stopped |= not isinstance(error, Exception)
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _same(thing: Any) -> Any:
    return thing


def _here(dask_worker: Any) -> tuple[dict[str, str], int]:
    return VERSIONS, dask_worker.state.nthreads


def _check_same(address: str, driver: dict[str, str], worker: dict[str, str], threads: int) -> None:
    """Pieces share the random generator of their process, so there must be one at a time."""
    other = [f"{name} {found} (here {driver[name]})" for name, found in worker.items() if found != driver[name]]
    if other:
        raise EngineError(f"the worker {address} has {', '.join(other)}. Install there what is installed here.")
    if threads != 1:
        raise EngineError(f"the worker {address} must have one thread, got {threads}. Start it with --nthreads 1.")


def _work(piece: Callable[..., Any], driver: dict[str, str], topic: str, shared: Any, item: tuple[Any, ...]) -> Any:
    """Computes a piece; called in a worker, which may have joined after the others were checked."""
    from distributed import get_worker

    worker = get_worker()
    _check_same(worker.address, driver, *_here(worker))
    key = worker.get_current_task()
    state = worker.state.tasks[key]
    seldom = local.seldom(lambda progress: worker.log_event(topic, [key, pickle.dumps(progress)]))

    def tell(progress: Any) -> None:
        if state.state == "cancelled":  # nobody waits for it any more
            raise CancelledError
        seldom(progress)

    try:
        with local.using_threads(1):
            return piece(shared, *item, tell)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise OSError(errno.ENOSPC, f"{error.strerror} on the worker {worker.address}", error.filename) from error
        raise
