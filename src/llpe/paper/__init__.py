"""The paper's tables and figures (``llpe reproduce NAME``) and its theory (``llpe verify``).

A study is a config file in ``configs/``, which names the module that runs it.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from llpe.paper.base import BUDGETS, STUDIES, Budget, Context, Settings, remarks_of, settings_of

__all__ = ["BUDGETS", "STUDIES", "Budget", "Context", "run_study", "settings_of"]


def run_study(name: str, context: Context, settings: Settings | None = None) -> list[Path]:
    """Runs a study, with the settings of its config file unless others are given; returns the files it wrote."""
    settings = settings_of(name, context.budget) if settings is None else settings
    for remark in remarks_of(settings):
        context.say(remark)
    written: list[Path] = import_module(f"llpe.paper.{settings['runner']}").run(name, settings, context)
    return written
