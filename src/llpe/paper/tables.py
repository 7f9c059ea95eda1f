"""Tables 1–3: model × encoding × data set, each cell searched on validation and scored over ten splits.

LLPE stands there three times: ``llpe-minmax`` is LLPE as published, ``llpe`` the same formula with eigenvectors of unit
length and one seeded direction for each eigenspace, ``llpe-probes`` needs no eigenvector at all; on large graphs
``llpe-ends`` stands for the first two. ``llpe-probes-frozen`` and ``fastrp`` show what probes are worth without
learning. Within a block (a graph and a model) every encoding has the same number of settings, spread evenly over the
learning rates and optimisers of the paper's grid.

Files are written after each cell. Processes that share the folder of runs share the work.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from llpe.data import NodeDataset
from llpe.lab import Found, SearchConfig, search
from llpe.lab.search import BusyError
from llpe.paper.base import Context, Study
from llpe.paper.published import Cell, Scored, scored, standing, write

ENCODINGS: dict[str, dict[str, Any]] = {
    "none": {"name": "none"},
    "lpe-fk": {"name": "lpe-fk", "k": 16},
    "lpe-flk": {"name": "lpe-flk", "k": 16},
    "lpe-full": {"name": "lpe-full"},
    "elastic": {"name": "elastic"},
    "san": {"name": "san", "k": 16},
    "signnet": {"name": "signnet", "k": 16},
    "rwse": {"name": "rwse", "steps": 16},
    "fastrp": {"name": "fastrp"},
    "llpe": {"name": "llpe"},
    "llpe-ends": {"name": "llpe-ends", "k": 128},
    "llpe-minmax": {"name": "llpe-minmax"},
    "llpe-probes": {"name": "llpe-probes", "probes": 64, "dim": 128, "order": 16},
    "llpe-probes-frozen": {"name": "llpe-probes", "probes": 64, "dim": 128, "order": 16, "frozen": True},
}
BUSY_SECONDS = 10.0  # before looking again at what another process is computing
LLPE = ("llpe", "llpe-minmax", "llpe-probes")
FIXED = ("llpe-probes-frozen", "fastrp")  # what learning adds to probes
TABLE_1 = ("none", "lpe-fk", "lpe-flk", "lpe-full", "elastic", "rwse", *LLPE, *FIXED)
TABLE_1_GT = ("none", "lpe-fk", "lpe-flk", "lpe-full", "elastic", "san", "signnet", "rwse", *LLPE, *FIXED)
TABLE_2 = ("none", "lpe-fk", "san", "signnet", "rwse", *LLPE, *FIXED)  # elastic, the paper's other one, takes long
MEDIUM = ("tolokers", "computers", "amazon-ratings", "cora-full")
FIRST = ("none", "lpe-fk", *LLPE)  # rows with ten splits wherever there are any


@dataclass(frozen=True)
class Block:
    """Cells of one data set and model; ``expensive`` ones belong to the budget ``paper`` only."""

    dataset: str
    model: str
    encodings: tuple[str, ...]
    expensive: tuple[str, ...] = ()


BLOCKS: dict[str, tuple[Block, ...]] = {
    "table-small": (
        *(Block(name, model, TABLE_1) for name in ("texas", "cornell") for model in ("mlp", "sage")),
        *(Block(name, "gt", TABLE_1_GT) for name in ("texas", "cornell")),
        *(Block(name, model, TABLE_1) for name in ("cora", "cora-ml", "photo") for model in ("mlp", "sage")),
        *(Block(name, "gt", TABLE_1_GT) for name in ("cora", "cora-ml")),
        Block("photo", "gt", (), TABLE_1_GT),
    ),
    "table-medium": (
        *(Block(name, model, TABLE_2, ("elastic",)) for name in MEDIUM for model in ("sage", "mlp")),
        *(Block(name, "gt", (), (*TABLE_2, "elastic")) for name in MEDIUM),
    ),
    "table-large": tuple(
        Block(name, "sage", ("none", "lpe-fk", "llpe-ends", "llpe-probes")) for name in ("penn94", "questions")
    ),
}
TITLES = {
    "table-small": "Table 1: the small benchmarks",
    "table-medium": "Table 2: the medium benchmarks",
    "table-large": "Table 3: the large benchmarks",
}


def cells_of(name: str, budget: str) -> list[Cell]:
    """The cells of a table, cheapest first."""
    blocks = BLOCKS[name]
    if budget == "quick":
        blocks = blocks[: 2 if name == "table-small" else 1]
    return [
        Cell(block.dataset, block.model, encoding)
        for block in blocks
        for encoding in (*block.encodings, *(block.expensive if budget == "paper" else ()))
    ]


def plan_of(budget: str, num_nodes: int, cell: Cell) -> tuple[SearchConfig, int]:
    """The search and the number of splits of a cell.

    A standard search tries 48 settings below 1000 nodes, 24 below 5000 and 12 above, each pair of learning rate and
    optimiser equally often. Graph transformers above 1000 nodes, whose step works on n × n numbers, have 8 settings,
    one layer, the smaller hidden width and at most 1000 epochs, and five splits for the rows that are not the question;
    ``san``, a transformer over k tokens at every node, is kept small there. Probes above 1000 nodes have at most 256
    columns.
    """
    if budget == "paper":
        return SearchConfig(method="grid"), 10
    if budget == "quick":
        return SearchConfig(trials=2), 3
    space: dict[str, list[Any]] = {}
    if num_nodes < 1000:
        return SearchConfig(method="stratified", trials=48), 10
    probes = ENCODINGS[cell.encoding]["name"] == "llpe-probes"
    if cell.model != "gt":
        space |= {"probes,dim": [[32, 128], [64, 128], [64, 256]], "order": [16, 32]} if probes else {}
        space |= {"k": [8, 16], "encoding.dim": [32]} if cell.encoding == "san" else {}
        space |= {"model.hidden": [64]} if num_nodes >= 5000 else {}
        return SearchConfig(method="stratified", trials=24 if num_nodes < 5000 else 12, space=space), 10
    space |= {"model.hidden": [64], "model.layers": [1], "training.epochs": [1000]}
    space |= {"probes,dim": [[64, 128]], "order": [16, 32]} if probes else {}
    space |= {"k": [8], "encoding.dim": [32]} if cell.encoding == "san" else {}
    return SearchConfig(method="stratified", trials=8, space=space), 10 if cell.encoding in FIRST else 5


def run_table(name: str, context: Context) -> list[Path]:
    """Computes what can be computed here and writes the table's files."""
    cells = cells_of(name, context.budget)
    left_out = [cell for cell in cells_of(name, "paper") if cell not in cells]
    if left_out and context.budget != "quick":
        groups: dict[str, list[str]] = {}
        for cell in left_out:
            groups.setdefault(f"{cell.dataset} with {cell.model}", []).append(cell.encoding)
        listed = "; ".join(f"{where} ({', '.join(encodings)})" for where, encodings in groups.items())
        context.say(f"left to the budget `paper`, as a step there takes long: {listed}")
    data: dict[str, NodeDataset | None] = {name: context.load(name) for name in dict.fromkeys(c.dataset for c in cells)}
    if all(dataset is None for dataset in data.values()):
        raise ValueError(f"{name} must have a graph, got no benchmark. Fetch one, or give its folder.")
    done: dict[Cell, Scored] = {}
    written: list[Path] = []
    if before := standing(name, context):
        context.say(
            f"{context.out / name}.csv has {len(before)} cells of `{context.command(name)}`; each stays until it "
            "is computed again. For a table of your own give another --output."
        )
    todo = [cell for cell in cells if data[cell.dataset] is not None]
    while todo:
        busy = []
        for cell in context.track(todo, name, str):
            try:
                found = _compute(cell, data[cell.dataset], context)
            except BusyError:
                busy.append(cell)
                continue
            if found is not None:
                done[cell] = scored(cell, found)
                known = before | done
                written = write(name, {each: known[each] for each in cells if each in known}, context)
        todo = busy
        time.sleep(BUSY_SECONDS if busy else 0)
    return written


def config_of(cell: Cell, splits: int) -> dict[str, Any]:
    """The config whose settings are searched."""
    encoding, model = ENCODINGS[cell.encoding], {"name": cell.model}
    return {"dataset": cell.dataset, "encoding": encoding, "model": model, "splits": {"count": splits}}


def _compute(cell: Cell, dataset: NodeDataset | None, context: Context) -> Found | None:
    assert dataset is not None
    settings, splits = plan_of(context.budget, dataset.num_nodes, cell)
    try:
        return search(dataset, config_of(cell, splits), settings, root=context.runs, workers=context.workers)
    except BusyError:
        raise
    except (RuntimeError, MemoryError) as error:
        context.say(f"{cell} is left out: {error}")
        return None


STUDIES = {name: Study(name, title, partial(run_table, name)) for name, title in TITLES.items()}
