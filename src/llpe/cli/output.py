"""Printing: results to stdout, notes, errors and progress to stderr; colour and boxes only on a terminal."""

from __future__ import annotations

import json
import math
import shutil
import sys
import textwrap
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from llpe.report.tables import Table


def is_terminal(stream: TextIO) -> bool:
    return bool(getattr(stream, "isatty", lambda: False)())


def write(text: str = "") -> None:
    """A result, to stdout."""
    print(text, file=sys.stdout)


def note(text: str) -> None:
    """What the user should know, to stderr."""
    print(f"note: {text}", file=sys.stderr, flush=True)


def error(text: str) -> None:
    """Why it did not work, to stderr, as one paragraph."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    print("error: " + "\n".join(lines), file=sys.stderr, flush=True)


def write_json(document: Any) -> None:
    """One JSON document to stdout; what JSON has no number for (NaN, infinity) is null."""
    write(json.dumps(_plain(document), indent=2, ensure_ascii=False, allow_nan=False, default=str))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    title: str = "",
    right: Sequence[int] = (),
    bold: Container[tuple[int, int]] = (),
) -> None:
    """A table to stdout: by rich on a terminal, else aligned text.

    Args:
        header: one text for each column.
        rows: texts.
        title: a line above.
        right: the columns that are aligned to the right.
        bold: (row, column) of cells to stress on a terminal.
    """
    if not is_terminal(sys.stdout):
        write("\n".join([title] * bool(title) + aligned(header, rows, right=right)))
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=sys.stdout)
    if title:
        console.print(Text(title))
    grid = Table(box=SIMPLE_HEAD)
    for index, name in enumerate(header):
        grid.add_column(Text(name), justify="right" if index in right else "left", overflow="fold")
    for i, row in enumerate(rows):
        grid.add_row(*(Text(cell, style="bold" if (i, j) in bold else "") for j, cell in enumerate(row)))
    console.print(grid)


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], *, right: Container[int] = ()) -> list[str]:
    """Lines of plain text, columns two spaces apart.

    Example:
        >>> aligned(["a", "value"], [["row", "1"]], right=[1])
        ['a    value', 'row      1']
    """
    every = [header, *rows]
    widths = [max(len(row[column]) for row in every) for column in range(len(header))]
    lines = []
    for row in every:
        cells = enumerate(zip(row, widths, strict=True))
        lines.append("  ".join(cell.rjust(w) if i in right else cell.ljust(w) for i, (cell, w) in cells).rstrip())
    return lines


def report_table(found: Table) -> None:
    """A table of a report, its remarks below."""
    rows, bold = found.plain()
    table(found.header, rows, title=found.title, right=range(1, len(found.header)), bold=bold)
    for line in found.remarks:
        write(line)


def fields(pairs: Sequence[tuple[str, str]]) -> None:
    """Names and values below each other, to stdout.

    Example:
        >>> fields([("nodes", "5"), ("degree", "1.6")])
        nodes   5
        degree  1.6
    """
    width = max((len(name) for name, _ in pairs), default=0)
    for name, value in pairs:
        write(f"{name:{width}}  {value}".rstrip())


def blocks(pairs: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Names, and some lines beside each, to stdout; lines are folded on a terminal.

    Example:
        >>> blocks([("sbm", ["blocks", "n=2000"]), ("pa", ["hubs"])])
        sbm  blocks
             n=2000
        pa   hubs
    """
    margin = max((len(name) for name, _ in pairs), default=0) + 2
    width = shutil.get_terminal_size().columns - margin if is_terminal(sys.stdout) else 10**6
    for name, lines in pairs:
        folded = [part for line in lines for part in textwrap.wrap(line, max(width, 20)) or [""]]
        for number, line in enumerate(folded):
            write(f"{'' if number else name:{margin}}{line}")


def bars(shares: Sequence[float], *, height: int = 4) -> list[str]:
    """A bar chart in text, the highest row first; block characters where stdout can show them, else ``#``.

    Example:
        >>> bars([0.0, 0.5, 1.0], height=1)[0] in (" ▄█", " ##")
        True
    """
    levels = " ▁▂▃▄▅▆▇█" if _shows("█") else " " + "#" * 8
    top = max(shares, default=0.0) or 1.0
    eighths = [round(8 * height * share / top) for share in shares]
    rows = range(height - 1, -1, -1)
    return ["".join(levels[min(8, max(0, each - 8 * row))] for each in eighths) for row in rows]


def _shows(character: str) -> bool:
    try:
        character.encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def size(count: float) -> str:
    """
    Example:
        >>> size(512), size(20_480), size(3.2e9)
        ('512 B', '20.5 kB', '3.2 GB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def duration(seconds: float) -> str:
    """
    Example:
        >>> duration(4.2), duration(100), duration(7300), duration(200_000)
        ('4 s', '1 min 40 s', '2 h 1 min', '2 d 7 h')
    """
    whole = round(max(seconds, 0))
    if whole < 60:
        return f"{whole} s"
    for large, small, names in ((60, 1, ("min", "s")), (3600, 60, ("h", "min")), (86400, 3600, ("d", "h"))):
        if whole < large * (60 if large == 60 else 24) or large == 86400:
            parts = (whole // large, names[0]), (whole % large // small, names[1])
            return " ".join(f"{count} {name}" for count, name in parts if count)
    raise AssertionError("unreachable: days are the last resort")
