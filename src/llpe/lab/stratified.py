"""Settings for a fair search: a fixed list in which every choice of every key comes up equally often."""

from __future__ import annotations

import json
from itertools import product
from math import prod
from random import Random
from typing import Any

from llpe.lab.spaces import Space, encode, key_of

PAIRED = ("lr", "optimizer")  # each pair of them is tried


def stratified(space: Space, count: int, seed: int = 0) -> list[dict[str, Any]]:
    """``count`` different settings, or all if there are no more.

    Each pair of learning rate and optimiser comes once before any comes twice, and half of a round has every rate, and
    both optimisers equally often. What is drawn for another key depends on the seed, the key and its choices alone:
    encodings are compared with the same widths, layers and dropout.

    Example:
        >>> space = {"lr": [0.1, 0.01], "optimizer": ["adam", "sgd"], "k": [8, 16]}
        >>> for setting in stratified(space, 4):
        ...     print(*setting.values())
        0.1 sgd 16
        0.01 adam 8
        0.1 adam 8
        0.01 sgd 16
    """
    count = min(count, prod(map(len, space.values())))
    paired = [key for key in PAIRED if key in space]
    pairs = _pairs([space[key] for key in paired], count, seed)
    columns = {key: _evenly(key, choices, count, seed) for key, choices in space.items() if key not in paired}
    columns |= {key: [pair[place] for pair in pairs] for place, key in enumerate(paired)}
    every = [dict(zip(space, map(encode, values), strict=True)) for values in product(*space.values())]
    found: dict[str, dict[str, Any]] = {}
    for number in range(count):
        setting = {key: encode(columns[key][number]) for key in space}
        if key_of(setting) in found:  # then another one of the same pair, if there is any left
            left = [each for each in every if key_of(each) not in found]
            alike = [each for each in left if all(each[key] == setting[key] for key in paired)]
            setting = Random(json.dumps([seed, number])).choice(alike or left)
        found[key_of(setting)] = setting
    return list(found.values())


def _pairs(choices: list[list[Any]], count: int, seed: int) -> list[tuple[Any, ...]]:
    """All combinations in rounds, each round in another order, in which neighbours have different values."""
    if not choices:
        return [()] * count
    found: list[tuple[Any, ...]] = []
    while len(found) < count:
        random = Random(json.dumps([seed, len(found)]))
        first, *others = (random.sample(each, len(each)) for each in choices)
        rest = list(product(*others))
        for shift in range(len(rest)):
            found += [(value, *rest[(place + shift) % len(rest)]) for place, value in enumerate(first)]
    return found[:count]


def _evenly(key: str, choices: list[Any], count: int, seed: int) -> list[Any]:
    """Each choice equally often, to within one, in a random order."""
    random = Random(json.dumps([seed, key.removeprefix("model."), choices]))
    column = (random.sample(choices, len(choices)) * -(-count // len(choices)))[:count]
    random.shuffle(column)
    return column
