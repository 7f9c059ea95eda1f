"""Refusals, all in the same form, and the arguments that many functions take."""

from __future__ import annotations

import functools
import inspect
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np

MOST = 2**31 - 1  # of whatever is counted
LARGEST_SEED = 2**63 - 1
CLASSES = ("Tensor", "Data", "NodeDataset")  # that a signature may name
LARGEST = 3e38  # the range of float32, in which encodings are learned

P = ParamSpec("P")
T = TypeVar("T")


def refusal(name: str, rule: str, got: object, instead: str = "") -> ValueError:
    """An error that names the rule, the value it got, and what to do instead.

    Example:
        >>> refusal("k", "be at least 1", 0, "Ask for one pair or more.")
        ValueError('`k` must be at least 1, got 0. Ask for one pair or more.')
    """
    return ValueError(f"`{name}` must {rule}, got {got}. {instead}".rstrip())


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """The function, which refuses arguments that are not of the kind its signature says.

    Kinds are ``int``, ``float``, ``bool``, ``str``, ``str | Path``, ``Tensor``, ``Data``, ``NodeDataset``, and any of
    them or None; what is annotated otherwise is left to the function. NumPy's numbers become Python's.

    Example:
        >>> @checked
        ... def twice(k: int) -> int:
        ...     return 2 * k
        >>> twice(np.int64(3))
        6
        >>> twice("3")
        Traceback (most recent call last):
            ...
        ValueError: `k` must be an integer, got '3'.
    """
    annotations = {name: str(each.annotation) for name, each in inspect.signature(function).parameters.items()}
    optional = {name for name, kind in annotations.items() if kind.endswith(" | None")}
    kinds = {name: kind.removesuffix(" | None") for name, kind in annotations.items()}

    def check(name: str, value: Any) -> Any:
        kind = kinds.get(name)
        if value is None and name in optional:
            return None
        if kind in CLASSES and not isinstance(value, vars(sys.modules[function.__module__])[kind]):
            raise refusal(name, f"be a {kind}", type(value).__name__)
        if kind not in _KINDS:
            return value
        rule, convert = _KINDS[kind]
        converted = convert(value)
        if converted is None:
            raise refusal(name, f"be {rule}", show(value))
        return converted

    @functools.wraps(function)
    def checking(*args: P.args, **kwargs: P.kwargs) -> T:
        if len(args) > len(kinds):
            return function(*args, **kwargs)  # which says better what is wrong
        given: Any = [check(name, value) for name, value in zip(kinds, args, strict=False)]
        return function(*given, **{name: check(name, value) for name, value in kwargs.items()})

    return checking


class Described:
    """A class whose subclasses check their arguments (see :func:`checked`) and show them all in their repr."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "__init__" in vars(cls):
            cls.__init__ = checked(cls.__init__)  # type: ignore[method-assign]

    def __repr__(self) -> str:
        names = [name for name in inspect.signature(type(self)).parameters if name != "kwargs"]
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"


def show(value: object) -> str:
    """A value as it is shown in a refusal: its repr, cut where it is long."""
    if isinstance(value, int) and abs(value) > 10**30:  # Python refuses to write very long ones
        return "an integer of more than 30 digits"
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:77]}…"


def check_count(name: str, value: Any, *, least: int = 1, most: int = MOST) -> int:
    number = _integer(value)
    if number is None or number < least:
        raise refusal(name, f"be an integer of at least {least}", show(value))
    if number > most:
        raise refusal(name, f"be an integer of at most {most}", show(value))
    return number


def check_seed(seed: Any) -> int:
    return check_count("seed", seed, least=0, most=LARGEST_SEED)


def check_number(name: str, value: Any, *, above: float = -math.inf, least: float = -math.inf) -> float:
    number = _number(value)
    if number is None or number <= above or number < least:
        bound = f" above {above:g}" if above > -math.inf else f" of at least {least:g}" if least > -math.inf else ""
        raise refusal(name, f"be a finite number{bound}", show(value))
    return number


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in choices:
        raise refusal(name, f"be one of {', '.join(map(repr, choices))}", show(value))


def _integer(value: Any) -> int | None:
    value = value.item() if isinstance(value, np.integer) else value
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number(value: Any) -> float | None:
    value = value.item() if isinstance(value, np.integer | np.floating) else value
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < LARGEST:
        return None
    return value if abs(value) < 2**63 else float(value)


_KINDS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "int": ("an integer", _integer),
    "float": ("a finite number", _number),
    "bool": ("True or False", lambda value: bool(value) if isinstance(value, bool | np.bool_) else None),
    "str": ("a text", lambda value: str(value) if isinstance(value, str) else None),
    "str | Path": ("a path", lambda value: value if isinstance(value, str | Path) and "\0" not in str(value) else None),
}
