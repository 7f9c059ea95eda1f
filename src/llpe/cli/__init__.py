"""The command line: ``llpe COMMAND …``. Thin: it parses, calls the library and prints.

Nothing here imports torch before a command needs it, so that ``llpe --help`` answers at once.

* :mod:`llpe.cli.commands`: the program, its exit codes and how errors and warnings are said
* :mod:`llpe.cli.output`: tables, JSON, notes and progress
* :mod:`llpe.cli.options`: what commands share: ``key=value`` options, graphs
* :mod:`llpe.cli.laboratory`: ``train``, ``check``, ``predict``, ``demo``
* :mod:`llpe.cli.comparison`: ``compare``
* :mod:`llpe.cli.searching`: ``search``
* :mod:`llpe.cli.reproduction`: ``reproduce``
* :mod:`llpe.cli.verification`: ``verify``
* :mod:`llpe.cli.explore`: ``list``, ``spectrum``, ``encode``, ``cache``, ``table``
* :mod:`llpe.cli.reporting`: ``report``
"""

from __future__ import annotations

import sys

from llpe.extra import require_lab

try:
    require_lab("`llpe`")
except ModuleNotFoundError as error:
    sys.exit(f"error: {error}")

from llpe.cli.commands import app, main

# Importing a module of commands registers them, in the order in which `llpe --help` lists them.
from llpe.cli import laboratory, searching, comparison, reproduction, explore, reporting, verification  # isort: skip

__all__ = [
    "app",
    "comparison",
    "explore",
    "laboratory",
    "main",
    "reporting",
    "reproduction",
    "searching",
    "verification",
]
