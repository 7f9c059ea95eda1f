"""Plots of studies: lines with error bars, intervals by group, clouds of points; each in panels side by side.

They return a figure, which :func:`~llpe.report.figures.save_figure` writes. Numbers are drawn in the unit they come in.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from llpe.report.figures import new_figure, plain_axes
from llpe.report.palette import DASHES, FAINT, INK, MARKERS, SERIES, styles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DODGE = 0.008  # of the axis, between two series: so that error bars do not overlap


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
) -> Figure:
    """Points with intervals, the series of a group beside each other, in panels side by side.

    Args:
        intervals: groups, series and panels are drawn in the order in which they first come.
        xlabel, ylabel: what the axes are, with the unit.
        chance: the height of a dashed line: what guessing gives.
        strong: series that are drawn thicker.
    """
    frame = pd.DataFrame(intervals, columns=["series", "group", "y", "low", "high", "panel"])
    panels, series = list(frame["panel"].unique()), list(frame["series"].unique())
    figure, axes = _panels(panels, 5.4, ylabel, sharey=False)
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
    """Clouds of points side by side, coloured by class; the classes are mixed, so that none is hidden.

    Args:
        clouds: the panels.
        class_names: what the legend calls class 0, 1, …
    """
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


def _panels(panels: Sequence[str], width: float, ylabel: str, *, sharey: bool = True) -> tuple[Figure, Sequence[Axes]]:
    """Plots side by side, ``width`` inches each, under these titles."""
    if not panels:
        raise ValueError("a plot must have something to show, got nothing. Compute something first.")
    figure = new_figure(max(5.5, width * len(panels)), 3.9)
    axes: Sequence[Axes] = figure.subplots(1, len(panels), sharey=sharey, squeeze=False)[0]
    for ax, panel in zip(axes, panels, strict=True):
        ax.set_title(panel, fontsize=11, color=INK)
    axes[0].set_ylabel(ylabel, fontsize=11, color=INK)
    return figure, axes


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
