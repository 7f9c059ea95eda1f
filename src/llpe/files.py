"""Writing all or nothing, and what a graph file is called."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

GIANT = "giant:"  # before the name of a graph: its largest connected component
GRAPH_FILES = (".npz", ".pt", ".graphml", ".csv")  # the endings that llpe.data.files reads


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file beside ``path`` to write into: it takes the place of ``path`` in the end, or vanishes after an error.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = Path(folder.name) / "a.txt"
        >>> with replacing(path) as partial:
        ...     _ = partial.write_text("whole")
        >>> path.read_text(), len(list(path.parent.iterdir()))
        ('whole', 1)
        >>> folder.cleanup()
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def graph_name(spec: str) -> str:
    """What a graph is called in tables, pages and folders: a file by its name, without its place and ending.

    Example:
        >>> [graph_name(spec) for spec in ("cora", "sbm:n=50,homophily=0.5", "/data/mine.npz", "giant:../a/mine.pt")]
        ['cora', 'sbm:n=50,homophily=0.5', 'mine', 'giant:mine']
        >>> graph_name("people/edges.csv"), graph_name("data/v1.2/")
        ('people', 'v1.2')
    """
    if spec.startswith(GIANT):
        return GIANT + graph_name(spec.removeprefix(GIANT))
    path = Path(spec)
    if path.name == "edges.csv" and path.parent.name:
        return path.parent.name
    if path.suffix.lower() in GRAPH_FILES:
        return path.stem
    return path.name or spec
