"""The packages of the extra ``lab``, and what to say where one of them is missing."""

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
INSTALL = 'pip install "llpe[lab]" (in a checkout: pip install ".[lab]")'


def require_lab(what: str) -> None:
    """Refuses ``what``, in one line that says what to install, if a package of the extra ``lab`` is missing."""
    missing = [name for name in LAB if not _installed(name)]
    if missing:
        raise ModuleNotFoundError(
            f"{what} needs the extra `lab`, got no {', '.join(missing)}. Install it with: {INSTALL}", name=missing[0]
        )


def _installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ImportError:  # a finder may refuse a package instead of not finding it
        return False
