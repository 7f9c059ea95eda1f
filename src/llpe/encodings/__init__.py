"""The encodings, one file each, behind one interface; and the one table of their names.

A name stands for a class and, where a class has several names, for the options that differ between them. The same name
is used everywhere: in configs, commands, tables, figures and run folders.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from llpe.checks import refusal
from llpe.encodings.base import Encoding
from llpe.encodings.concat import Concat
from llpe.encodings.elastic import ElasticPE
from llpe.encodings.fastrp import FastRP
from llpe.encodings.filtered import SHARE, FilteredEncoding
from llpe.encodings.invariant import InvariantLLPE
from llpe.encodings.llpe import LLPE
from llpe.encodings.lpe import LPEEnds, LPEFirst, LPEFull, LPELast
from llpe.encodings.none import NoEncoding
from llpe.encodings.probe_llpe import ProbeLLPE
from llpe.encodings.rwse import RWSE
from llpe.encodings.san import SANPE
from llpe.encodings.signnet import SignNet


@dataclass(frozen=True)
class Named:
    """What a name stands for.

    Attributes:
        kind: the class.
        decided: the options of it that the name decides, and that cannot be given with it.
        form: what they mean, in a few words.
    """

    kind: type[Encoding]
    decided: Mapping[str, Any] = field(default_factory=dict)
    form: str = ""

    @property
    def options(self) -> dict[str, inspect.Parameter]:
        """The options that can be given with the name."""
        known = inspect.signature(self.kind).parameters
        return {name: each for name, each in known.items() if name not in self.decided}

    @property
    def paper_options(self) -> dict[str, Any]:
        """The options of the paper's protocol, where our defaults are others."""
        return {name: value for name, value in self.kind.paper_options.items() if name not in self.decided}

    def space(self, preset: str) -> dict[str, list[Any]]:
        """What a search chooses from, see :meth:`Encoding.space`."""
        return self.kind.space(preset, self.decided)


PUBLISHED = {
    "source": "full",
    "k": None,
    "scaling": "minmax",
    "directions": 1,
    "start": "uniform",
    "rows": "plain",
    "share": SHARE,
    "size": 1.0,
    "frozen": False,
}
ENCODINGS: dict[str, Named] = {
    kind.name: Named(kind)
    for kind in (NoEncoding, LPEFirst, LPELast, LPEEnds, LPEFull, ElasticPE, SignNet, SANPE, RWSE, FastRP)
} | {
    "llpe": Named(LLPE, {"source": "full", "k": None, "scaling": "unit"}, "from all eigenpairs"),
    "llpe-ends": Named(LLPE, {"source": "ends"}, "from the first and last k eigenpairs"),
    "llpe-minmax": Named(LLPE, PUBLISHED, "as published"),
    "llpe-probes": Named(ProbeLLPE),
    "llpe-invariant": Named(InvariantLLPE),
}
INSTEAD = {  # of an option, another name
    ("source", "full"): "llpe",
    ("source", "ends"): "llpe-ends",
    ("source", "probes"): "llpe-probes",
    ("scaling", "unit"): "llpe",
    ("scaling", "minmax"): "llpe-minmax",
}


def make_encoding(name: str, **options: Any) -> Encoding:
    """Builds an encoding by name.

    Args:
        name: ``none``, ``lpe-fk``, ``lpe-lk``, ``lpe-flk``, ``lpe-full``, ``elastic``, ``signnet``, ``san``, ``rwse``,
            ``fastrp``, ``llpe``, ``llpe-ends``, ``llpe-minmax``, ``llpe-probes`` or ``llpe-invariant``.
        options: arguments of its class, except those that the name decides; an unknown one is refused with the list
            of known ones.

    Example:
        >>> make_encoding("rwse", dim=16, steps=8)
        RWSE(dim=16, steps=8, seed=0)
        >>> make_encoding("llpe-ends", dim=16, k=8).source
        'ends'
    """
    if not isinstance(name, str) or name not in ENCODINGS:
        raise refusal("name", f"be one of {', '.join(ENCODINGS)}", repr(name))
    named = ENCODINGS[name]
    if unknown := {option: value for option, value in options.items() if option not in named.options}:
        raise ValueError(_refusal(name, unknown))
    if "dim" not in options and name != "none":
        raise ValueError(f"`dim` must be given for {name!r}: the number of columns of the encoding.")
    return named.kind(**named.decided, **options)


def _refusal(name: str, unknown: dict[str, Any]) -> str:
    """Why these options cannot be given with a name, and what to do instead."""
    for option, value in unknown.items():
        if isinstance(value, str) and (other := INSTEAD.get((option, value))):
            return f"`{option}` must be left out, got {value!r}: the name decides it. Use the encoding {other!r}."
    advice = ""
    for option in unknown:
        others = [other for other, named in ENCODINGS.items() if option in named.options]
        advice += f" `{option}` is an option of {', '.join(others)}." if others else ""
    known = ", ".join(ENCODINGS[name].options)
    return f"options of {name!r} must be among {known}, got {', '.join(unknown)}.{advice}"


__all__ = [
    "ENCODINGS",
    "INSTEAD",
    "LLPE",
    "RWSE",
    "SANPE",
    "Concat",
    "ElasticPE",
    "Encoding",
    "FastRP",
    "FilteredEncoding",
    "InvariantLLPE",
    "LPEEnds",
    "LPEFirst",
    "LPEFull",
    "LPELast",
    "Named",
    "NoEncoding",
    "ProbeLLPE",
    "SignNet",
    "make_encoding",
]
