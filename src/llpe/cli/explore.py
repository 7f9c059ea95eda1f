"""Commands that look and convert: ``list``, ``spectrum``, ``encode``, ``cache``, ``table``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from llpe.cli import output
from llpe.cli.commands import app
from llpe.cli.options import (
    Assignments,
    DataRoot,
    Force,
    GraphArgument,
    Json,
    check_choice,
    check_new_file,
    open_graph,
    parse_assignments,
)

if TYPE_CHECKING:
    from llpe.report.tables import Table

KINDS = ("encodings", "models", "benchmarks", "synthetic")
ENCODED = (".npz", ".pt", ".safetensors")
PLOTS = (".png", ".pdf", ".svg")


@app.command("list")
def list_(
    what: Annotated[
        str, typer.Argument(metavar="WHAT", show_default=False, help=f"One of {', '.join(KINDS)}; default all.")
    ] = "all",
    data_root: DataRoot = None,
    json: Json = False,
) -> None:
    """List encodings, models, benchmarks and synthetic graphs.

    \b
    Examples:
      llpe list
      llpe list benchmarks --data-root ~/data
      llpe list encodings --json
    """
    check_choice("what", what, ("all", *KINDS))
    from llpe.cli import listing

    document = listing.collect(KINDS if what == "all" else (what,), data_root)
    if json:
        output.write_json(document)
    else:
        listing.show(document)


@app.command()
def spectrum(
    graph: GraphArgument,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the density: .png, .pdf or .svg.")] = None,
    order: Annotated[int, typer.Option(help="Chebyshev terms of the estimate.")] = 64,
    probes: Annotated[int, typer.Option(help="Random probes of the estimate.")] = 32,
    exact: Annotated[bool, typer.Option("--exact", help="Compute all eigenvalues instead.")] = False,
    ends: Annotated[bool, typer.Option(help="Compute the extreme eigenvalues; slow on large graphs.")] = True,
    json: Json = False,
    data_root: DataRoot = None,
) -> None:
    """Show a graph's size, homophily and Laplacian spectrum.

    The eigenvalues of the symmetric normalised Laplacian are in [0, 2]: low ones belong to patterns that neighbours
    share (homophily), high ones to patterns that alternate (heterophily). How they are spread is estimated without
    eigenvectors, or exact with --exact.

    \b
    Examples:
      llpe spectrum sbm:n=2000,homophily=0
      llpe spectrum cora --plot cora.png
      llpe spectrum my-graph.npz --exact --json
    """
    if plot is not None:
        check_new_file("plot", plot, PLOTS, replace=True)
    from llpe.cli import spectral

    dataset = open_graph(graph, data_root)
    document, shares = spectral.describe(dataset, order=order, probes=probes, exact=exact, ends=ends)
    if plot is not None:
        from llpe.report.figures import density_plot

        bins = shares.reshape(60, -1).sum(axis=1) if exact else shares  # an estimate is smooth, a count is not
        density_plot(bins, plot, title=f"{document['graph']}, {document['num_nodes']} nodes")
        document["plot"] = str(plot)
    if json:
        output.write_json(document)
    else:
        spectral.show(document, shares)


@app.command()
def encode(
    graph: GraphArgument,
    out: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", show_default=False, help=f"One of {', '.join(ENCODED)}."),
    ],
    options: Assignments = None,
    encoding: Annotated[
        str | None, typer.Option(help="Name of the encoding; default llpe.", show_default=False)
    ] = None,
    dim: Annotated[int | None, typer.Option(help="Columns of the encoding; default 64.", show_default=False)] = None,
    run: Annotated[
        Path | None, typer.Option(metavar="RUN", help="A run folder: the trained encoding itself is written.")
    ] = None,
    split: Annotated[int | None, typer.Option(help="With --run: which split's weights.")] = None,
    force: Force = False,
    json: Json = False,
    data_root: DataRoot = None,
) -> None:
    """Write a graph's encoding to a file, for use elsewhere.

    Without --run it is the fixed part, which is learned from nothing: what the encoding's small learned part acts on.
    With --run it is the encoding that the run has learned, [num_nodes, dim].

    \b
    Examples:
      llpe encode cora -o cora.npz
      llpe encode my-graph.npz -o pe.safetensors --encoding lpe-fk k=32
      llpe encode sbm:n=500 -o pe.pt --encoding llpe-probes --dim 32 probes=16
      llpe encode cora -o learned.npz --run runs/cora/llpe+mlp/1a2b3c4d
    """
    check_new_file("output", out, ENCODED, replace=force)
    chosen = parse_assignments(options or [])
    if run is not None and (chosen or encoding is not None or dim is not None):
        raise ValueError("`--run` must stand alone, got --encoding, --dim or key=value too: a run knows its encoding.")
    if run is None and split is not None:
        raise ValueError(f"`--split` must come with --run, got {split} without. Leave it out.")
    from llpe.cli import export

    module = export.untrained(encoding or "llpe", dim, chosen) if run is None else export.trained(run, split)
    dataset = open_graph(graph, data_root)
    document = export.write(out, module, dataset, run=run, split=split)
    if json:
        output.write_json(document)
    else:
        export.show(document)


@app.command()
def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Delete every entry.")] = False,
    path: Annotated[bool, typer.Option("--path", help="Print the folder only.")] = False,
    json: Json = False,
) -> None:
    """Show what is kept on disk, or clear it.

    Spectra and the fixed parts of encodings are computed once per graph and kept. LLPE_CACHE moves the folder,
    LLPE_CACHE_GB limits its size; the entries that were not used for longest leave first.

    \b
    Examples:
      llpe cache
      llpe cache --path
      llpe cache --clear
    """
    if clear and path:
        raise ValueError("`--clear` and `--path` must not come together. Choose one.")
    from llpe.cache import default_cache
    from llpe.cli import keeping

    store = default_cache()
    if path:
        output.write_json({"folder": str(store.folder)}) if json else output.write(str(store.folder))
        return
    if clear:
        keeping.clear(store, json=json)
    else:
        keeping.show(store, json=json)


@app.command()
def table(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUNS", show_default=False, help="Folders of runs, or CSV files of results.")
    ],
    format: Annotated[str, typer.Option(metavar="FORMAT", help="text, markdown, latex, csv or json.")] = "text",
    json: Json = False,
) -> None:
    """Compare trained runs: encodings by data sets.

    One table for each model. A cell is mean ± standard deviation of the test score in percent, and the number of splits
    behind it. The standard deviation divides by splits − 1. Failed splits never enter a mean; they are listed below.

    \b
    Examples:
      llpe table runs
      llpe table runs/cora runs/texas --format markdown
      llpe table runs --format csv > table.csv
      llpe table results/table-small.csv --format markdown
    """
    from llpe.report.tables import csv_text, make_tables
    from llpe.runs import load_runs

    check_choice("format", format, ("text", "json", "markdown", "latex", "csv"))
    if all(path.suffix == ".csv" for path in runs):
        _show_results(runs, "json" if json else format)
        return
    tables = make_tables(load_runs(runs))
    if json or format == "json":
        output.write_json([each.as_dict() for each in tables])
    elif format == "csv":
        output.write(csv_text(tables))
    else:
        _show_tables(tables, format)


def _show_results(paths: list[Path], format: str) -> None:
    """Published results, as `llpe reproduce` wrote them."""
    from dataclasses import asdict

    from llpe.paper.results import as_csv, beside_the_paper, read_results, tables

    found = [result for path in paths for result in read_results(path)]
    if format == "json":
        output.write_json([asdict(result) for result in found])
    elif format == "csv":
        output.write(as_csv(found).rstrip("\n"))
    else:
        _show_tables([*tables(found), *beside_the_paper(found)], format)


def _show_tables(tables: Sequence[Table], format: str) -> None:
    if format != "text":
        output.write("\n\n".join(each.markdown() if format == "markdown" else each.latex() for each in tables))
        return
    for number, each in enumerate(tables):
        if number:
            output.write()
        output.report_table(each)
