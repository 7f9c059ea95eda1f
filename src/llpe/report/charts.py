"""The figures of the page, made with plotly from the arrays of run folders, thinned to what a screen needs.

Their colours may be names of the page's style sheet, ``var(--ink)``: the browser puts in what they are in light or in
dark. What a run folder does not have is left out; without any, there is no chart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.express as px
import plotly.graph_objects as go

from llpe.report.palette import LINES, SERIES, SYMBOLS, THIRDS, styles
from llpe.report.thirds import THIRDS as NAMES
from llpe.report.thirds import filter_shares
from llpe.runs import Arrays, RunFolder

Runs = Mapping[str, RunFolder]  # by label
BINS = 5  # of local homophily
FEW = 4  # filters drawn in colour where there are many
EMPTY = 1e-4  # of the mean density: less is the tail of its estimate, and no eigenvalue
AXIS = {
    "gridcolor": "var(--line)",
    "zerolinecolor": "var(--line)",
    "linecolor": "var(--faint)",
    "automargin": True,
    "exponentformat": "power",
    "title": {"standoff": 8},
}
THEME = go.layout.Template(
    layout={
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": "var(--ink)", "size": 13, "family": "system-ui, sans-serif"},
        "hoverlabel": {"namelength": -1},
        "xaxis": AXIS,
        "yaxis": AXIS,
    }
)
LAYOUT = {
    "margin": {"l": 52, "r": 12, "t": 30, "b": 46},
    "legend": {"title": None, "orientation": "h", "x": 0, "yref": "container", "y": 0, "yanchor": "bottom"},
}
GREY = "rgba(138,138,138,0.55)"


def themed(colour: str) -> str:
    """Black is white on a dark page."""
    return "var(--ink)" if colour == "#000000" else colour


def thirds_chart(rows: Mapping[str, Sequence[float]]) -> go.Figure:
    """Bars of 100 %: the share of each row in the low, middle and high third of the spectrum."""
    frame = pd.DataFrame(
        {"row": _folded(name), "third": third, "share in %": 100 * part, "text": f"{100 * part:.0f} %" * (part >= 0.06)}
        for name, parts in rows.items()
        for third, part in zip(NAMES, parts, strict=True)
    )
    colours = dict(zip(NAMES, THIRDS, strict=True))
    x = {"x": "share in %", "range_x": [0, 100], "orientation": "h"}
    chart = px.bar(frame, y="row", color="third", text="text", color_discrete_map=colours, template=THEME, **x)
    chart.update_traces(textangle=0, insidetextanchor="middle", textposition="inside", textfont_color="#ffffff")
    chart.update_traces(marker_line={"color": "var(--paper)", "width": 1.5})
    chart.update_traces(hovertemplate="%{y}<br>%{fullData.name} third: %{x:.1f} %<extra></extra>")
    chart.update_xaxes(fixedrange=True).update_yaxes(fixedrange=True, title=None, autorange="reversed")
    legend = {"title": None, "orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}
    return chart.update_layout(height=130 + 42 * len(rows), margin={"l": 10, "r": 12, "t": 10, "b": 46}, legend=legend)


@dataclass(frozen=True, eq=False)
class Filters:
    """What a run has learned: the filters of its best split, and the shares of their energy, a mean over splits.

    Attributes:
        lambdas: where the filters are known.
        response: shape (len(lambdas), filters), the strongest first. The largest value of each is positive, as h and −h
            say the same; where ``unit``, a filter has no scale of its own, and it is 1.
        there: where on ``lambdas`` the graph has eigenvalues; elsewhere a filter may be anything, and does nothing.
        shares: of the energy in each third of the spectrum.
        unit: the encoding scales what each filter gives to the same length.
    """

    lambdas: np.ndarray
    response: np.ndarray
    there: np.ndarray
    shares: list[float]
    unit: bool


def read_filters(run: RunFolder, spectrum: Arrays) -> Filters | None:
    """The learned filters of a run on a graph with this ``spectrum.npz``."""
    best = run.arrays("filters", run.best_split()) if run.reports else None
    if best is None:
        return None
    unit = run.config["encoding"].get("rows") == "unit"
    known = (spectrum["lambdas"], spectrum["weights"])
    parts = [filter_shares(*known, each["lambdas"], each["response"], unit=unit) for each in _every(run, "filters")]
    weights = np.interp(best["lambdas"], *known)
    there = weights > EMPTY * weights.mean()
    inside = best["response"][there].astype(np.float64)
    peak = inside[np.abs(inside).argmax(axis=0), np.arange(inside.shape[1])]
    response = best["response"] / np.where(peak == 0, 1.0, peak if unit else np.sign(peak))
    order = np.argsort(-(weights[there] @ np.square(response[there])), kind="stable")
    return Filters(best["lambdas"], response[:, order], there, np.mean(parts, axis=0).tolist(), unit)


def filters_chart(filters: Filters, colour: str, spectrum: Arrays, limit: int) -> go.Figure:
    """The strongest filters over the density of the graph's eigenvalues, and the root mean square of all."""
    drawn, count = filters.response[:, :limit], filters.response.shape[1]
    few = drawn.shape[1] if drawn.shape[1] <= FEW + 2 else FEW
    strongest = f"the {few} strongest filters" if few < count else "filters"
    names = [strongest] * few + ["other filters"] * (drawn.shape[1] - few)
    frame = pd.concat(
        pd.DataFrame({"λ": _small(filters.lambdas), "h": _small(each), "filter": index, "name": name})
        for index, (each, name) in reversed(list(enumerate(zip(drawn.T, names, strict=True))))
    )
    colours = {strongest: colour, "other filters": GREY}
    chart = px.line(frame, x="λ", y="h", color="name", line_group="filter", color_discrete_map=colours, template=THEME)
    chart.update_traces(hoverinfo="skip", hovertemplate=None, line_width=1.5)
    rms, hover = np.sqrt(np.square(filters.response).mean(axis=1)), "λ = %{x:.2f}<br>rms of h %{y:.3g}<extra></extra>"
    line = {"color": "var(--ink)", "width": 2.5, "dash": "8px,3px"}
    name = "root mean square of all"
    chart.add_scatter(x=_small(filters.lambdas), y=_small(rms), name=name, mode="lines", line=line, hovertemplate=hover)
    nodes = spectrum["lambdas"]
    spacing = np.pi / nodes.size * np.sqrt(nodes * (2 - nodes))  # of the nodes 1 + cos, which lie inside (0, 2)
    density = spectrum["weights"] / spacing
    area = {
        "fill": "tozeroy",
        "fillcolor": "rgba(138,138,138,0.3)",
        "line": {"color": GREY, "width": 0.5},
        "yaxis": "y2",
    }
    name = "density of eigenvalues"
    chart.add_scatter(x=_small(nodes), y=_small(density), name=name, mode="lines", hoverinfo="skip", **area)
    for index, (third, share) in enumerate(zip(NAMES, filters.shares, strict=True)):
        place = {"x": (2 * index + 1) / 3, "y": 1, "yref": "paper", "yanchor": "bottom", "showarrow": False}
        chart.add_annotation(text=f"{third}: {_percent(share)}", **place)
    for border in (2 / 3, 4 / 3):
        chart.add_vline(border, line={"color": "var(--faint)", "width": 1, "dash": "dot"})
    low, high = float(drawn[filters.there].min()), float(drawn[filters.there].max())
    margin = 0.08 * (high - low) or 1.0
    ticks = {"tickvals": [0, 2 / 3, 1, 4 / 3, 2], "ticktext": ["0", "2/3", "1", "4/3", "2"]}
    chart.update_xaxes(title="eigenvalue λ", range=[-0.02, 2.02], zeroline=False, **ticks)
    title = "h(λ), largest = 1" if filters.unit else "filter h(λ)"
    chart.update_yaxes(title=title, range=[low - margin, high + margin], overlaying="y2", tickmode="auto")
    hidden = {"visible": False, "range": [0, 1.6 * float(np.quantile(density, 0.95))], "fixedrange": True}
    return chart.update_layout(**LAYOUT, yaxis2=hidden)


def picture_chart(label: str, run: RunFolder, class_names: Sequence[str], limit: int) -> go.Figure | None:
    """The learned encoding of the best split along its two directions of most variance, coloured by class."""
    found = run.arrays("picture", run.best_split()) if run.reports else None
    if found is None:
        return None
    kept = np.linspace(0, len(found["points"]) - 1, min(limit, len(found["points"]))).astype(int)
    known = dict(enumerate(class_names)) | {-1: "no label"}
    classes = sorted(set(found["classes"][kept].tolist()))
    names = {each: known.get(each, f"class {each}") for each in classes}
    frame = pd.DataFrame(found["points"][kept], columns=["x", "y"], dtype=np.float32)
    frame["class"] = [names[each] for each in found["classes"][kept].tolist()]
    chart = px.scatter(
        frame,
        x="x",
        y="y",
        color="class",
        symbol="class",
        opacity=0.6,
        category_orders={"class": list(names.values())},
        color_discrete_map={n: themed(SERIES[i % len(SERIES)]) if i >= 0 else "var(--line)" for i, n in names.items()},
        symbol_map={name: SYMBOLS[max(index, 0) % len(SYMBOLS)] for index, name in names.items()},
        template=THEME,
    )
    first, second = (_percent(share) for share in found["share"])
    chart.update_traces(marker_size=5, hovertemplate="%{fullData.name}<extra></extra>")
    chart.update_xaxes(title=f"direction 1, {first} of variance", nticks=5, range=_most(frame["x"]))
    chart.update_yaxes(title=f"direction 2, {second}", nticks=5, range=_most(frame["y"]))
    return chart.update_layout(**LAYOUT, showlegend=len(names) <= 8)


def homophily_chart(runs: Runs) -> go.Figure | None:
    """The share of test nodes that are classified correctly, by local homophily; all splits together."""
    tested = [
        pd.DataFrame(each).assign(run=label) for label, run in runs.items() for each in _every(run, "predictions")
    ]
    if not tested:
        return None
    frame = pd.concat(tested).dropna()
    frame["bin"] = np.minimum((frame["homophily"] * BINS + 1e-6).astype(int), BINS - 1)
    found = frame.groupby(["run", "bin"])["correct"].agg(["mean", "size"])
    found = found.reindex(pd.MultiIndex.from_product([frame["run"].unique(), range(BINS)], names=["run", "bin"]))
    sizes = found["size"].fillna(0).groupby("bin").max().astype(int)
    names = [f"{each / BINS:.1f} – {(each + 1) / BINS:.1f}<br>{size} nodes" for each, size in sizes.items()]
    found = found.reset_index().assign(correct=100 * found["mean"].to_numpy())
    found["local"] = found["bin"].map(names.__getitem__)
    chart = px.line(found, x="local", y="correct", markers=True, custom_data=["size"], symbol="run", **_styled(runs))
    hover = "%{y:.1f} % of %{customdata[0]} nodes<extra>%{fullData.name}</extra>"
    chart.update_traces(line_width=2, marker_size=9, hovertemplate=hover)
    order = {"categoryorder": "array", "categoryarray": names, "range": [-0.4, BINS - 0.6]}
    chart.update_xaxes(title="local homophily", tickangle=0, tickfont_size=11, **order)
    return chart.update_yaxes(title="correct in %", range=[-3, 105]).update_layout(**LAYOUT)


def curves_charts(runs: Runs, metric: str, limit: int) -> list[go.Figure]:
    """Validation score and training loss of every split, each at no more than ``limit`` epochs; [] without any."""
    frames = []
    for label, run in runs.items():
        for report in (*run.reports, *run.failed):
            arrays = run.arrays("curves", report["split"])
            if arrays is not None:
                val, loss = 100 * arrays["val"], np.append(arrays["loss"], np.nan)[: arrays["val"].size]
                best = min(int(report.get("best_epoch", 0)), val.size - 1)
                kept = np.unique([*np.linspace(0, val.size - 1, limit).astype(int), best])
                values = {"steps": kept, "val": _small(val[kept]), "loss": _small(loss[kept])}
                frames.append(pd.DataFrame(values).assign(run=label, split=report["split"]))
    if not frames:
        return []
    frame, charts = pd.concat(frames), []
    for kind, title in (("val", f"validation {metric} in %"), ("loss", "training loss")):
        chart = px.line(frame, x="steps", y=kind, line_group="split", log_y=kind == "loss", **_styled(runs))
        hover = "%{y:.4g} after %{x} steps<extra>%{fullData.name}</extra>"
        chart.update_traces(opacity=0.75, line_width=1.4, hovertemplate=hover)
        charts.append(chart.update_xaxes(rangemode="tozero").update_yaxes(title=title).update_layout(**LAYOUT))
    return charts


def _styled(runs: Runs) -> dict[str, Any]:
    """The options of plotly express that give each run its colour, dashes and symbol."""
    looks = styles(runs)
    return {
        "color": "run",
        "line_dash": "run",
        "color_discrete_map": {label: themed(look.colour) for label, look in looks.items()},
        "line_dash_map": {label: LINES[look.dashes] for label, look in looks.items()},
        "symbol_map": {label: SYMBOLS[look.marker] for label, look in looks.items()},
        "category_orders": {"run": list(runs)},
        "template": THEME,
    }


def _every(run: RunFolder, name: str) -> list[Arrays]:
    """The arrays of all finished splits that have them."""
    found = (run.arrays(name, report["split"]) for report in run.reports)
    return [each for each in found if each is not None]


def _small(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float32)


def _percent(share: float) -> str:
    return f"{100 * share:.{1 if share < 0.0995 else 0}f} %"


def _folded(label: str) -> str:
    return label.replace(" (", "<br>(") if len(label) > 22 else label


def _most(values: pd.Series) -> list[float]:
    """From the 1st to the 99th percentile, and a margin."""
    low, high = values.quantile([0.01, 0.99])
    margin = 0.15 * (high - low) or 1.0
    return [float(low - margin), float(high + margin)]
