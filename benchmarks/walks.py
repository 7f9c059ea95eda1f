"""Return probabilities of random walks (RWSE) of 16 steps against PyG's, in time and memory, to the same numbers."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from graphs import load
from rows import Row, Size, against, amount, duration, measure, measured, row
from torch_geometric.data import Data
from torch_geometric.transforms import AddRandomWalkPE as PygAddRandomWalkPE
from torch_geometric.transforms import BaseTransform

from llpe import AddRandomWalkPE
from llpe.data import sbm
from llpe.measuring import Work
from llpe.storage import available_memory

STEPS = 16
GRAPHS = {"full": ("computers", "physics"), "quick": ("cora",), "tiny": ("sbm:n=2100,homophily=0.8",)}
PATIENCE = {"full": 120.0, "quick": 30.0, "tiny": 60.0}  # seconds for PyG's
POWER = 12  # bytes of an entry of PyG's powers of the transition matrix: float32 value, 64-bit index


def walks(size: Size) -> Iterator[Row]:
    """PyG multiplies sparse matrices that fill in to n×n, two at a time; where they cannot fit it is not started."""
    what = f"RWSE, {STEPS} steps"
    for name in GRAPHS[size]:
        dataset, at = load(name)
        ours = measured("walks", "llpe", name=name)
        least = 2 * POWER * dataset.num_nodes**2
        if least > available_memory():
            words = f"{amount(ours['bytes'])} ({duration(ours['seconds'])}) against {amount(least)}, more than there is"
            yield row(f"memory of {what}", at, "PyG's last two powers", least / ours["bytes"], 1, words)
            continue
        theirs = measure("walks", "pyg", name=name, limit=PATIENCE[size])
        if "after" in theirs:
            words = f"{duration(ours['seconds'])} and no answer in {duration(theirs['after'])}: a lower bound"
            yield row(what, at, "PyG", theirs["after"] / ours["seconds"], 1, words)
            continue
        if "failed" in theirs:
            raise RuntimeError(f"PyG's walks on {name}: {theirs['failed']}")
        apart = float(np.abs(np.subtract(ours["means"], theirs["means"])).max())
        words = f"{against(ours['seconds'], theirs['seconds'])}; means of the columns {apart:.0e} apart"
        yield row(what, at, "PyG", theirs["seconds"] / ours["seconds"], 1, words, sound=apart < 1e-6)
        words = f"{amount(ours['bytes'])} against {amount(theirs['bytes'])}"
        yield row(f"memory of {what}", at, "PyG", theirs["bytes"] / ours["bytes"], 1, words)


def llpe(name: str) -> Work:
    return _work(name, AddRandomWalkPE(STEPS))


def pyg(name: str) -> Work:
    return _work(name, PygAddRandomWalkPE(STEPS))


def _work(name: str, transform: BaseTransform) -> Work:
    transform(sbm(2100, degree=2))
    data = load(name)[0].data

    def describe(done: Data) -> dict[str, Any]:
        return {"means": done.random_walk_pe.double().mean(dim=0).tolist()}

    return Work(lambda: transform(data.clone()), describe)
