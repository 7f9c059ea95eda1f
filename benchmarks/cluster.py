"""The Dask engine: two workers against one, and what it costs for pieces that are hardly any work."""

from collections.abc import Iterator
from functools import partial

from rows import Row, Size, compare, row

from llpe.data import load_graph
from llpe.lab import Dask, resolve, run

EPOCHS = {"full": 400, "quick": 100, "tiny": 2}
FEW_EPOCHS = 2


def cluster(size: Size) -> Iterator[Row]:
    """Eight splits on local clusters, which start before anything is measured."""
    dataset = load_graph("sbm:n=1000,homophily=0.1")

    def train(epochs: int, **where: object) -> object:
        raw = {"dataset": dataset.name, "training": {"epochs": epochs, "patience": epochs}, "splits": {"count": 8}}
        return run(dataset, resolve(raw), **where)  # type: ignore[arg-type]

    pairs = 5 if size == "full" else 1
    with Dask(workers=1) as one, Dask(workers=2) as two:
        ours, baseline = (partial(train, EPOCHS[size], engine=engine) for engine in (two, one))
        ratio, words = compare(ours, baseline, pairs=pairs)
        yield row("two workers", "8 splits, 1000 nodes", "one worker", ratio, 1.6, words)
        ours, baseline = (partial(train, FEW_EPOCHS, **where) for where in ({"engine": two}, {"workers": 2}))
        ratio, words = compare(ours, baseline, pairs=pairs)
        yield row("small pieces on two workers", f"8 splits of {FEW_EPOCHS} epochs", "local engine", ratio, 0.3, words)
