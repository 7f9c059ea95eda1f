"""Commands about one experiment: ``train``, ``search``, ``predict``."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Annotated, Any

import typer

from llpe.cli import console
from llpe.cli import options as opt
from llpe.cli.app import app

if TYPE_CHECKING:
    from llpe.data import NodeDataset
    from llpe.encodings import Encoding
    from llpe.lab import Config, Fit, Found, Outcome, Progress, SearchConfig
    from llpe.lab.search import Trial


@app.command()
def train(
    request: opt.Request = None,
    dataset: opt.Dataset = None,
    encoding: opt.Encoding = None,
    model: opt.Model = None,
    features: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="What `llpe encode` wrote of a graph in a folder; both are mapped."),
    ] = None,
    runs: opt.Runs = Path("runs"),
    workers: opt.Workers = None,
    device: opt.Device = None,
    engine: opt.Engine = "local",
    scheduler: opt.Scheduler = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the config and the encoding's size only.")] = False,
    data_root: opt.DataRoot = None,
    json: opt.Json = False,
) -> None:
    """Train a classifier with an encoding on every split.

    Results go to a run folder. If training is stopped, the same command resumes it.

    \b
    Examples:
      llpe train --dataset cora --encoding llpe --model mlp
      llpe train --dataset sbm:n=2000,homophily=0 --encoding llpe-probes epochs=300 splits.count=3
      llpe train --dataset cora --dry-run > my-config.toml
      llpe train my-config.toml lr=0.05
      llpe train --dataset big-graph/ --encoding llpe-probes probes=16 --features features/
      llpe train --dataset cora --engine dask --scheduler tcp://10.0.0.1:8786
    """
    from llpe.lab import RunFolder
    from llpe.lab.config import build

    raw = opt.raw_config(request, dataset, encoding, model, device)
    if "search" in raw:
        raise ValueError("CONFIG must describe one experiment, got a section [search]. Use `llpe search`.")
    config, built = build(raw)
    graph = opt.open_graph(config.dataset, data_root, features)
    if dry_run:
        _show_dry_run(graph, config, built, json=json)
        return
    note_scaling(graph, config)
    try:
        with opt.open_engine(engine, scheduler, workers) as where:
            fit = train_with_progress(graph, config, built, runs, **where)
    except KeyboardInterrupt:
        folder = RunFolder.of(runs, config.model_copy(update={"data": graph.fingerprint}))
        chosen = [] if features is None else ["--features", str(features)]
        chosen += [] if device is None else ["--device", device]
        command = shlex.join(["llpe", "train", str(folder.path), "--runs", str(runs), *chosen])
        console.note(f"finished splits and checkpoints are kept. Resume with: {command}")
        raise
    _show(fit, graph.metric, json=json)


@app.command()
def search(
    request: opt.Request = None,
    dataset: opt.Dataset = None,
    encoding: opt.Encoding = None,
    model: opt.Model = None,
    trials: Annotated[int | None, typer.Option(help="Settings to try; default 16, or the whole grid.")] = None,
    method: Annotated[str | None, typer.Option(help="tpe, grid or stratified.")] = None,
    preset: Annotated[str | None, typer.Option(help="The search space: paper, authors or extended.")] = None,
    pruner: Annotated[str | None, typer.Option(help="halving, median, best or none.")] = None,
    storage: Annotated[
        str | None, typer.Option(metavar="URL", help="An Optuna storage to copy finished trials to.")
    ] = None,
    runs: opt.Runs = Path("runs"),
    workers: opt.Workers = None,
    device: opt.Device = None,
    engine: opt.Engine = "local",
    scheduler: opt.Scheduler = None,
    data_root: opt.DataRoot = None,
    json: opt.Json = False,
) -> None:
    """Search for the best settings by validation score.

    The score is the mean over splits. The search space is the paper's grid, or the section [search] of a config file:
    trials, method, preset, pruner, storage, seed, and [search.space] with lists of choices, as in lr = [0.05, 0.01].
    If the search is stopped, the same command resumes it.

    \b
    Examples:
      llpe search --dataset texas --encoding llpe --model mlp --trials 20
      llpe search my-config.toml --method grid
    """
    from llpe.lab import RunFolder, resolve, take_search

    given = {"trials": trials, "method": method, "preset": preset, "pruner": pruner, "storage": storage}
    raw = opt.raw_config(request, dataset, encoding, model, device)
    raw["search"] = raw.get("search", {}) | {name: value for name, value in given.items() if value is not None}
    raw, settings = take_search(raw)
    graph = opt.open_graph(resolve(raw).dataset, data_root)
    try:
        with opt.open_engine(engine, scheduler, workers) as where:
            found = _search_with_progress(graph, raw, settings, root=runs, **where)
    except KeyboardInterrupt:
        console.note("finished trials are kept. The same command resumes the search.")
        raise
    _show_search(found, graph.metric, list(RunFolder.read(found.run).scores), json)


@app.command()
def predict(
    run: opt.Run,
    graph: opt.Graph,
    out: opt.File,
    split: opt.Split = None,
    device: opt.Device = None,
    force: opt.Force = False,
    data_root: opt.DataRoot = None,
    json: opt.Json = False,
) -> None:
    """Classify the nodes of a graph with a trained run.

    Writes a class and its probabilities for each node, as .csv or .npz. On the graph that the run was trained on, the
    train, val and test nodes of the split are scored separately; only the test score says how good the model is. On
    another graph all labelled nodes are scored.

    \b
    Examples:
      llpe predict runs/cora/llpe+mlp/0123abcd cora -o classes.csv
      llpe predict runs/mine/llpe+sage/89abcdef new-graph.npz -o classes.npz --split 3
    """
    opt.check_file("output", out, (".csv", ".npz"), replace=force)
    from llpe.lab.export import predict_graph, write_predictions

    dataset = opt.open_graph(graph, data_root)
    found = predict_graph(run, dataset, split=split, device=device or "cpu")
    write_predictions(found, out)
    if dataset.num_labelled and not found.scores:
        console.note("not scored: the run does not know all classes of the graph, or which nodes it was trained on.")
    facts = {"output": str(out), "nodes": dataset.num_nodes, "split": found.split}
    if json:
        scores = {part: asdict(each) for part, each in found.scores.items()}
        console.write_json(facts | {"metric": found.metric, "scores": scores})
    else:
        scored = {f"{found.metric} on {s.nodes} {part} nodes": f"{s.score:.4f}" for part, s in found.scores.items()}
        console.fields(facts | scored)


def note_scaling(graph: NodeDataset, config: Config) -> None:
    """Says what is done to the features before training, if anything."""
    from llpe.data import scaled_features

    how = graph.scaling(config.training.features)
    if how != "raw":
        words = scaled_features(graph.data.x[:1], how)[1]
        console.note(f"{graph.name}: {words}; training.features=raw leaves them as they are.")


def train_with_progress(graph: NodeDataset, config: Config, encoding: Encoding, runs: Path, **how: Any) -> Fit:
    """Trains with a bar for each split."""
    from llpe.lab import run

    name, epochs = f"{graph.name} {config.encoding.name}+{config.model.name} split", config.training.epochs
    with console.Progress() as progress:

        def on_progress(now: Progress) -> None:
            progress.update(f"{name} {now.split}", f"val {now.val:.3f}, best {now.best_val:.3f}", now.epoch, epochs)

        def on_outcome(outcome: Outcome) -> None:
            result = f"failed: {outcome.reason}" if outcome.test is None else f"test {outcome.test:.3f}"
            progress.finish(f"{name} {outcome.split}", result)

        how |= {"root": runs, "on_progress": on_progress, "on_outcome": on_outcome}
        return run(graph, config, encoding=encoding, **how)


def _search_with_progress(graph: NodeDataset, raw: dict[str, Any], settings: SearchConfig, **how: Any) -> Found:
    """Searches with one bar for all trials."""
    from llpe.lab import search as run_search

    name, vals = f"{graph.name}, trials", [0.0]
    with console.Progress() as progress:

        def on_progress(now: Progress) -> None:
            words = f"split {now.split} epoch {now.epoch}, val {now.val:.3f}; best trial {max(vals):.4f}"
            progress.update(name, words)

        def on_trial(done: int, total: int, trial: Trial) -> None:
            if trial.state == "complete":
                vals.append(trial.val or 0.0)
            progress.update(name, f"{trial.state}, best {max(vals):.4f}", done, total)

        found = run_search(graph, raw, settings, **how, on_trial=on_trial, on_progress=on_progress)
        progress.finish(name, f"best mean val {found.val:.4f}")
    return found


def _show_dry_run(graph: NodeDataset, config: Config, encoding: Encoding, *, json: bool) -> None:
    """The config as TOML, so that it can be kept as a file; what it means here as comments."""
    from llpe.lab.config import dump_toml
    from llpe.lab.task import dry_run

    found = dry_run(graph, encoding)
    if json:
        console.write_json({"config": config.model_dump(), **found})
        return
    found["size"] = console.size(found["fixed_bytes"])
    comments = (
        "# {nodes} nodes, {edges} edges, {features} features, {classes} classes\n# {encoding}: {columns} columns\n"
        "# its fixed part: {nodes} × {fixed_columns} numbers, {size}\n"
    )
    print(f"{comments.format(**found)}\n{dump_toml(config).rstrip()}")


def _show(fit: Fit, metric: str, *, json: bool) -> None:
    failed = [outcome for outcome in fit.outcomes if outcome.status == "failed"]
    if json:
        scores = {name: getattr(fit, name) for name in ("val", "test", "mean_test", "std_test")}
        reasons = [{"split": each.split, "reason": each.reason} for each in failed]
        more = {"splits": len(fit.test), "failed": reasons, "run": str(fit.run)}
        console.write_json({"metric": metric} | scores | more)
        return
    header = ["split", "val", "test", "best epoch", "epochs", "seconds"]
    rows = [
        [o.split, _percent(o.val), _percent(o.test), o.best_epoch, o.epochs, f"{o.seconds:.1f}"] for o in fit.outcomes
    ]
    console.table(header, rows, left=0)
    for each in failed:
        console.note(f"split {each.split} failed: {each.reason}.")
    _show_scores(metric, fit.test, fit.run)


def _show_search(found: Found, metric: str, tests: list[float], json: bool) -> None:
    from llpe.lab.spaces import assignments

    if json:
        document = {"metric": metric, "mean_val": found.val, "test": tests, "mean_test": fmean(tests)}
        console.write_json(document | {"trials": [asdict(trial) for trial in found.trials], "run": str(found.run)})
        return
    keys, rows = list(assignments(found.trials[0].choice)), []
    for trial in sorted(found.trials, key=lambda trial: (trial.state != "complete", -(trial.val or 0.0))):
        choice = assignments(trial.choice)
        rows.append([_percent(trial.val), trial.state, *(choice.get(key, "") for key in keys)])
        if trial.reason is not None:
            console.note(f"failed: {choice}: {trial.reason}.")
    console.table(["val", "trial", *keys], rows, left=2 + len(keys))
    print(f"chosen by validation: mean val {100 * found.val:.2f} %")
    _show_scores(metric, tests, found.run)


def _show_scores(metric: str, scores: list[float], folder: Path | None) -> None:
    spread = f" ± {100 * stdev(scores):.2f}" if len(scores) > 1 else ""
    print(f"test {metric} {100 * fmean(scores):.2f}{spread} % over {len(scores)} splits")
    print(f"run folder {folder}")


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.2f}"
