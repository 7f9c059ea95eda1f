"""``llpe report``: run folders as one page to read and to pass on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from llpe.cli import output
from llpe.cli.commands import app
from llpe.cli.options import Json, check_new_file

PAGES = (".html", ".htm")


@app.command()
def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUNS", show_default=False, help="Folders of runs.")],
    out: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write: .html.")] = Path(
        "report.html"
    ),
    baseline: Annotated[
        str | None, typer.Option(metavar="ENCODING", help="What others are compared with at first; default none.")
    ] = None,
    title: Annotated[str, typer.Option(help="The heading.")] = "",
    json: Json = False,
) -> None:
    """Write a page about trained runs: tables with paired tests, learned filters, training curves, encodings drawn.

    One HTML file, which works offline. For each graph and model: results and Wilcoxon's signed-rank test against a
    baseline that can be chosen on the page, the filters over the graph's spectrum, accuracy by local homophily.

    \b
    Examples:
      llpe report runs
      llpe report runs/cora runs/texas -o report.html --baseline lpe-fk
    """
    check_new_file("output", out, PAGES, replace=True)
    from llpe.report.page import write_page
    from llpe.runs import load_runs

    found = load_runs(runs)
    write_page(found, out, title=title, baseline=baseline)
    written = out.stat().st_size
    if json:
        output.write_json({"output": str(out), "runs": len(found), "bytes": written})
        return
    output.write(f"wrote {out} ({output.size(written)}), {len(found)} runs; open it in a browser")
