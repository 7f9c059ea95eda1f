"""Printing: results to stdout; notes, errors and progress to stderr. Colour, boxes and live bars only on a terminal."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from rich.progress import Task

Cells = Set[tuple[int, int]]
WIDE = 10_000  # columns of a file: lines are not folded there
EVERY = 10.0  # seconds between the plain lines about one task


def write(text: str = "") -> None:
    """A result, to stdout."""
    print(text)


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
    write(json.dumps(finite, indent=2, ensure_ascii=False))


def table(
    header: Sequence[str], rows: Iterable[Sequence[Any]], *, title: str = "", left: int = 1, bold: Cells = frozenset()
) -> None:
    """A table to stdout; the first ``left`` columns are aligned to the left, ``bold`` has (row, column) of cells."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=SIMPLE_HEAD if sys.stdout.isatty() else None, pad_edge=False)
    for index, name in enumerate(header):
        grid.add_column(Text(name), justify="left" if index < left else "right", overflow="fold")
    for i, row in enumerate(rows):
        grid.add_row(*(Text(str(cell), style="bold" if (i, j) in bold else "") for j, cell in enumerate(row)))
    if title:
        write(title)
    _draw(grid)


def fields(values: Mapping[str, Any]) -> None:
    """Names and values below each other, to stdout; a value may have several lines."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    for name, value in values.items():
        grid.add_row(Text(name), Text(str(value)))
    _draw(grid)


def _draw(content: Any) -> None:
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else WIDE)
    with console.capture() as drawn:
        console.print(content)
    write("\n".join(line.rstrip() for line in drawn.get().splitlines()))


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


def size(count: float) -> str:
    """
    Example:
        >>> size(512), size(20_480), size(3.2e9)
        ('512 bytes', '20.5 kB', '3.2 GB')
    """
    from rich.filesize import decimal

    return decimal(int(count))


def duration(seconds: float) -> str:
    """
    Example:
        >>> duration(4.2), duration(100_000)
        ('0:00:04', '1 day, 3:46:40')
    """
    return str(timedelta(seconds=round(seconds)))


class Progress:
    """Named tasks on stderr: live bars on a terminal, else a plain line now and then; and one line at each task's end.

    Example:
        >>> with Progress() as progress:
        ...     progress.update("cora split 3", "val 0.83", 120, 1000)
        ...     progress.finish("cora split 3", "test 0.85")
    """

    def __init__(self, *, every: float = EVERY) -> None:
        from rich import progress as rich
        from rich.console import Console

        self.every = every
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
        if self.plain and time.monotonic() - task.fields["said"] >= self.every:
            task.fields["said"] = time.monotonic()
            steps = f"{task.completed:g}/{task.total:g}" if task.total else ""
            self._say(name, steps, text, f"{duration(task.time_remaining)} left" if task.time_remaining else "")

    def finish(self, name: str, text: str = "") -> None:
        """The task is over, early or not; on a terminal one line replaces the bar."""
        elapsed = ""
        if name in self.tasks:
            task = self.tasks.pop(name)
            elapsed = duration(task.elapsed or 0)
            self.rich.remove_task(task.id)
        self._say(name, "done", text, elapsed)

    def _say(self, name: str, *parts: str) -> None:
        print(f"{name}: {', '.join(filter(None, parts))}", file=sys.stderr, flush=True)
