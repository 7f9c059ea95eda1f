"""The program ``llpe``: exit codes, how errors are shown, how warnings become notes.

Exit codes: 0 done, 1 a failure (disk, memory, numerics, network), 2 a bad request, 130 interrupted. An error is one
paragraph on stderr; ``--debug``, anywhere in the line, adds the traceback.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from llpe import __version__
from llpe.cli import console

DEBUG = "--debug"
INTERRUPTED = 130
OUT_OF_MEMORY = ("can't allocate memory", "bad_alloc", "out of memory")


class Program(TyperGroup):
    """All commands: every way to start the program, tests included, goes through :meth:`main`."""

    def main(  # type: ignore[override]  # one name for all that is passed on
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> Any:
        given = list(sys.argv[1:] if args is None else args)
        end = given.index("--") if "--" in given else len(given)  # what follows is no option
        arguments = [each for each in given[:end] if each != DEBUG] + given[end:]
        sys.exit(self.run(arguments, debug=DEBUG in given[:end], **extra))

    def run(self, arguments: list[str], *, debug: bool, **extra: Any) -> int:
        """Runs one command and returns the exit code."""
        try:
            with warnings_as_notes(everything=debug):
                result = super().main(arguments, "llpe", standalone_mode=False, **extra)
            sys.stdout.flush()
            if result == INTERRUPTED:  # typer's answer to Ctrl-C
                console.error("interrupted.")
            return result if isinstance(result, int) else 0
        except BrokenPipeError:  # the reader has seen enough, as in `llpe list | head`
            with contextlib.suppress(OSError), open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), sys.stdout.fileno())
            return 1
        except (Exception, KeyboardInterrupt) as error:
            code, text = explain(error, debug=debug)
            if debug and code != INTERRUPTED:
                traceback.print_exception(error)
            console.error(text)
            return code


def explain(error: BaseException, *, debug: bool = False) -> tuple[int, str]:
    """The exit code, and one paragraph for the user: what is wrong, and what to do where that is known."""
    text, name = str(error).strip(), type(error).__name__
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return INTERRUPTED, "interrupted."
    if hasattr(error, "format_message"):  # typer's own, about the arguments
        context = getattr(error, "ctx", None)
        message = str(error.format_message()).strip().replace("\n\t", " ")
        end = "" if message.endswith((".", "?")) else "."
        return 2, f"{message}{end} See `{context.command_path if context else 'llpe'} --help`."
    if isinstance(error, MemoryError) or any(words in text for words in OUT_OF_MEMORY):
        reason = text.splitlines()[0].rstrip(".") if text else "an allocation failed"
        return 1, f"out of memory: {reason}. Use a smaller graph, or an encoding with fewer columns or probes."
    # NumPy's LinAlgError is a ValueError, but the request is not to blame
    code = 2 if isinstance(error, ValueError | FileNotFoundError) and name != "LinAlgError" else 1
    if isinstance(error, OSError) and error.strerror:
        where = f": {error.filename}" if error.filename else ""
        advice = " Free some space and run the same command again." if error.errno == errno.ENOSPC else ""
        return code, f"{error.strerror}{where}.{advice}"
    if isinstance(error, ValueError) or type(error).__module__.startswith("llpe."):
        return code, text or name
    hint = "" if debug else f" Run the same command with {DEBUG} to see where."
    return code, f"{name}: {(text or 'no message').rstrip('.')}.{hint}"


@contextlib.contextmanager
def warnings_as_notes(*, everything: bool) -> Iterator[None]:
    """Inside, this library's warnings are printed as notes, each once; others only if ``everything``."""
    seen: set[str] = set()

    def show(message: Warning | str, category: type[Warning], filename: str, line: int, *_: Any, **__: Any) -> None:
        if not category.__module__.startswith("llpe."):
            if everything:
                sys.stderr.write(warnings.formatwarning(message, category, filename, line))
        elif str(message) not in seen:
            seen.add(str(message))
            console.note(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show  # type: ignore[assignment]
        yield


# Plain help: the boxed one takes 0.2 s longer, for every `--help`.
app = typer.Typer(cls=Program, rich_markup_mode=None, pretty_exceptions_enable=False, invoke_without_command=True)


@app.callback()
def _program(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    debug: Annotated[bool, typer.Option(DEBUG, help="Show the traceback of an error; works anywhere.")] = False,
) -> None:
    """Learnable Laplacian positional encodings: explore graphs, encode them, train and compare.

    GRAPH is a benchmark (cora), a synthetic graph (sbm:n=2000,homophily=0) or a file (.npz, .pt, .graphml, or a folder
    with edges.csv and nodes.csv).

    \b
    Examples:
      llpe list                              what is available
      llpe demo                              what encodings are good for
      llpe compare my-graph.npz              which encoding for my graph?
      llpe spectrum sbm:n=2000,homophily=0   describe a graph
      llpe train --dataset cora              train on ten splits
      llpe table runs                        compare what was trained
      llpe report runs                       the same as a page, with figures and tests
      llpe encode my-graph.npz -o pe.npz     use an encoding elsewhere
    """
    if version:
        print(f"llpe {__version__}")
        raise typer.Exit()
    if context.invoked_subcommand is None:
        print(context.get_help())


def main() -> None:
    """The console script. What the encoding of stdout lacks is printed as a question mark; a closed one is no error."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r+"))  # noqa: SIM115  which takes its number, so that no other file gets it
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        app()
    except KeyboardInterrupt:  # before a command was found
        sys.exit(INTERRUPTED)
