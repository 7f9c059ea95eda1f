"""Do positional encodings help tuned models? Bases as published, encodings on top of them, and where they help.

A base is a graph, its splits, a model and how it is trained, after a published recipe. Every encoding has the same
number of settings to choose from, on validation nodes; the base keeps its recipe. Settings:

    bases       dataset, in a ``file`` if it is no benchmark; splits (``count``, and the ``file`` of a split that all
                seeds share, or the official ones unless ``kind`` is random); model, training (without ``patience``
                the best of all epochs, no early stop); published (mean, standard deviation)
    encodings   options, ``choices`` of the search, and ``large``: changes beyond 5000 nodes
    where       ``input``, ``layers``, or both
    conditions  ``labels`` for each class, ``features = false``; of an empty one also ``groups`` of test nodes
    most        upper limits of splits, epochs and choices; a base may have its own
    fewest      splits without which a base is left out

A cell that is in the CSV file of splits, and was made by the same command, is not computed again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch_geometric.data import Data
from torch_geometric.utils import degree

from llpe.data import NodeDataset, Split, file_splits, official_splits, random_splits
from llpe.data.benchmarks import find_file
from llpe.lab import SearchConfig, search
from llpe.paper.base import Context, Settings, merge
from llpe.paper.results import read_table
from llpe.paper.studies import FIFTHS
from llpe.report.charts import fifths
from llpe.report.statistics import holm, signed_rank
from llpe.runs import RunFolder
from llpe.sealed import write_arrays

LARGE = 5000  # nodes beyond which all eigenpairs cost too much
BLOCK = ["dataset", "condition", "model"]
CELL = [*BLOCK, "encoding", "where"]
DEGREES = ("degree, lowest third", "degree, middle third", "degree, highest third")


def run(name: str, settings: Settings, context: Context) -> list[Path]:
    """Computes the cells that are missing, one after another; files are written after each."""
    rows = _known(name, context)
    done = set(map(tuple, rows[CELL].to_numpy())) if len(rows) else set()
    loaded: dict[str, NodeDataset | None] = {}
    written: list[Path] = []
    for base, cell in context.track(list(cells(settings)), settings["title"], lambda item: ", ".join(item[1])):
        if cell in done:
            continue
        if base["dataset"] not in loaded:
            loaded = {base["dataset"]: context.load(base["dataset"], base.get("file", ""))}  # one graph at a time
        if (dataset := loaded[base["dataset"]]) is not None:
            rows = pd.concat([rows, pd.DataFrame(compute(dataset, base, cell, settings, context))])
            written = _write(name, rows.assign(command=context.command(name)), settings, context)
    if not len(rows):
        raise ValueError(f"{name} must have a graph, got no benchmark. Fetch one, or give its folder.")
    return written or _write(name, rows, settings, context)


def cells(settings: Settings) -> Iterator[tuple[Settings, tuple[str, ...]]]:
    """Every cell with its base; without an encoding there is nothing to be added to layers."""
    for base in settings["bases"]:
        if base["splits"]["count"] < settings["fewest"]:
            continue
        for condition in base.get("conditions", settings["conditions"]):
            for where in settings["where"]:
                for encoding in settings["encodings"]:
                    if encoding != "none" or where == "input":
                        yield base, (base["dataset"], condition, base["model"]["name"], encoding, where)


def compute(
    dataset: NodeDataset, base: Settings, cell: tuple[str, ...], settings: Settings, context: Context
) -> list[dict[str, Any]]:
    """A row for each split of a cell: the scores of the setting that is best on validation nodes."""
    condition, encoding = settings["conditions"][cell[1]], dict(settings["encodings"][cell[3]])
    changes = encoding.pop("large", {})
    encoding = merge(encoding, changes) if dataset.num_nodes > LARGE else encoding
    choices, limits = encoding.pop("choices", {}), (settings["most"], base.get("most", {}))
    most = {key: min(each[key] for each in limits if key in each) for key in limits[0] | limits[1]}
    space = {key: list(values)[: most.get("choices")] for key, values in choices.items()}
    if not condition.get("features", True):
        ones = Data(x=torch.ones(dataset.num_nodes, 1), y=dataset.data.y, edge_index=dataset.data.edge_index)
        dataset = replace(dataset, data=ones)
    splits = make_splits(dataset, base, condition, context)[: most.get("splits")]
    name = f"{base['dataset'].replace('/', '-')}-{cell[1]}-{len(splits)}.npz"
    file = context.runs / "splits" / name.replace(" ", "-")
    file.parent.mkdir(parents=True, exist_ok=True)
    masks = [[np.isin(np.arange(dataset.num_nodes), ids) for ids in (s.train, s.val, s.test)] for s in splits]
    write_arrays(file, dict(zip(("train", "val", "test"), map(np.stack, zip(*masks, strict=True)), strict=True)))
    epochs = most.get("epochs", base["training"]["epochs"])
    raw = {
        "dataset": str(find_file(base["file"], root=context.data_root)) if "file" in base else base["dataset"],
        "encoding": encoding,
        "model": base["model"] | ({"where": cell[4]} if cell[4] != "input" else {}),
        "training": {"patience": epochs} | base["training"] | {"epochs": epochs, "device": context.device},
        "splits": {"kind": str(file), "count": len(splits)},
    }
    plan = SearchConfig(method="grid", preset="own", space=space)
    found = search(dataset, raw, plan, root=context.runs, workers=context.workers, engine=context.engine)
    trained = RunFolder.read(found.run)
    chosen = {name: getattr(found.config.encoding, name) for key in space for name in key.split(",")}
    shared = dict(zip(CELL, cell, strict=True)) | {"metric": trained.metric, "trials": len(found.trials)}
    rows = []
    for report in trained.reports:
        scores = {part: round(100 * report[part], 4) for part in ("val", "test")}
        row = shared | {"split": report["split"], **scores, "epoch": report["best_epoch"]}
        rows.append(row | {"seconds": round(report["seconds"], 1), "choice": json.dumps(chosen)})
        if condition.get("groups"):
            rows += [row | part for part in groups(dataset, trained, report["split"])]
    return rows


def make_splits(dataset: NodeDataset, base: Settings, condition: Settings, context: Context) -> list[Split]:
    """The splits of a base; with ``labels``, that many training nodes of each class, drawn from those of the split."""
    given, y = base["splits"], dataset.data.y
    if "file" in given:
        one = file_splits(find_file(given["file"], root=context.data_root), y, allow_missing_classes=True)[0]
        splits = [one] * given["count"]
    elif dataset.masks is not None and given.get("kind") != "random":
        splits = official_splits(dataset)[: given["count"]]
    else:
        splits = random_splits(y, count=given["count"])
    if "labels" not in condition:
        return splits
    few = []
    for seed, split in enumerate(splits):
        order = split.train[torch.from_numpy(np.random.default_rng(seed).permutation(len(split.train)))]
        chosen = [order[y[order] == each][: condition["labels"]] for each in y[order].unique()]
        few.append(replace(split, train=torch.cat(chosen)))
    return few


def groups(dataset: NodeDataset, trained: RunFolder, split: int) -> Iterator[dict[str, Any]]:
    """The accuracy on the test nodes of a split, by local homophily and by degree."""
    masks, traced = (trained.arrays(name, split) or {} for name in ("split", "predictions"))
    degrees = degree(dataset.data.edge_index[0], dataset.num_nodes).numpy()
    thirds = np.digitize(degrees, np.quantile(degrees, [1 / 3, 2 / 3]), right=True)[masks["test"]]
    names = [f"homophily {each}" for each in FIFTHS]
    for bins, titles in ((fifths(traced["homophily"]), names), (thirds, DEGREES)):
        for number, title in enumerate(titles):
            if (bins == number).any():
                share = 100 * float(traced["correct"][bins == number].mean())
                yield {"condition": title, "metric": "accuracy", "val": np.nan, "test": round(share, 4)}


def summarise(rows: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """One row for each cell: mean and standard deviation over its splits, and the paired difference to ``none``.

    ``p`` is that of Wilcoxon's signed-rank test; ``p_holm`` is corrected for the number of encodings and places that
    are compared with ``none`` in the same block (a graph, a condition and a model).
    """
    published = {base["dataset"]: base.get("published") for base in settings["bases"]}
    out = []
    for block, part in rows.groupby(BLOCK, sort=False):
        tests = part.pivot(index=["encoding", "where"], columns="split", values="test")
        none = tests.loc["none", "input"] if ("none", "input") in tests.index else None
        found = []
        for key, own in part.groupby(["encoding", "where"], sort=False):
            gains = None if none is None or key[0] == "none" else (tests.loc[key] - none).dropna()
            cell = dict(zip(CELL, (*block, *key), strict=True)) | {"metric": own["metric"].iloc[0]}
            cell |= {"mean": round(own["test"].mean(), 2), "std": round(own["test"].std(), 2), "splits": len(own)}
            cell |= {"difference": None if gains is None else round(gains.mean(), 2)}
            cell |= {"p": None if gains is None else round(signed_rank(gains), 5), "p_holm": None}
            cell |= {"seconds": round(own["seconds"].mean(), 1), "trials": own["trials"].iloc[0]}
            mean, std = (key[0] == "none" and block[1] == "all" and published[block[0]]) or (None, None)
            cell |= {"published_mean": mean, "published_std": std}
            found.append(cell | {"within": "" if mean is None else str(abs(cell["mean"] - mean) <= std).lower()})
        tested = [cell for cell in found if cell["p"] is not None]
        for cell, p in zip(tested, holm([cell["p"] for cell in tested]), strict=True):
            cell["p_holm"] = round(p, 5)
        out += found
    return pd.DataFrame(out)


def _known(name: str, context: Context) -> pd.DataFrame:
    path = context.out / f"{name}-splits.csv"
    rows = read_table(path) if path.is_file() else pd.DataFrame()
    rows = rows[rows["command"] == context.command(name)] if len(rows) else rows
    if len(rows):
        context.say(f"{path} has {len(rows.groupby(CELL))} cells of this command, which are not computed again.")
    return rows


def _write(name: str, rows: pd.DataFrame, settings: Settings, context: Context) -> list[Path]:
    results = summarise(rows, settings).assign(command=context.command(name))
    return [context.write_csv(name, results), context.write_csv(f"{name}-splits", rows)]
