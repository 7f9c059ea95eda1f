"""Figures for print, drawn without a display: what all share, and the density of a spectrum."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from llpe.report.palette import FAINT, INK, THIRDS
from llpe.report.thirds import THIRDS as NAMES
from llpe.storage import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".png", ".pdf", ".svg")


def density_plot(shares: Sequence[float] | np.ndarray, path: str | Path, *, title: str = "") -> Path:
    """The density of a normalised Laplacian's eigenvalues on [0, 2], with the share of each third.

    Args:
        shares: the share of the eigenvalues in equal bins of [0, 2]; a multiple of three of them.
        path: where to write, ``.png``, ``.pdf`` or ``.svg``.
        title: a line above the figure.
    """
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"`path` must end in one of {', '.join(FORMATS)}, got {str(path)!r}.")
    values = np.asarray(shares, dtype=np.float64)
    if values.ndim != 1 or values.size == 0 or values.size % 3:
        raise ValueError(f"`shares` must be one row of a multiple of 3 bins, got shape {list(values.shape)}.")
    edges, height = np.linspace(0, 2, values.size + 1), values * values.size / 2
    figure = new_figure(6.4, 3.4)
    ax = figure.subplots()
    top = 1.25 * float(height.max()) or 1.0
    for third, (name, colour) in enumerate(zip(NAMES, THIRDS, strict=True)):
        part = slice(third * values.size // 3, (third + 1) * values.size // 3)
        ax.stairs(height[part], edges[part.start : part.stop + 1], fill=True, color=colour, alpha=0.85)
        text = f"{name}\n{100 * values[part].sum():.1f} %"
        ax.text((2 * third + 1) / 3, 0.98 * top, text, ha="center", va="top", fontsize=10, color=INK)
    for border in (2 / 3, 4 / 3):
        ax.axvline(border, color=FAINT, linewidth=0.8, linestyle=(0, (2, 3)))
    ax.set(xlim=(0, 2), ylim=(0, top))
    ax.set_xticks([0, 2 / 3, 1, 4 / 3, 2], ["0", "2/3", "1", "4/3", "2"], fontsize=10)
    ax.set_xlabel("eigenvalue λ of the symmetric normalised Laplacian", fontsize=11, color=INK)
    ax.set_ylabel("density", fontsize=11, color=INK)
    ax.set_title(title, fontsize=12, color=INK)
    plain_axes(ax)
    save_figure(figure, path)
    return path


def new_figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def plain_axes(ax: Axes) -> None:
    ax.grid(axis="y", color="#e3e3e3", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.spines["bottom"].set_color(FAINT)
    ax.tick_params(colors=INK, labelsize=10)
    ax.tick_params(axis="y", length=0)


def save_figure(figure: Figure, path: Path) -> None:
    """Writes all or nothing; the same figure gives the same bytes. A PNG has 256 colours, and a third the size."""
    from matplotlib import rc_context
    from PIL import Image

    kind = path.suffix.lower().removeprefix(".")
    dates = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}
    with replacing(path) as partial, rc_context({"svg.hashsalt": "llpe"}):
        figure.savefig(partial, format=kind, dpi=200, metadata=dates.get(kind))
        if kind == "png":
            with Image.open(partial) as image:
                small = image.convert("RGB").quantize(256, dither=Image.Dither.NONE)
            small.save(partial, format="png", optimize=True)


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
    """A number without powers of ten; from five digits on a thin space separates thousands.

    Example:
        >>> plain_number(0.05), plain_number(2000), plain_number(100_000).split()
        ('0.05', '2000', ['100', '000'])
    """
    if value < 10_000:
        return f"{value:.12g}"
    return f"{value:,.0f}".replace(",", "\N{THIN SPACE}")
