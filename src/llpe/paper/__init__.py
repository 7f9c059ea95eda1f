"""The paper's tables and figures (``llpe reproduce NAME``) and its theory (``llpe verify``).

A figure is a config file in ``configs/`` and the module that runs it, imported when it is asked for.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from pathlib import Path

from llpe.paper.base import BUDGETS, Budget, Context, Settings, Study, remarks_of, settings_of

# The name of a study, and the module that runs it.
MODULES = {
    "table-small": "tables",
    "table-medium": "tables",
    "table-large": "tables",
    "sbm": "sweeps",
    "preferential-attachment": "sweeps",
    "local-homophily": "local",
    "solver-time": "solving",
    "solver-memory": "solving",
    "order": "sweeps",
    "ends": "sweeps",
    "intuition": "intuition",
    "signs": "signs",
    "presets": "presets",
}

__all__ = ["BUDGETS", "MODULES", "Budget", "Context", "Study", "find_study", "run_figure"]


def find_study(name: str) -> Study:
    """The study of that name.

    Example:
        >>> find_study("intuition").name
        'intuition'
    """
    if name not in MODULES:
        raise ValueError(f"`name` must be one of {', '.join(MODULES)}, got {name!r}.")
    if MODULES[name] == "tables":
        studies: dict[str, Study] = import_module("llpe.paper.tables").STUDIES
        return studies[name]
    return Study(name, settings_of(name)["title"], partial(run_figure, name))


def run_figure(name: str, context: Context, settings: Settings | None = None) -> list[Path]:
    """Runs the study of a figure, with the settings of its config file unless others are given."""
    settings = settings_of(name, context.budget) if settings is None else settings
    for remark in remarks_of(settings):
        context.say(remark)
    written: list[Path] = import_module(f"llpe.paper.{MODULES[name]}").run(name, settings, context)
    return written
