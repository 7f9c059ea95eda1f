"""Refusals, all in the same form, and the arguments that many functions take."""

from __future__ import annotations

from typing import Any


def refusal(name: str, rule: str, got: object, instead: str = "") -> ValueError:
    """The error that says what is wrong, what was got, and what to do instead.

    Example:
        >>> refusal("k", "be at least 1", 0, "Ask for one pair or more.")
        ValueError('`k` must be at least 1, got 0. Ask for one pair or more.')
    """
    return ValueError(f"`{name}` must {rule}, got {got}. {instead}".rstrip())


def check_count(name: str, value: Any, *, least: int = 1) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise refusal(name, f"be an integer of at least {least}", repr(value))


def check_seed(seed: Any) -> None:
    check_count("seed", seed, least=0)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise refusal(name, f"be one of {', '.join(map(repr, choices))}", repr(value))
