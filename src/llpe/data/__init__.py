"""Graphs with labels, and their splits.

* any graph by one text: :func:`load_graph`
* benchmarks: :func:`load_benchmark`, :func:`list_benchmarks`
* synthetic graphs: :func:`sbm`, :func:`preferential_attachment`
* the user's own graph: :func:`load_file`; one larger than memory: :func:`load_folder`, :func:`map_folder`
* the largest component of any of them: :func:`giant_component`, or ``load_graph("giant:…")``
* splits: :func:`make_splits`, or :func:`random_splits`, :func:`official_splits`, :func:`file_splits`

All loaders return a :class:`NodeDataset`: a PyG ``Data`` with its metric, classes, official splits and notes.
"""

from __future__ import annotations

from pathlib import Path

from llpe.checks import checked
from llpe.data.benchmarks import (
    BENCHMARKS,
    Benchmark,
    DownloadError,
    benchmark_key,
    data_root,
    did_you_mean,
    find_benchmark,
    list_benchmarks,
    load_benchmark,
)
from llpe.data.dataset import METRICS, NodeDataset, giant_component, scaled_features, sparse_features, undirected
from llpe.data.graph_file import READERS, MappedDataset, load_file, load_folder, map_folder
from llpe.data.splits import Split, file_splits, make_splits, official_splits, random_splits
from llpe.data.synthetic import GENERATORS, parse_spec, preferential_attachment, sbm
from llpe.folder import is_folder
from llpe.storage import GIANT

__all__ = [
    "BENCHMARKS",
    "GIANT",
    "METRICS",
    "Benchmark",
    "DownloadError",
    "MappedDataset",
    "NodeDataset",
    "Split",
    "data_root",
    "file_splits",
    "find_benchmark",
    "giant_component",
    "list_benchmarks",
    "load_benchmark",
    "load_file",
    "load_folder",
    "load_graph",
    "make_splits",
    "map_folder",
    "official_splits",
    "parse_spec",
    "preferential_attachment",
    "random_splits",
    "sbm",
    "scaled_features",
    "sparse_features",
    "undirected",
]


@checked
def load_graph(spec: str | Path, *, data_root: str | Path | None = None) -> NodeDataset:
    """Loads the graph that ``spec`` names.

    Args:
        spec: a benchmark name (``"cora"``), a synthetic graph (``"sbm:n=2000,homophily=0"``, ``"pa:n=500"``),
            or the path of a file (``.npz``, ``.pt``, ``.graphml``, a folder with edges.csv and nodes.csv, or one that
            ``llpe convert`` has written).
            ``"giant:"`` before any of them asks for its largest connected component.
        data_root: where benchmarks live; default ``LLPE_DATA`` or ``~/.cache/llpe/data``.

    Example:
        >>> load_graph("sbm:n=60")
        NodeDataset('sbm:n=60', num_nodes=60, num_edges=638, num_features=10, num_classes=2, metric='accuracy')
    """
    text = str(spec)
    if isinstance(spec, str):
        if spec.startswith(GIANT):
            return giant_component(load_graph(spec.removeprefix(GIANT), data_root=data_root))
        if benchmark_key(spec) in BENCHMARKS:
            return load_benchmark(spec, root=data_root)
        kind, colon, _ = spec.partition(":")
        if colon and kind in GENERATORS:
            data = parse_spec(spec)()
            return NodeDataset(spec, data, metric="accuracy", num_classes=int(data.y.max()) + 1)
    path = Path(spec).expanduser()
    if is_folder(path):
        return load_folder(path)
    if path.exists() or path.suffix.lower() in READERS:
        return load_file(path)
    raise ValueError(
        f"`graph` must be a benchmark ({', '.join(BENCHMARKS)}), a synthetic graph such as "
        f"'sbm:n=2000,homophily=0' or 'pa:n=2000', or an existing file ({', '.join(READERS)}, or a folder "
        f"with edges.csv and nodes.csv), got {text!r}.{did_you_mean(text)}"
    )
