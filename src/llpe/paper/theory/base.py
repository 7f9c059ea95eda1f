"""What a checked statement is: measured numbers, bounds beside them, and a figure of both."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from llpe.report.figures import new_figure, plain_axes, save_figure
from llpe.report.palette import INK, SERIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Numbers = Sequence[float] | np.ndarray
MARKERS = "osD^vP"
DASHES = ((6, 2), (1.5, 1.5), (6, 2, 1.5, 2), (3, 1.5), (9, 2, 1.5, 2, 1.5, 2))
MANY_TICKS = 12


class VerificationError(RuntimeError):
    """A statement does not hold on what was measured."""


@dataclass(frozen=True)
class Claim:
    """One inequality between a measured number and a bound. NaN holds nowhere.

    Example:
        >>> Claim("misclassified nodes", 0, "≤", 8).holds, Claim("share", float("nan"), "≤", 1).holds
        (True, False)
    """

    text: str
    measured: float
    relation: Literal["≤", "≥"]
    bound: float

    @property
    def holds(self) -> bool:
        return bool(self.measured <= self.bound if self.relation == "≤" else self.measured >= self.bound)


@dataclass(frozen=True, eq=False)
class Series:
    """One curve. ``kind`` says how to draw it: points on a line, points alone, a smooth line, a dashed bound, steps."""

    label: str
    x: Numbers
    y: Numbers
    kind: Literal["measured", "points", "smooth", "bound", "steps"] = "measured"


curve, bound = Series, partial(Series, kind="bound")


@dataclass(frozen=True, eq=False)
class Panel:
    """One pair of axes. ``marks`` are vertical lines with a name; a ``symlog`` axis shows zeros."""

    title: str
    xlabel: str
    ylabel: str
    series: Sequence[Series]
    xscale: Literal["linear", "log"] = "linear"
    yscale: Literal["linear", "log", "symlog"] = "linear"
    marks: Sequence[tuple[str, float]] = ()


@dataclass(frozen=True, eq=False)
class Check:
    """One statement, checked: what was measured against what, and its figure."""

    name: str
    statement: str
    claims: Sequence[Claim]  # the first is the statement's own
    printed: str = ""  # what the paper prints that is not so, and what was checked instead
    panels: Sequence[Panel] = field(default=(), repr=False)

    @property
    def holds(self) -> bool:
        return bool(self.claims) and all(claim.holds for claim in self.claims)

    @property
    def verdict(self) -> str:
        if not self.holds:
            return "does not hold"
        return "holds, corrected" if self.printed else "holds"

    @property
    def telling(self) -> Claim:
        """The first claim that fails, or else the first."""
        return next((claim for claim in self.claims if not claim.holds), self.claims[0])

    def as_dict(self) -> dict[str, Any]:
        """All but the curves, for JSON."""
        claims = [
            {
                "claim": claim.text,
                "measured": float(claim.measured),
                "relation": claim.relation,
                "bound": float(claim.bound),
                "holds": claim.holds,
            }
            for claim in self.claims
        ]
        names = ("name", "statement", "verdict", "holds", "printed")
        return {name: getattr(self, name) for name in names} | {"claims": claims}


Found = Iterator[Claim | Panel]
Checker = Callable[..., Check]


def statement(text: str, *, printed: str = "") -> Callable[[Callable[..., Found]], Checker]:
    """Turns a generator of claims and panels, a function of a seed, into one that returns a :class:`Check`."""

    def decorate(generate: Callable[..., Found]) -> Checker:
        @wraps(generate)
        def check(seed: int = 0, **options: Any) -> Check:
            found = list(generate(seed, **options))
            claims = [each for each in found if isinstance(each, Claim)]
            panels = [each for each in found if isinstance(each, Panel)]
            return Check(generate.__name__.replace("_", "-"), text, claims, printed, panels)

        return check

    return decorate


def worst_ratio(measured: Numbers, bounds: Numbers) -> float:
    """The largest measured/bound, NaN if there is one among them.

    Example:
        >>> worst_ratio([1.0, 3.0], [2.0, 4.0])
        0.75
    """
    return float(np.max(np.asarray(measured, dtype=np.float64) / np.asarray(bounds, dtype=np.float64)))


def draw_statement(check: Check, path: str | Path) -> Path:
    """The panels of a check side by side: measured in colour, what theory allows in dashes; the verdict above them."""
    path = Path(path)
    width = 5.0 * len(check.panels) if len(check.panels) > 1 else 7.4
    figure = new_figure(width, 4.6)
    axes = figure.subplots(1, len(check.panels), squeeze=False)[0]
    for ax, panel in zip(axes, check.panels, strict=True):
        _draw(ax, panel)
    title = "\n".join(textwrap.wrap(check.statement, int(10.5 * width)))
    figure.suptitle(f"{title}\n({check.verdict})", fontsize=11.5, color=INK)
    save_figure(figure, path)
    return path


def _draw(ax: Axes, panel: Panel) -> None:
    measured = allowed = 0
    colours: dict[str, str] = {}  # a bound that starts like a measured series, up to the comma, has its colour
    for series in panel.series:
        if series.kind == "bound":
            colour, dashes = colours.get(series.label.partition(",")[0], INK), DASHES[allowed % len(DASHES)]
            ax.plot(series.x, series.y, color=colour, linewidth=1.2, dashes=dashes, label=series.label)
            allowed += 1
            continue
        colours[series.label.partition(",")[0]] = SERIES[measured % len(SERIES)]
        colour, marker = SERIES[measured % len(SERIES)], MARKERS[measured % len(MARKERS)]
        measured += 1
        if series.kind == "steps":
            ax.stairs(series.y, series.x, fill=True, color=colour, alpha=0.85, label=series.label)
        elif series.kind == "points":
            ax.scatter(series.x, series.y, s=5, color=colour, alpha=0.5, linewidths=0)
            ax.scatter([], [], s=25, color=colour, label=series.label)
        elif series.kind == "smooth":
            ax.plot(series.x, series.y, color=colour, linewidth=1.6, label=series.label)
        else:
            ax.plot(series.x, series.y, color=colour, marker=marker, markersize=5, linewidth=1.6, label=series.label)
    plain_axes(ax)
    _scales(ax, panel)
    for name, where in panel.marks:
        ax.axvline(where, color=INK, linewidth=0.9, linestyle=(0, (2, 3)), zorder=1)
        ax.text(where, 1.0, name, transform=ax.get_xaxis_transform(), fontsize=9, color=INK, ha="center", va="bottom")
    ax.set_title(panel.title, fontsize=10.5, color=INK, pad=18 if panel.marks else 8)
    ax.set_xlabel(panel.xlabel, fontsize=10.5, color=INK)
    ax.set_ylabel(panel.ylabel, fontsize=10.5, color=INK)
    columns = 2 if len(panel.series) > 2 else 1
    ax.legend(loc="upper center", bbox_to_anchor=(0.45, -0.17), ncols=columns, fontsize=8.5, frameon=False)


def _scales(ax: Axes, panel: Panel) -> None:
    """Log axes get a tick at every measured place; a ``symlog`` one starts just below zero."""
    if panel.yscale == "symlog":
        ax.set_yscale("symlog", linthresh=1)
        ax.set_ylim(bottom=-0.08 if any(series.kind == "steps" for series in panel.series) else -0.3)
    else:
        ax.set_yscale(panel.yscale)
    low, high = ax.get_ylim()
    if panel.yscale == "log" and high < 200 * low:  # powers of ten alone would leave the axis nearly empty
        places = [digit * 10.0**power for power in range(-6, 7) for digit in (1, 2, 5)]
        within = [place for place in places if low <= place <= high]
        ax.set_yticks(within, [f"{place:g}" for place in within])
        ax.set_ylim(low, high)
    if panel.xscale == "log":
        ax.set_xscale("log")
        where = np.unique(np.concatenate([series.x for series in panel.series]))
        if where.size <= MANY_TICKS:
            ax.set_xticks(where, [f"{place:g}" for place in where])
    ax.minorticks_off()
