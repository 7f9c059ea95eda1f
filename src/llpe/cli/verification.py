"""``llpe verify``: the paper's statements, checked by numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from llpe.cli import output
from llpe.cli.commands import app
from llpe.cli.options import Json

if TYPE_CHECKING:
    from llpe.paper.theory import Check


@app.command()
def verify(
    out: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", show_default=False, help="Draw one PNG per statement there."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 0,
    json: Json = False,
) -> None:
    """Check every statement of the paper on sampled graphs: what was measured, against which bound. A minute or two.

    "Holds, corrected" means: not as printed; what is wrong, and what was checked instead, stands below the table. The
    exit code is 1 if a statement does not hold.

    \b
    Examples:
      llpe verify
      llpe verify -o figures --seed 1
    """
    if out is not None and out.exists() and not out.is_dir():
        raise ValueError(f"`output` must be a folder, got the file {str(out)!r}.")
    from llpe.paper.theory import VerificationError

    checks = run(seed)
    figures = draw(checks, out) if out is not None else []
    if json:
        rows = [check.as_dict() for check in checks]
        output.write_json({"seed": seed, "statements": rows, "figures": [str(path) for path in figures]})
    else:
        show(checks)
        for path in figures:
            output.write(f"wrote {path}")
    failed = [check.name for check in checks if not check.holds]
    if failed:
        raise VerificationError(f"{len(failed)} of {len(checks)} statements do not hold: {', '.join(failed)}.")


def run(seed: int) -> list[Check]:
    """Goes through all statements with a progress bar."""
    from llpe.cli.progress import progress
    from llpe.paper.theory import CHECKS

    checks: list[Check] = []
    with progress() as screen:
        bar = screen.add("verify", total=len(CHECKS))
        for name, check in CHECKS.items():
            bar.update(len(checks), name)
            checks.append(check(seed))
        bar.finish(f"{len(checks)} statements")
    return checks


def show(checks: list[Check]) -> None:
    """One line for each statement, and below, what the paper prints that is not so."""
    rows = []
    for check in checks:
        claim = check.telling
        rows.append(
            [check.name, claim.text, f"{claim.measured:.4g}", f"{claim.relation} {claim.bound:.4g}", check.verdict]
        )
    output.table(["statement", "what was measured", "measured", "bound", "verdict"], rows, right=[2])
    corrected = [(check.name, [check.printed]) for check in checks if check.printed]
    if corrected:
        output.write("\nNot as printed:")
        output.blocks(corrected)


def draw(checks: list[Check], folder: Path) -> list[Path]:
    from llpe.paper.theory.figure import draw_statement

    folder.mkdir(parents=True, exist_ok=True)
    return [draw_statement(check, folder / f"{check.name}.png") for check in checks]
