"""The packages of the extras, and what to install if one of them is missing."""

from __future__ import annotations

from importlib.util import find_spec

EXTRAS = {  # as in pyproject.toml
    "lab": [
        "jinja2",
        "matplotlib",
        "networkx",
        "optuna",
        "pandas",
        "plotly",
        "pydantic",
        "rich",
        "sklearn",
        "tomli_w",
        "typer",
    ],
    "big": ["duckdb", "pandas"],
    "cluster": ["dask", "distributed"],
}


class MissingExtraError(ModuleNotFoundError):
    """A package of an extra is not installed."""


def how_to_install(extra: str) -> str:
    return f'pip install "llpe[{extra}]" (in a checkout: pip install ".[{extra}]")'


def require(extra: str, what: str) -> None:
    """Refuses ``what``, in one line that says what to install, if a package of the extra is missing."""
    if missing := [name for name in EXTRAS[extra] if not _installed(name)]:
        text = f"{what} needs the extra `{extra}`, got no {', '.join(missing)}. Install it with: "
        raise MissingExtraError(text + how_to_install(extra), name=missing[0])


def _installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ImportError:  # a finder may refuse a package instead of not finding it
        return False
