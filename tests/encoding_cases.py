"""Every encoding of the table with small options: what the tests of all encodings share."""

import contextlib
from typing import Literal, get_args, get_origin, get_type_hints

import torch
from torch_geometric.data import Data

from llpe import Concat, make_encoding
from llpe.encodings import ENCODINGS, Encoding

# Small values of the options that many encodings share; 12 nodes has the largest tiny graph.
SMALL = {"dim": 8, "k": 3, "order": 12, "steps": 4, "width": 12, "probes": 4, "filters": 2, "l1": 0.1, "l2": 0.1}


def cases() -> dict[str, dict]:
    """Every encoding of the table, and every other choice of an option that has a few named ones."""
    found = {}
    for name, named in ENCODINGS.items():
        options = {option: value for option, value in SMALL.items() if option in named.options}
        found[name] = options
        for option, kind in get_type_hints(named.kind.__init__).items():
            if option not in named.options:
                continue
            choices = [
                choice for each in (kind, *get_args(kind)) if get_origin(each) is Literal for choice in get_args(each)
            ]
            for choice in choices:
                with contextlib.suppress(ValueError):  # choices that do not go together
                    if repr(make_encoding(name, **options | {option: choice})) != repr(make_encoding(name, **options)):
                        found[f"{name} {option}={choice}"] = options | {option: choice}
    return found | {"concat": {}}


CASES = cases()
NAMES = [case for case in CASES if " " not in case]


def build(case: str, **more) -> Encoding:
    if case == "concat":
        return Concat([build(each, **more) for each in ("lpe-fk", "signnet", "rwse")]).eval()
    return make_encoding(case.split()[0], **(CASES[case] | more)).eval()


def fixed_part(data: Data, before: Data) -> dict[str, torch.Tensor]:
    return {name: data[name] for name in data.keys() if name not in before}  # noqa: SIM118
