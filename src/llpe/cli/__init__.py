"""The command line, ``llpe COMMAND …``: it parses, calls the library and prints.

Nothing here imports torch before a command needs it, so that ``llpe --help`` is quick. :mod:`llpe.cli.app` is the
program, :mod:`llpe.cli.console` prints, :mod:`llpe.cli.options` is what commands share; the others hold the commands.
"""

import sys

try:
    from llpe.extra import require

    try:
        require("lab", "`llpe`")
    except ModuleNotFoundError as error:
        sys.exit(f"error: {error}")
    from llpe.cli.app import app, main

    # Importing a module registers its commands, in the order in which `llpe --help` lists them.
    from llpe.cli import train, compare, explore, reproduce  # isort: skip
except KeyboardInterrupt:  # before the program can report it
    sys.exit(130)

__all__ = ["app", "compare", "explore", "main", "reproduce", "train"]
