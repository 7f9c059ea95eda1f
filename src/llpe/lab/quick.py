"""Quick experiments with the usual encodings: what ``llpe compare`` and ``llpe demo`` train."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from llpe.lab.config import Config, assign, resolve

USUAL: tuple[dict[str, Any], ...] = (
    {"name": "none"},
    {"name": "lpe-fk", "dim": 64, "k": 16},
    {"name": "lpe-flk", "dim": 64, "k": 16},
    {"name": "rwse", "dim": 64},
    {"name": "llpe", "dim": 64},
    {"name": "llpe-probes", "dim": 64},
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
    dataset: str,
    num_nodes: int,
    *,
    model: str,
    splits: int,
    kind: str = "random",
    settings: Mapping[str, Any] | None = None,
) -> tuple[list[Config], list[str]]:
    """The experiments of a comparison, with ``settings`` for all; and, in words, what the graph is too large for.

    Example:
        >>> configs, left_out = quick_configs("sbm:n=100", 10_000, model="mlp", splits=8)
        >>> len(configs), left_out
        (5, ['llpe is left out: it is slow beyond 5000 nodes, and this graph has 10000.'])
    """
    configs, left_out = [], []
    for encoding in USUAL:
        name, limit = encoding["name"], LIMITS.get(encoding["name"], num_nodes)
        if num_nodes > limit:
            left_out.append(f"{name} is left out: it is slow beyond {limit} nodes, and this graph has {num_nodes}.")
            continue
        raw = {
            "dataset": dataset,
            "encoding": encoding,
            "model": {"name": model},
            "training": {"epochs": 400, "patience": 100},
            "splits": {"kind": kind, "count": splits},
        }
        configs.append(resolve(assign(raw, dict(settings or {}))))
    return configs, left_out


def demo_configs(
    *, models: Sequence[str] = ("mlp",), splits: int = 10, homophilies: Sequence[int] = (0, 1)
) -> Iterator[Config]:
    """Two blocks of nodes, with no edge inside a block or none between them: graphs × models × encodings.

    Example:
        >>> len(list(demo_configs()))
        10
    """
    for homophily in homophilies:
        for model in models:
            for encoding in DEMO:
                raw = {
                    "dataset": f"sbm:n=2000,blocks=2,degree=10,homophily={homophily}",
                    "encoding": encoding,
                    "model": {"name": model, "hidden": 32},
                    "training": {"lr": 0.02, "epochs": 150, "patience": 40, "weight_decay": 0.001},
                    "splits": {"count": splits},
                }
                yield resolve(raw)
