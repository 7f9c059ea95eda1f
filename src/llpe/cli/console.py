"""Printing: results to stdout; notes, errors and progress to stderr. Colour, boxes and live bars only on a terminal."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from rich.progress import Task

WIDE = 10_000  # columns of a file: lines are not folded there
EVERY = 10.0  # seconds between the plain lines about one task


def note(text: str) -> None:
    """What the user should know, to stderr."""
    print(f"note: {text}", file=sys.stderr, flush=True)


def error(text: str) -> None:
    """Why it did not work, to stderr, as one paragraph."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    print("error: " + "\n".join(lines), file=sys.stderr, flush=True)


def write_json(document: Any) -> None:
    """One JSON document to stdout; NaN and infinity, which JSON does not have, are null."""
    finite = json.loads(json.dumps(document, default=str), parse_constant=lambda _: None)
    print(json.dumps(finite, indent=2, ensure_ascii=False))


def table(header: Sequence[str], rows: Iterable[Sequence[Any]], *, left: int = 1) -> None:
    """A table to stdout; the first ``left`` columns are aligned to the left, a text with ``**`` is bold."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    terminal = sys.stdout.isatty()
    grid = Table(box=SIMPLE_HEAD if terminal and header else None, show_header=bool(header), pad_edge=False)
    for index, name in enumerate(header):
        grid.add_column(Text(name), justify="left" if index < left else "right", overflow="fold")
    for row in rows:
        texts = [str(cell) for cell in row]
        grid.add_row(*(Text(text.replace("**", ""), style="bold" if "**" in text else "") for text in texts))
    console = Console(width=None if terminal else WIDE)
    with console.capture() as drawn:
        console.print(grid)
    print("\n".join(line.rstrip() for line in drawn.get().splitlines()))


def fields(values: Mapping[str, Any]) -> None:
    """Names and values below each other, to stdout; a value may have several lines."""
    table([], values.items())


def bars(shares: Sequence[float], *, height: int) -> list[str]:
    """A bar chart in text, the highest row first.

    Example:
        >>> bars([0.0, 0.5, 1.0, 2.0], height=2)
        ['   █', ' ▄██']
    """
    top = max(shares, default=0.0) or 1.0
    eighths = [round(8 * height * share / top) for share in shares]
    rows = range(height - 1, -1, -1)
    return ["".join(" ▁▂▃▄▅▆▇█"[min(8, max(0, each - 8 * row))] for each in eighths) for row in rows]


def size(count: int) -> str:
    """A number of bytes, as in 20.5 kB."""
    from rich.filesize import decimal

    return decimal(count)


def duration(seconds: float) -> str:
    """Hours, minutes and seconds, as in 0:00:04."""
    return str(timedelta(seconds=round(seconds)))


class Progress:
    """Named tasks on stderr: live bars on a terminal, else a plain line now and then; and one line at each task's end.

    Example:
        >>> with Progress() as progress:
        ...     progress.update("cora split 3", "val 0.83", 120, 1000)
        ...     progress.finish("cora split 3", "test 0.85")
    """

    def __init__(self) -> None:
        from rich import progress as rich
        from rich.console import Console

        self.plain = not sys.stderr.isatty()
        self.rich = rich.Progress(
            rich.TextColumn("{task.description}", markup=False),
            rich.BarColumn(bar_width=24),
            rich.MofNCompleteColumn(),
            rich.TextColumn("{task.fields[text]}", markup=False),
            rich.TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            redirect_stdout=False,  # stdout is for results
            disable=self.plain,
        )
        self.tasks: dict[str, Task] = {}

    def __enter__(self) -> Self:
        self.rich.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.rich.stop()

    def update(self, name: str, text: str = "", done: int | None = None, total: int | None = None) -> None:
        """``text`` says how it goes; ``done`` of ``total`` steps are finished, by default as many as before."""
        if name not in self.tasks:
            self.rich.add_task(name, total=total, text=text, said=time.monotonic())
            self.tasks[name] = self.rich.tasks[-1]
        task = self.tasks[name]
        self.rich.update(task.id, completed=done, total=total, text=text)
        if self.plain and time.monotonic() - task.fields["said"] >= EVERY:
            task.fields["said"] = time.monotonic()
            steps = f"{task.completed:g}/{task.total:g}" if task.total else ""
            _say(name, steps, text, f"{duration(task.time_remaining)} left" if task.time_remaining else "")

    def finish(self, name: str, text: str = "") -> None:
        """The task is over, early or not; on a terminal one line replaces the bar."""
        elapsed = ""
        if name in self.tasks:
            task = self.tasks.pop(name)
            elapsed = duration(task.elapsed or 0)
            self.rich.remove_task(task.id)
        _say(name, "done", text, elapsed)


def _say(name: str, *parts: str) -> None:
    print(f"{name}: {', '.join(filter(None, parts))}", file=sys.stderr, flush=True)
