"""What commands share: ``key=value`` options, common arguments, opening a graph and saying its notes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from llpe.cli import output

if TYPE_CHECKING:
    from llpe.data import NodeDataset

GraphArgument = Annotated[
    str, typer.Argument(metavar="GRAPH", show_default=False, help="A benchmark, a synthetic graph, or a file.")
]
DataRoot = Annotated[
    Path | None,
    typer.Option("--data-root", metavar="DIR", help="Where benchmarks live; default LLPE_DATA or ~/.cache/llpe/data."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
Force = Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")]
Assignments = Annotated[
    list[str] | None,
    typer.Argument(metavar="KEY=VALUE", show_default=False, help="Options, see `llpe list`."),
]

WORDS: dict[str, object] = {"true": True, "false": False, "none": None}
KEY = re.compile(r"[A-Za-z][\w-]*(\.[A-Za-z][\w-]*)*")
INTEGER = re.compile(r"[+-]?\d+")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def parse_assignments(items: list[str]) -> dict[str, object]:
    """``key=value`` texts as a dictionary; values are int, float, bool, None or text, dashes in keys are underscores.

    Quotes keep a text a text: ``name='1'``. All problems are told at once.

    Example:
        >>> parse_assignments(["k=8", "l1=1e-3", "start=heat", "norm-eps=none", "training.fused=true"])
        {'k': 8, 'l1': 0.001, 'start': 'heat', 'norm_eps': None, 'training.fused': True}
    """
    found: dict[str, object] = {}
    problems = []
    for item in items:
        key, equals, text = (part.strip() for part in item.partition("="))
        name = key.replace("-", "_")
        if not equals or not KEY.fullmatch(key) or not text:
            problems.append(f"options must be key=value, as in k=8, got {item!r}.")
        elif name in found:
            problems.append(f"`{key}` must be given once, got it again as {item!r}.")
        else:
            found[name] = parse_value(text)
    if problems:
        raise ValueError("\n".join(problems))
    return found


def parse_value(text: str) -> object:
    """
    Example:
        >>> [parse_value(text) for text in ("3", "-2.5", "1e-3", "true", "None", "'7'", "probes", "nan")]
        [3, -2.5, 0.001, True, None, '7', 'probes', 'nan']
    """
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    if INTEGER.fullmatch(text):
        return int(text)
    if NUMBER.fullmatch(text):
        return float(text)
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Refuses what is not one of the choices, and lists them."""
    if value not in choices:
        raise ValueError(f"`{name}` must be one of {', '.join(choices)}, got {value!r}.")


def check_new_file(name: str, path: Path, suffixes: tuple[str, ...], *, replace: bool) -> None:
    """Refuses, before anything is computed, a file that could not be written in the end."""
    if path.suffix.lower() not in suffixes:
        raise ValueError(f"`{name}` must end in one of {', '.join(suffixes)}, got {str(path)!r}.")
    if path.is_dir():
        raise ValueError(f"`{name}` must be a file, got the folder {str(path)!r}.")
    if not path.parent.is_dir():
        raise ValueError(f"`{name}` must be in an existing folder, got {str(path)!r}. Create {path.parent} first.")
    if path.exists() and not replace:
        raise ValueError(f"`{name}` must be a new file, got {str(path)!r}, which is there. Add --force to replace it.")


def open_graph(spec: str, data_root: Path | None = None) -> NodeDataset:
    """The graph that ``spec`` names; its notes are printed to stderr."""
    from llpe.data import load_graph

    dataset = load_graph(spec, data_root=data_root)
    for text in dataset.notes:
        output.note(f"{dataset.name}: {text}")
    return dataset
