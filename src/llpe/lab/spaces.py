"""Settings to choose from: the spaces of a search, and the experiments of ``llpe compare`` and ``llpe demo``.

A space maps keys of the config to lists of choices. Several keys that go together are written with a comma, and
their choices are lists: ``"l1,l2": [[0.01, 0.01], [0, 0]]``. An encoding's class says what to choose for it.

* ``paper``: the paper's grid, everything else as in its protocol
* ``authors``: the grid of the authors' published code
* ``extended``: the paper's grid of rates, optimisers and sizes, with weight decay, dropped words and our defaults
* ``own``: nothing but the choices that a search is given, and our defaults
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from itertools import product
from typing import Any, Literal

from pydantic import Field

from llpe.encodings import ENCODINGS, Encoding
from llpe.lab.config import Config, Section, assign, build

Space = dict[str, list[Any]]

RATES = [0.05, 0.01, 0.005, 0.001]
TRAINING: dict[str, Space] = {
    "paper": {
        "lr": RATES,
        "optimizer": ["adam", "sgd"],
        "dropout": [0.0, 0.2, 0.5],
        "hidden": [64, 128],
        "layers": [1, 2],
    },
    "authors": {"lr": RATES, "dropout": [0.0, 0.2]},
}
TRAINING["extended"] = TRAINING["paper"] | {"weight_decay": [0.0, 5e-4, 5e-3], "input_dropout": [0.0, 0.5]}
TRAINING["own"] = {}
PATIENCE = {"paper": 200, "authors": 50, "extended": 200, "own": 200}
PROTOCOL: dict[str, dict[str, Any]] = {  # what the paper does not search, where our defaults are others
    "model": {"hidden": 128, "layers": 2, "dropout": 0.0, "input_dropout": 0.0},
    "training": {"features": "raw", "weight_decay": 0.0, "epochs": 2000},
}
QUICK = tomllib.loads(files("llpe.lab").joinpath("quick.toml").read_text("utf-8"))


class SearchConfig(Section):
    """The section ``[search]`` of a config.

    Attributes:
        method: ``stratified``: every choice equally often, and each pair of learning rate and optimiser, see
            :func:`~llpe.lab.trials.stratified`; ``tpe``: eight of these, then what the tree-structured Parzen estimator
            proposes; or ``grid``.
        trials: how many different settings to try; a grid without it is tried whole.
        pruner: at each step ``halving`` keeps the best third of a wave, ``median`` the better half, ``best`` one
            setting, ``none`` all.
        preset: the space, ``paper``, ``authors``, ``extended`` or ``own``, see :mod:`llpe.lab.spaces`.
        space: choices that replace those of the preset, or add to them.
        storage: URL of an Optuna storage that is given a copy of the finished trials, to look at them with its tools.
        seed: of the draws.
    """

    method: Literal["tpe", "grid", "stratified"] = "tpe"
    trials: int | None = Field(None, ge=1)
    pruner: Literal["halving", "median", "best", "none"] = "halving"
    preset: Literal["paper", "authors", "extended", "own"] = "paper"
    space: dict[str, list[Any]] = Field(default_factory=dict)
    storage: str | None = None
    seed: int = Field(0, ge=0)


def as_in_the_paper(raw: Mapping[str, Any]) -> dict[str, Any]:
    """A config with the paper's protocol in place of our defaults; what it sets itself stays.

    Example:
        >>> as_in_the_paper({"dataset": "cora", "training": {"weight_decay": 0.01}})["training"]
        {'features': 'raw', 'weight_decay': 0.01, 'epochs': 2000}
    """
    encoding = dict(raw.get("encoding", {}))
    name = encoding.get("name", "llpe")
    own = ENCODINGS[name].paper_options if name in ENCODINGS else {}
    out = dict(raw) | {"encoding": own | encoding}
    return out | {section: defaults | raw.get(section, {}) for section, defaults in PROTOCOL.items()}


def space_of(preset: str, encoding: str) -> Space:
    """The choices of a preset for one encoding.

    Example:
        >>> space_of("paper", "rwse")["steps"], space_of("authors", "llpe")["order"]
        ([8, 16, 32, 64], [64, 128])
    """
    named = ENCODINGS[encoding]
    training = {
        f"model.{key}" if key in ("hidden", "layers") and key in named.options else key: choices
        for key, choices in TRAINING[preset].items()
    }
    return training | ({} if preset == "own" else named.space(preset))


def replaced(space: Space, own: Space) -> Space:
    """A space with some choices replaced or added; ``layers`` and ``model.layers`` are the same key.

    Example:
        >>> replaced({"lr": [0.1], "layers": [1, 2]}, {"model.layers": [3]})
        {'lr': [0.1], 'model.layers': [3]}
    """

    def replaces(one: str, two: str) -> bool:
        return one == two or one.endswith(f".{two}") or two.endswith(f".{one}")

    return {key: choices for key, choices in space.items() if not any(replaces(key, other) for other in own)} | own


def encode(value: Any) -> Any:
    """A choice in a form that a database of trials can hold."""
    return json.dumps(value) if isinstance(value, list) else value


def key_of(choice: Mapping[str, Any]) -> str:
    """Equal for equal choices."""
    return json.dumps(choice, sort_keys=True)


def assignments(choice: Mapping[str, Any]) -> dict[str, Any]:
    """The keys and values of a choice, joint ones taken apart.

    Example:
        >>> assignments({"lr": 0.01, "probes,dim": "[32, 128]"})
        {'lr': 0.01, 'probes': 32, 'dim': 128}
    """
    out: dict[str, Any] = {}
    for key, value in choice.items():
        if "," in key:
            values = json.loads(value) if isinstance(value, str) else value
            out |= dict(zip(key.split(","), values, strict=True))
        else:
            out[key] = value
    return out


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
