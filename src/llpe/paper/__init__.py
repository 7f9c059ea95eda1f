"""The paper's tables and figures, each one function: ``llpe reproduce NAME``.

A study is looked up by name and imported only then: see :func:`find_study`.
"""

from __future__ import annotations

from importlib import import_module

from llpe.paper.base import BUDGETS, Budget, Context, Study

# The name of a study, and the module that holds it in its table STUDIES.
MODULES = {
    "table-small": "tables",
    "table-medium": "tables",
    "table-large": "tables",
    "sbm": "homophily",
    "preferential-attachment": "homophily",
    "local-homophily": "local",
    "solver-time": "solving",
    "solver-memory": "solving",
    "order": "sensitivity",
    "ends": "sensitivity",
    "intuition": "intuition",
    "signs": "signs",
    "presets": "presets",
}

__all__ = ["BUDGETS", "MODULES", "Budget", "Context", "Study", "find_study"]


def find_study(name: str) -> Study:
    """The study of that name.

    Example:
        >>> find_study("intuition").name
        'intuition'
    """
    if name not in MODULES:
        raise ValueError(f"`name` must be one of {', '.join(MODULES)}, got {name!r}.")
    studies: dict[str, Study] = import_module(f"llpe.paper.{MODULES[name]}").STUDIES
    return studies[name]
