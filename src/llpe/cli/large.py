"""Graphs larger than memory: ``convert``, and the half of ``encode`` that works on folders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from llpe.cli import console
from llpe.cli import options as opt
from llpe.cli.app import app

if TYPE_CHECKING:
    from llpe.lab.engine import Dask


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
        console.write(f"wrote {out}")


def is_graph(graph: str) -> bool:
    """Whether this names a folder that ``convert`` has written, or has not finished."""
    if not Path(graph).expanduser().is_dir():
        return False
    from llpe.folder import is_folder

    return is_folder(graph)


def encode(
    graph: str,
    out: Path,
    name: str | None,
    options: Mapping[str, Any],
    *,
    memory: str,
    json: bool,
    engine: Dask | None = None,
) -> None:
    """Writes the features of a graph in a folder into another one, with a bar."""
    from llpe.encodings import ENCODINGS
    from llpe.folder import GraphFolder
    from llpe.lab.export import encode_blocks, untrained
    from llpe.out_of_core import encode_folder

    size = opt.parse_size(memory)
    can = [each for each, named in ENCODINGS.items() if hasattr(named.kind, "probe_arguments")]
    if name not in can:
        raise ValueError(f"`--encoding` must be {' or '.join(can)} for a graph in a folder, got {name or 'none'}.")
    encoding: Any = untrained(name, options)
    folder = GraphFolder.open(graph)
    with console.Progress() as progress:
        label = f"encoding {folder.path.name}"

        def tell(done: int, total: int) -> None:
            progress.update(label, "", done, total)

        compute = None if engine is None else partial(encode_blocks, engine)
        how: Any = {**encoding.probe_arguments(), "on_progress": tell, "compute": compute}
        features = encode_folder(folder, out, memory=size, **how)
        progress.finish(label)
    shape = [features.num_nodes, features.probes, features.order]
    if json:
        console.write_json({**asdict(features), "blocks": features.num_blocks, "encoding": repr(encoding)})
    else:
        console.fields({"basis": shape, "blocks": features.num_blocks, "of": repr(encoding)})
        console.write(f"wrote {out} ({console.size(4 * shape[0] * shape[1] * shape[2])})")
