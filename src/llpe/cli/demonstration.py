"""The demonstration: two blocks, at both ends of homophily, with and without encodings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from llpe.lab.config import Config, resolve
from llpe.report.figures import Bar
from llpe.runs import RunFolder

HOMOPHILIES = (0, 1)
ENCODINGS: tuple[dict[str, object], ...] = (
    {"name": "none"},
    {"name": "lpe-fk", "dim": 16, "k": 16},
    {"name": "lpe-flk", "dim": 16, "k": 16},
    {"name": "llpe", "dim": 16},
    {"name": "llpe-probes", "dim": 16, "probes": 8},
)


def demo_configs(*, models: Sequence[str] = ("mlp",), splits: int = 10) -> Iterator[Config]:
    """Every experiment of the demonstration: graphs × models × encodings.

    Example:
        >>> len(list(demo_configs()))
        10
    """
    for homophily in HOMOPHILIES:
        for model in models:
            for encoding in ENCODINGS:
                yield resolve(
                    {
                        "dataset": f"sbm:n=2000,blocks=2,degree=10,homophily={homophily}",
                        "encoding": encoding,
                        "model": {"name": model, "hidden": 32},
                        "training": {"lr": 0.02, "epochs": 150, "patience": 40, "weight_decay": 0.001},
                        "splits": {"count": splits},
                    }
                )


def bars(runs: Iterable[RunFolder]) -> list[Bar]:
    """The bars of the demonstration's figure."""
    out = []
    for run in runs:
        group = "homophily " + run.dataset.rpartition("homophily=")[2]
        if run.mean is not None:
            out.append(Bar(group, run.encoding, run.mean, run.std, panel=run.model))
    return out
