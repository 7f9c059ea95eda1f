"""The graphs that are measured on: real ones where their files are at hand, else block models of the same size."""

import os
from pathlib import Path

from llpe.data import DownloadError, NodeDataset, load_benchmark, load_graph

SIZES = {"cora": (2708, 10556), "photo": (7650, 238162), "computers": (13752, 491722), "physics": (34493, 495924)}
BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"  # raw files beside the checkout, as the tests look


def load(name: str) -> tuple[NodeDataset, str]:
    """A benchmark or a synthetic graph by name, and what to call it in the table."""
    if ":" in name:
        dataset = load_graph(name)
        return dataset, f"{name.partition(':')[0].upper()}, {dataset.num_nodes} nodes"
    try:
        dataset, kind = real(name), name.capitalize()
    except DownloadError:
        n, entries = SIZES[name]
        dataset = load_graph(f"sbm:n={n},degree={entries / n:.1f},blocks=5,homophily=0.8")
        kind = f"SBM of {name.capitalize()}'s size"
    return dataset, f"{kind}, {dataset.num_nodes} nodes"


def real(name: str) -> NodeDataset:
    """The benchmark itself; a :class:`DownloadError` where it is not at hand."""
    mirror = os.environ.get("LLPE_DATA_MIRROR") or (BESIDE if BESIDE.is_dir() else None)
    return load_benchmark(name, mirror=mirror)
