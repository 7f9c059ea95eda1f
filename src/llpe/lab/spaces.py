"""What a search may choose from: the paper's grid, and the grid of the authors' published code.

A space maps keys of the config to lists of choices. Several keys that go together are written with a comma, and
their choices are lists: ``"l1,l2": [[0.01, 0.01], [0, 0]]``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Space = dict[str, list[Any]]

PATIENCE = {"paper": 200, "authors": 50}
PRESETS = tuple(PATIENCE)
PROTOCOL: dict[str, dict[str, Any]] = {  # what the paper does not search, where our defaults are others
    "model": {"hidden": 128, "layers": 2, "dropout": 0.0, "input_dropout": 0.0},
    "training": {"features": "raw", "weight_decay": 0.0, "epochs": 2000},
}
PLAIN_LLPE: dict[str, dict[str, Any]] = {  # the plain formula of our forms, and what the paper learns
    "llpe": {"order": 64, "size": 1.0, "start": "uniform"},
    "llpe-ends": {"order": 64, "size": 1.0, "start": "uniform"},
    "llpe-probes": {"order": 64, "size": 1.0},
}


def as_in_the_paper(raw: Mapping[str, Any]) -> dict[str, Any]:
    """A config with the paper's protocol in place of our defaults; what it says itself stays.

    Example:
        >>> as_in_the_paper({"dataset": "cora", "training": {"weight_decay": 0.01}})["training"]
        {'features': 'raw', 'weight_decay': 0.01, 'epochs': 2000}
    """
    encoding = dict(raw.get("encoding", {}))
    out = dict(raw) | {"encoding": PLAIN_LLPE.get(encoding.get("name", "llpe"), {}) | encoding}
    return out | {section: defaults | raw.get(section, {}) for section, defaults in PROTOCOL.items()}


_RATES = [0.05, 0.01, 0.005, 0.001]
_NEIGHBOURS = [8, 16, 32, 64, 128, 256, 512]


def space_of(preset: str, encoding: str) -> Space:
    """The choices of a preset for one encoding.

    Example:
        >>> space_of("paper", "rwse")["steps"], space_of("authors", "llpe")["order"]
        ([8, 16, 32, 64], [64, 128])
    """
    if preset not in PRESETS:
        raise ValueError(f"`preset` must be one of {', '.join(PRESETS)}, got {preset!r}.")
    own = _llpe(preset, encoding) if encoding in ("llpe", "llpe-ends", "llpe-minmax") else _encoding(encoding)
    shared = _training(preset)
    if encoding in ("san", "signnet"):  # they have layers of their own
        shared = {f"model.{key}" if key in ("hidden", "layers") else key: each for key, each in shared.items()}
    return shared | own


def _training(preset: str) -> Space:
    if preset == "authors":
        return {"lr": _RATES, "dropout": [0.0, 0.2]}
    return {
        "lr": _RATES,
        "optimizer": ["adam", "sgd"],
        "dropout": [0.0, 0.2, 0.5],
        "hidden": [64, 128],
        "layers": [1, 2],
    }


def _encoding(encoding: str) -> Space:
    if encoding == "rwse":
        return {"steps": [8, 16, 32, 64]}
    if encoding == "san":  # NOTE[PAPER]: k to 512 there; attention over k eigenvectors at every node costs k² here
        return {"k": [8, 16, 32]}
    if encoding in ("lpe-fk", "lpe-flk", "lpe-lk", "signnet"):
        return {"k": _NEIGHBOURS}
    if encoding == "llpe-probes":  # ours: the filters are shared by all probes, dim = probes × filters
        widths = [[32, 128], [64, 128], [64, 256], [128, 256], [256, 512]]
        return {"order": [16, 32, 64], "probes,dim": widths, "size": [0.1, 1.0]}
    return {}


def _llpe(preset: str, encoding: str) -> Space:
    if preset == "authors":
        penalties = [0.01, 0.001, 0.0001, 0.0]
        return {"encoding.dim": [64, 128], "order": [64, 128], "l1,l2": [[c, c] for c in penalties]}
    own: Space = {"order": [64, 128], "l1": [0.001, 0.0001, 0.0]}
    if encoding != "llpe-minmax":  # ours: as published, the size is what min-max scaling makes of it
        own |= {"size": [1.0, 10.0]}
    return own | {"k": [64, 128, 256, 512]} if encoding == "llpe-ends" else own


def replaced(space: Space, own: Space) -> Space:
    """A space with some choices replaced or added; ``layers`` and ``model.layers`` are the same key.

    Example:
        >>> replaced({"lr": [0.1], "layers": [1, 2]}, {"model.layers": [3]})
        {'lr': [0.1], 'model.layers': [3]}
    """
    kept = {key: choices for key, choices in space.items() if not any(_same(key, other) for other in own)}
    return kept | own


def _same(one: str, two: str) -> bool:
    return one == two or one.endswith(f".{two}") or two.endswith(f".{one}")


def encode(value: Any) -> Any:
    """A choice as something that a data base of trials can hold."""
    return json.dumps(value) if isinstance(value, list) else value


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
