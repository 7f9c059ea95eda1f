"""Logarithmic axes in plain numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from llpe.report.colours import INK

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plain_log_ticks(figure: Figure, x: Sequence[float], *, y: bool = False) -> None:
    """Marks each logarithmic x axis at ``x``, where the data are, and with ``y`` the y axis at 1, 2, 5, 10, …

    More than two decades of y are marked at 1, 10, 100, … only.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    for ax in figure.axes:
        ax.set_xticks(x, [plain_number(each) for each in x])
        ax.xaxis.set_minor_locator(NullLocator())
        ax.tick_params(axis="x", labelsize=9, colors=INK)
        if y:
            low, high = ax.get_ylim()
            ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low <= 100 else (1,)))
            ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: plain_number(value)))
            ax.yaxis.set_minor_locator(NullLocator())


def plain_number(value: float) -> str:
    """A number without powers of ten; thousands stand apart (by a thin space) from five digits on.

    Example:
        >>> plain_number(0.05), plain_number(2000), plain_number(100_000).split()
        ('0.05', '2000', ['100', '000'])
    """
    if value < 10_000:
        return f"{value:.12g}"
    return f"{value:,.0f}".replace(",", "\N{THIN SPACE}")
