"""Arguments that many functions take, refused in the same words."""

from __future__ import annotations

import math
from typing import Any


def check_count(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"`{name}` must be an integer of at least 1, got {value!r}.")


def check_seed(seed: Any) -> None:
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise ValueError(f"`seed` must be an integer of at least 0, got {seed!r}.")


def check_number(name: str, value: Any, *, above: float = -math.inf) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= above:
        rule = "a finite number" if above == -math.inf else f"a finite number above {above:g}"
        raise ValueError(f"`{name}` must be {rule}, got {value!r}.")


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"`{name}` must be one of {', '.join(map(repr, choices))}, got {value!r}.")
