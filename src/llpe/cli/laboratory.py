"""Commands that train: ``train``, ``check``, ``predict``, ``demo``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from llpe.cli import output
from llpe.cli.commands import app
from llpe.cli.options import DataRoot, Force, GraphArgument, Json, check_new_file, open_graph, parse_assignments

if TYPE_CHECKING:
    from llpe.lab import Config, Fit

PREDICTED = (".csv", ".npz")

Request = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[CONFIG] [KEY=VALUE]...",
        show_default=False,
        help="A config file or run folder, and keys to set, such as lr=0.05 or encoding.order=32.",
    ),
]
Dataset = Annotated[str | None, typer.Option(metavar="GRAPH", help="A benchmark, a synthetic graph, or a file.")]
EncodingName = Annotated[str | None, typer.Option("--encoding", metavar="NAME", help="See `llpe list encodings`.")]
ModelName = Annotated[str | None, typer.Option("--model", metavar="NAME", help="See `llpe list models`.")]
Runs = Annotated[Path, typer.Option("--runs", metavar="DIR", help="Where run folders go.")]
Workers = Annotated[int | None, typer.Option(help="Splits trained at once; default one per core.")]


@app.command()
def train(
    request: Request = None,
    dataset: Dataset = None,
    encoding: EncodingName = None,
    model: ModelName = None,
    runs: Runs = Path("runs"),
    workers: Workers = None,
    data_root: DataRoot = None,
    json: Json = False,
) -> None:
    """Train a classifier with an encoding on every split, in a run folder that can be resumed.

    \b
    Examples:
      llpe train --dataset cora --encoding llpe --model mlp
      llpe train --dataset sbm:n=2000,homophily=0 --encoding llpe-probes epochs=300 splits.count=3
      llpe train my-config.toml lr=0.05
    """
    config = _config(request, dataset, encoding, model)
    loaded = open_graph(config.dataset, data_root)
    say_scaling(loaded, config)
    try:
        fit = train_with_bars(loaded, config, runs, workers)
    except KeyboardInterrupt:
        from llpe.lab import RunFolder

        folder = RunFolder.of(runs, config.model_copy(update={"data": loaded.fingerprint}))
        output.note(f"finished splits and checkpoints are kept. Resume with: llpe train {folder.path} --runs {runs}")
        raise
    if json:
        output.write_json(_summary(fit, loaded.metric))
        return
    header = ["split", "val", "test", "best epoch", "epochs", "seconds"]
    rows = [
        [str(o.split), _percent(o.val), _percent(o.test), str(o.best_epoch), str(o.epochs), f"{o.seconds:.1f}"]
        for o in fit.outcomes
    ]
    output.table(header, rows, right=range(6))
    for outcome in fit.outcomes:
        if outcome.status == "failed":
            output.note(f"split {outcome.split} failed: {outcome.reason}.")
    spread = f" ± {100 * fit.std_test:.2f}" if len(fit.test) > 1 else ""
    output.write(f"test {loaded.metric} {100 * fit.mean_test:.2f}{spread} % over {len(fit.test)} splits")
    output.write(f"run folder {fit.run}")


@app.command()
def check(
    request: Request = None,
    dataset: Dataset = None,
    encoding: EncodingName = None,
    model: ModelName = None,
    workers: Workers = None,
    data_root: DataRoot = None,
    json: Json = False,
) -> None:
    """Check a config and say what it would compute, with estimates of memory and time.

    \b
    Examples:
      llpe check my-config.toml
      llpe check --dataset photo --encoding llpe --model sage
    """
    from llpe.lab.estimate import estimate

    config = _config(request, dataset, encoding, model)
    loaded = open_graph(config.dataset, data_root)
    found = estimate(loaded, config, workers=workers)
    if json:
        output.write_json({"config": config.model_dump(), **found})
        return
    output.fields(
        [
            (
                "graph",
                f"{loaded.name}: {found['nodes']} nodes, {found['edges']} edges, {found['features']} features",
            ),
            ("encoding", found["encoding"]),
            ("model", f"{config.model.name}, {found['parameters']} parameters"),
            ("to prepare", f"about {output.duration(found['prepare_seconds'])}, {found['prepare_note']}"),
            ("fixed part", output.size(found["fixed_bytes"])),
            ("memory", f"about {output.size(found['memory_bytes'])}"),
            ("an epoch", f"about {1000 * found['epoch_seconds']:.1f} ms"),
            ("training", f"at most {output.duration(found['training_seconds'])}: {found['training_note']}"),
        ]
    )


@app.command()
def predict(
    run: Annotated[Path, typer.Argument(metavar="RUN", show_default=False, help="A run folder.")],
    graph: GraphArgument,
    out: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write: .csv or .npz.")],
    split: Annotated[int | None, typer.Option(help="Which split's model; default the best on validation.")] = None,
    force: Force = False,
    data_root: DataRoot = None,
    json: Json = False,
) -> None:
    """Classify the nodes of a graph with a trained run.

    On the run's own graph the train, val and test nodes of the split are scored apart: test says how good the model is.
    On another graph all labelled nodes are.

    \b
    Examples:
      llpe predict runs/cora/llpe+mlp/0123abcd cora -o classes.csv
      llpe predict runs/mine/llpe+sage/89abcdef new-graph.npz -o classes.npz --split 3
    """
    check_new_file("output", out, PREDICTED, replace=force)
    from llpe.lab.predict import predict_graph, write_predictions

    dataset = open_graph(graph, data_root)
    prediction = predict_graph(run, dataset, split=split)
    write_predictions(prediction, out)
    if dataset.num_labelled and not prediction.scores:
        output.note("not scored: the run does not know all classes of the graph, or not which nodes it was trained on.")
    found = {"output": str(out), "nodes": dataset.num_nodes, "split": prediction.split}
    if json:
        scores = {part: asdict(each) for part, each in prediction.scores.items()}
        output.write_json(found | {"metric": prediction.metric, "scores": scores})
        return
    told = {f"{prediction.metric} on {s.nodes} {part} nodes": f"{s.score:.4f}" for part, s in prediction.scores.items()}
    output.fields([(name, str(value)) for name, value in (found | told).items()])


@app.command()
def demo(
    runs: Annotated[Path, typer.Option("--runs", metavar="DIR", help="Where run folders and the figure go.")] = Path(
        "runs/demo"
    ),
    full: Annotated[bool, typer.Option("--full", help="The graph transformer as well.")] = False,
    splits: Annotated[int, typer.Option(help="Random 60/20/20 splits.")] = 10,
    workers: Workers = None,
    json: Json = False,
) -> None:
    """Show which encodings find the blocks of graphs whose neighbours agree, and of graphs whose neighbours differ.

    \b
    Examples:
      llpe demo
      llpe demo --full --runs my-demo
    """
    from llpe.cli.demonstration import bars, demo_configs
    from llpe.report.collect import load_runs
    from llpe.report.figures import accuracy_bars
    from llpe.report.table import make_tables

    configs = demo_configs(models=("mlp", "gt") if full else ("mlp",), splits=splits)
    folders = [train_with_bars(open_graph(config.dataset), config, runs, workers).run for config in configs]
    found = load_runs([folder for folder in folders if folder is not None])
    tables = make_tables(found)
    figure = accuracy_bars(bars(found), runs / "demo.png", chance=0.5, title="Two blocks, 2000 nodes, degree 10")[0]
    if json:
        output.write_json({"tables": [table.as_dict() for table in tables], "figure": str(figure)})
        return
    for table in tables:
        output.table(*table.as_text(), title=table.title, right=range(1, 9), bold=table.best())
    output.write(f"figure {figure}")


def raw_config(
    request: list[str] | None, dataset: str | None, encoding: str | None, model: str | None
) -> dict[str, Any]:
    """The config that a command line describes, not yet checked."""
    from llpe.lab import assign, load_config

    items = request or []
    files = [item for item in items if "=" not in item or Path(item).exists()]
    if len(files) > 1:
        raise ValueError(f"CONFIG must be one file, got {', '.join(files)}. Keys are set as in lr=0.05.")
    raw: dict[str, Any] = {}
    if files:
        path = Path(files[0]) / "config.toml" if Path(files[0]).is_dir() else Path(files[0])
        raw = load_config(path)
    if dataset is not None:
        raw["dataset"] = dataset
    if "dataset" not in raw:
        raise ValueError("`--dataset` must be given, or a config file that names one. See `llpe train --help`.")
    for section, name in (("encoding", encoding), ("model", model)):
        if name is not None:
            raw[section] = {"name": name} if raw.get(section, {}).get("name") != name else raw[section]
    search = {"search": raw.pop("search")} if "search" in raw else {}
    return assign(raw, parse_assignments([item for item in items if item not in files])) | search


def _config(request: list[str] | None, dataset: str | None, encoding: str | None, model: str | None) -> Config:
    """The one experiment that a command line describes."""
    from llpe.lab import resolve

    raw = raw_config(request, dataset, encoding, model)
    if "search" in raw:
        raise ValueError("CONFIG must describe one experiment, got a section [search]. Use `llpe search`.")
    return resolve(raw)


def say_scaling(loaded: Any, config: Config) -> None:
    """What is done to the features before training, if anything."""
    from llpe.data import scaled_features

    if config.training.features != "raw":
        words = scaled_features(loaded.data.x, config.training.features)[1]
        output.note(f"{loaded.name}: {words}; training.features=raw leaves them as they are.")


def train_with_bars(loaded: Any, config: Config, runs: Path, workers: int | None) -> Fit:
    """Trains with a bar for each split."""
    from llpe.cli.progress import Bar, progress
    from llpe.lab import Outcome, Progress, run

    name = f"{loaded.name} {config.encoding.name}+{config.model.name}"
    bars: dict[int, Bar] = {}
    with progress() as screen:

        def tell(now: Progress) -> None:
            if now.split not in bars:
                bars[now.split] = screen.add(f"{name} split {now.split}", total=config.training.epochs)
            bars[now.split].update(now.epoch, f"val {now.val:.3f}, best {now.best_val:.3f}")

        def finish(outcome: Outcome) -> None:
            bar = bars.get(outcome.split) or screen.add(f"{name} split {outcome.split}", total=config.training.epochs)
            bar.finish(f"test {outcome.test:.3f}" if outcome.test is not None else f"failed: {outcome.reason}")

        return run(loaded, config, root=runs, workers=workers, on_progress=tell, on_outcome=finish)


def _summary(fit: Fit, metric: str) -> dict[str, Any]:
    return {
        "metric": metric,
        "val": fit.val,
        "test": fit.test,
        "mean_test": fit.mean_test,
        "std_test": fit.std_test,
        "splits": len(fit.test),
        "failed": [{"split": o.split, "reason": o.reason} for o in fit.outcomes if o.status == "failed"],
        "run": str(fit.run),
    }


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.2f}"
