"""What is available: encodings, models, benchmarks, synthetic graphs; and what the cache holds. Read from the code."""

from __future__ import annotations

import inspect
import os
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from llpe.cache import Cache
from llpe.data import BENCHMARKS, GENERATORS, Benchmark, data_root
from llpe.data.benchmarks import CORRECTED_CORNELL
from llpe.encodings import ENCODINGS
from llpe.models import BACKBONES, PYG_MODELS, backbone_options

Row = dict[str, Any]
HIDDEN = ("format", "kind", "graph", "encoding", "levels")  # keys of a cache entry that are shown elsewhere or not


def list_all(root: Path | None = None) -> dict[str, list[Any]]:
    """Everything but the cache, by kind; ``pyg_models`` are names."""
    mirror = os.environ.get("LLPE_DATA_MIRROR")
    places = [data_root(root)] + ([Path(mirror).expanduser()] if mirror else [])
    return {
        "encodings": list_encodings(),
        "models": [
            {"name": name, "what": _first_line(kind), "options": backbone_options(name)}
            for name, kind in BACKBONES.items()
        ],
        "pyg_models": list(PYG_MODELS),
        "benchmarks": [_benchmark(each, places) for each in BENCHMARKS.values()],
        "synthetic": [
            {
                "name": name,
                "what": _first_line(make),
                "keys": _defaults(inspect.signature(make).parameters),
                "example": f"{name}:n=2000,homophily=0",
            }
            for name, make in GENERATORS.items()
        ],
    }


def list_encodings() -> list[Row]:
    """Name, description, formula and options of each encoding."""
    rows = []
    for name, named in ENCODINGS.items():
        module = inspect.getdoc(sys.modules[named.kind.__module__]) or ""
        found = re.search(r"\bP(?:\[v\])? = .*", module)
        formula = " ".join(found.group().split()).rstrip(".") if found else "P = [ ]"
        what = ", ".join(filter(None, (_first_line(named.kind), named.form)))
        rows.append({"name": name, "what": what, "formula": formula, "options": _defaults(named.options)})
    return rows


def _benchmark(benchmark: Benchmark, places: list[Path]) -> Row:
    """Size, metric and notes, and whether it loads without a network."""
    files = [Path(benchmark.folder) / "raw" / file for file in benchmark.files]
    at_hand = all(any((place / file).is_file() for place in places) for file in files)
    if benchmark.name == "cornell":
        at_hand = at_hand or any((place / CORRECTED_CORNELL).is_file() for place in places)
    return {
        "name": benchmark.name,
        "nodes": benchmark.num_nodes,
        "classes": benchmark.num_classes,
        "metric": benchmark.metric,
        "homophily": benchmark.homophily,
        "at_hand": at_hand,
        "notes": list(benchmark.notes),
    }


def list_cache(cache: Cache) -> list[Row]:
    """The entries, the most recently used first."""
    rows = []
    for path, key, size in cache.entries():
        arguments = [f"{name}={value}" for name, value in key.items() if name not in HIDDEN and value is not None]
        row: Row = {
            "kind": str(key.get("kind", "")),
            "what": f"{key.get('encoding', '')} {', '.join(arguments)}".strip(),
        }
        try:
            unused = time.time() - path.stat().st_mtime
        except FileNotFoundError:  # another process has just deleted it
            unused = 0.0
        row |= {"graph": str(key.get("graph", ""))[:8], "bytes": size, "unused_seconds": unused, "file": path.name}
        rows.append(row)
    return rows


def _first_line(thing: object) -> str:
    return (inspect.getdoc(thing) or "").splitlines()[0].replace("``", "").rstrip(".")


def _defaults(arguments: Mapping[str, inspect.Parameter]) -> Row:
    """Arguments and their defaults; ``...`` where one must be given."""
    return {name: "..." if each.default is each.empty else each.default for name, each in arguments.items()}
