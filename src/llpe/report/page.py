"""A report as one HTML page that works offline: tables and charts are made here, the browser sorts and draws them.

The page is the template ``page.html`` with ``page.css``, ``page.js`` and plotly.js, compressed: the browser unpacks it,
and the page is less than half the size. Runs are grouped by data set and model; within a group each is compared with
each.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections import defaultdict
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import pandas as pd
from markupsafe import Markup

from llpe import __version__
from llpe.report import charts
from llpe.report.palette import Style, styles
from llpe.report.statistics import compare_runs, find_best
from llpe.report.tables import MISSING, RunTable, label_runs, make_tables, percent
from llpe.report.thirds import in_words, shares
from llpe.runs import RunFolder
from llpe.sealed import read_text
from llpe.storage import replacing

POINTS, PICTURED = 60_000, 2000  # nodes drawn on the page, and in one picture
VALUES, CURVE = 60_000, 150  # points of curves on the page, and of one curve
FILTERS, FILTER = 800, 16  # filters on the page, and of one run: the strongest
PROVENANCE = ("versions", "commit", "data", "finished", "peak_memory")
Cell = tuple[str, float | None]  # the text, and the value to sort by


def write_page(runs: Sequence[RunFolder], path: str | Path, *, title: str = "", baseline: str | None = None) -> Path:
    """Writes the report of some runs.

    Args:
        runs: from :func:`~llpe.runs.load_runs`.
        path: where to write, ``.html``.
        title: the heading; by default it names the data set, or says how many there are.
        baseline: label or encoding of the run that others are compared with at first; default ``none`` if there is
            such a run, else the last.
    """
    path = Path(path)
    names = list(dict.fromkeys(run.dataset for run in runs))
    few = names[0] if len(names) == 1 else f"{len(names)} graphs"
    text = render(runs, title=title or f"Encodings compared: {few}", baseline=baseline)
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")
    return path


def render(runs: Sequence[RunFolder], *, title: str, baseline: str | None = None) -> str:
    """The page as text."""
    from plotly.offline import get_plotlyjs

    labels, tables = label_runs(runs), make_tables(runs)
    known = {*labels, *(run.encoding for run in runs)}
    if baseline is not None and baseline not in known:
        raise ValueError(f"`baseline` must be one of {', '.join(sorted(known))}, got {baseline!r}.")
    groups: dict[tuple[str, str], dict[str, RunFolder]] = defaultdict(dict)
    for label, run in zip(labels, runs, strict=True):
        groups[run.dataset, run.model][label] = run
    limits = {
        "points": int(np.clip(POINTS // len(runs), 100, PICTURED)),
        "curve": int(np.clip(VALUES // max(1, sum(len(run.splits) for run in runs)), 20, CURVE)),
        "filters": int(np.clip(FILTERS // len(runs), 2, FILTER)),
    }
    looks = styles(labels)  # the same on the whole page
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    environment.filters["embedded"] = _embedded
    return environment.from_string(_part("page.html")).render(
        title=title,
        version=__version__,
        style=Markup(_part("page.css")),
        script=Markup(_part("page.js")),
        plotly=base64.b64encode(gzip.compress(get_plotlyjs().encode(), compresslevel=9, mtime=0)).decode("ascii"),
        overview=[_overview(table) for table in tables] if len(groups) > 1 else [],
        remarks=[line for table in tables for line in table.remarks],
        groups=[_group(members, baseline or "none", limits, looks) for members in groups.values()],
        colours={label: charts.themed(style.colour) for label, style in looks.items()},
    )


def _overview(table: RunTable) -> dict[str, Any]:
    means = table.cells.set_index(["encoding", "dataset"])["mean"]
    rows = []
    for label, *texts in table.rows:
        values = [*(means.get((label, name)) for name in table.metrics), table.ranks[label]]
        cells = [(text, None if pd.isna(value) else value) for text, value in zip(texts, values, strict=False)]
        rows.append((label, cells))
    return {"title": f"{table.title}; the best of a column is bold", "header": table.header, "rows": rows}


def _group(
    members: dict[str, RunFolder], baseline: str, limits: dict[str, int], looks: dict[str, Style]
) -> dict[str, Any]:
    """One data set with one model, the best run first."""
    members = dict(sorted(members.items(), key=lambda each: -(each[1].mean or -1.0)))
    labels, runs = list(members), list(members.values())
    chosen = [place for place, run in enumerate(runs) if baseline in (labels[place], run.encoding)]
    best = find_best(runs, labels)
    report: dict[str, Any] = next((each for run in runs for each in run.reports), {})
    counts = (("num_nodes", "nodes"), ("num_classes", "classes"))
    facts = ", ".join(f"{report[key]} {word}" for key, word in counts if key in report)
    metric, names = report.get("metric", "score"), report.get("class_names", [])
    pictures = {label: charts.picture_chart(run, names, limits["points"]) for label, run in members.items()}
    return {
        "dataset": runs[0].dataset,
        "model": runs[0].model,
        "metric": metric,
        "facts": "; ".join([facts, *report.get("notes", [])]) if facts else "",
        "sentence": best.sentence if best else "",
        "baseline": chosen[0] if chosen else len(runs) - 1,
        "versus": [[_versus(run, other) for run in runs] for other in runs],
        "runs": [_run(label, run) for label, run in members.items()],
        "badges": {best.place: "best"} | dict.fromkeys(best.level, "within noise of best") if best else {},
        "pictures": {label: chart for label, chart in pictures.items() if chart is not None},
        "homophily": charts.homophily_chart(members, looks),
        "curves": charts.curves_charts(members, looks, metric, limits["curve"]),
        **_spectrum(members, looks, limits["filters"]),
    }


def _versus(run: RunFolder, other: RunFolder) -> list[Cell]:
    """Difference, wins and p of a run against another."""
    pair = None if run is other else compare_runs(run, other)
    if pair is None:
        return [(MISSING, None)] * 3
    points = 100 * pair.difference
    p = "< 0.001" if pair.p < 0.001 else f"{pair.p + 1e-9:.3f}"
    return [
        (f"{'−' if points < 0 else '+'}{abs(points):.1f}", points),
        (f"{pair.wins} of {pair.common}", pair.wins / pair.common),
        (p, pair.p),
    ]


def _run(label: str, run: RunFolder) -> dict[str, Any]:
    """What the table of results and the section of provenance say about a run."""
    seconds = [report["seconds"] for report in run.reports if isinstance(report.get("seconds"), int | float)]
    pace = float(np.mean(seconds)) if seconds else None
    failed = f" ({len(run.failed)} failed)" if run.failed else ""
    missing = "failed" if run.failed else "unfinished"
    text, place = read_text(run.path / "config.toml"), json.dumps(run.config["dataset"])
    report = max(run.reports, key=lambda report: report["val"], default={})
    facts = {"folder": run.path} | {key: report[key] for key in PROVENANCE if report.get(key) is not None}
    if "versions" in facts:
        facts["versions"] = ", ".join(f"{package} {number}" for package, number in report["versions"].items())
    if "peak_memory" in facts:
        facts["peak_memory"] = f"{report['peak_memory'] / 1e6:.0f} MB"
    return {
        "label": label,
        "test": (missing if run.mean is None else percent(run.mean, run.std), run.mean),
        "splits": (f"{len(run.reports)}{failed}", len(run.reports)),
        "seconds": (MISSING if pace is None else f"{pace:.1f}", pace),
        "facts": facts,
        "config": text.replace(place, json.dumps(run.dataset), 1),
    }


def _spectrum(members: dict[str, RunFolder], looks: dict[str, Style], limit: int) -> dict[str, Any]:
    """Where the eigenvalues, the labels and the filters of each run are: in words and in charts."""
    spectra = [arrays for run in members.values() if (arrays := run.arrays("spectrum")) is not None]
    if not spectra:
        return {"thirds": None, "words": [], "filters": {}}
    spectrum = spectra[0]
    found = {label: charts.read_filters(run, spectrum) for label, run in members.items()}
    filters = {label: each for label, each in found.items() if each is not None}
    rows = {"eigenvalues": shares(spectrum["lambdas"], spectrum["weights"])}
    words = []
    if "labels" in spectrum:
        rows["labels"] = shares(spectrum["lambdas"], spectrum["labels"])
        words.append(in_words("the labels", rows["labels"], rows["eigenvalues"]))
    for label, each in filters.items():
        rows[f"filters: {label}"] = each.shares
        words.append(in_words(f"the filters of {label}", each.shares, rows["eigenvalues"]))
    drawn = {}
    for label, each in filters.items():
        count, some = each.response.shape[1], min(limit, each.response.shape[1])
        all_of_them = "the filter" if count == 1 else f"the {count} filters"
        which = all_of_them if some == count else f"the {some} strongest of {count} filters"
        drawn[label] = (which, charts.filters_chart(each, looks[label].colour, spectrum, limit))
    return {"thirds": charts.thirds_chart(rows), "words": words, "filters": drawn}


def _embedded(value: Any) -> Markup:
    """JSON inside a page: no text of a run can end the script."""
    return Markup(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"))


def _part(name: str) -> str:
    return files("llpe.report").joinpath(name).read_text(encoding="utf-8").rstrip("\n")
