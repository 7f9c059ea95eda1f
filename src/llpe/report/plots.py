"""Plots of studies: lines with error bars, intervals by group, clouds of points; each in panels side by side.

They return a figure, which :func:`~llpe.report.figures.save_figure` writes. Numbers are drawn in the unit they come in.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from llpe.report.colours import DASHES, FAINT, INK, MARKERS, SERIES, looks
from llpe.report.figures import new_figure, plain_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DODGE = 0.008  # of the axis, between two series: their error bars stand beside each other


@dataclass(frozen=True)
class Point:
    """One point of :func:`line_plot`.

    Attributes:
        series: what the legend calls its line.
        x, y: where it is.
        error: half the length of its error bar, e.g. a standard deviation; None draws none.
        panel: points with another panel are drawn in another one, under this title.
    """

    series: str
    x: float
    y: float
    error: float | None = None
    panel: str = ""


@dataclass(frozen=True)
class Interval:
    """One point of :func:`interval_plot`: ``y`` with an interval from ``low`` to ``high``, in a named group."""

    series: str
    group: str
    y: float
    low: float
    high: float
    panel: str = ""


@dataclass(frozen=True, eq=False)
class Cloud:
    """One panel of :func:`scatter_plot`: points of shape (n, 2), the class of each, and the names of the axes."""

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
    title: str = "",
    chance: Mapping[str, float] | None = None,
    strong: Collection[str] = (),
    log: Literal["", "x", "y", "xy"] = "",
    ylim: tuple[float, float] | None = None,
) -> Figure:
    """Lines with error bars, one for each series, in panels side by side that share the y axis.

    Args:
        points: series and panels are drawn in the order in which they first come; a line goes from left to right.
        xlabel, ylabel: what the axes are, with the unit.
        title: a line above the figure.
        chance: for a panel, the height of a dashed line: what guessing gives.
        strong: series that are drawn thicker.
        log: the axes that are logarithmic.
        ylim: the ends of the y axis.
    """
    _require(points)
    panels = list(dict.fromkeys(point.panel for point in points))
    series = list(dict.fromkeys(point.series for point in points))
    figure, axes = _panels(panels, 4.9, title, ylabel)
    styles = _styles(series, strong)
    for ax, panel in zip(axes, panels, strict=True):
        mine = [point for point in points if point.panel == panel]
        places = _places(mine, series, log="x" in log)
        for name in series:
            line = sorted((point for point in mine if point.series == name), key=lambda point: point.x)
            _draw_line(ax, line, [places[name, point.x] for point in line], styles[name])
        if chance and panel in chance:
            _draw_chance(ax, chance[panel])
        ax.set_xlabel(xlabel, fontsize=11, color=INK)
        plain_axes(ax)
        for axis in log:
            ax.set(**{f"{axis}scale": "log"})
        if ylim is not None:
            ax.set_ylim(*ylim)
    _line_legend(figure, styles)
    return figure


def interval_plot(
    intervals: Sequence[Interval],
    *,
    xlabel: str,
    ylabel: str,
    title: str = "",
    strong: Collection[str] = (),
) -> Figure:
    """Points with intervals, the series of a group beside each other, in panels side by side.

    Args:
        intervals: groups, series and panels are drawn in the order in which they first come.
        xlabel, ylabel: what the axes are, with the unit.
        title: a line above the figure.
        strong: series that are drawn thicker.
    """
    _require(intervals)
    panels = list(dict.fromkeys(each.panel for each in intervals))
    series = list(dict.fromkeys(each.series for each in intervals))
    figure, axes = _panels(panels, 5.4, title, ylabel, sharey=False)
    styles = _styles(series, strong)
    for ax, panel in zip(axes, panels, strict=True):
        mine = [each for each in intervals if each.panel == panel]
        groups = list(dict.fromkeys(each.group for each in mine))
        wide = 0.72 / len(series)
        for index, name in enumerate(series):
            line = [each for each in mine if each.series == name]
            where = [groups.index(each.group) + (index - (len(series) - 1) / 2) * wide for each in line]
            bars = np.array([[each.y - each.low for each in line], [each.high - each.y for each in line]])
            look = styles[name]
            style = look | {"linestyle": "none", "markersize": 6, "elinewidth": look["linewidth"], "capsize": 2.5}
            ax.errorbar(where, [each.y for each in line], bars, **style)
        for border in range(1, len(groups)):
            ax.axvline(border - 0.5, color="#ececec", linewidth=0.8, zorder=0)
        ax.set_xticks(range(len(groups)), groups, fontsize=9)
        ax.set_xlim(-0.5, len(groups) - 0.5)
        ax.set_xlabel(xlabel, fontsize=11, color=INK)
        plain_axes(ax)
        ax.tick_params(axis="x", length=0, labelsize=9)
    _line_legend(figure, styles, lines=False)
    return figure


def scatter_plot(clouds: Sequence[Cloud], *, class_names: Sequence[str], title: str = "") -> Figure:
    """Clouds of points side by side, coloured by class; of many points the classes are mixed, so that none is hidden.

    Args:
        clouds: the panels.
        class_names: what the legend calls class 0, 1, …
        title: a line above the figure.
    """
    _require(clouds)
    figure, axes = _panels([cloud.panel for cloud in clouds], 3.7, title, "", sharey=False)
    for ax, cloud in zip(axes, clouds, strict=True):
        order = np.random.default_rng(0).permutation(len(cloud.classes))
        colours = [SERIES[int(each) % len(SERIES)] for each in cloud.classes[order]]
        x, y = cloud.points[order].T
        ax.scatter(x, y, c=colours, s=9, alpha=0.6, linewidths=0, rasterized=True)
        ax.set_xlabel(cloud.xlabel, fontsize=10, color=INK)
        ax.set_ylabel(cloud.ylabel, fontsize=10, color=INK)
        ax.set_xticks([])
        ax.set_yticks([])
        ax.set_box_aspect(1)
        for spine in ax.spines.values():
            spine.set_color(FAINT)
    _class_legend(figure, class_names)
    return figure


def _panels(
    panels: Sequence[str], width: float, title: str, ylabel: str, *, sharey: bool = True
) -> tuple[Figure, Sequence[Axes]]:
    figure = new_figure(max(5.5, width * len(panels)), 3.9)
    axes: Sequence[Axes] = figure.subplots(1, len(panels), sharey=sharey, squeeze=False)[0]
    for ax, panel in zip(axes, panels, strict=True):
        ax.set_title(panel, fontsize=11, color=INK)
    axes[0].set_ylabel(ylabel, fontsize=11, color=INK)
    if title:
        figure.suptitle(title, fontsize=12.5, color=INK)
    return figure, axes


def _styles(series: Sequence[str], strong: Collection[str]) -> dict[str, dict[str, Any]]:
    """Colour, marker and dashes of each series: told apart in grey, too."""
    return {
        name: {
            "color": look.colour,
            "marker": MARKERS[look.marker],
            "linestyle": "-" if name in strong else DASHES[look.dashes],
            "linewidth": 2.4 if name in strong else 1.3,
            "markersize": 6.0 if name in strong else 4.5,
            "zorder": 4 if name in strong else 3,
        }
        for name, look in looks(series).items()
    }


def _places(points: Sequence[Point], series: Sequence[str], *, log: bool) -> dict[tuple[str, float], float]:
    """Where each point stands on the x axis: beside those of the other series that have the same x."""
    there, back = (np.log, np.exp) if log else (np.asarray, np.asarray)
    width = DODGE * float(np.ptp(there([point.x for point in points])))
    middle = (len(series) - 1) / 2
    return {
        (point.series, point.x): float(back(there(point.x) + width * (series.index(point.series) - middle)))
        for point in points
    }


def _draw_line(ax: Axes, line: Sequence[Point], where: Sequence[float], look: dict[str, Any]) -> None:
    ax.plot(where, [point.y for point in line], **look)
    barred = [(x, point.y, point.error) for x, point in zip(where, line, strict=True) if point.error is not None]
    if barred:
        x, y, error = zip(*barred, strict=True)
        style = {"color": look["color"], "zorder": look["zorder"], "elinewidth": 1.1, "capsize": 2.2}
        ax.errorbar(x, y, error, linestyle="none", **style)


def _draw_chance(ax: Axes, height: float) -> None:
    ax.axhline(height, color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    where = ax.get_yaxis_transform()
    text = ax.annotate("chance", (1, height), (0, -2), xycoords=where, textcoords="offset points", ha="right", va="top")
    text.set(fontsize=8, color=INK)


def _line_legend(figure: Figure, styles: dict[str, dict[str, Any]], *, lines: bool = True) -> None:
    from matplotlib.lines import Line2D

    bare = {} if lines else {"linestyle": "none"}
    _below(figure, [Line2D([], [], label=name, **style | bare) for name, style in styles.items()], list(styles))


def _class_legend(figure: Figure, names: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    look: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 6}
    handles = [Line2D([], [], label=name, color=SERIES[i % len(SERIES)], **look) for i, name in enumerate(names)]
    _below(figure, handles, names)


def _below(figure: Figure, handles: Sequence[Any], names: Sequence[str]) -> None:
    """A legend below the panels, in as many columns as their width holds."""
    inches = [0.7 + 0.075 * len(name) for name in names]
    width = float(figure.get_figwidth())
    columns = len(names) if sum(inches) <= width else max(1, int(width / max(inches)))
    rows = -(-len(names) // columns)
    legend = figure.legend(handles=list(handles), loc="outside lower center", ncols=-(-len(names) // rows), fontsize=10)
    legend.set_frame_on(False)


def _require(items: Sequence[Any]) -> None:
    if not items:
        raise ValueError("a plot must have something to show, got nothing. Compute something first.")
