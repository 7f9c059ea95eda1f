"""Progress on stderr: live bars on a terminal, else a plain line now and then.

    with progress() as bars:
        bar = bars.add("cora split 3", total=1000)
        bar.update(120, "val 0.83")
        bar.finish("test 0.85")

Bars may be updated from several threads.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, Self

from llpe.cli import output

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

EVERY = 10.0  # seconds between the plain lines of one bar


class Bar:
    """One task. Plain lines are limited to one in ``every`` seconds; the last one always comes."""

    def __init__(self, name: str, total: int, live: Progress | None, every: float) -> None:
        self.name, self.total, self.done = name, total, 0
        self._live, self._every = live, every
        self._task: TaskID | None = live.add_task(name, total=total, text="") if live is not None else None
        self._began = self._said = time.monotonic()
        self._lock = threading.Lock()

    def update(self, done: int, text: str = "") -> None:
        """``done`` of ``total`` steps are behind us; ``text`` says how it goes."""
        with self._lock:
            self.done = done
            if self._live is not None and self._task is not None:
                self._live.update(self._task, completed=done, total=self.total, text=text)
            elif time.monotonic() - self._said >= self._every:
                self._said = time.monotonic()
                self._say(f"{done}/{self.total}", text, self._left())

    def advance(self, steps: int = 1, text: str = "") -> None:
        """``steps`` more than before."""
        self.update(self.done + steps, text)

    def finish(self, text: str = "") -> None:
        """The task is over, early or not; on a terminal the bar gives way to one line."""
        with self._lock:
            if self._live is not None and self._task is not None:
                self._live.remove_task(self._task)
            self._say("done", text, f"{output.duration(time.monotonic() - self._began)}")

    def _left(self) -> str:
        """How much longer, at the pace so far."""
        if not 0 < self.done < self.total:
            return ""
        pace = (time.monotonic() - self._began) / self.done
        return f"{output.duration(pace * (self.total - self.done))} left"

    def _say(self, *parts: str) -> None:
        print(f"{self.name}: {', '.join(part for part in parts if part)}", file=sys.stderr, flush=True)


class Bars:
    """The bars of one command: a context manager."""

    def __init__(self, live: Progress | None, every: float) -> None:
        self._live, self._every = live, every

    def add(self, name: str, total: int) -> Bar:
        return Bar(name, total, self._live, self._every)

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()


def progress(*, every: float = EVERY) -> Bars:
    """Bars for a ``with`` statement: live ones if stderr is a terminal, else lines at most every ``every`` seconds."""
    if not output.is_terminal(sys.stderr):
        return Bars(None, every)
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[text]}", markup=False),
        TimeRemainingColumn(),
    )
    # stdout is for results and stays as it is; lines for stderr appear above the bars
    return Bars(Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False), every)
