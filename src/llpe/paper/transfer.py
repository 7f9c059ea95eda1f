"""Trained on one graph, used on another: the same task and features in several countries of Twitch.

What an encoding learns does not grow with the graph, so a model can be used on another one. Does it mean the same
there? Scores on the graph of the training are those of held-out nodes, on the others those of all nodes. Nothing is
searched, and no score of another graph chooses anything.

The files are those of MUSAE (Rozemberczki et al., 2021): edges and targets as CSV, features as the numbers of the words
of each node.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from llpe.data import DownloadError, NodeDataset, load_file
from llpe.data.benchmarks import find_file
from llpe.lab import assign, run
from llpe.lab.config import build
from llpe.lab.export import TransferWarning, predict_graph
from llpe.paper.base import Context, Settings, config_of, remarks_of
from llpe.report.tables import Table
from llpe.sealed import write_arrays


def transfer(name: str, settings: Settings, context: Context) -> list[Path]:
    """A row for each encoding, graph of the training, split, and graph that it is used on."""
    files = {graph: file for graph in settings["graphs"] if (file := _write_graph(graph, settings, context))}
    if len(files) < 2:
        raise ValueError(f"{name} must have two graphs, got {len(files)}. Put their files below the data root.")
    graphs = {graph: load_file(file, metric="auroc") for graph, file in files.items()}
    cells = [(source, encoding) for encoding in settings["encodings"] for source in graphs]
    rows = []
    for source, encoding in context.track(cells, settings["title"], ", ".join):
        config = config_of(settings, str(files[source]), settings["encodings"][encoding])
        for target, split, score in _scores(graphs, source, config, context):
            rows.append({"encoding": encoding, "source": source, "target": target, "split": split, "test": score})
    return context.write(name, rows, [transfer_table(pd.DataFrame(rows), settings)], {})


def _scores(
    graphs: dict[str, NodeDataset], source: str, raw: Settings, context: Context
) -> list[tuple[str, int, float]]:
    config, encoding = build(assign(raw, {"training.device": context.device}))
    where = graphs[source]
    fit = run(where, config, root=context.runs, workers=context.workers, engine=context.engine, encoding=encoding)
    out = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TransferWarning)  # whether it is right is the question
        for target, dataset in graphs.items():
            for split in range(len(fit.outcomes)):
                found = predict_graph(fit.run or "", dataset, split=split, device=context.device).scores
                out.append((target, split, round(100 * found["test" if target == source else "labelled"].score, 4)))
    return out


def transfer_table(rows: pd.DataFrame, settings: Settings) -> Table:
    """Means over splits: a row for each pair of graphs, a column for each encoding."""
    means = rows.groupby(["source", "target", "encoding"], sort=False)["test"].agg(["mean", "std"])
    encodings = list(rows["encoding"].unique())
    pairs = means.index.droplevel("encoding").unique()
    body = []
    for source, target in pairs:
        texts = ["{:.1f} ± {:.1f}".format(*means.loc[(source, target, each)]) for each in encodings]
        body.append([f"{source}, held-out nodes" if source == target else f"{source} → {target}", *texts])
    title = f"AUROC in %, mean ± standard deviation over {rows['split'].nunique()} splits"
    return Table(title, ["trained on → used on", *encodings], body, remarks_of(settings))


def transfer_gains(rows: pd.DataFrame) -> str:
    """The mean difference of each encoding to ``none``, on the graph of the training and on the others."""
    scores = rows.pivot(index=["source", "target", "split"], columns="encoding", values="test")
    gains = scores.sub(scores["none"], axis=0)[[name for name in rows["encoding"].unique() if name != "none"]]
    other = gains.index.get_level_values("source") != gains.index.get_level_values("target")
    own, others = gains[~other].mean(), gains[other].mean()
    return "; ".join(f"{name} {own[name]:+.1f} and {others[name]:+.1f}" for name in gains)


def _write_graph(name: str, settings: Settings, context: Context) -> Path | None:
    """The files of a country as one file of ours; None, with a note, if one of them is missing."""
    try:
        names = {part: settings["files"].format(name, part) for part in ("edges.csv", "target.csv", "features.json")}
        found = {part: find_file(file, root=context.data_root) for part, file in names.items()}
    except DownloadError as error:
        context.say(f"{name} is left out: {error}")
        return None
    target = pd.read_csv(found["target.csv"]).set_index("new_id").sort_index()
    x = np.zeros((len(target), settings["words"]), dtype=np.float32)
    for node, words in json.loads(found["features.json"].read_text(encoding="utf-8")).items():
        x[int(node), words] = 1.0
    edges = pd.read_csv(found["edges.csv"])[["from", "to"]].to_numpy(dtype=np.int64)
    file = context.runs / "graphs" / f"twitch-{name}.npz"
    file.parent.mkdir(parents=True, exist_ok=True)
    write_arrays(file, {"edge_index": edges.T, "x": x, "y": target["mature"].to_numpy(dtype=np.int64)})
    return file
