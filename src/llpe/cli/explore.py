"""Commands about graphs and encodings: ``list``, ``spectrum``, ``encode``, ``convert``, ``cache``."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from llpe.cli import console
from llpe.cli import options as opt
from llpe.cli.app import app

KINDS = ("encodings", "models", "benchmarks", "synthetic")
LARGE = 50_000  # nodes from which on the extreme eigenvalues take more than a few seconds


@app.command("list")
def list_(
    what: Annotated[str, typer.Argument(metavar="WHAT", help=f"One of {', '.join(KINDS)} or all.")] = "all",
    data_root: opt.DataRoot = None,
    json: opt.Json = False,
) -> None:
    """List encodings, models, benchmarks and synthetic graphs.

    \b
    Examples:
      llpe list
      llpe list benchmarks --data-root ~/data
      llpe list encodings --json
    """
    from llpe.checks import check_choice

    check_choice("what", what, ("all", *KINDS))
    from llpe.lab.listing import list_all

    found = list_all(data_root)
    document = found if what == "all" else {kind: found[kind] for kind in found if kind.endswith(what)}
    if json:
        console.write_json(document)
        return
    for kind, rows in document.items():
        if kind not in ("pyg_models", next(iter(document))):
            print()
        if kind == "pyg_models":
            print(f"  and PyG's, by class name: {', '.join(rows)}")
        elif kind == "benchmarks":
            console.table(["benchmark", "nodes", "classes", "metric", "homophily", "at hand"], map(_cells, rows))
        else:
            print(f"{kind}:")
            console.fields({f"  {row['name']}": _lines(row) for row in rows})


@app.command()
def spectrum(
    graph: opt.Graph,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the density: .png, .pdf or .svg.")] = None,
    order: Annotated[int, typer.Option(help="Chebyshev terms of the estimate.")] = 64,
    probes: Annotated[int, typer.Option(help="Random probes of the estimate.")] = 32,
    exact: Annotated[bool, typer.Option("--exact", help="Compute all eigenvalues instead.")] = False,
    ends: Annotated[bool, typer.Option(help="Compute the extreme eigenvalues; slow on large graphs.")] = True,
    json: opt.Json = False,
    data_root: opt.DataRoot = None,
) -> None:
    """Show a graph's size, homophily and Laplacian spectrum.

    The eigenvalues of the symmetric normalised Laplacian are in [0, 2]: low ones belong to patterns that neighbours
    share (homophily), high ones to patterns that alternate (heterophily). How they are spread is estimated without
    eigenvectors, or computed exactly with --exact.

    \b
    Examples:
      llpe spectrum sbm:n=2000,homophily=0
      llpe spectrum cora --plot cora.png
      llpe spectrum my-graph.npz --exact --json
    """
    if plot is not None:
        opt.check_file("plot", plot, (".png", ".pdf", ".svg"))
    from llpe.summary import describe, summarise

    dataset = opt.open_graph(graph, data_root)
    if ends and not exact and dataset.num_nodes > LARGE:
        console.note(f"the extreme eigenvalues of {dataset.num_nodes} nodes take a while; --no-ends leaves them out.")
    document, shares = summarise(dataset, order=order, probes=probes, exact=exact, ends=ends)
    coarse = shares.reshape(60, -1).sum(axis=1)
    if plot is not None:
        from llpe.report.figures import density_plot

        # an estimate is smooth, a count is not
        density_plot(coarse if exact else shares, plot, title=f"{dataset.name}, {dataset.num_nodes} nodes")
        document["plot"] = str(plot)
    if json:
        console.write_json(document)
        return
    console.fields(describe(document))
    lines = [*console.bars(coarse.tolist(), height=5), f"{'0':20}{'2/3':20}{'4/3':19}2"]
    print("\n".join(["", *(f"  {line}".rstrip() for line in lines)]))
    if plot is not None:
        print(f"\nwrote {plot}")


@app.command()
def encode(
    graph: opt.Graph,
    out: opt.File,
    settings: opt.Assignments = None,
    encoding: opt.Encoding = None,
    dim: opt.Dim = None,
    run: Annotated[Path | None, typer.Option(metavar="RUN", help="A run folder: write what it has learned.")] = None,
    split: opt.Split = None,
    force: opt.Force = False,
    memory: opt.Memory = "4GB",
    device: opt.Device = None,
    engine: opt.Engine = "local",
    scheduler: opt.Scheduler = None,
    workers: Annotated[int | None, typer.Option(help="Processes of --engine dask; default one per core.")] = None,
    json: opt.Json = False,
    data_root: opt.DataRoot = None,
) -> None:
    """Write a graph's encoding as .npz, .pt or .safetensors.

    Without --run it is the fixed part: the tensors that the small learned part of the encoding acts on. KEY=VALUE sets
    the encoding's options. With --run it is the encoding that the run has learned, [num_nodes, dim].

    A graph that `llpe convert` has written is encoded into a folder, in bounded memory and block by block; if that is
    stopped, the same command resumes it. The workers of --engine dask must see both folders, and each uses --memory.

    \b
    Examples:
      llpe encode cora -o cora.npz
      llpe encode my-graph.npz -o pe.safetensors --encoding lpe-fk k=32
      llpe encode sbm:n=500 -o pe.pt --encoding llpe-probes --dim 32 probes=16
      llpe encode cora -o learned.npz --run runs/cora/llpe+mlp/1a2b3c4d
      llpe encode big-graph/ -o features/ --encoding llpe-probes probes=16 --memory 4GB
    """
    from llpe.folder import is_folder

    in_folder = is_folder(graph)
    if not in_folder:
        opt.check_file("output", out, (".npz", ".pt", ".safetensors"), replace=force)
    options = opt.parse_assignments(settings)
    if run is not None and (options or encoding is not None or dim is not None):
        raise ValueError("`--run` must be given without --encoding, --dim and key=value: a run knows its encoding.")
    if run is None and split is not None:
        raise ValueError(f"`--split` must come with --run, got {split} without. Leave it out.")
    if dim is not None and "dim" in options:
        raise ValueError(f"`dim` must be given once, got --dim {dim} and dim={options['dim']}.")
    options = options if dim is None else options | {"dim": dim}
    if in_folder:
        if run is not None:
            raise ValueError("`--run` must be left out with a graph in a folder: use `llpe predict`, or the features.")
        if device not in (None, "cpu"):
            raise ValueError(f"`--device` must be cpu with a graph in a folder, got {device!r}. Leave it out.")
        with opt.open_engine(engine, scheduler, workers) as where:
            document = _encode_folder(graph, out, encoding, options, opt.parse_size(memory), where.get("engine"))
        shape = [document["num_nodes"], document["probes"], document["order"]]
        shown, size = {"basis": shape, "blocks": document["blocks"]}, 4 * shape[0] * shape[1] * shape[2]
    elif engine != "local":
        raise ValueError(f"`--engine` must be local for a graph in memory, got {engine!r}. See `llpe convert`.")
    else:
        from llpe.lab.export import export_encoding

        dataset = opt.open_graph(graph, data_root)
        document = export_encoding(dataset, out, encoding, options, run=run, split=split, device=device or "cpu")
        shown, size = document["tensors"], document["bytes"]
    if json:
        console.write_json(document)
    else:
        console.fields(shown | {"of": document["encoding"]})
        print(f"wrote {out} ({console.size(size)})")


def _encode_folder(
    graph: str, out: Path, name: str | None, options: dict[str, Any], memory: int, engine: Any
) -> dict[str, Any]:
    """Writes the features of a graph in a folder into another one, with a bar."""
    from llpe.encodings import ENCODINGS
    from llpe.folder import GraphFolder
    from llpe.lab.export import encode_blocks, untrained
    from llpe.out_of_core import encode_folder

    can = [each for each, named in ENCODINGS.items() if hasattr(named.kind, "probe_arguments")]
    if name not in can:
        raise ValueError(f"`--encoding` must be {' or '.join(can)} for a graph in a folder, got {name or 'none'}.")
    encoding: Any = untrained(name, options)
    folder = GraphFolder.open(graph)
    label = f"encoding {folder.path.name}"
    with console.Progress() as progress:
        features = encode_folder(
            folder,
            out,
            **encoding.probe_arguments(),
            memory=memory,
            on_progress=lambda done, total: progress.update(label, "", done, total),
            compute=None if engine is None else partial(encode_blocks, engine),
        )
        progress.finish(label)
    return {**asdict(features), "blocks": features.num_blocks, "encoding": repr(encoding)}


@app.command()
def convert(
    edges: Annotated[Path, typer.Argument(metavar="EDGES", help="Edges as .csv, .parquet or .npz.")],
    out: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to write.")],
    nodes: Annotated[Path | None, typer.Option(metavar="FILE", help="An .npz with x, y and masks.")] = None,
    num_nodes: Annotated[int | None, typer.Option(help="How many; default one more than the largest number.")] = None,
    memory: opt.Memory = "4GB",
    json: opt.Json = False,
) -> None:
    """Write a graph of any size as a folder that is mapped into memory.

    EDGES has the columns source, target and perhaps weight, or in an .npz edge_index and perhaps edge_weight; nodes are
    numbers 0, 1, … The graph is made undirected, without self-loops and duplicates.

    \b
    Examples:
      llpe convert edges.csv big-graph/
      llpe convert edges.parquet big-graph/ --nodes nodes.npz --memory 8GB
    """
    from llpe.data.convert import convert as convert_edges

    with console.Progress() as progress:
        name, size = f"converting {edges.name}", opt.parse_size(memory)
        folder = convert_edges(
            edges, out, nodes=nodes, num_nodes=num_nodes, memory=size, on_step=lambda step: progress.update(name, step)
        )
        progress.finish(name)
    for change in folder.changes:
        console.note(f"{out.name}: {change}")
    if json:
        console.write_json(asdict(folder))
    else:
        console.fields({"nodes": folder.num_nodes, "entries": folder.num_entries, "arrays": ", ".join(folder.arrays)})
        print(f"wrote {out}")


@app.command()
def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Delete every entry.")] = False,
    path: Annotated[bool, typer.Option("--path", help="Print the folder only.")] = False,
    json: opt.Json = False,
) -> None:
    """Show what is kept on disk, or clear it.

    Spectra and the fixed parts of encodings are computed once per graph and kept. LLPE_CACHE moves the folder,
    LLPE_CACHE_GB limits its size; the least recently used entries are deleted first.

    \b
    Examples:
      llpe cache
      llpe cache --path
      llpe cache --clear
    """
    if clear and path:
        raise ValueError("`--clear` and `--path` must not be given together. Choose one.")
    from llpe.cache import default_cache
    from llpe.lab.listing import list_cache

    store = default_cache()
    entries = [] if path else list_cache(store)
    total, count = sum(each["bytes"] for each in entries), f"{len(entries)} entr{'y' if len(entries) == 1 else 'ies'}"
    document: dict[str, Any] = {"folder": str(store.folder)}
    if clear:
        document |= {"removed": store.clear(), "bytes": total}
        text = f"removed {count} ({console.size(total)}) from {store.folder}"
    elif not path:
        document |= {"limit": store.limit, "bytes": total, "entries": entries}
        text = f"{count}, {console.size(total)} of at most {console.size(store.limit)}, in {store.folder}"
    if json:
        console.write_json(document)
        return
    if entries and not clear:
        rows = [
            (e["kind"], e["what"], e["graph"], console.size(e["bytes"]), console.duration(e["unused_seconds"]))
            for e in entries
        ]
        console.table(["kind", "what", "graph", "size", "unused for"], rows, left=3)
    print(str(store.folder) if path else text)


def _lines(row: dict[str, Any]) -> str:
    """A description, a formula or an example, and the options with their defaults."""
    keys = "options" if "options" in row else "keys"
    options = []
    for name, value in row[keys].items():
        text = str(value).lower() if value is None or isinstance(value, bool) else str(value)
        options.append(name if value == "..." else f"{name}={text}")
    lines = [row["what"], row.get("formula"), row.get("example"), f"{keys}: {', '.join(options)}"]
    return "\n".join(filter(None, lines))


def _cells(row: dict[str, Any]) -> list[Any]:
    homophily = "" if row["homophily"] is None else f"{row['homophily']:.2f}"
    return [row["name"], row["nodes"], row["classes"], row["metric"], homophily, "yes" if row["at_hand"] else "no"]
