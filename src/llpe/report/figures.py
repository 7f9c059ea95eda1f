"""Figures, drawn without a display: readable in print, and in colours that all readers can tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from llpe.report.colours import FAINT, INK, THIRDS, looks
from llpe.storage import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".png", ".pdf", ".svg")


@dataclass(frozen=True)
class Bar:
    """One bar of :func:`accuracy_bars`.

    Attributes:
        group: what stands below the group of bars, e.g. ``"homophily 0"``.
        encoding: what the legend calls it.
        mean, std: of the test score, in 0 … 1; ``std`` None draws no error bar.
        panel: bars with another panel are drawn in another one, e.g. one for each model.
    """

    group: str
    encoding: str
    mean: float
    std: float | None = None
    panel: str = ""


def accuracy_bars(
    rows: Sequence[Bar],
    path: str | Path,
    *,
    chance: float | None = None,
    title: str = "",
    ylabel: str = "test accuracy in %",
    pdf: bool = False,
) -> list[Path]:
    """Groups of bars with error bars, one bar for each encoding; a dashed line where guessing is.

    Args:
        rows: the bars; groups, encodings and panels are drawn in the order in which they first come.
        path: where to write, ``.png``, ``.pdf`` or ``.svg``.
        chance: the score of guessing.
        title: a line above the figure.
        ylabel: what the bars are.
        pdf: write the same figure as PDF beside it.

    Returns:
        The files written.
    """
    path = Path(path)
    _check_path(path)
    if not rows:
        raise ValueError("`rows` must hold at least one bar, got none. Train something first.")
    panels = list(dict.fromkeys(bar.panel for bar in rows))
    groups = list(dict.fromkeys(bar.group for bar in rows))
    colours = {encoding: look.colour for encoding, look in looks(bar.encoding for bar in rows).items()}
    width = max(5.5, 1.2 + 0.34 * len(groups) * (len(colours) + 1))
    figure = new_figure(width * len(panels), 3.9)
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for ax, panel in zip(axes, panels, strict=True):
        _draw_panel(ax, [bar for bar in rows if bar.panel == panel], groups, colours, chance)
        ax.set_title(panel, fontsize=11, color=INK)
    axes[0].set_ylabel(ylabel, fontsize=11, color=INK)
    if title:
        figure.suptitle(title, fontsize=12.5, color=INK)
    _legend(figure, colours, width * len(panels))
    paths = [path] + ([path.with_suffix(".pdf")] if pdf and path.suffix.lower() != ".pdf" else [])
    for file in paths:
        save_figure(figure, file)
    return paths


def _draw_panel(
    ax: Axes, bars: Sequence[Bar], groups: Sequence[str], colours: dict[str, str], chance: float | None
) -> None:
    wide = 0.84 / len(colours)
    for index, (encoding, colour) in enumerate(colours.items()):
        mine = [bar for bar in bars if bar.encoding == encoding]
        offset = (index - (len(colours) - 1) / 2) * wide
        where = [groups.index(bar.group) + offset for bar in mine]
        height = [100 * bar.mean for bar in mine]
        ax.bar(where, height, 0.92 * wide, color=colour, zorder=2)
        for x, bar in zip(where, mine, strict=True):
            spread = 100 * (bar.std or 0.0)
            if bar.std is not None:
                ax.errorbar(x, 100 * bar.mean, spread, color=INK, elinewidth=1.1, capsize=2.2, zorder=3)
            text = ax.text(x, 100 * bar.mean + spread + 1.5, f"{100 * bar.mean:.0f}", ha="center", va="bottom")
            text.set(fontsize=8, color=INK, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6})
    if chance is not None:
        ax.axhline(100 * chance, color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=4)
        ax.text(1, 100 * chance + 1, "chance", ha="right", va="bottom", fontsize=8, transform=ax.get_yaxis_transform())
    ax.set_xticks(range(len(groups)), groups, fontsize=11)
    room = 0.0 if chance is None else 0.8 / (len(colours) + 1)  # for the word
    ax.set_xlim(-0.5, len(groups) - 0.5 + room)
    ax.set_ylim(0, 108)
    ax.set_yticks(range(0, 101, 20))
    plain_axes(ax)
    ax.tick_params(axis="x", length=0)


def _legend(figure: Figure, colours: dict[str, str], width: float) -> None:
    """Below the panels: in one line if ``width`` inches hold it, else in columns."""
    from matplotlib.patches import Patch

    inches = [0.55 + 0.07 * len(encoding) for encoding in colours]
    columns = len(colours) if sum(inches) <= width else int(width / max(inches))
    handles = [Patch(label=encoding, color=colour) for encoding, colour in colours.items()]
    legend = figure.legend(handles=handles, loc="outside lower center", ncols=max(1, columns), fontsize=10)
    legend.set_frame_on(False)


def density_plot(shares: Sequence[float] | np.ndarray, path: str | Path, *, title: str = "") -> Path:
    """The density of a normalised Laplacian's eigenvalues on [0, 2], with the share of each third.

    Args:
        shares: the share of the eigenvalues in equal bins of [0, 2]; a multiple of three of them.
        path: where to write, ``.png``, ``.pdf`` or ``.svg``.
        title: a line above the figure.
    """
    path = Path(path)
    _check_path(path)
    values = np.asarray(shares, dtype=np.float64)
    if values.ndim != 1 or values.size == 0 or values.size % 3:
        raise ValueError(f"`shares` must be one row of a multiple of 3 bins, got shape {list(values.shape)}.")
    edges = np.linspace(0, 2, values.size + 1)
    height = values * values.size / 2
    figure = new_figure(6.4, 3.4)
    ax = figure.subplots()
    top = 1.25 * float(height.max()) or 1.0
    for name, colour, third in zip(("low", "middle", "high"), THIRDS, range(3), strict=True):
        part = slice(third * values.size // 3, (third + 1) * values.size // 3)
        ax.stairs(height[part], edges[part.start : part.stop + 1], fill=True, color=colour, alpha=0.85)
        text = f"{name}\n{100 * values[part].sum():.1f} %"
        ax.text((2 * third + 1) / 3, 0.98 * top, text, ha="center", va="top", fontsize=10, color=INK)
    for border in (2 / 3, 4 / 3):
        ax.axvline(border, color=FAINT, linewidth=0.8, linestyle=(0, (2, 3)))
    ax.set_xlim(0, 2)
    ax.set_ylim(0, top)
    ax.set_xticks([0, 2 / 3, 1, 4 / 3, 2], ["0", "2/3", "1", "4/3", "2"], fontsize=10)
    ax.set_xlabel("eigenvalue λ of the symmetric normalised Laplacian", fontsize=11, color=INK)
    ax.set_ylabel("density", fontsize=11, color=INK)
    if title:
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


def _check_path(path: Path) -> None:
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"`path` must end in one of {', '.join(FORMATS)}, got {str(path)!r}.")


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
