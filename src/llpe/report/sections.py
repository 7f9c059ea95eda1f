"""The parts of the page that are text: tables, sentences, and the places where figures are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from llpe.report.table import MISSING

Group = dict[str, Any]


def render_overview(document: dict[str, Any]) -> str:
    """All data sets in one table for each model, and where to find each; nothing if there is only one."""
    parts = []
    if len(document["groups"]) > 1:
        links = [
            f'<li><a href="#group-{index}">{escape(group["dataset"])}</a> with {escape(group["model"])}</li>'
            for index, group in enumerate(document["groups"])
        ]
        parts += [f'<nav aria-label="data sets"><ul>{"".join(links)}</ul></nav>']
        parts += [_overview_table(table) for table in document["overview"]]
    if document["remarks"]:
        parts.append(_list(document["remarks"]))
    return "\n".join(parts)


def _overview_table(table: dict[str, Any]) -> str:
    datasets = list(table["metrics"])
    ranked = any(row["rank"] is not None for row in table["rows"]) and len(table["rows"]) > 1
    head = [_head("encoding"), *(_head(name) for name in datasets), *([_head("rank", rising=True)] * ranked)]
    rows = []
    for row in table["rows"]:
        cells = [_label_cell(row["encoding"])]
        for name in datasets:
            cell = row["cells"].get(name)
            known = cell is not None and cell["mean"] is not None
            text = _score(cell["mean"], cell["std"]) if known else MISSING
            best = ' class="best"' if known and cell["best"] else ""
            cells.append(f'<td data-value="{cell["mean"] if known else ""}"{best}>{text}</td>')
        if ranked:
            rank = row["rank"]
            cells.append(f'<td data-value="{rank or ""}">{MISSING if rank is None else f"{rank:.1f}"}</td>')
        rows.append(f"<tr>{''.join(cells)}</tr>")
    title = f"{table['model']}: mean test score in % ± standard deviation over splits; the best of a column is bold"
    return _table(title, head, rows, "overview")


def render_group(index: int, group: Group) -> str:
    """One data set with one model."""
    heading = f'{escape(group["dataset"])} <span class="with">with {escape(group["model"])}</span>'
    facts = [f"{group['nodes']} nodes"] * (group["nodes"] is not None)
    facts += [f"{group['classes']} classes"] * (group["classes"] is not None)
    parts = [
        f'<section id="group-{index}" data-group="{index}" aria-labelledby="heading-{index}">',
        f'<h2 id="heading-{index}">{heading}</h2>',
        f'<p class="facts">{escape("; ".join([", ".join(facts), *group["notes"]]))}</p>' if facts else "",
        f'<p class="verdict"><strong>In short.</strong> {escape(group["verdict"])}</p>' if group["verdict"] else "",
        _results(index, group),
        _spectrum(group),
        _pictures(group),
        _homophily(group),
        _curves(group),
        "<h3>Configuration and provenance</h3>",
        *(_details(run) for run in group["runs"]),
        "</section>",
    ]
    return "\n".join(part for part in parts if part)


def _results(index: int, group: Group) -> str:
    head = [
        _head("encoding"),
        _head(f"test {group['metric']} in %", sort="descending"),
        _head("splits"),
        _head("difference"),
        _head("wins"),
        _head("p", rising=True),
        _head("seconds per split", rising=True),
    ]
    rows = [_result_row(place, run, group) for place, run in enumerate(group["runs"])]
    table = _table("Results; each head sorts", head, rows, "results")
    if len(group["runs"]) < 2:
        return table
    options = [
        f'<option value="{place}"{" selected" * (place == group["baseline"])}>{escape(run["label"])}</option>'
        for place, run in enumerate(group["runs"])
    ]
    return f"""<p><label>difference, wins and p are against
<select class="baseline" id="baseline-{index}">{"".join(options)}</select></label></p>
{table}
<p class="remark">Mean ± standard deviation over splits. Difference, wins and p are over the splits that both runs have:
difference in percentage points; p of Wilcoxon's signed-rank test, two-sided, not corrected for the number of rows. With
fewer than 6 splits it cannot fall below 0.05, and random splits share nodes, so it is somewhat too small.</p>"""


def _result_row(place: int, run: dict[str, Any], group: Group) -> str:
    badge, style = "", ""
    if place == group["best"]:
        badge, style = '<span class="badge">best</span>', ' class="best"'
    elif place in group["level"]:
        badge = '<span class="badge">within noise of best</span>'
    missing = "failed" if run["failed"] else "unfinished"
    cells = [
        _label_cell(run["label"], badge),
        _cell("test", _score(run["mean"], run["std"]) if run["mean"] is not None else missing, run["mean"]),
        _cell("splits", f"{run['splits']}" + (f" ({run['failed']} failed)" if run["failed"] else ""), run["splits"]),
        *_versus_cells(group["versus"][place][group["baseline"]]),
        _cell("seconds", MISSING if run["seconds"] is None else f"{run['seconds']:.1f}", run["seconds"]),
    ]
    return f'<tr data-run="{place}"{style}>{"".join(cells)}</tr>'


def _versus_cells(pair: dict[str, Any] | None) -> list[str]:
    if pair is None:
        return [_cell(name, MISSING, None) for name in ("difference", "wins", "p")]
    points = 100 * pair["difference"]
    return [
        _cell("difference", f"{'−' if points < 0 else '+'}{abs(points):.1f}", points),
        _cell("wins", f"{pair['wins']} of {pair['common']}", pair["wins"] / pair["common"]),
        _cell("p", "&lt; 0.001" if pair["p"] < 0.001 else f"{pair['p'] + 1e-9:.3f}", pair["p"]),  # as page.js
    ]


def _spectrum(group: Group) -> str:
    if group["spectrum"] is None:
        return ""
    filtered = [(place, run) for place, run in enumerate(group["runs"]) if run["filters"]]
    words = [group["spectrum"].get("words"), *(run["filters"]["words"] for _, run in filtered)]
    parts = [
        "<h3>Where in the spectrum the labels are</h3>",
        *(f"<p>{escape(line)}</p>" for line in words if line),
        _figure(
            "thirds",
            "Shares in the thirds of the spectrum",
            "Low eigenvalues (below 2/3) belong to patterns that neighbours share, high ones (above 4/3) to patterns "
            "that alternate. A filter that weighs all eigenvalues alike has their shares; the energy of filters is h² "
            "times the density of eigenvalues, the mean over splits. It says what an encoding passes on, not what the "
            "classifier makes of it; those of llpe-probes begin at both ends.",
        ),
    ]
    figures = [
        _figure(
            "filters",
            f"Learned filters of {run['label']}",
            f"{run['label']}: {_of_filters(run['filters'])} of the split with the best validation score, over the "
            "density of the graph's eigenvalues; above, the share of the filters' energy in each third. Where there "
            "are no eigenvalues a filter does nothing and may leave the figure; h and −h say the same: the peak is up.",
            place,
        )
        for place, run in filtered
    ]
    return "\n".join([*parts, *figures])


def _of_filters(filters: dict[str, Any]) -> str:
    count, drawn = filters["count"], len(filters["response"])
    return f"the {count} filters" if drawn == count else f"the {drawn} strongest of {count} filters"


def _pictures(group: Group) -> str:
    drawn = [(place, run) for place, run in enumerate(group["runs"]) if run["picture"]]
    if not drawn:
        return ""
    boxes = [
        f'<label><input type="checkbox" data-picture="{place}" checked>{escape(run["label"])}</label>'
        for place, run in drawn
    ]
    figures = [_figure("picture", f"{run['label']} in two dimensions", "", place) for place, run in drawn]
    return f"""<h3>The encodings in two dimensions</h3>
<p class="remark">The learned encoding of the split with the best validation score, along the two directions of most
variance; up to 2000 nodes, coloured by class. Outliers (1 % at each side) may lie outside: double-click shows all.</p>
<fieldset class="choices" aria-label="encodings shown">{"".join(boxes)}</fieldset>
<div class="grid">{"".join(figures)}</div>"""


def _homophily(group: Group) -> str:
    if not any(run["homophily"] for run in group["runs"]):
        return ""
    caption = (
        "The share of test nodes classified correctly, all splits together, by local homophily: the share of a node's "
        "neighbours that have its class. Nodes without neighbours are left out."
    )
    return "<h3>Accuracy by local homophily</h3>\n" + _figure("homophily", "Accuracy by local homophily", caption)


def _curves(group: Group) -> str:
    if not any(run["curves"] for run in group["runs"]):
        return ""
    choice = (
        '<p><label>show <select class="curves"><option value="val">validation score</option>'
        '<option value="loss">training loss</option></select></label></p>'
    )
    caption = "One line for each split. A name in the legend hides and shows its lines."
    return "<h3>Training</h3>\n" + _figure("curves", "Training curves", caption, above=choice)


def _figure(kind: str, name: str, caption: str, run: int | None = None, *, above: str = "") -> str:
    which = "" if run is None else f' data-run="{run}"'
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return (
        f'<figure>{above}<div class="plot" role="img" aria-label="{escape(name)}" data-kind="{kind}"{which}></div>'
        f"{below}</figure>"
    )


def _details(run: dict[str, Any]) -> str:
    facts = [("folder", run["folder"])]
    for name, value in run["provenance"].items():
        if name == "versions":
            value = ", ".join(f"{package} {number}" for package, number in value.items())
        elif name == "peak_memory":
            value = f"{value / 1e6:.0f} MB"
        facts.append((name.replace("_", " "), str(value)))
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts)
    return (
        f"<details><summary>{escape(run['label'])}</summary><dl>{listed}</dl>"
        f"<pre>{escape(run['config'].rstrip())}</pre></details>"
    )


def _table(title: str, head: Sequence[str], rows: Sequence[str], kind: str) -> str:
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(title)}"><table class="{kind}">'
        f"<thead><tr>{''.join(head)}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _head(text: str, *, sort: str = "", rising: bool = False) -> str:
    first = ' data-first="ascending"' if rising else ""
    sorted_ = f' aria-sort="{sort}"' if sort else ""
    return f'<th scope="col"{first}{sorted_}><button type="button">{escape(text)}</button></th>'


def _label_cell(label: str, badge: str = "") -> str:
    name = escape(label)
    return (
        f'<th scope="row" data-value="{name}"><span class="chip" data-label="{name}" aria-hidden="true"></span>'
        f"{name}{badge}</th>"
    )


def _cell(column: str, text: str, value: float | None) -> str:
    return f'<td data-column="{column}" data-value="{"" if value is None else value}">{text}</td>'


def _score(mean: float, std: float | None) -> str:
    return f"{100 * mean:.1f}" + (f" ± {100 * std:.1f}" if std is not None else "")


def _list(lines: Sequence[str]) -> str:
    return f'<ul class="remark">{"".join(f"<li>{escape(line)}</li>" for line in lines)}</ul>'
