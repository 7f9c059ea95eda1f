"""A small table of texts, for a study: rows → Markdown and LaTeX.

Tables of run folders, with ranks and failures, are in :mod:`llpe.report.table`; a grid holds whatever a study found.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

BEST = r"\\textbf{\\textcolor{green!50!black}{\1}}"  # needs xcolor
SIGNS = {"±": r"$\pm$", "×": r"$\times$", "λ": r"$\lambda$", "−": r"$-$", "–": "--", "≥": r"$\geq$", "≤": r"$\leq$"}


@dataclass(frozen=True)
class Grid:
    """A table as a reader sees it.

    Attributes:
        title: what the numbers are, with their unit.
        header: the name of each column.
        rows: the texts, first column first; the others are numbers and stand to the right. The best is in **bold**.
        remarks: sentences below the table.

    Example:
        >>> print(Grid("Accuracy in %", ["encoding", "h = 0"], [["llpe", percent(0.987, 0.011)]]).markdown())
        **Accuracy in %**
        <BLANKLINE>
        | encoding | h = 0 |
        |---|--:|
        | llpe | 98.7 ± 1.1 |
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    remarks: Sequence[str] = ()

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.header):
                raise ValueError(
                    f"`rows` must have a text for each of {len(self.header)} columns, got {len(row)} in {list(row)!r}."
                )

    def plain(self) -> tuple[list[list[str]], set[tuple[int, int]]]:
        """The rows without marks, and where the bold cells are."""
        bold = {(i, j) for i, row in enumerate(self.rows) for j, cell in enumerate(row) if "**" in cell}
        return [[cell.replace("**", "") for cell in row] for row in self.rows], bold

    def markdown(self) -> str:
        """GitHub's table, remarks as a list below."""
        lines = [f"**{self.title}**", "", _line(self.header), "|---" + "|--:" * (len(self.header) - 1) + "|"]
        lines += [_line(row) for row in self.rows]
        return "\n".join([*lines, *([""] if self.remarks else []), *(f"* {remark}" for remark in self.remarks)])

    def latex(self) -> str:
        """A tabular of booktabs; title and remarks are comments."""
        lines = [f"% {self.title}", rf"\begin{{tabular}}{{l{'r' * (len(self.header) - 1)}}}", r"\toprule"]
        lines += [_latex_line(self.header), r"\midrule", *map(_latex_line, self.rows)]
        lines += [r"\bottomrule", r"\end{tabular}", *(f"% {remark}" for remark in self.remarks)]
        return "\n".join(lines)


def percent(mean: float | None, std: float | None = None) -> str:
    """A score of 0 … 1 in percent with its deviation; a dash where there is none.

    Example:
        >>> percent(0.8731, 0.0119), percent(0.5), percent(None)
        ('87.3 ± 1.2', '50.0', '–')
    """
    if mean is None:
        return "–"
    return f"{100 * mean:.1f}" + ("" if std is None else f" ± {100 * std:.1f}")


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _latex_line(cells: Sequence[str]) -> str:
    """Cells in bold, as in Markdown, are the best: green and bold."""
    return re.sub(r"\*\*(.+?)\*\*", BEST, " & ".join(map(_escape, cells))) + r" \\"


def _escape(text: str) -> str:
    escaped = "".join(f"\\{character}" if character in "&%$#_{}" else character for character in text)
    for sign, command in SIGNS.items():
        escaped = escaped.replace(sign, command)
    return escaped
