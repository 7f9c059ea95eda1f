"""Commands about the paper: ``reproduce``, ``verify``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from llpe.cli import console
from llpe.cli import options as opt
from llpe.cli.app import app

Folder = Annotated[Path | None, typer.Option("--output", "-o", metavar="DIR", help="Where figures and tables go.")]


@app.command()
def reproduce(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A table or figure; see above.")],
    budget: Annotated[str, typer.Option(help="quick, standard or paper.")] = "standard",
    runs: opt.Runs = Path("runs/reproduce"),
    out: Folder = Path("results"),
    workers: opt.Workers = None,
    device: opt.Device = None,
    engine: opt.Engine = "local",
    scheduler: opt.Scheduler = None,
    data_root: opt.DataRoot = None,
    json: opt.Json = False,
) -> None:
    """Compute a table or figure of the paper.

    Writes CSV, Markdown, LaTeX, PNG and PDF. If it is stopped, the same command resumes it.

    \b
    Tables:   table-small, table-medium, table-large; table-small-extended (the same with our own search space)
    Figures:  intuition, sbm, preferential-attachment, local-homophily, order, ends, solver-time, solver-memory
    Beyond:   signs (how much the arbitrary signs of eigenvectors matter),
              presets (the paper's protocol against its authors' published settings),
              benchmark-bases, benchmark-encodings, benchmark-where (do encodings help tuned models, and where),
              benchmark-transfer (trained on one graph, used on another)

    \b
    Budgets:  quick     smaller graphs, fewer splits, hardly any search: minutes
              standard  the paper's graphs and splits, a budgeted search
              paper     the paper's whole grid: days

    \b
    Examples:
      llpe reproduce sbm --budget quick
      llpe reproduce table-small --runs runs/small
    """
    from llpe.checks import check_choice
    from llpe.paper import BUDGETS, Context, run_study, settings_of

    check_choice("budget", budget, tuple(BUDGETS))
    title = settings_of(name, budget)["title"]  # type: ignore[arg-type]
    console.note(f"{title}; budget {budget}: {BUDGETS[budget]}")  # type: ignore[index]
    with opt.open_engine(engine, scheduler, workers) as where:
        how: Any = {"data_root": data_root, "say": console.note, "track": track, "device": device or "cpu", **where}
        files = run_study(name, Context(budget, runs, out, **how))  # type: ignore[arg-type]
    if json:
        console.write_json({"name": name, "budget": budget, "files": [str(file) for file in files]})
        return
    for file in files:
        if file.suffix == ".md":
            print(file.read_text(encoding="utf-8"))
    print("\n".join(f"wrote {file}" for file in files))


@app.command()
def verify(
    out: Folder = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 0,
    json: opt.Json = False,
) -> None:
    """Check every statement of the paper on sampled graphs.

    Prints what was measured and its bound, in a minute or two; with -o also draws one PNG per statement. "Holds,
    corrected" means: not as printed; what is wrong, and what was checked instead, is below the table. The exit code is
    1 if a statement does not hold.

    \b
    Examples:
      llpe verify
      llpe verify -o figures --seed 1
    """
    if out is not None and out.exists() and not out.is_dir():
        raise ValueError(f"`output` must be a folder, got the file {str(out)!r}.")
    from llpe.paper.theory import CHECKS, VerificationError
    from llpe.paper.theory.base import draw_statement

    checks = [CHECKS[name](seed) for name in track(list(CHECKS), "verify", str)]
    figures = []
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        figures = [draw_statement(check, out / f"{check.name}.png") for check in checks]
    if json:
        rows = [check.as_dict() for check in checks]
        console.write_json({"seed": seed, "statements": rows, "figures": [str(path) for path in figures]})
    else:
        _show(checks)
        for path in figures:
            print(f"wrote {path}")
    failed = [check.name for check in checks if not check.holds]
    if failed:
        raise VerificationError(f"{len(failed)} of {len(checks)} statements do not hold: {', '.join(failed)}.")


def track(items: Sequence[Any], title: str, describe: Callable[[Any], str]) -> Iterator[Any]:
    """The items, with a bar that says which is next and how long the others will take."""
    with console.Progress() as progress:
        for done, item in enumerate(items):
            progress.update(title, describe(item), done, len(items))
            yield item
        progress.finish(title)


def _show(checks: Sequence[Any]) -> None:
    """One line for each statement; below, what does not hold as the paper prints it."""
    header, rows = ["statement", "what was measured", "measured", "bound", "verdict"], []
    for check in checks:
        claim = check.telling
        bound = f"{claim.relation} {claim.bound:.4g}"
        rows.append([check.name, claim.text, f"{claim.measured:.4g}", bound, check.verdict])
    console.table(header, rows, left=5)
    corrected = {check.name: check.printed for check in checks if check.printed}
    if corrected:
        print("\nNot as printed:")
        console.fields(corrected)
