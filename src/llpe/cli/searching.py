"""``llpe search``: the best settings by validation score."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from llpe.cli import output
from llpe.cli.commands import app
from llpe.cli.laboratory import Dataset, EncodingName, ModelName, Request, Runs, Workers, raw_config
from llpe.cli.options import DataRoot, Json, open_graph

if TYPE_CHECKING:
    from llpe.lab import Found, Progress
    from llpe.lab.search import Trial


@app.command()
def search(
    request: Request = None,
    dataset: Dataset = None,
    encoding: EncodingName = None,
    model: ModelName = None,
    trials: Annotated[int | None, typer.Option(help="Different settings to try; default 16, a grid whole.")] = None,
    method: Annotated[str | None, typer.Option(help="tpe or grid.")] = None,
    preset: Annotated[str | None, typer.Option(help="The space: paper or authors.")] = None,
    pruner: Annotated[str | None, typer.Option(help="halving, median or none.")] = None,
    storage: Annotated[
        str | None, typer.Option(metavar="URL", help="Of Optuna; default SQLite beside the runs.")
    ] = None,
    runs: Runs = Path("runs"),
    workers: Workers = None,
    data_root: DataRoot = None,
    json: Json = False,
) -> None:
    """Search the best settings by the mean validation score over splits; stopped, it goes on where it was.

    What is searched is the paper's grid, or the section [search] of a config file: trials, method, preset, pruner,
    storage, seed, and [search.space] with lists of choices, as in lr = [0.05, 0.01].

    \b
    Examples:
      llpe search --dataset texas --encoding llpe --model mlp --trials 20
      llpe search my-config.toml --method grid
    """
    from llpe.lab import RunFolder, resolve, take_search
    from llpe.lab import search as run_search

    raw, settings = take_search(_with(raw_config(request, dataset, encoding, model), locals()))
    config = resolve(raw)
    loaded = open_graph(config.dataset, data_root)
    try:
        found = _with_bar(
            lambda **tell: run_search(loaded, raw, settings, root=runs, workers=workers, **tell), loaded.name
        )
    except KeyboardInterrupt:
        output.note("finished trials are kept. The same command goes on from there.")
        raise
    tests = list(RunFolder.read(found.run).scores)
    if json:
        output.write_json(_summary(found, loaded.metric, tests))
        return
    _show(found, loaded.metric, tests)


def _with(raw: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The config with what the command line says of the search."""
    names = ("trials", "method", "preset", "pruner", "storage")
    own = {name: given[name] for name in names if given[name] is not None}
    return raw | {"search": raw.get("search", {}) | own}


def _with_bar(action: Any, name: str) -> Found:
    from llpe.cli.progress import progress

    with progress() as screen:
        bar = screen.add(f"{name}, trials", total=1)
        best = 0.0

        def tell(now: Progress) -> None:
            bar.update(bar.done, f"split {now.split} epoch {now.epoch}, val {now.val:.3f}; best trial {best:.4f}")

        def end(done: int, total: int, trial: Trial) -> None:
            nonlocal best
            bar.total = total
            if trial.state == "complete":
                best = max(best, trial.val or 0.0)
            bar.update(done, f"{trial.state}, best {best:.4f}")

        found: Found = action(on_trial=end, on_progress=tell)
        bar.finish(f"best mean val {found.val:.4f}")
        return found


def _show(found: Found, metric: str, tests: list[float]) -> None:
    from statistics import fmean

    from llpe.lab.spaces import assignments

    keys = list(assignments(found.trials[0].choice))
    order = sorted(found.trials, key=lambda trial: (trial.state != "complete", -(trial.val or 0.0)))
    rows = []
    for trial in order:
        choice = assignments(trial.choice)
        val = "–" if trial.val is None else f"{100 * trial.val:.2f}"
        rows.append([val, trial.state, *(str(choice.get(key, "")) for key in keys)])
    output.table(["val", "trial", *keys], rows, right=[0])
    for trial in found.trials:
        if trial.reason is not None:
            output.note(f"failed: {assignments(trial.choice)}: {trial.reason}.")
    output.write(f"chosen by validation: mean val {100 * found.val:.2f} %")
    output.write(f"test {metric} {100 * fmean(tests):.2f} % over {len(tests)} splits")
    output.write(f"run folder {found.run}")


def _summary(found: Found, metric: str, tests: list[float]) -> dict[str, Any]:
    from dataclasses import asdict
    from statistics import fmean

    return {
        "metric": metric,
        "mean_val": found.val,
        "test": tests,
        "mean_test": fmean(tests),
        "trials": [asdict(trial) for trial in found.trials],
        "run": str(found.run),
    }
