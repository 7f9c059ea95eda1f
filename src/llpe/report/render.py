"""Tables as text: plain, Markdown, LaTeX, CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import asdict

from llpe.report.table import Cell, Table


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> list[str]:
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


def markdown(tables: Sequence[Table]) -> str:
    """GitHub's tables, the best in bold."""
    out = []
    for table in tables:
        header, rows = table.as_text()
        best = table.best()
        body = [[f"**{cell}**" if (i, j) in best else cell for j, cell in enumerate(row)] for i, row in enumerate(rows)]
        lines = [f"**{table.title}**", "", "| " + " | ".join(header) + " |"]
        lines += ["|---" + "|--:" * (len(header) - 1) + "|"]
        lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in body]
        lines += ["", *(f"* {line}" for line in table.remarks)]
        out.append("\n".join(lines).rstrip())
    return "\n\n".join(out)


def latex(tables: Sequence[Table]) -> str:
    """A tabular of booktabs for each table, the best in bold; remarks are comments."""
    out = []
    for table in tables:
        header, _ = table.as_text()
        lines = [f"% {table.title}", rf"\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}", r"\toprule"]
        lines += [" & ".join(map(_escape, header)) + r" \\", r"\midrule"]
        for row in table.rows:
            cells = [_latex_cell(cell) for cell in row.cells]
            lines.append(" & ".join([_escape(row.encoding), *cells, *table.rank_text(row)]) + r" \\")
        lines += [r"\bottomrule", r"\end{tabular}", *(f"% {line}" for line in table.remarks)]
        out.append("\n".join(lines))
    return "\n\n".join(out)


def _latex_cell(cell: Cell | None) -> str:
    if cell is None or cell.mean is None:
        return "--" if cell is None else cell.as_text()
    text = "$" + cell.as_text(plus_minus=r" \pm ") + "$"
    return (rf"\textbf{{\boldmath {text}}}" if cell.best else text) + rf" {{\scriptsize({cell.splits})}}"


def _escape(text: str) -> str:
    for character in "&%$#_{}":
        text = text.replace(character, f"\\{character}")
    return text


def comma_separated(tables: Sequence[Table]) -> str:
    """One line for each cell, scores in 0 … 1 with all digits."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["model", "encoding", "dataset", "metric", *Cell.__dataclass_fields__])
    for table in tables:
        for row in table.rows:
            for name, metric, cell in zip(table.datasets, table.metrics, row.cells, strict=True):
                if cell is not None:
                    writer.writerow([table.model, row.encoding, name, metric or "", *asdict(cell).values()])
    return file.getvalue().rstrip("\n")


RENDERERS: dict[str, Callable[[Sequence[Table]], str]] = {
    "markdown": markdown,
    "latex": latex,
    "csv": comma_separated,
}
