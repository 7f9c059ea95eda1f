"""Quick experiments with the encodings of ``quick.toml``: what ``llpe compare`` and ``llpe demo`` train."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from itertools import product
from typing import Any

from llpe.encodings import Encoding
from llpe.lab.config import Config, assign, build

QUICK = tomllib.loads(files("llpe.lab").joinpath("quick.toml").read_text("utf-8"))


def quick_configs(
    dataset: str, num_nodes: int, settings: Mapping[str, Any] | None = None, *, model: str, splits: int, kind: str
) -> tuple[list[tuple[Config, Encoding]], list[str]]:
    """The experiments of a comparison with their encodings, and ``settings`` for all; and what is left out, in words.

    Example:
        >>> configs, left_out = quick_configs("sbm:n=100", 10_000, model="mlp", splits=8, kind="random")
        >>> len(configs), left_out
        (5, ['llpe is left out: it is slow beyond 5000 nodes, and this graph has 10000.'])
    """
    plan = QUICK["compare"]
    slow = {name: limit for name, limit in plan["limits"].items() if num_nodes > limit}
    shared = {"dataset": dataset, "model": {"name": model}, "splits": {"kind": kind, "count": splits}}
    raws = [
        shared | {"encoding": encoding, "training": plan["training"]}
        for encoding in plan["encodings"]
        if encoding["name"] not in slow
    ]
    left_out = [
        f"{name} is left out: it is slow beyond {limit} nodes, and this graph has {num_nodes}."
        for name, limit in slow.items()
    ]
    return [build(assign(raw, dict(settings or {}))) for raw in raws], left_out


def demo_configs(
    *, models: Sequence[str] = ("mlp",), splits: int = 10, device: str = "cpu"
) -> list[tuple[Config, Encoding]]:
    """Two blocks of nodes, without edges inside a block or without edges between them: graphs × models × encodings.

    Example:
        >>> len(demo_configs())
        10
    """
    plan = QUICK["demo"]
    shared = {"training": plan["training"] | {"device": device}, "splits": {"count": splits}}
    return [
        build(shared | {"dataset": graph, "encoding": each, "model": {"name": model, "hidden": plan["hidden"]}})
        for graph, model, each in product(plan["graphs"], models, plan["encodings"])
    ]
