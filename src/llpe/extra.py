"""The packages of the extras, and what to say where one of them is missing."""

from __future__ import annotations

from importlib.util import find_spec

LAB = (  # as in pyproject.toml
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
)
BIG = ("duckdb", "pandas")
CLUSTER = ("dask", "distributed")
INSTALL = 'pip install "llpe[lab]" (in a checkout: pip install ".[lab]")'


class MissingExtraError(ModuleNotFoundError):
    """A package of an extra is not installed."""


def require_lab(what: str) -> None:
    """Refuses ``what``, in one line that says what to install, if a package of the extra ``lab`` is missing."""
    _require(what, "lab", LAB)


def require_big(what: str) -> None:
    """The same for the extra ``big``."""
    _require(what, "big", BIG)


def require_cluster(what: str) -> None:
    """The same for the extra ``cluster``."""
    _require(what, "cluster", CLUSTER)


def _require(what: str, extra: str, names: tuple[str, ...]) -> None:
    missing = [name for name in names if not _installed(name)]
    if missing:
        install = INSTALL.replace("lab", extra)
        raise MissingExtraError(
            f"{what} needs the extra `{extra}`, got no {', '.join(missing)}. Install it with: {install}",
            name=missing[0],
        )


def _installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ImportError:  # a finder may refuse a package instead of not finding it
        return False
