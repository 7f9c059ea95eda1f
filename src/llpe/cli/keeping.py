"""What ``llpe cache`` tells of the results on disk."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from llpe.cache import Cache
from llpe.cli import output

HIDDEN = ("format", "kind", "graph", "encoding", "levels")


def describe(cache: Cache) -> list[dict[str, Any]]:
    """One row for each entry, the most recently used first."""
    return [_entry(*entry) for entry in cache.entries()]


def _entry(path: Path, key: dict[str, Any], size: int) -> dict[str, Any]:
    arguments = [f"{name}={value}" for name, value in key.items() if name not in HIDDEN and value is not None]
    names = [str(key["encoding"])] if "encoding" in key else []
    try:
        unused = time.time() - path.stat().st_mtime
    except FileNotFoundError:  # another process has just deleted it
        unused = 0.0
    return {
        "kind": str(key.get("kind", "")),
        "what": " ".join([*names, ", ".join(arguments)]),
        "graph": str(key.get("graph", ""))[:8],
        "bytes": size,
        "unused_seconds": unused,
        "file": path.name,
    }


def show(cache: Cache, *, json: bool) -> None:
    """Prints the entries, their total and the limit."""
    entries = describe(cache)
    total = sum(entry["bytes"] for entry in entries)
    if json:
        output.write_json({"folder": str(cache.folder), "limit": cache.limit, "bytes": total, "entries": entries})
        return
    if entries:
        cells = [
            [e["kind"], e["what"], e["graph"], output.size(e["bytes"]), output.duration(e["unused_seconds"])]
            for e in entries
        ]
        output.table(["kind", "what", "graph", "size", "unused for"], cells, right=(3, 4))
        output.write()
    limit = output.size(cache.limit)
    output.write(f"{_count(len(entries))}, {output.size(total)} of at most {limit}, in {cache.folder}")


def clear(cache: Cache, *, json: bool) -> None:
    """Deletes the entries and says how many there were."""
    total = sum(size for _, _, size in cache.entries())
    count = cache.clear()
    if json:
        output.write_json({"folder": str(cache.folder), "removed": count, "bytes": total})
    else:
        output.write(f"removed {_count(count)} ({output.size(total)}) from {cache.folder}")


def _count(number: int) -> str:
    return "1 entry" if number == 1 else f"{number} entries"
