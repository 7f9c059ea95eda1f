"""The table of benchmarks: where PyG finds each, how it is scored, how large it is, and its traps."""

from __future__ import annotations

import difflib
from dataclasses import dataclass


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
WEBKB_FILES = ("out1_node_feature_label.txt", "out1_graph_edges.txt")
PUBLIC_SPLIT = "the official split is the single public one with 20 training nodes per class"
# NOTE[PAPER]: the authors' code makes the unlabelled nodes of Penn94 a third class that is trained on and scored.
GENDERS = "nodes of unknown gender are unlabelled and not scored; scoring them as a third class is not comparable"


def _webkb(name: str, num_nodes: int, homophily: float | None, *notes: str) -> Benchmark:
    splits = tuple(f"{name}_split_0.6_0.2_{i}.npz" for i in range(10))
    return Benchmark(name, "WebKB", (name,), name, WEBKB_FILES + splits, num_nodes, 5, homophily=homophily, notes=notes)


def _planetoid(name: str, num_nodes: int, num_classes: int, homophily: float | None, *notes: str) -> Benchmark:
    parts = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
    files = tuple(f"ind.{name.lower()}.{part}" for part in parts)
    return Benchmark(
        name.lower(),
        "Planetoid",
        (name,),
        name,
        files,
        num_nodes,
        num_classes,
        homophily=homophily,
        notes=(PUBLIC_SPLIT, *notes),
    )


def _citation(name: str, folder: str, num_nodes: int, num_classes: int, homophily: float) -> Benchmark:
    return Benchmark(
        name,
        "CitationFull",
        (folder,),
        folder,
        (f"{folder}.npz",),
        num_nodes,
        num_classes,
        homophily=homophily,
        processed="data_undirected.pt",
    )


def _shop(name: str, num_nodes: int, num_classes: int, homophily: float) -> Benchmark:
    files = (f"amazon_electronics_{name.lower()}.npz",)
    return Benchmark(name.lower(), "Amazon", (name,), name, files, num_nodes, num_classes, homophily=homophily)


def _coauthor(name: str, num_nodes: int, num_classes: int) -> Benchmark:
    files = (f"ms_academic_{name[:3].lower()}.npz",)
    return Benchmark(name.lower(), "Coauthor", (name,), name, files, num_nodes, num_classes)


def _heterophilous(
    name: str, num_nodes: int, num_classes: int, metric: str, homophily: float | None = None
) -> Benchmark:
    folder = name.replace("-", "_")
    return Benchmark(
        name,
        "HeterophilousGraphDataset",
        (name,),
        folder,
        (f"{folder}.npz",),
        num_nodes,
        num_classes,
        metric,
        homophily,
    )


def _linkx(
    name: str,
    num_nodes: int,
    *notes: str,
    metric: str = "accuracy",
    homophily: float | None = None,
    splits: tuple[str, ...] = (),
) -> Benchmark:
    return Benchmark(name, "LINKXDataset", (name,), name, ("data.mat", *splits), num_nodes, 2, metric, homophily, notes)


_ROWS = (
    _webkb("texas", 183, 0.00, RARE_CLASS),
    _webkb(
        "cornell",
        183,
        0.15,
        "PyG's source: features and labels are those of Texas, not Cornell's",
        RARE_CLASS,
    ),
    _webkb("wisconsin", 251, None),
    _citation("cora-ml", "cora_ml", 2995, 7, 0.74),
    _planetoid("Cora", 2708, 7, 0.75),
    _planetoid("CiteSeer", 3327, 6, None, "48 nodes have no edge, 15 of them no features either"),
    _planetoid("PubMed", 19717, 3, None),
    _shop("Photo", 7650, 8, 0.76),
    _shop("Computers", 13752, 10, 0.70),
    _coauthor("CS", 18333, 15),
    _coauthor("Physics", 34493, 5),
    _heterophilous("amazon-ratings", 24492, 5, "accuracy", 0.12),
    _heterophilous("tolokers", 11758, 2, "auroc", 0.17),
    _heterophilous("questions", 48921, 2, "auroc", 0.08),
    _heterophilous("roman-empire", 22662, 18, "accuracy"),
    _heterophilous("minesweeper", 10000, 2, "auroc"),
    Benchmark(
        "actor",
        "Actor",
        (),
        "actor",
        WEBKB_FILES + tuple(f"film_split_0.6_0.2_{i}.npz" for i in range(10)),
        7600,
        5,
        subroot="actor",
    ),
    _citation("cora-full", "cora", 19793, 70, 0.50),
    _linkx("penn94", 41554, GENDERS, homophily=0.03, splits=("fb100-Penn94-splits.npy",)),
    _linkx("cornell5", 18660, GENDERS),
    _linkx("reed98", 962, GENDERS),
    _linkx("amherst41", 2235, GENDERS),
    _linkx("johnshopkins55", 5180, GENDERS),
    _linkx("genius", 421961, metric="auroc"),
)

BENCHMARKS: dict[str, Benchmark] = {row.name: row for row in _ROWS}


def list_benchmarks() -> tuple[Benchmark, ...]:
    """All benchmarks, in the order of the table.

    Example:
        >>> first = list_benchmarks()[0]
        >>> first.name, first.num_nodes, first.num_classes, first.metric, first.homophily
        ('texas', 183, 5, 'accuracy', 0.0)
    """
    return tuple(BENCHMARKS.values())


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


def benchmark_key(name: str) -> str:
    """A name as the table spells it."""
    return name.lower().replace("_", "-")


def did_you_mean(name: str) -> str:
    """A sentence with the closest benchmark name, or nothing.

    Example:
        >>> did_you_mean("citeseeer")
        " Did you mean 'citeseer'?"
    """
    close = difflib.get_close_matches(benchmark_key(name), BENCHMARKS, n=1)
    return f" Did you mean {close[0]!r}?" if close else ""
