"""``llpe reproduce``: the paper's tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from llpe.cli import output
from llpe.cli.commands import app
from llpe.cli.options import DataRoot, Json, check_choice


@app.command()
def reproduce(
    name: Annotated[str, typer.Argument(metavar="NAME", show_default=False, help="A table or figure; see below.")],
    budget: Annotated[str, typer.Option(help="quick, standard or paper.")] = "standard",
    runs: Annotated[Path, typer.Option("--runs", metavar="DIR", help="Where run folders go.")] = Path("runs/reproduce"),
    out: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Where tables and figures go.")] = Path(
        "results"
    ),
    workers: Annotated[int | None, typer.Option(help="Splits at a time; default one per core.")] = None,
    data_root: DataRoot = None,
    json: Json = False,
) -> None:
    """Compute a table or figure of the paper: CSV, Markdown, LaTeX, PNG and PDF. Stopped, it goes on where it was.

    \b
    Tables:   table-small, table-medium, table-large
    Figures:  intuition, sbm, preferential-attachment, local-homophily, order, ends, solver-time, solver-memory
    Beyond:   signs (how much the arbitrary signs of eigenvectors matter),
              presets (the paper's protocol against its authors' published settings)

    \b
    Budgets:  quick     smaller graphs, fewer splits, hardly any search: minutes
              standard  the paper's graphs and splits, a budgeted search
              paper     the paper's whole grid: days

    \b
    Examples:
      llpe reproduce sbm --budget quick
      llpe reproduce table-small --runs runs/small
    """
    from llpe.paper import BUDGETS, Context, find_study

    check_choice("budget", budget, tuple(BUDGETS))
    study = find_study(name)
    context = Context(budget, runs, out, workers, data_root, say=output.note, track=track)  # type: ignore[arg-type]
    output.note(f"{study.title}; budget {budget}: {BUDGETS[budget]}")  # type: ignore[index]
    files = study.run(context)
    if json:
        output.write_json({"name": name, "budget": budget, "files": [str(file) for file in files]})
        return
    for file in files:
        if file.suffix == ".md":
            output.write(file.read_text(encoding="utf-8"))
    output.write("\n".join(f"wrote {file}" for file in files))


def track(items: Sequence[Any], title: str, describe: Callable[[Any], str]) -> Iterator[Any]:
    """Goes through the items with a bar that says which is next and how long the others will take."""
    from llpe.cli.progress import progress

    with progress() as screen:
        bar = screen.add(title, total=len(items))
        for done, item in enumerate(items):
            bar.update(done, describe(item))
            yield item
        bar.finish()
