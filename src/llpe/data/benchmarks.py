"""Loads the benchmarks, without a network where the raw files are on disk.

Raw files are looked for below the data root (``root=``, ``LLPE_DATA``, or ``~/.cache/llpe/data``), then below
a read-only mirror (``mirror=`` or ``LLPE_DATA_MIRROR``) from which they are copied; PyG downloads what is still
missing. All of it happens in a staging folder, so that a failure leaves nothing half-written.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import socket
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch_geometric.data import Data

from llpe.checks import checked
from llpe.data.arrays import describe
from llpe.data.catalogue import Benchmark, find_benchmark
from llpe.data.dataset import PARTS, NodeDataset, undirected, unlabelled_note
from llpe.data.graph_file import load_file

DOWNLOAD_TIMEOUT = 20.0  # seconds without an answer
# NOTE[PAPER]: the paper's Cornell is PyG's, with the features and labels of Texas (class homophily 0.15 printed).
CORRECTED_CORNELL = Path("yandex/cornell.npz")


class DownloadError(RuntimeError):
    """Raw files of a benchmark are missing and could not be downloaded."""


@checked
def load_benchmark(name: str, *, root: str | Path | None = None, mirror: str | Path | None = None) -> NodeDataset:
    """Loads a benchmark as an undirected simple graph with its metric, official splits and notes.

    Args:
        name: a name of :func:`list_benchmarks`.
        root: where raw and processed files live; default ``LLPE_DATA`` or ``~/.cache/llpe/data``.
        mirror: a read-only folder of the same layout to copy raw files from; default ``LLPE_DATA_MIRROR``.
    """
    benchmark = find_benchmark(name)
    root, mirror = data_root(root), _mirror(mirror)
    if benchmark.name == "cornell" and any((place / CORRECTED_CORNELL).is_file() for place in (root, mirror) if place):
        return _corrected_cornell(root, mirror)
    folder = root / benchmark.folder
    needed = [*(folder / "raw" / file for file in benchmark.files), folder / "processed" / benchmark.processed]
    ready = all(file.is_file() for file in needed)
    data = _read(benchmark, root, root) if ready else _fetch(benchmark, root, mirror)
    masks = None
    if "train_mask" in data:
        masks = {part: data[f"{part}_mask"].reshape(data.num_nodes, -1) for part in PARTS}
    simple, changes = undirected(data)
    notes = (*benchmark.notes, *changes, *unlabelled_note(simple.y))
    return NodeDataset(benchmark.name, simple, benchmark.metric, benchmark.num_classes, notes, masks, published=True)


def data_root(root: str | Path | None = None) -> Path:
    """The folder of raw and processed data: the argument, ``LLPE_DATA``, or ``~/.cache/llpe/data``."""
    return Path(root or os.environ.get("LLPE_DATA") or "~/.cache/llpe/data").expanduser()


def find_file(name: str, *, root: str | Path | None = None) -> Path:
    """A file by its path below the data root, or below the mirror."""
    places = [place / name for place in (data_root(root), _mirror(None)) if place is not None]
    for path in places:
        if path.is_file():
            return path
    raise DownloadError(f"{name}: must be below the data root or LLPE_DATA_MIRROR, got no {places[0]}. Put it there.")


def _mirror(mirror: str | Path | None) -> Path | None:
    chosen = mirror or os.environ.get("LLPE_DATA_MIRROR")
    if not chosen:
        return None
    path = Path(chosen).expanduser()
    if not path.is_dir():
        raise ValueError(f"`mirror` must be a folder, got {str(path)!r}. Check LLPE_DATA_MIRROR.")
    return path


def _fetch(benchmark: Benchmark, root: Path, mirror: Path | None) -> Data:
    """Gathers raw files, lets PyG download the missing ones and process all, and moves the files into place."""
    with _staging(root) as stage:
        raw = stage / benchmark.folder / "raw"
        raw.mkdir(parents=True)
        missing = []
        for name in benchmark.files:
            files = [place / benchmark.folder / "raw" / name for place in (root, mirror) if place is not None]
            source = next((file for file in files if file.is_file()), None)
            if source is None:
                missing.append(name)
            else:
                shutil.copyfile(source, raw / name)
        data = _read(benchmark, stage, root, missing)
        for file in sorted(path for path in stage.rglob("*") if path.is_file()):
            target = root / file.relative_to(stage)
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(file, target)
    return data


def _read(benchmark: Benchmark, place: Path, root: Path, missing: Sequence[str] = ()) -> Data:
    """PyG's Data below ``place``; errors name the folder below ``root`` and the raw files to put there."""
    folder = root / benchmark.folder
    problem: Exception | None = None
    try:
        data = _pyg_data(benchmark, place)
        if data.num_nodes == benchmark.num_nodes:
            return data
        got = f"{data.num_nodes} nodes instead of {benchmark.num_nodes}"
    except Exception as error:  # PyG lets network, archive, pickle and parsing errors through
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOSPC:
            raise
        problem, got = error, describe(error)
    if problem and missing:
        raise DownloadError(
            f"{benchmark.name}: raw files must be on disk or downloadable, got {got}. "
            f"Put {', '.join(missing)} into {folder / 'raw'} (or into {benchmark.folder}/raw below "
            f"LLPE_DATA_MIRROR); they are the files PyG's {benchmark.pyg_class} downloads."
        ) from problem
    raise ValueError(
        f"{benchmark.name}: raw files must be those of PyG's {benchmark.pyg_class}, got {got}. Delete {folder} "
        f"and let them be downloaded, or put {', '.join(benchmark.files)} into {folder / 'raw'}."
    ) from problem


def _pyg_data(benchmark: Benchmark, root: Path) -> Data:
    """The Data of PyG's class below ``root``, without PyG's progress messages."""
    from torch_geometric import datasets

    silence = io.StringIO()
    timeout = socket.getdefaulttimeout()
    with contextlib.redirect_stderr(silence), contextlib.redirect_stdout(silence), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about old pickles and array types in raw files
        socket.setdefaulttimeout(DOWNLOAD_TIMEOUT)
        try:
            pyg_class = getattr(datasets, benchmark.pyg_class)
            if benchmark.pyg_class == "Actor":  # which has one graph, and no folder of its own
                data = pyg_class(str(root / benchmark.folder))[0]
            else:
                data = pyg_class(str((root / benchmark.folder).parent), benchmark.pyg_name)[0]
        finally:
            socket.setdefaulttimeout(timeout)
    data.y = data.y.to(torch.int64).reshape(-1)
    return data


@contextlib.contextmanager
def _staging(root: Path) -> Iterator[Path]:
    """A folder below the root that is gone afterwards, whatever happens."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        stage = tempfile.TemporaryDirectory(prefix=".staging-", dir=root, ignore_cleanup_errors=True)
    except OSError as error:
        raise ValueError(
            f"the data root must be a writable folder, got {str(root)!r} ({error.strerror}). "
            "Set LLPE_DATA or --data-root to another folder."
        ) from error
    with stage as name:
        yield Path(name)


def _corrected_cornell(root: Path, mirror: Path | None) -> NodeDataset:
    """Cornell from the corrected arrays below the root, where they are copied to from the mirror."""
    file = root / CORRECTED_CORNELL
    if mirror is not None and not file.is_file():
        with _staging(root) as stage:
            shutil.copyfile(mirror / CORRECTED_CORNELL, stage / file.name)
            file.parent.mkdir(exist_ok=True)
            os.replace(stage / file.name, file)
    dataset = load_file(file)
    note = f"corrected features and labels, from {CORRECTED_CORNELL} (PyG's Cornell has those of Texas)"
    return replace(dataset, notes=(note, *dataset.notes), published=True)
