"""Quick experiments with the usual encodings: what ``llpe compare`` and ``llpe demo`` train."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from llpe.lab.config import SHARE, Config, assign, resolve

USUAL: tuple[dict[str, Any], ...] = (
    {"name": "none"},
    {"name": "lpe-fk", "dim": 64, "k": 16},
    {"name": "lpe-flk", "dim": 64, "k": 16},
    {"name": "rwse", "dim": 64},
    {"name": "llpe", "dim": 64, "share": SHARE},
    {"name": "llpe-probes", "dim": 64, "share": SHARE},
)
LIMITS = {"llpe": 5000, "rwse": 20_000}  # nodes up to which their fixed part is quick to compute
DEMO: tuple[dict[str, Any], ...] = (
    {"name": "none"},
    {"name": "lpe-fk", "dim": 16, "k": 16},
    {"name": "lpe-flk", "dim": 16, "k": 16},
    {"name": "llpe", "dim": 16},
    {"name": "llpe-probes", "dim": 16, "probes": 8},
)


def quick_configs(
    dataset: str, num_nodes: int, settings: Mapping[str, Any] | None = None, *, model: str, splits: int, kind: str
) -> tuple[list[Config], list[str]]:
    """The experiments of a comparison, with ``settings`` for all; and, in words, what the graph is too large for.

    Example:
        >>> configs, left_out = quick_configs("sbm:n=100", 10_000, model="mlp", splits=8, kind="random")
        >>> len(configs), left_out
        (5, ['llpe is left out: it is slow beyond 5000 nodes, and this graph has 10000.'])
    """
    fast = [each for each in USUAL if num_nodes <= LIMITS.get(each["name"], num_nodes)]
    shared = {"dataset": dataset, "model": {"name": model}, "splits": {"kind": kind, "count": splits}}
    training = {"epochs": 400, "patience": 100}
    raws = [shared | {"encoding": encoding, "training": training} for encoding in fast]
    left_out = [
        f"{name} is left out: it is slow beyond {limit} nodes, and this graph has {num_nodes}."
        for name, limit in LIMITS.items()
        if num_nodes > limit
    ]
    return [resolve(assign(raw, dict(settings or {}))) for raw in raws], left_out


def demo_configs(*, models: Sequence[str] = ("mlp",), splits: int = 10) -> list[Config]:
    """Two blocks of nodes, without edges inside a block or without edges between them: graphs × models × encodings.

    Example:
        >>> len(demo_configs())
        10
    """
    training = {"lr": 0.02, "epochs": 150, "patience": 40, "weight_decay": 0.001}
    return [
        resolve(
            {
                "dataset": f"sbm:n=2000,blocks=2,degree=10,homophily={homophily}",
                "encoding": encoding,
                "model": {"name": model, "hidden": 32},
                "training": training,
                "splits": {"count": splits},
            }
        )
        for homophily, model, encoding in product((0, 1), models, DEMO)
    ]
