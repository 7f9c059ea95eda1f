"""The user's own graph, from a file. ``docs/your-own-graph.md`` describes the formats."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from llpe.data.arrays import read_npz, read_pt
from llpe.data.dataset import NodeDataset
from llpe.data.raw import RawGraph, to_dataset
from llpe.data.tables import read_csv, read_graphml

READERS: dict[str, Callable[[Path], RawGraph]] = {
    ".npz": read_npz,
    ".pt": read_pt,
    ".graphml": read_graphml,
    ".csv": read_csv,
}


def load_file(path: str | Path, *, metric: str = "accuracy") -> NodeDataset:
    """Reads a graph with node features and labels from ``.npz``, ``.pt``, ``.graphml`` or CSV files.

    The graph is made undirected and simple; ``notes`` says what that changed, how many nodes are unlabelled,
    and what in the file was not used. A graph without labels can be encoded, but not trained on.

    Args:
        path: the file, or a folder with ``edges.csv`` and ``nodes.csv``.
        metric: ``"accuracy"`` or ``"auroc"``.

    Example:
        >>> import tempfile, numpy as np
        >>> folder = tempfile.TemporaryDirectory()
        >>> file = folder.name + "/toy.npz"
        >>> np.savez(file, x=np.eye(3), y=["a", "b", "a"], edges=[[0, 1], [1, 2]])
        >>> dataset = load_file(file)
        >>> dataset
        NodeDataset('toy', num_nodes=3, num_edges=4, num_features=3, num_classes=2, metric='accuracy')
        >>> dataset.notes
        ('classes: 0 = a, 1 = b', 'made 2 one-way edges undirected')
        >>> folder.cleanup()
    """
    path = Path(path).expanduser()
    if not path.exists():
        raise ValueError(f"{path}: the file must exist, got nothing there. Check the path.")
    reader = read_csv if path.is_dir() else READERS.get(path.suffix.lower())
    if reader is None:
        raise ValueError(
            f"{path}: must end in {', '.join(READERS)}, or be a folder with edges.csv and nodes.csv, "
            f"got {path.suffix or 'no ending'!r}. Convert the graph to one of these."
        )
    place = path.resolve().parent if path.name == "edges.csv" else path.resolve()
    name = place.name if place.is_dir() else place.stem
    try:
        return to_dataset(name, reader(path), metric)
    except ValueError as error:
        text = str(error)
        raise ValueError(text if text.startswith(str(path)) else f"{path}: {text}") from error
