"""Commands about several experiments: ``compare``, ``demo``, ``table``, ``report``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from llpe.cli import console
from llpe.cli import options as opt
from llpe.cli.app import app

if TYPE_CHECKING:
    from llpe.report.tables import Table

SPLITS = 8  # the fewest with which the best of six can be told from the others, see llpe.report.statistics


@app.command()
def compare(
    graph: opt.Graph,
    settings: opt.Assignments = None,
    model: opt.Model = None,
    splits: Annotated[int | None, typer.Option(help=f"Random splits; default the graph's own, else {SPLITS}.")] = None,
    out: opt.File = Path("compare.html"),
    force: opt.Force = False,
    runs: opt.Runs = Path("runs/compare"),
    workers: opt.Workers = None,
    device: opt.Device = None,
    data_root: opt.DataRoot = None,
    json: opt.Json = False,
) -> None:
    """Find out which encoding suits a graph.

    Trains quickly without an encoding and with each of the usual ones, compares them, and writes an HTML page. There is
    no search, so it is a first answer. What takes too long on a large graph is left out, with a note. The splits are
    the graph's own (masks in a file, official splits of a benchmark) or, without any, random 60/20/20 ones. KEY=VALUE
    sets a key of every config, such as epochs=100. If it is stopped, the same command resumes it.

    \b
    Examples:
      llpe compare sbm:n=2000,homophily=0
      llpe compare my-graph.npz --model sage -o my-graph.html
    """
    opt.check_page(out, replace=force)
    from llpe.cli.train import note_scaling, train_with_progress
    from llpe.lab.spaces import quick_configs
    from llpe.report.page import write_page
    from llpe.report.statistics import find_best, reach
    from llpe.report.tables import label_runs, make_tables
    from llpe.runs import load_runs

    dataset = opt.open_graph(graph, data_root)
    kind, count = "random", SPLITS if splits is None else splits
    if splits is None and dataset.masks is not None:
        kind, count = "official", int(dataset.masks["train"].size(1))
        console.note(
            f"{dataset.name}: its own splits are used, {count} of them; --splits {SPLITS} asks for random ones."
        )
    chosen = opt.parse_assignments(settings) | ({} if device is None else {"training.device": device})
    configs, left_out = quick_configs(graph, dataset.num_nodes, chosen, model=model or "mlp", splits=count, kind=kind)
    for words in left_out:
        console.note(words)
    note_scaling(dataset, configs[0][0])
    trained = load_runs([train_with_progress(dataset, *each, runs, workers=workers).run or "" for each in configs])
    best = find_best(trained, label_runs(trained))
    answer = best.sentence if best else "There is only one run, and nothing to compare it with."
    limits = reach(count, len(trained) - 1)
    tables = make_tables(trained)
    write_page(trained, out, title=f"Which encoding for {dataset.name}?")
    if json:
        document = {"answer": answer, "limits": limits, "splits": {"kind": kind, "count": count}}
        console.write_json(document | {"tables": [each.as_dict() for each in tables], "page": str(out)})
    else:
        _show_tables(tables)
        print(f"\nWhich encoding? {answer}\n{limits}\nwrote {out}; open it in a browser")


@app.command()
def demo(
    runs: opt.Runs = Path("runs/demo"),
    full: Annotated[bool, typer.Option("--full", help="The graph transformer as well.")] = False,
    splits: Annotated[int, typer.Option(help="Random 60/20/20 splits.")] = 10,
    workers: opt.Workers = None,
    device: opt.Device = None,
    json: opt.Json = False,
) -> None:
    """See what encodings are good for.

    Trains on two graphs, one whose neighbours are alike and one whose neighbours differ. A table and a figure, which is
    written beside the run folders, show which encodings find the classes.

    \b
    Examples:
      llpe demo
      llpe demo --full --runs my-demo
    """
    from llpe.cli.train import train_with_progress
    from llpe.lab.spaces import demo_configs
    from llpe.report.figures import Interval, interval_plot, save_figure
    from llpe.report.tables import make_tables
    from llpe.runs import load_runs

    configs = demo_configs(models=("mlp", "gt") if full else ("mlp",), splits=splits, device=device or "cpu")
    folders = []
    for config, encoding in configs:
        graph = opt.open_graph(config.dataset)
        folders.append(train_with_progress(graph, config, encoding, runs, workers=workers).run or "")
    trained = load_runs(folders)
    tables = make_tables(trained)
    shown = []
    for run in trained:
        mean, std = 100 * (run.mean or 0.0), 100 * (run.std or 0.0)
        homophily = run.dataset.rpartition("homophily=")[2]
        shown.append(Interval(run.encoding, f"homophily {homophily}", mean, mean - std, mean + std, run.model))
    figure = runs / "demo.png"
    xlabel, ylabel = "two blocks, 2000 nodes, degree 10", "test accuracy in %"
    save_figure(interval_plot(shown, xlabel=xlabel, ylabel=ylabel, chance=50), figure)
    if json:
        console.write_json({"tables": [each.as_dict() for each in tables], "figure": str(figure)})
    else:
        _show_tables(tables)
        print(f"figure {figure}")


@app.command()
def table(
    runs: Annotated[list[Path], typer.Argument(metavar="RUNS", help="Folders of runs, or CSV files of results.")],
    format: Annotated[str, typer.Option(metavar="FORMAT", help="text, markdown, latex, csv or json.")] = "text",
    json: opt.Json = False,
) -> None:
    """Compare trained runs: encodings by data sets.

    One table for each model. A cell is the mean ± standard deviation of the test score in percent, and the number of
    splits behind it. The standard deviation divides by splits − 1. Failed splits never enter a mean; they are listed
    below the table.

    \b
    Examples:
      llpe table runs
      llpe table runs/cora runs/texas --format markdown
      llpe table runs --format csv > table.csv
      llpe table results/table-small.csv --format markdown
    """
    import pandas as pd

    from llpe.checks import check_choice
    from llpe.paper.results import beside_the_paper, read_results
    from llpe.paper.results import tables as result_tables
    from llpe.report.tables import csv_text, make_tables
    from llpe.runs import load_runs
    from llpe.storage import inert

    check_choice("format", format, ("text", "json", "markdown", "latex", "csv"))
    if all(path.suffix == ".csv" for path in runs):  # published results, as `llpe reproduce` wrote them
        found = pd.concat([read_results(path) for path in runs])
        tables: Sequence[Table] = [*result_tables(found), *beside_the_paper(found)]
        document = found.astype(object).where(found.notna(), None).to_dict("records")
        numbers = found.map(inert).to_csv(index=False, lineterminator="\n").rstrip("\n")
    else:
        tables = made = make_tables(load_runs(runs))
        document, numbers = [each.as_dict() for each in made], csv_text(made)
    if json or format == "json":
        console.write_json(document)
    elif format == "csv":
        print(numbers)
    elif format == "text":
        _show_tables(tables)
    else:
        print("\n\n".join(each.markdown() if format == "markdown" else each.latex() for each in tables))


@app.command()
def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUNS", help="Folders of runs.")],
    out: opt.File = Path("report.html"),
    force: opt.Force = False,
    baseline: Annotated[str | None, typer.Option(metavar="ENCODING", help="What others are compared with.")] = None,
    title: Annotated[str, typer.Option(help="The heading.")] = "",
    json: opt.Json = False,
) -> None:
    """Write a page about trained runs, with figures and tests.

    One HTML file, which works offline. For each graph and model: results and Wilcoxon's signed-rank test against a
    baseline (default none) that can be changed on the page, the learned filters over the graph's spectrum, the
    encodings in two dimensions, accuracy by local homophily, and training curves.

    \b
    Examples:
      llpe report runs
      llpe report runs/cora runs/texas -o report.html --baseline lpe-fk
    """
    opt.check_page(out, replace=force)
    from llpe.report.page import write_page
    from llpe.runs import load_runs

    found = load_runs(runs)
    write_page(found, out, title=title, baseline=baseline)
    size = out.stat().st_size
    if json:
        console.write_json({"output": str(out), "runs": len(found), "bytes": size})
    else:
        count = "1 run" if len(found) == 1 else f"{len(found)} runs"
        print(f"wrote {out} ({console.size(size)}), {count}; open it in a browser")


def _show_tables(tables: Sequence[Table]) -> None:
    for number, each in enumerate(tables):
        print("\n" * bool(number) + each.title)
        console.table(each.header, each.rows)
        for line in each.remarks:
            print(line)
