"""The colours of every figure. An encoding has one, with a marker and dashes, and keeps them wherever it is drawn.

The colours are in ``encodings/colours.toml``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from itertools import count
from typing import Any
from zlib import crc32

INK, FAINT = "#222222", "#8a8a8a"
THIRDS = {"low": "#0072B2", "middle": "#707070", "high": "#C04F00"}  # of the spectrum; white text can be read on them
SERIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")  # classes, curves
ENCODINGS: dict[str, str] = tomllib.loads(files("llpe").joinpath("encodings", "colours.toml").read_text("utf-8"))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")  # matplotlib's
SYMBOLS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x", "star")  # plotly's, the same
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.2)))
LINES = ("solid", "dash", "dot")
TONES = (0.0, 0.45, -0.4)  # of variants: as it is, lighter, darker


@dataclass(frozen=True)
class Style:
    """A colour, and which of ``MARKERS`` and of ``DASHES`` go with it."""

    colour: str
    marker: int
    dashes: int


def styles(names: Iterable[str]) -> dict[str, Style]:
    """The style of each series of a figure.

    ``llpe (order=8)`` and ``llpe, other start`` are variants of ``llpe``: other tones of its colour. A name that starts
    with no encoding of the table gets a place in it by its checksum, the next one if that is taken.

    Example:
        >>> found = styles(["llpe", "llpe (order=8)", "mine"])
        >>> found["llpe"].colour, found["llpe (order=8)"].colour
        ('#D55E00', '#e8a673')
        >>> found["mine"] == styles(["none", "mine"])["mine"]
        True
    """
    table, size = list(ENCODINGS), len(ENCODINGS)
    roots = {name: re.split(r",| \(", name)[0] for name in names}
    taken: dict[tuple[int, int], str] = {}  # (turn, place in the table): whose it is
    for name in sorted(roots, key=lambda name: (roots[name] not in table, name not in table, name)):
        if roots[name] in table:
            places = ((turn, table.index(roots[name])) for turn in count())
        else:
            start = crc32(name.encode()) % size
            places = ((step // size, (start + step) % size) for step in count())
        taken[next(each for each in places if each not in taken)] = name
    found = {
        name: Style(
            _mixed(ENCODINGS[table[place]], TONES[turn % len(TONES)]),
            (place + 3 * turn) % len(MARKERS),
            (place + turn) % len(DASHES),
        )
        for (turn, place), name in taken.items()
    }
    return {name: found[name] for name in roots}


def _mixed(colour: str, tone: float) -> str:
    """Mixed with this share of white or, below zero, of black."""
    if tone == 0:
        return colour
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round((1 - abs(tone)) * part + 255 * max(tone, 0)):02x}" for part in parts)
