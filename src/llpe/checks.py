"""Arguments that many functions take, refused in the same words."""

from __future__ import annotations

from typing import Any


def check_count(name: str, value: Any, *, least: int = 1) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"`{name}` must be an integer of at least {least}, got {value!r}.")


def check_seed(seed: Any) -> None:
    check_count("seed", seed, least=0)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"`{name}` must be one of {', '.join(map(repr, choices))}, got {value!r}.")
