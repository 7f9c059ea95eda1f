"""Figures for print, drawn without a display: the density of a spectrum, and plots in panels side by side.

Plots in panels are returned, and :func:`save_figure` writes them. Numbers are drawn in the unit they come in.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from llpe.report.palette import DASHES, FAINT, INK, MARKERS, SERIES, THIRDS, styles
from llpe.storage import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DODGE = 0.008  # of the axis, between two series: so that error bars do not overlap


def density_plot(shares: np.ndarray, path: Path, *, title: str = "") -> None:
    """Draws the density of a normalised Laplacian's eigenvalues on [0, 2], with the share of each third.

    Args:
        shares: the share of the eigenvalues in equal bins of [0, 2]; a multiple of three of them.
        path: where to write, ``.png``, ``.pdf`` or ``.svg``.
        title: a line above the figure.
    """
    values = np.asarray(shares, dtype=np.float64)
    edges, height = np.linspace(0, 2, values.size + 1), values * values.size / 2
    figure = new_figure(6.4, 3.4)
    ax = figure.subplots()
    top = 1.25 * float(height.max()) or 1.0
    for third, (name, colour) in enumerate(THIRDS.items()):
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


@dataclass(frozen=True)
class Point:
    """One point of a line: what the legend calls the line, where it is, half its error bar, and its panel."""

    series: str
    x: float
    y: float
    error: float | None = None
    panel: str = ""


@dataclass(frozen=True)
class Interval:
    """``y`` with an interval from ``low`` to ``high``, in a named group of a panel."""

    series: str
    group: str
    y: float
    low: float
    high: float
    panel: str = ""


@dataclass(frozen=True, eq=False)
class Cloud:
    """One panel of points: their places of shape (n, 2), the class of each, and the names of the axes."""

    panel: str
    points: np.ndarray
    classes: np.ndarray
    xlabel: str
    ylabel: str


def line_plot(
    points: Sequence[Point],
    *,
    xlabel: str,
    ylabel: str,
    chance: Mapping[str, float] | None = None,
    strong: Collection[str] = (),
    log: Literal["", "x", "y", "xy"] = "",
    ylim: tuple[float, float] | None = None,
) -> Figure:
    """Lines with error bars, one for each series, in panels side by side that share the y axis.

    Args:
        points: series and panels are drawn in the order in which they first come; a line goes from left to right.
        xlabel, ylabel: what the axes are, with the unit.
        chance: for a panel, the height of a dashed line: what guessing gives.
        strong: series that are drawn thicker.
        log: the axes that are logarithmic.
        ylim: the ends of the y axis.
    """
    frame = pd.DataFrame(points, columns=["series", "x", "y", "error", "panel"]).sort_values("x", kind="stable")
    panels, series = (list(dict.fromkeys(getattr(point, key) for point in points)) for key in ("panel", "series"))
    figure, axes = _panels(panels, 4.9, ylabel)
    looks = _line_styles(series, strong)
    there, back = (np.log, np.exp) if "x" in log else (np.asarray, np.asarray)
    for ax, panel in zip(axes, panels, strict=True):
        mine = frame[frame["panel"] == panel]
        width = DODGE * float(np.ptp(there(mine["x"])))
        for index, name in enumerate(series):
            line = mine[mine["series"] == name]
            line = line.assign(x=back(there(line["x"]) + width * (index - (len(series) - 1) / 2)))
            ax.plot(line["x"], line["y"], **looks[name])
            barred = line.dropna(subset="error")
            if len(barred):
                bars = {"color": looks[name]["color"], "zorder": looks[name]["zorder"], "linestyle": "none"}
                ax.errorbar(barred["x"], barred["y"], barred["error"], elinewidth=1.1, capsize=2.2, **bars)
        if chance and panel in chance:
            _draw_chance(ax, chance[panel])
        ax.set_xlabel(xlabel, fontsize=11, color=INK)
        plain_axes(ax)
        ax.set(**{f"{axis}scale": "log" for axis in log}, **({} if ylim is None else {"ylim": ylim}))
    _line_legend(figure, looks)
    return figure


def interval_plot(
    intervals: Sequence[Interval],
    *,
    xlabel: str,
    ylabel: str,
    chance: float | None = None,
    strong: Collection[str] = (),
    columns: int | None = None,
) -> Figure:
    """Points with intervals, the series of a group beside each other, in panels side by side, ``columns`` in a row.

    Groups, series and panels are drawn in the order in which they first come; the other arguments are those of
    :func:`line_plot`, with one height of ``chance`` for all panels.
    """
    frame = pd.DataFrame(intervals, columns=["series", "group", "y", "low", "high", "panel"])
    panels, series = list(frame["panel"].unique()), list(frame["series"].unique())
    figure, axes = _panels(panels, 5.4, ylabel, sharey=False, columns=columns)
    looks = {name: style | {"linestyle": "none"} for name, style in _line_styles(series, strong).items()}
    for ax, panel in zip(axes, panels, strict=True):
        mine = frame[frame["panel"] == panel]
        groups = list(mine["group"].unique())
        for index, name in enumerate(series):
            line = mine[mine["series"] == name]
            where = line["group"].map(groups.index) + (index - (len(series) - 1) / 2) * 0.72 / len(series)
            style = looks[name] | {"markersize": 6, "elinewidth": looks[name]["linewidth"], "capsize": 2.5}
            ax.errorbar(where, line["y"], [line["y"] - line["low"], line["high"] - line["y"]], **style)
        if chance is not None:
            _draw_chance(ax, chance)
        for border in range(1, len(groups)):
            ax.axvline(border - 0.5, color="#ececec", linewidth=0.8, zorder=0)
        ax.set_xticks(range(len(groups)), groups, fontsize=9)
        ax.set_xlim(-0.5, len(groups) - 0.5)
        ax.set_xlabel(xlabel, fontsize=11, color=INK)
        plain_axes(ax)
        ax.tick_params(axis="x", length=0, labelsize=9)
    _line_legend(figure, looks)
    return figure


def scatter_plot(clouds: Sequence[Cloud], *, class_names: Sequence[str]) -> Figure:
    """Clouds of points side by side, coloured by class; the classes are mixed, so that none is hidden."""
    figure, axes = _panels([cloud.panel for cloud in clouds], 3.7, "", sharey=False)
    for ax, cloud in zip(axes, clouds, strict=True):
        order = np.random.default_rng(0).permutation(len(cloud.classes))
        colours = [SERIES[int(each) % len(SERIES)] for each in cloud.classes[order]]
        x, y = cloud.points[order].T
        ax.scatter(x, y, c=colours, s=9, alpha=0.6, linewidths=0, rasterized=True)
        ax.set_xlabel(cloud.xlabel, fontsize=10, color=INK)
        ax.set_ylabel(cloud.ylabel, fontsize=10, color=INK)
        ax.set(xticks=[], yticks=[], box_aspect=1)
        for spine in ax.spines.values():
            spine.set_color(FAINT)
    dot = {"marker": "o", "linestyle": "none", "markersize": 6}
    _line_legend(figure, {name: dot | {"color": SERIES[i % len(SERIES)]} for i, name in enumerate(class_names)})
    return figure


def _panels(
    panels: Sequence[str], width: float, ylabel: str, *, sharey: bool = True, columns: int | None = None
) -> tuple[Figure, Sequence[Axes]]:
    """Plots side by side, ``columns`` in a row and ``width`` inches each, under these titles."""
    if not panels:
        raise ValueError("a plot must have something to show, got nothing. Compute something first.")
    columns = min(columns or len(panels), len(panels))
    rows = -(-len(panels) // columns)
    figure = new_figure(max(5.5, width * columns), 3.9 * rows)
    grid = figure.subplots(rows, columns, sharey=sharey, squeeze=False)
    for ax in grid[:, 0]:
        ax.set_ylabel(ylabel, fontsize=11, color=INK)
    axes = list(grid.flatten())
    for ax, panel in zip(axes, panels, strict=False):
        ax.set_title(panel, fontsize=11, color=INK)
    for empty in axes[len(panels) :]:
        empty.set_axis_off()
    return figure, axes[: len(panels)]


def _draw_chance(ax: Axes, height: float) -> None:
    ax.axhline(height, color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    below: dict[str, Any] = {"xytext": (0, -2), "textcoords": "offset points", "va": "top", "ha": "right"}
    ax.annotate("chance", (1, height), xycoords=ax.get_yaxis_transform(), fontsize=8, color=INK, **below)


def _line_styles(series: Sequence[str], strong: Collection[str]) -> dict[str, dict[str, Any]]:
    """Colour, marker and dashes of each series, so that they differ in grey, too."""
    return {
        name: {
            "color": style.colour,
            "marker": MARKERS[style.marker],
            "linestyle": "-" if name in strong else DASHES[style.dashes],
            "linewidth": 2.4 if name in strong else 1.3,
            "markersize": 6.0 if name in strong else 4.5,
            "zorder": 4 if name in strong else 3,
        }
        for name, style in styles(series).items()
    }


def _line_legend(figure: Figure, looks: Mapping[str, dict[str, Any]]) -> None:
    """A legend below the panels, in as many columns as their width holds."""
    from matplotlib.lines import Line2D

    inches = [0.7 + 0.075 * len(name) for name in looks]
    width = float(figure.get_figwidth())
    columns = len(looks) if sum(inches) <= width else max(1, int(width / max(inches)))
    rows = -(-len(looks) // columns)
    handles = [Line2D([], [], label=name, **look) for name, look in looks.items()]
    columns = -(-len(looks) // rows)
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, fontsize=10, frameon=False)


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
