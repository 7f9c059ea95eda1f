"""A report as one HTML page that works offline: tables written here, figures drawn by the page from embedded numbers.

The page is ``page.html`` with ``page.css`` and ``page.js``, the document as JSON, and plotly.js, compressed: the
browser unpacks it, and the page is less than half the size.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from llpe import __version__
from llpe.report.collect import Run
from llpe.report.document import make_document
from llpe.report.sections import render_group, render_overview
from llpe.storage import replacing


def write_page(runs: Sequence[Run], path: str | Path, *, title: str = "", baseline: str | None = None) -> Path:
    """Writes the report of some runs.

    Args:
        runs: from :func:`~llpe.report.collect.load_runs`.
        path: where to write, ``.html``.
        title: the heading; by default it names the data set, or says how many there are.
        baseline: label or encoding of the run that others are compared with at first.
    """
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"`path` must end in .html, got {str(path)!r}.")
    names = list(dict.fromkeys(run.dataset for run in runs))
    few = names[0] if len(names) == 1 else f"{len(names)} graphs"
    document = make_document(runs, title=title or f"Encodings compared: {few}", baseline=baseline)
    with replacing(path) as partial:
        partial.write_text(render(document), encoding="utf-8")
    return path


def render(document: dict[str, Any]) -> str:
    """The page of a document."""
    numbers = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    content = [render_overview(document), *(render_group(index, g) for index, g in enumerate(document["groups"]))]
    return Template(_part("page.html")).substitute(
        title=escape(document["title"]),
        version=__version__,
        style=_part("page.css"),
        script=_part("page.js"),
        content="\n".join(content),
        document=numbers.replace("<", "\\u003c"),  # no text of a run can end the script
        plotly=_plotly(),
    )


def _part(name: str) -> str:
    return files("llpe.report").joinpath(name).read_text(encoding="utf-8").rstrip("\n")


def _plotly() -> str:
    from plotly.offline import get_plotlyjs

    return base64.b64encode(gzip.compress(get_plotlyjs().encode(), compresslevel=9, mtime=0)).decode("ascii")
