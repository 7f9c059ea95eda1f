"""The table of benchmarks: where PyG finds each, how it is scored, how large it is, and its traps."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from llpe.checks import checked


@dataclass(frozen=True)
class Benchmark:
    """One row of the table.

    Attributes:
        name: lower case, with dashes.
        pyg_class, arguments: the class in ``torch_geometric.datasets`` and its arguments after the root.
        folder: the folder below the data root; raw files are in its ``raw``.
        files: the raw files.
        num_nodes, num_classes, metric: what to expect.
        homophily: the class homophily the paper prints, or None.
        notes: traps a reader of results should know.
        processed: the file PyG writes into ``processed``.
        subroot: PyG's root relative to the data root, where its class has no folder of its own.
    """

    name: str
    pyg_class: str
    arguments: tuple[str, ...]
    folder: str
    files: tuple[str, ...]
    num_nodes: int
    num_classes: int
    metric: str = "accuracy"
    homophily: float | None = None
    notes: tuple[str, ...] = ()
    processed: str = "data.pt"
    subroot: str = "."


RARE_CLASS = "class 1 has a single node: splits that do not train on it cannot get it right"
TEXAN = "PyG's source: features and labels are those of Texas, not Cornell's"
PUBLIC_SPLIT = "the official split is the single public one with 20 training nodes per class"
BARE_NODES = "48 nodes have no edge, 15 of them no features either"
# NOTE[PAPER]: the authors' code makes the unlabelled nodes of Penn94 a third class that is trained on and scored.
GENDERS = "nodes of unknown gender are unlabelled and not scored; scoring them as a third class is not comparable"

GEOM_GCN = ("out1_node_feature_label.txt", "out1_graph_edges.txt")
RAW_FILES = {  # by PyG class; {} is the folder in lower case
    "WebKB": (*GEOM_GCN, *(f"{{}}_split_0.6_0.2_{i}.npz" for i in range(10))),
    "Actor": (*GEOM_GCN, *(f"film_split_0.6_0.2_{i}.npz" for i in range(10))),
    "Planetoid": tuple(f"ind.{{}}.{part}" for part in ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")),
    "CitationFull": ("{}.npz",),
    "Amazon": ("amazon_electronics_{}.npz",),
    "Coauthor": ("ms_academic_{:.3}.npz",),
    "HeterophilousGraphDataset": ("{}.npz",),
    "LINKXDataset": ("data.mat",),
}


def _row(
    pyg_class: str,
    pyg_name: str,
    num_nodes: int,
    num_classes: int,
    homophily: float | None = None,
    *notes: str,
    name: str | None = None,
    metric: str = "accuracy",
    more_files: tuple[str, ...] = (),
) -> Benchmark:
    folder = pyg_name.replace("-", "_")
    alone = pyg_class == "Actor"
    return Benchmark(
        name or benchmark_key(pyg_name),
        pyg_class,
        () if alone else (pyg_name,),
        folder,
        tuple(file.format(folder.lower()) for file in RAW_FILES[pyg_class]) + more_files,
        num_nodes,
        num_classes,
        metric,
        homophily,
        notes,
        processed="data_undirected.pt" if pyg_class == "CitationFull" else "data.pt",
        subroot=folder if alone else ".",
    )


def benchmark_key(name: str) -> str:
    """A name as the table spells it."""
    return name.lower().replace("_", "-")


_ROWS = (
    _row("WebKB", "texas", 183, 5, 0.00, RARE_CLASS),
    _row("WebKB", "cornell", 183, 5, 0.15, TEXAN, RARE_CLASS),
    _row("WebKB", "wisconsin", 251, 5),
    _row("CitationFull", "cora_ml", 2995, 7, 0.74),
    _row("Planetoid", "Cora", 2708, 7, 0.75, PUBLIC_SPLIT),
    _row("Planetoid", "CiteSeer", 3327, 6, None, PUBLIC_SPLIT, BARE_NODES),
    _row("Planetoid", "PubMed", 19717, 3, None, PUBLIC_SPLIT),
    _row("Amazon", "Photo", 7650, 8, 0.76),
    _row("Amazon", "Computers", 13752, 10, 0.70),
    _row("Coauthor", "CS", 18333, 15),
    _row("Coauthor", "Physics", 34493, 5),
    _row("HeterophilousGraphDataset", "amazon-ratings", 24492, 5, 0.12),
    _row("HeterophilousGraphDataset", "tolokers", 11758, 2, 0.17, metric="auroc"),
    _row("HeterophilousGraphDataset", "questions", 48921, 2, 0.08, metric="auroc"),
    _row("HeterophilousGraphDataset", "roman-empire", 22662, 18),
    _row("HeterophilousGraphDataset", "minesweeper", 10000, 2, metric="auroc"),
    _row("Actor", "actor", 7600, 5),
    _row("CitationFull", "cora", 19793, 70, 0.50, name="cora-full"),
    _row("LINKXDataset", "penn94", 41554, 2, 0.03, GENDERS, more_files=("fb100-Penn94-splits.npy",)),
    _row("LINKXDataset", "cornell5", 18660, 2, None, GENDERS),
    _row("LINKXDataset", "reed98", 962, 2, None, GENDERS),
    _row("LINKXDataset", "amherst41", 2235, 2, None, GENDERS),
    _row("LINKXDataset", "johnshopkins55", 5180, 2, None, GENDERS),
    _row("LINKXDataset", "genius", 421961, 2, metric="auroc"),
)

BENCHMARKS: dict[str, Benchmark] = {row.name: row for row in _ROWS}


def list_benchmarks() -> tuple[Benchmark, ...]:
    """All benchmarks, in the order of the table."""
    return tuple(BENCHMARKS.values())


@checked
def find_benchmark(name: str) -> Benchmark:
    """The benchmark of that name; upper case and underscores are forgiven.

    Example:
        >>> find_benchmark("Cora_ML").name
        'cora-ml'
    """
    key = benchmark_key(name)
    if key not in BENCHMARKS:
        raise ValueError(f"`name` must be one of {', '.join(BENCHMARKS)}, got {name!r}.{did_you_mean(name)}")
    return BENCHMARKS[key]


def did_you_mean(name: str) -> str:
    """A sentence with the closest benchmark name, or nothing."""
    close = difflib.get_close_matches(benchmark_key(name), BENCHMARKS, n=1)
    return f" Did you mean {close[0]!r}?" if close else ""
