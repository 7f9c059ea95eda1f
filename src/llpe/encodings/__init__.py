"""The encodings, one file each, behind one interface; and the one table of their names."""

from __future__ import annotations

import inspect
from typing import Any

from llpe.encodings.base import Encoding
from llpe.encodings.concat import Concat
from llpe.encodings.elastic import ElasticPE
from llpe.encodings.llpe import LLPE
from llpe.encodings.lpe import LPEEnds, LPEFirst, LPEFull, LPELast
from llpe.encodings.none import NoEncoding
from llpe.encodings.rwse import RWSE
from llpe.encodings.san import SANPE
from llpe.encodings.signnet import SignNet

ENCODINGS: dict[str, type[Encoding]] = {
    encoding.name: encoding
    for encoding in (NoEncoding, LPEFirst, LPELast, LPEEnds, LPEFull, ElasticPE, SignNet, SANPE, RWSE, LLPE)
}


def make_encoding(name: str, **options: Any) -> Encoding:
    """Builds an encoding by name.

    Args:
        name: ``none``, ``lpe-fk``, ``lpe-lk``, ``lpe-flk``, ``lpe-full``, ``elastic``, ``signnet``, ``san``, ``rwse``
            or ``llpe``.
        options: arguments of its class; an unknown one is refused with the list of those it has.

    Example:
        >>> make_encoding("rwse", dim=16, steps=8)
        RWSE(dim=16, steps=8, seed=0)
    """
    if name not in ENCODINGS:
        raise ValueError(f"`name` must be one of {', '.join(ENCODINGS)}, got {name!r}.")
    known = list(inspect.signature(ENCODINGS[name]).parameters)
    unknown = [option for option in options if option not in known]
    if unknown:
        raise ValueError(f"options of {name!r} must be among {', '.join(known)}, got {', '.join(unknown)}.")
    if "dim" not in options and name != "none":
        raise ValueError(f"`dim` must be given for {name!r}: the number of columns of the encoding.")
    return ENCODINGS[name](**options)


__all__ = [
    "ENCODINGS",
    "LLPE",
    "RWSE",
    "SANPE",
    "Concat",
    "ElasticPE",
    "Encoding",
    "LPEEnds",
    "LPEFirst",
    "LPEFull",
    "LPELast",
    "NoEncoding",
    "SignNet",
    "make_encoding",
]
