"""The figures of the page, for plotly, from the arrays of run folders, thinned to what a screen needs.

A chart is what plotly draws: a dict of ``data`` and ``layout``. (Plotly's own classes say the same and take a hundred
times as long.) Colours may be names of the page's style sheet, ``var(--ink)``: the browser replaces them by those of
the light or the dark page. What a run folder does not have is left out; without any, there is no chart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from llpe.report.palette import LINES, SERIES, SYMBOLS, THIRDS, Style
from llpe.report.thirds import filter_shares
from llpe.runs import Arrays, RunFolder

Chart = dict[str, Any]
Runs = Mapping[str, RunFolder]  # by label
Looks = Mapping[str, Style]  # by label
BINS = 5  # of local homophily
FEW = 4  # filters drawn in colour where there are many
EMPTY = 1e-4  # of the mean density: less is the tail of its estimate, and no eigenvalue
GREY = "rgba(138,138,138,0.55)"
AXIS = {
    "gridcolor": "var(--line)",
    "zerolinecolor": "var(--line)",
    "linecolor": "var(--faint)",
    "automargin": True,
    "exponentformat": "power",
}
LAYOUT = {
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "rgba(0,0,0,0)",
    "font": {"color": "var(--ink)", "size": 13, "family": "system-ui, sans-serif"},
    "hoverlabel": {"namelength": -1},
    "margin": {"l": 52, "r": 12, "t": 30, "b": 46},
    "legend": {"orientation": "h", "x": 0, "yref": "container", "y": 0, "yanchor": "bottom"},
}


def themed(colour: str) -> str:
    """Black is white on a dark page."""
    return "var(--ink)" if colour == "#000000" else colour


def rounded(values: Any) -> list[float | None]:
    """To four digits, so that the page stays small; None where there is no number.

    Example:
        >>> rounded([0.123456, np.nan, 98765.4])
        [0.1235, None, 98770.0]
    """
    return [float(f"{value:.4g}") if np.isfinite(value) else None for value in np.asarray(values).tolist()]


def thirds_chart(rows: Mapping[str, Sequence[float]]) -> Chart:
    """Bars of 100 %: the share of each row in the low, middle and high third of the spectrum."""
    parts = 100 * np.array(list(rows.values()))
    bars = [
        {
            "type": "bar",
            "orientation": "h",
            "name": third,
            "y": [_folded(name) for name in rows],
            "x": rounded(part),
            "text": [f"{each:.0f} %" if each >= 6 else "" for each in part],
            "textposition": "inside",
            "insidetextanchor": "middle",
            "textfont": {"color": "#ffffff"},
            "textangle": 0,
            "marker": {"color": colour, "line": {"color": "var(--paper)", "width": 1.5}},
            "hovertemplate": "%{y}<br>%{fullData.name} third: %{x:.1f} %<extra></extra>",
        }
        for (third, colour), part in zip(THIRDS.items(), parts.T, strict=True)
    ]
    return _chart(
        bars,
        {"title": "share in %", "range": [0, 100], "fixedrange": True},
        {"fixedrange": True, "ticks": "", "autorange": "reversed"},
        barmode="stack",
        height=130 + 42 * len(rows),
        margin={"l": 10, "r": 12, "t": 10, "b": 46},
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "traceorder": "normal"},
    )


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


def filters_chart(filters: Filters, colour: str, spectrum: Arrays, limit: int) -> Chart:
    """The strongest filters over the density of the graph's eigenvalues, and the root mean square of all."""
    nodes = spectrum["lambdas"]
    spacing = np.pi / nodes.size * np.sqrt(nodes * (2 - nodes))  # of the nodes 1 + cos, which lie inside (0, 2)
    density = spectrum["weights"] / spacing
    drawn, count = filters.response[:, :limit], filters.response.shape[1]
    few = drawn.shape[1] if drawn.shape[1] <= FEW + 2 else FEW
    strongest = f"the {few} strongest filters" if few < count else "filters"
    names = [strongest] * few + ["other filters"] * (drawn.shape[1] - few)
    lines = {strongest: {"color": themed(colour), "width": 1.5}, "other filters": {"color": GREY, "width": 1}}
    area = {"fill": "tozeroy", "fillcolor": "rgba(138,138,138,0.3)", "yaxis": "y2", "hoverinfo": "skip"}
    traces = [_line("density of eigenvalues", nodes, density, {"color": GREY, "width": 0.5}, **area)]
    for name, values in reversed(list(zip(names, drawn.T, strict=True))):  # the strongest are drawn last
        shown = all(trace["name"] != name for trace in traces)
        more = {"legendgroup": name, "showlegend": shown, "hoverinfo": "skip"}
        traces.append(_line(name, filters.lambdas, values, lines[name], **more))
    rms = np.sqrt(np.square(filters.response).mean(axis=1))
    hover = {"hovertemplate": "λ = %{x:.2f}<br>rms of h %{y:.3g}<extra></extra>"}
    bold = {"color": "var(--ink)", "width": 2.5, "dash": "8px,3px"}
    traces.append(_line("root mean square of all", filters.lambdas, rms, bold, **hover))
    inside = drawn[filters.there]
    low, high = float(inside.min()), float(inside.max())
    margin = 0.08 * (high - low) or 1.0
    above = {"y": 1, "yref": "paper", "yanchor": "bottom", "showarrow": False}
    border = {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "line": {"color": GREY, "width": 1, "dash": "dot"}}
    return _chart(
        traces,
        {
            "title": "eigenvalue λ",
            "range": [-0.02, 2.02],
            "zeroline": False,
            "tickvals": [0, 2 / 3, 1, 4 / 3, 2],
            "ticktext": ["0", "2/3", "1", "4/3", "2"],
        },
        {
            "title": "h(λ), largest = 1" if filters.unit else "filter h(λ)",
            "range": [low - margin, high + margin],
            "overlaying": "y2",
            "tickmode": "auto",
        },
        yaxis2={"visible": False, "range": [0, 1.6 * float(np.quantile(density, 0.95))], "fixedrange": True},
        shapes=[border | {"x0": x, "x1": x} for x in (2 / 3, 4 / 3)],
        annotations=[
            above | {"x": (2 * index + 1) / 3, "text": f"{third}: {_percent(filters.shares[index])}"}
            for index, third in enumerate(THIRDS)
        ],
    )


def picture_chart(run: RunFolder, class_names: Sequence[str], limit: int) -> Chart | None:
    """The learned encoding of the best split along its two directions of most variance, coloured by class."""
    found = run.arrays("picture", run.best_split()) if run.reports else None
    if found is None:
        return None
    kept = np.linspace(0, len(found["points"]) - 1, min(limit, len(found["points"]))).astype(int)
    points, classes = found["points"][kept], found["classes"][kept]
    known, traces = dict(enumerate(class_names)) | {-1: "no label"}, []
    for each in np.unique(classes).tolist():
        x, y = points[classes == each].T
        colour = "var(--line)" if each < 0 else themed(SERIES[each % len(SERIES)])
        marker = {"size": 5, "opacity": 0.6, "color": colour, "symbol": SYMBOLS[max(each, 0) % len(SYMBOLS)]}
        trace = {"type": "scatter", "mode": "markers", "name": known.get(each, f"class {each}"), "marker": marker}
        traces.append(trace | {"x": rounded(x), "y": rounded(y), "hovertemplate": "%{fullData.name}<extra></extra>"})
    first, second = (_percent(share) for share in found["share"])
    return _chart(
        traces,
        {"title": f"direction 1, {first} of variance", "nticks": 5, "range": _most(points[:, 0])},
        {"title": f"direction 2, {second}", "nticks": 5, "range": _most(points[:, 1])},
        showlegend=len(traces) <= 8,
    )


def homophily_chart(runs: Runs, looks: Looks) -> Chart | None:
    """The share of test nodes that are classified correctly, by local homophily; all splits together."""
    every = [(label, each) for label, run in runs.items() for each in _every(run, "predictions")]
    if not every:
        return None
    frame = pd.concat(pd.DataFrame(each).assign(run=label) for label, each in every).dropna()
    bins = pd.Series(fifths(frame["homophily"]), frame.index, name="bin")
    found = frame.groupby(["run", bins])["correct"].agg(["mean", "size"]).unstack()
    correct, sizes = (found[key].reindex(columns=range(BINS)) for key in ("mean", "size"))
    most = sizes.max().fillna(0).astype(int)
    names = [f"{each / BINS:.1f} – {(each + 1) / BINS:.1f}<br>{size} nodes" for each, size in most.items()]
    traces = []
    for label in [label for label in runs if label in found.index]:
        trace = _line(label, correct.columns, 100 * correct.loc[label], _look(looks[label], 2))
        trace |= {"x": names, "mode": "lines+markers", "customdata": rounded(sizes.loc[label])}
        trace["marker"] = {"color": trace["line"]["color"], "symbol": SYMBOLS[looks[label].marker], "size": 9}
        trace["hovertemplate"] = "%{y:.1f} % of %{customdata} nodes<extra>%{fullData.name}</extra>"
        traces.append(trace)
    fixed = {"type": "category", "range": [-0.4, BINS - 0.6], "tickangle": 0, "tickfont": {"size": 11}}
    return _chart(traces, {"title": "local homophily"} | fixed, {"title": "correct in %", "range": [-3, 105]})


def fifths(homophily: Any) -> np.ndarray:
    """Which fifth of [0, 1] each share is in, 0 … 4; −1 where there is none.

    Example:
        >>> fifths([0.0, 0.2, 0.59, 1.0, np.nan]).tolist()
        [0, 1, 2, 4, -1]
    """
    share = np.asarray(homophily)
    place = np.minimum(np.nan_to_num(share) * BINS + 1e-6, BINS - 1)  # 0.6 may be stored as slightly less
    return np.where(np.isnan(share), -1, place).astype(int)


def curves_charts(runs: Runs, looks: Looks, metric: str, limit: int) -> list[Chart]:
    """Validation score and training loss of every split, each at no more than ``limit`` epochs; [] without any."""
    val: list[dict[str, Any]] = []
    loss: list[dict[str, Any]] = []
    for label, run in runs.items():
        line = _look(looks[label], 1.4)
        for report in (*run.reports, *run.failed):
            arrays = run.arrays("curves", report["split"])
            if arrays is None:
                continue
            last = arrays["val"].size - 1
            kept = np.unique([*np.linspace(0, last, limit).astype(int), min(int(report.get("best_epoch", 0)), last)])
            hover = f"%{{y:.4g}} after %{{x}} steps<extra>%{{fullData.name}}, split {report['split']}</extra>"
            shown = all(trace["name"] != label for trace in val)
            more = {"legendgroup": label, "showlegend": shown, "opacity": 0.75, "hovertemplate": hover}
            val.append(_line(label, kept, 100 * arrays["val"][kept], line, **more))
            loss.append(_line(label, kept, np.append(arrays["loss"], np.nan)[kept], line, **more))
    if not val:
        return []
    steps = {"title": "steps", "rangemode": "tozero"}
    return [
        _chart(val, steps, {"title": f"validation {metric} in %"}),
        _chart(loss, steps, {"title": "training loss", "type": "log"}),
    ]


def _chart(traces: list[Any], xaxis: dict[str, Any], yaxis: dict[str, Any], **layout: Any) -> Chart:
    axes = {"xaxis": xaxis, "yaxis": yaxis}
    for name, axis in axes.items():
        title = {"title": {"text": axis["title"], "standoff": 8}} if "title" in axis else {}
        axes[name] = AXIS | axis | title
    return {"data": traces, "layout": LAYOUT | axes | layout}


def _line(name: str, x: Any, y: Any, line: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A line; evenly spaced x are stored as the first one and the step, so that a page of 100 runs stays below 6 MB."""
    steps = np.diff(x)
    even = {"x0": rounded(x[:1])[0], "dx": rounded(steps[:1])[0]} if steps.size else {}
    where = even if even and np.allclose(steps, steps[0]) else {"x": rounded(x)}
    return {"type": "scatter", "mode": "lines", "name": name, **where, "y": rounded(y), "line": line, **more}


def _look(style: Style, width: float) -> dict[str, Any]:
    return {"color": themed(style.colour), "dash": LINES[style.dashes], "width": width}


def _every(run: RunFolder, name: str) -> list[Arrays]:
    """The arrays of all finished splits that have them."""
    found = (run.arrays(name, report["split"]) for report in run.reports)
    return [each for each in found if each is not None]


def _percent(share: float) -> str:
    return f"{100 * share:.{1 if share < 0.0995 else 0}f} %"


def _folded(label: str) -> str:
    return label.replace(" (", "<br>(") if len(label) > 22 else label


def _most(values: np.ndarray) -> list[float]:
    """From the 1st to the 99th percentile, and a margin."""
    low, high = np.quantile(values, (0.01, 0.99)).tolist()
    margin = 0.15 * (high - low) or 1.0
    return [low - margin, high + margin]
