"""Figures for print, drawn without a display: what all share, the bars of a comparison, the density of a spectrum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from llpe.report.palette import FAINT, INK, THIRDS, styles
from llpe.report.thirds import THIRDS as NAMES
from llpe.storage import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".png", ".pdf", ".svg")


@dataclass(frozen=True)
class Bar:
    """One bar: the group it stands in, what the legend calls it, its score in 0 … 1 with its deviation, its panel."""

    group: str
    encoding: str
    mean: float
    std: float | None = None
    panel: str = ""


def accuracy_bars(rows: Sequence[Bar], path: str | Path, *, chance: float | None = None, title: str = "") -> Path:
    """Groups of bars with error bars, one bar for each encoding; a dashed line where guessing is.

    Args:
        rows: the bars; groups, encodings and panels are drawn in the order in which they first come.
        path: where to write, ``.png``, ``.pdf`` or ``.svg``.
        chance: the score of guessing.
        title: a line above the figure.
    """
    path = _checked(path)
    frame = pd.DataFrame(rows, columns=["group", "encoding", "mean", "std", "panel"])
    panels, groups, names = (list(frame[key].unique()) for key in ("panel", "group", "encoding"))
    width = max(5.5, 1.2 + 0.34 * len(groups) * (len(names) + 1))
    figure, axes = new_panels(panels, width, title, "test accuracy in %")
    colours = {name: style.colour for name, style in styles(names).items()}
    wide = 0.84 / len(names)
    for ax, panel in zip(axes, panels, strict=True):
        for index, name in enumerate(names):
            mine = frame[(frame["panel"] == panel) & (frame["encoding"] == name)]
            where = mine["group"].map(groups.index) + (index - (len(names) - 1) / 2) * wide
            ax.bar(where, 100 * mine["mean"], 0.92 * wide, color=colours[name], zorder=2)
            for x, mean, std in zip(where, 100 * mine["mean"], 100 * mine["std"].astype(float), strict=True):
                _label_bar(ax, x, mean, std)
        if chance is not None:
            draw_chance(ax, 100 * chance, above=True)
        ax.set_xticks(range(len(groups)), groups, fontsize=11)
        room = 0.0 if chance is None else 0.8 / (len(names) + 1)  # for the word
        ax.set(xlim=(-0.5, len(groups) - 0.5 + room), ylim=(0, 108), yticks=range(0, 101, 20))
        plain_axes(ax)
        ax.tick_params(axis="x", length=0)
    from matplotlib.patches import Patch

    legend_below(figure, [Patch(label=name, color=colour) for name, colour in colours.items()])
    save_figure(figure, path)
    return path


def _label_bar(ax: Axes, x: float, height: float, std: float) -> None:
    if not np.isnan(std):
        ax.errorbar(x, height, std, color=INK, elinewidth=1.1, capsize=2.2, zorder=3)
    text = ax.text(x, height + np.nan_to_num(std) + 1.5, f"{height:.0f}", ha="center", va="bottom")
    text.set(fontsize=8, color=INK, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6})


def density_plot(shares: Sequence[float] | np.ndarray, path: str | Path, *, title: str = "") -> Path:
    """The density of a normalised Laplacian's eigenvalues on [0, 2], with the share of each third.

    Args:
        shares: the share of the eigenvalues in equal bins of [0, 2]; a multiple of three of them.
        path: where to write, ``.png``, ``.pdf`` or ``.svg``.
        title: a line above the figure.
    """
    path = _checked(path)
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


def new_panels(
    panels: Sequence[str], width: float, title: str, ylabel: str, *, sharey: bool = True
) -> tuple[Figure, Sequence[Axes]]:
    """Plots side by side, ``width`` inches each, under these titles."""
    if not panels:
        raise ValueError("a plot must have something to show, got nothing. Compute something first.")
    figure = new_figure(max(5.5, width * len(panels)), 3.9)
    axes: Sequence[Axes] = figure.subplots(1, len(panels), sharey=sharey, squeeze=False)[0]
    for ax, panel in zip(axes, panels, strict=True):
        ax.set_title(panel, fontsize=11, color=INK)
    axes[0].set_ylabel(ylabel, fontsize=11, color=INK)
    if title:
        figure.suptitle(title, fontsize=12.5, color=INK)
    return figure, axes


def draw_chance(ax: Axes, height: float, *, above: bool = False) -> None:
    ax.axhline(height, color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=4 if above else 1)
    offset = {"xytext": (0, 2 if above else -2), "textcoords": "offset points", "va": "bottom" if above else "top"}
    place: dict[str, Any] = offset | {"xycoords": ax.get_yaxis_transform(), "ha": "right"}
    ax.annotate("chance", (1, height), fontsize=8, color=INK, **place)


def legend_below(figure: Figure, handles: Sequence[Any]) -> None:
    """A legend below the panels, in as many columns as their width holds."""
    inches = [0.7 + 0.075 * len(handle.get_label()) for handle in handles]
    width = float(figure.get_figwidth())
    columns = len(handles) if sum(inches) <= width else max(1, int(width / max(inches)))
    rows = -(-len(handles) // columns)
    columns = -(-len(handles) // rows)
    figure.legend(handles=list(handles), loc="outside lower center", ncols=columns, fontsize=10, frameon=False)


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
    from PIL import Image

    kind = path.suffix.lower().removeprefix(".")
    dates = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}
    with replacing(path) as partial:
        figure.savefig(partial, format=kind, dpi=200, metadata=dates.get(kind))
        if kind == "png":
            with Image.open(partial) as image:
                small = image.convert("RGB").quantize(256, dither=Image.Dither.NONE)
            small.save(partial, format="png", optimize=True)


def _checked(path: str | Path) -> Path:
    if Path(path).suffix.lower() not in FORMATS:
        raise ValueError(f"`path` must end in one of {', '.join(FORMATS)}, got {str(path)!r}.")
    return Path(path)


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
