"""``llpe compare``: which encoding for my graph? A quick training with each of the usual ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from llpe.cli import output
from llpe.cli.commands import app
from llpe.cli.options import DataRoot, GraphArgument, Json, check_new_file
from llpe.cli.reporting import PAGES

if TYPE_CHECKING:
    from llpe.lab import Config

SPLITS = 8  # the fewest with which the best of six can be told from the others, see llpe.report.statistics
LIMITS = {"llpe": 5000, "rwse": 20_000}  # nodes up to which all eigenvectors, or return probabilities, are quick
ENCODINGS: tuple[dict[str, Any], ...] = (
    {"name": "none"},
    {"name": "lpe-fk", "dim": 64, "k": 16},
    {"name": "lpe-flk", "dim": 64, "k": 16},
    {"name": "rwse", "dim": 64},
    {"name": "llpe", "dim": 64},
    {"name": "llpe-probes", "dim": 64},
)
TRAINING = {"epochs": 400, "patience": 100}  # all else by default


@app.command()
def compare(
    graph: GraphArgument,
    model: Annotated[str, typer.Option(metavar="NAME", help="See `llpe list models`.")] = "mlp",
    splits: Annotated[
        int | None,
        typer.Option(help=f"Random 60/20/20 splits; default the graph's own splits, {SPLITS} if it has none."),
    ] = None,
    out: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The page: .html.")] = Path(
        "compare.html"
    ),
    runs: Annotated[Path, typer.Option("--runs", metavar="DIR", help="Where run folders go.")] = Path("runs/compare"),
    workers: Annotated[int | None, typer.Option(help="Splits trained at once; default one per core.")] = None,
    data_root: DataRoot = None,
    json: Json = False,
) -> None:
    """Find out which encoding suits a graph: train quickly with each of the usual ones and compare.

    Trains none, lpe-fk, lpe-flk, rwse, llpe and llpe-probes, a few hundred epochs each, without a search: the
    answer is a first one. What takes too long on a large graph is left out, and said. Stopped, it goes on where it was.
    The splits are the graph's own (masks in a file, official splits of a benchmark) or, without any, random.

    \b
    Examples:
      llpe compare sbm:n=2000,homophily=0
      llpe compare my-graph.npz --model sage -o my-graph.html
    """
    check_new_file("output", out, PAGES, replace=True)
    from llpe.cli.laboratory import say_scaling, train_with_bars
    from llpe.cli.options import open_graph
    from llpe.report.page import write_page
    from llpe.report.statistics import find_best, reach
    from llpe.report.tables import label_runs, make_tables
    from llpe.runs import RunFolder

    dataset = open_graph(graph, data_root)
    if splits is None and dataset.masks is not None:
        kind, count = "official", int(dataset.masks["train"].size(1))
        output.note(f"{dataset.name}: own splits are used, {count} of them; --splits {SPLITS} asks for random ones.")
    else:
        kind, count = "random", SPLITS if splits is None else splits
    configs = list(quick_configs(graph, dataset.num_nodes, model=model, splits=count, kind=kind))
    say_scaling(dataset, configs[0])
    folders = [train_with_bars(dataset, config, runs, workers).run for config in configs]
    found = [RunFolder.read(folder) for folder in folders if folder is not None]
    best = find_best(found, label_runs(found))
    answer = best.sentence if best else "There is only one run, and nothing to compare it with."
    limits = reach(count, len(found) - 1)
    tables = make_tables(found)
    write_page(found, out, title=f"Which encoding for {dataset.name}?")
    if json:
        told = {"answer": answer, "limits": limits, "splits": {"kind": kind, "count": count}}
        output.write_json(told | {"tables": [each.as_dict() for each in tables], "page": str(out)})
        return
    for each in tables:
        output.report_table(each)
    output.write()
    output.write(f"Which encoding? {answer}")
    output.write(limits)
    output.write(f"wrote {out}; open it in a browser")


def quick_configs(graph: str, num_nodes: int, *, model: str, splits: int, kind: str = "random") -> Iterator[Config]:
    """The experiments of a comparison; those that a graph of this size is too large for are left out with a note.

    Example:
        >>> len(list(quick_configs("sbm:n=100", 100, model="mlp", splits=8)))
        6
    """
    from llpe.lab import resolve

    for encoding in ENCODINGS:
        limit = LIMITS.get(encoding["name"], num_nodes)
        if num_nodes > limit:
            note = f"it is slow beyond {limit} nodes, and this graph has {num_nodes}."
            output.note(f"{encoding['name']} is left out: {note}")
            continue
        yield resolve(
            {
                "dataset": graph,
                "encoding": encoding,
                "model": {"name": model},
                "training": TRAINING,
                "splits": {"kind": kind, "count": splits},
            }
        )
