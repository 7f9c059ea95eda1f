"""What there is: encodings, models, benchmarks, synthetic graphs; read off the code itself."""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from llpe.cli import output
from llpe.data import BENCHMARKS, GENERATORS, Benchmark, data_root
from llpe.data.benchmarks import CORRECTED_CORNELL
from llpe.encodings import ENCODINGS
from llpe.models import BACKBONES, PYG_MODELS, backbone_options

Row = dict[str, Any]


def collect(kinds: Sequence[str], root: Path | None) -> dict[str, list[Any]]:
    """The rows of each kind: encodings, models, benchmarks, synthetic."""
    make: dict[str, Callable[[], list[Any]]] = {
        "encodings": encodings,
        "models": models,
        "benchmarks": lambda: benchmarks(root),
        "synthetic": synthetic,
    }
    document = {kind: make[kind]() for kind in kinds}
    if "models" in document:
        document["pyg_models"] = list(PYG_MODELS)
    return document


def encodings() -> list[Row]:
    """Name, what it is, formula and options of each encoding."""
    rows = []
    for name, named in ENCODINGS.items():
        module = inspect.getdoc(sys.modules[named.kind.__module__]) or ""
        formula = re.search(r"\bP(?:\[v\])? = .*", module)
        rows.append(
            {
                "name": name,
                "what": ", ".join(filter(None, (_first_line(named.kind), named.form))),
                "formula": " ".join(formula.group().split()).rstrip(".") if formula else "P = [ ]",
                "options": _defaults(named.options),
            }
        )
    return rows


def models() -> list[Row]:
    """Name, what it is and options of each model of our own."""
    rows = []
    for name, kind in BACKBONES.items():
        what = _first_line(kind).rstrip(".")
        rows.append({"name": name, "what": what, "options": _as_text(backbone_options(name))})
    return rows


def benchmarks(root: Path | None) -> list[Row]:
    """What to expect of each benchmark, and whether it loads without a network."""
    place = data_root(root)
    mirror = os.environ.get("LLPE_DATA_MIRROR")
    places = [place] + ([Path(mirror).expanduser()] if mirror else [])
    return [
        {
            "name": benchmark.name,
            "nodes": benchmark.num_nodes,
            "classes": benchmark.num_classes,
            "metric": benchmark.metric,
            "homophily": benchmark.homophily,
            "at_hand": at_hand(benchmark, places),
            "notes": list(benchmark.notes),
        }
        for benchmark in BENCHMARKS.values()
    ]


def at_hand(benchmark: Benchmark, places: list[Path]) -> bool:
    """Whether every raw file is below one of the places."""
    if benchmark.name == "cornell" and any((place / CORRECTED_CORNELL).is_file() for place in places):
        return True
    raw = [place / benchmark.folder / "raw" for place in places]
    return all(any((folder / file).is_file() for folder in raw) for file in benchmark.files)


def synthetic() -> list[Row]:
    """Name, what it is and keys of each generator."""
    return [
        {
            "name": name,
            "what": _first_line(make),
            "keys": _defaults(inspect.signature(make).parameters),
            "example": f"{name}:n=2000,homophily=0",
        }
        for name, make in GENERATORS.items()
    ]


def _first_line(thing: object) -> str:
    return (inspect.getdoc(thing) or "").splitlines()[0].replace("``", "").rstrip(".")


def _defaults(arguments: Mapping[str, inspect.Parameter]) -> dict[str, Any]:
    """Arguments and their defaults; ``...`` where one must be given."""
    return _as_text({name: "..." if each.default is each.empty else each.default for name, each in arguments.items()})


def _as_text(options: dict[str, Any]) -> dict[str, Any]:
    """Defaults that JSON can hold."""
    plain = (str, int, float, bool, type(None))
    return {name: value if isinstance(value, plain) else str(value) for name, value in options.items()}


def options_line(options: dict[str, Any]) -> str:
    """
    Example:
        >>> options_line({"dim": "...", "k": 16, "start": "heat", "width": None})
        'dim, k=16, start=heat, width=none'
    """
    parts = []
    for name, value in options.items():
        text = "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        parts.append(name if value == "..." else f"{name}={text}")
    return ", ".join(parts)


def show(document: dict[str, list[Any]]) -> None:
    """The rows as tables."""
    shown = [kind for kind in document if kind != "pyg_models"]
    for number, kind in enumerate(shown):
        if number:
            output.write()
        rows = document[kind]
        if kind == "benchmarks":
            header = ["benchmark", "nodes", "classes", "metric", "homophily", "at hand"]
            output.table(header, [_benchmark_cells(row) for row in rows], right=(1, 2, 4))
            continue
        output.write(f"{kind}:")
        output.blocks([(f"  {row['name']}", _lines(row)) for row in rows])
        if kind == "models":
            output.write(f"  and PyG's, by class name: {', '.join(document['pyg_models'])}")


def _lines(row: Row) -> list[str]:
    """What it is, its formula or an example, its options."""
    keys = "options" if "options" in row else "keys"
    lines = [row["what"], row.get("formula", ""), row.get("example", ""), f"{keys}: {options_line(row[keys])}"]
    return [line for line in lines if line]


def _benchmark_cells(row: Row) -> list[str]:
    homophily = "" if row["homophily"] is None else f"{row['homophily']:.2f}"
    hand = "yes" if row["at_hand"] else "no"
    return [row["name"], str(row["nodes"]), str(row["classes"]), row["metric"], homophily, hand]
