"""What a checked statement is: numbers that were measured, bounds beside them, and the curves of one figure.

Nothing here draws or prints; :mod:`llpe.paper.theory.figure` draws, ``llpe verify`` prints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Any, Literal

import numpy as np

Numbers = Sequence[float] | np.ndarray


class VerificationError(RuntimeError):
    """A statement does not hold on what was measured."""


@dataclass(frozen=True)
class Claim:
    """One inequality between a measured number and a bound. NaN holds nowhere.

    Example:
        >>> Claim("misclassified nodes", 0, "≤", 8).holds, Claim("share", float("nan"), "≤", 1).holds
        (True, False)
    """

    text: str
    measured: float
    relation: Literal["≤", "≥"]
    bound: float

    @property
    def holds(self) -> bool:
        return bool(self.measured <= self.bound if self.relation == "≤" else self.measured >= self.bound)


@dataclass(frozen=True, eq=False)
class Series:
    """One curve. ``kind`` says how to draw it: points on a line, points alone, a smooth line, a dashed bound, steps."""

    label: str
    x: Numbers
    y: Numbers
    kind: Literal["measured", "points", "smooth", "bound", "steps"] = "measured"


curve, bound = Series, partial(Series, kind="bound")


@dataclass(frozen=True, eq=False)
class Panel:
    """One pair of axes. ``marks`` are vertical lines with a name; a ``symlog`` axis shows zeros."""

    title: str
    xlabel: str
    ylabel: str
    series: Sequence[Series]
    xscale: Literal["linear", "log"] = "linear"
    yscale: Literal["linear", "log", "symlog"] = "linear"
    marks: Sequence[tuple[str, float]] = ()


@dataclass(frozen=True, eq=False)
class Check:
    """One statement, checked: what was measured against what, and its figure."""

    name: str
    statement: str
    claims: Sequence[Claim]  # the first is the statement's own
    printed: str = ""  # what the paper prints that is not so, and what was checked instead
    panels: Sequence[Panel] = field(default=(), repr=False)

    @property
    def holds(self) -> bool:
        return bool(self.claims) and all(claim.holds for claim in self.claims)

    @property
    def verdict(self) -> str:
        if not self.holds:
            return "does not hold"
        return "holds, corrected" if self.printed else "holds"

    @property
    def telling(self) -> Claim:
        """The first claim that fails, or else the first."""
        return next((claim for claim in self.claims if not claim.holds), self.claims[0])

    def as_dict(self) -> dict[str, Any]:
        """All but the curves, for JSON."""
        claims = [
            {
                "claim": claim.text,
                "measured": float(claim.measured),
                "relation": claim.relation,
                "bound": float(claim.bound),
                "holds": claim.holds,
            }
            for claim in self.claims
        ]
        names = ("name", "statement", "verdict", "holds", "printed")
        return {name: getattr(self, name) for name in names} | {"claims": claims}


Found = Iterator[Claim | Panel]
Checker = Callable[..., Check]


def statement(text: str, *, printed: str = "") -> Callable[[Callable[..., Found]], Checker]:
    """Turns a generator of claims and panels, a function of a seed, into one that returns a :class:`Check`."""

    def decorate(generate: Callable[..., Found]) -> Checker:
        @wraps(generate)
        def check(seed: int = 0, **options: Any) -> Check:
            found = list(generate(seed, **options))
            claims = [each for each in found if isinstance(each, Claim)]
            panels = [each for each in found if isinstance(each, Panel)]
            return Check(generate.__name__.replace("_", "-"), text, claims, printed, panels)

        return check

    return decorate


def worst_ratio(measured: Numbers, bounds: Numbers) -> float:
    """The largest measured/bound, NaN if there is one among them.

    Example:
        >>> worst_ratio([1.0, 3.0], [2.0, 4.0])
        0.75
    """
    return float(np.max(np.asarray(measured, dtype=np.float64) / np.asarray(bounds, dtype=np.float64)))
