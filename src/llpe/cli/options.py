"""What commands share: common options, configs and ``key=value``, files that can be written, opening a graph."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from llpe.cli import console

if TYPE_CHECKING:
    from llpe.data import NodeDataset

ROOT = "Folder of benchmarks; default LLPE_DATA or ~/.cache/llpe/data."
REQUEST = "A config file or run folder, and keys to set, such as lr=0.05 or encoding.order=32."
Request = Annotated[list[str] | None, typer.Argument(metavar="[CONFIG] [KEY=VALUE]...", help=REQUEST)]
Assignments = Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Keys to set, as in k=8.")]
Graph = Annotated[str, typer.Argument(metavar="GRAPH", help="A benchmark, a synthetic graph, or a file.")]
Dataset = Annotated[str | None, typer.Option(metavar="GRAPH", help="A benchmark, a synthetic graph, or a file.")]
Encoding = Annotated[str | None, typer.Option(metavar="NAME", help="See `llpe list encodings`; default llpe.")]
Model = Annotated[str | None, typer.Option(metavar="NAME", help="See `llpe list models`; default mlp.")]
Dim = Annotated[int | None, typer.Option(help="Columns of the encoding; default 64.")]
Run = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]
Runs = Annotated[Path, typer.Option("--runs", metavar="DIR", help="Where run folders go.")]
Split = Annotated[int | None, typer.Option(help="Which split of the run; default the best on validation.")]
Workers = Annotated[int | None, typer.Option(help="Splits trained at once; default one per core.")]
Device = Annotated[
    str | None, typer.Option(metavar="DEVICE", help="Where to compute: auto, cpu, cuda, cuda:1 or mps; default cpu.")
]
Engine = Annotated[str, typer.Option(help="local, or dask: a cluster, of --workers processes here or a scheduler's.")]
Scheduler = Annotated[str | None, typer.Option(metavar="ADDRESS", help="Of a running Dask scheduler.")]
DataRoot = Annotated[Path | None, typer.Option("--data-root", metavar="DIR", help=ROOT)]
File = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write.")]
Force = Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")]
Memory = Annotated[str, typer.Option(metavar="SIZE", help="Memory to use at most, for a graph in a folder.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]

OURS = b'<meta name="generator" content="llpe '  # in the head of every page
WORDS: dict[str, object] = {"true": True, "false": False, "none": None}
KEY = re.compile(r"[A-Za-z][\w-]*(\.[A-Za-z][\w-]*)*")


def parse_assignments(items: list[str] | None) -> dict[str, Any]:
    """``key=value`` texts as a dictionary; dashes in keys are underscores. All problems are reported at once.

    Example:
        >>> parse_assignments(["k=8", "l1=1e-3", "start=heat", "norm-eps=none", "training.seed=3"])
        {'k': 8, 'l1': 0.001, 'start': 'heat', 'norm_eps': None, 'training.seed': 3}
    """
    found: dict[str, Any] = {}
    problems = []
    for item in items or []:
        key, equals, text = (part.strip() for part in item.partition("="))
        name = key.replace("-", "_")
        if not equals or not KEY.fullmatch(key) or not text:
            problems.append(f"options must be key=value, as in k=8, got {item!r}.")
        elif name in found:
            problems.append(f"`{key}` must be given once, got it again as {item!r}.")
        else:
            found[name] = _value(text)
    if problems:
        raise ValueError("\n".join(problems))
    return found


def _value(text: str) -> Any:
    """A number, a bool, None or a text; quotes keep a text a text."""
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def raw_config(
    request: list[str] | None, dataset: str | None, encoding: str | None, model: str | None, device: str | None
) -> dict[str, Any]:
    """The config that a command line describes, not yet checked."""
    from llpe.lab import RunFolder, assign, load_config

    files = [item for item in request or [] if "=" not in item or Path(item).exists()]
    if len(files) > 1:
        raise ValueError(f"CONFIG must be one file, got {', '.join(files)}. Set keys as in lr=0.05.")
    raw: dict[str, Any] = {}
    for path in map(Path, files):
        if not path.exists():
            raise ValueError(f"CONFIG must be a file or a run folder, got {str(path)!r}. Set keys as in lr=0.05.")
        raw = RunFolder.read(path).config if path.is_dir() else load_config(path)
    if dataset is not None:
        raw["dataset"] = dataset
    if "dataset" not in raw:
        raise ValueError("`--dataset` must be given, or a config file that names one. See `llpe train --help`.")
    for section, name in (("encoding", encoding), ("model", model)):
        if name is not None and raw.get(section, {}).get("name") != name:
            raw[section] = {"name": name}
    given = parse_assignments([item for item in request or [] if item not in files])
    return assign(raw, given if device is None else given | {"training.device": device})


def parse_size(text: str) -> int:
    """A number of bytes; 1 GB = 10⁹ bytes.

    Example:
        >>> [parse_size(text) for text in ("4GB", "1.5 gb", "800MB", "2e9")]
        [4000000000, 1500000000, 800000000, 2000000000]
    """
    found = re.fullmatch(r"([\d.]+(?:e\d+)?) *([KMGT]?)B?", text.strip(), flags=re.IGNORECASE)
    try:
        return int(float(found[1]) * 1000 ** " KMGT".index(found[2].upper() or " "))  # type: ignore[index]
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"`memory` must be a size such as 4GB or 800MB, got {text!r}.") from None


def check_file(name: str, path: Path, suffixes: tuple[str, ...], *, replace: bool = True) -> None:
    """Refuses, before anything is computed, a file that could not be written in the end."""
    if path.suffix.lower() not in suffixes:
        raise ValueError(f"`{name}` must end in one of {', '.join(suffixes)}, got {str(path)!r}.")
    if path.is_dir():
        raise ValueError(f"`{name}` must be a file, got the folder {str(path)!r}.")
    if not path.parent.is_dir():
        raise ValueError(f"`{name}` must be in an existing folder, got {str(path)!r}. Create {path.parent} first.")
    if path.exists() and not replace:
        raise ValueError(f"`{name}` must be a new file, got {str(path)!r}, which exists. Add --force to replace it.")


def check_page(path: Path, *, replace: bool) -> None:
    """The same for a page, which may replace an older page of ours."""
    ours = path.is_file() and OURS in path.read_bytes()[:2000]
    check_file("output", path, (".html", ".htm"), replace=replace or ours)


@contextmanager
def open_engine(name: str, scheduler: str | None, workers: int | None) -> Iterator[dict[str, Any]]:
    """Where pieces are computed, as arguments of the laboratory; says where a cluster can be watched."""
    from llpe.checks import check_choice

    check_choice("engine", name, ("local", "dask"))
    if name == "local":
        if scheduler is not None:
            raise ValueError(f"`--scheduler` must come with --engine dask, got {scheduler!r} alone.")
        yield {"workers": workers}
        return
    from llpe.lab.engine import Dask

    with Dask(scheduler, workers=workers) as engine:
        count = engine.workers
        console.note(f"{count} worker{'s' * (count > 1)} at {engine.address}; watch them at {engine.dashboard}")
        yield {"engine": engine}


def open_graph(spec: str, data_root: Path | None = None, features: Path | None = None) -> NodeDataset:
    """The graph that ``spec`` names; its notes are printed to stderr. With ``features`` it is a folder, and mapped."""
    from llpe.data import load_graph, map_folder

    dataset = load_graph(spec, data_root=data_root) if features is None else map_folder(spec, features)
    for text in dataset.notes:
        console.note(f"{dataset.name}: {text}")
    return dataset
