"""The benchmarks: one table of names, and loading without a network where the raw files are at hand.

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

from llpe.data.catalogue import Benchmark, find_benchmark
from llpe.data.dataset import PARTS, NodeDataset, undirected
from llpe.data.files import load_file

DOWNLOAD_TIMEOUT = 20.0  # seconds without an answer
# NOTE[PAPER]: the paper's Cornell is PyG's, with the features and labels of Texas (class homophily 0.15 printed).
CORRECTED_CORNELL = Path("yandex/cornell.npz")


class DownloadError(RuntimeError):
    """Raw files of a benchmark are not at hand and could not be downloaded."""


def load_benchmark(name: str, *, root: str | Path | None = None, mirror: str | Path | None = None) -> NodeDataset:
    """Loads a benchmark as an undirected simple graph with its metric, official splits and notes.

    Args:
        name: a name of :func:`list_benchmarks`.
        root: where raw and processed files live; default ``LLPE_DATA`` or ``~/.cache/llpe/data``.
        mirror: a read-only folder of the same layout to copy raw files from; default ``LLPE_DATA_MIRROR``.
    """
    benchmark = find_benchmark(name)
    root, mirror = data_root(root), _mirror(mirror)
    if benchmark.name == "cornell":
        corrected = _corrected_cornell(root, mirror)
        if corrected is not None:
            return corrected
    ready = _is_ready(benchmark, root)
    data = _read(benchmark, root, root) if ready else _make_ready(benchmark, root, mirror)
    masks = None
    if "train_mask" in data:
        masks = {part: data[f"{part}_mask"].reshape(data.num_nodes, -1) for part in PARTS}
    simple, changes = undirected(data)
    unlabelled = int((simple.y < 0).sum())
    notes = (*benchmark.notes, *changes)
    if unlabelled:
        notes += (f"{unlabelled} of {data.num_nodes} nodes are unlabelled",)
    return NodeDataset(benchmark.name, simple, benchmark.metric, benchmark.num_classes, notes, masks, published=True)


def data_root(root: str | Path | None = None) -> Path:
    """The folder of raw and processed data: the argument, ``LLPE_DATA``, or ``~/.cache/llpe/data``.

    Example:
        >>> data_root("somewhere").name
        'somewhere'
    """
    return Path(root or os.environ.get("LLPE_DATA") or "~/.cache/llpe/data").expanduser()


def _mirror(mirror: str | Path | None) -> Path | None:
    chosen = mirror or os.environ.get("LLPE_DATA_MIRROR")
    if not chosen:
        return None
    path = Path(chosen).expanduser()
    if not path.is_dir():
        raise ValueError(f"`mirror` must be a folder, got {str(path)!r}. Check LLPE_DATA_MIRROR.")
    return path


def _is_ready(benchmark: Benchmark, root: Path) -> bool:
    """Whether PyG would neither download nor process."""
    folder = root / benchmark.folder
    files = [folder / "raw" / file for file in benchmark.files]
    return all(file.is_file() for file in (*files, folder / "processed" / benchmark.processed))


def _make_ready(benchmark: Benchmark, root: Path, mirror: Path | None) -> Data:
    """Gathers raw files, lets PyG download the missing ones and process all, and moves the files into place."""
    with _staging(root) as stage:
        raw = stage / benchmark.folder / "raw"
        raw.mkdir(parents=True)
        sources = [place / benchmark.folder / "raw" for place in (root, mirror) if place is not None]
        for name in benchmark.files:
            source = next((folder / name for folder in sources if (folder / name).is_file()), None)
            if source is not None:
                shutil.copyfile(source, raw / name)
        missing = [name for name in benchmark.files if not (raw / name).is_file()]
        data = _read(benchmark, stage, root, missing)
        for file in sorted(path for path in stage.rglob("*") if path.is_file()):
            target = root / file.relative_to(stage)
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(file, target)
    return data


def _read(benchmark: Benchmark, place: Path, root: Path, missing: Sequence[str] = ()) -> Data:
    """PyG's Data below ``place``; what goes wrong is told in terms of ``root``."""
    folder = root / benchmark.folder
    try:
        data = _pyg_data(benchmark, place)
    except Exception as error:  # PyG lets network, archive, pickle and parsing errors through
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOSPC:
            raise
        if missing:
            raise DownloadError(
                f"{benchmark.name}: raw files must be at hand or downloadable, got {_describe(error)}. "
                f"Put {', '.join(missing)} into {folder / 'raw'} (or into {benchmark.folder}/raw below "
                f"LLPE_DATA_MIRROR); they are the files PyG's {benchmark.pyg_class} downloads."
            ) from error
        raise _damaged(benchmark, folder, _describe(error)) from error
    if data.num_nodes != benchmark.num_nodes:
        raise _damaged(benchmark, folder, f"{data.num_nodes} nodes instead of {benchmark.num_nodes}")
    return data


def _damaged(benchmark: Benchmark, folder: Path, what: str) -> ValueError:
    return ValueError(
        f"{benchmark.name}: raw files must be those of PyG's {benchmark.pyg_class}, got {what}. Delete {folder} "
        f"and let them be downloaded, or put {', '.join(benchmark.files)} into {folder / 'raw'}."
    )


def _describe(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0].rstrip('.')}" if lines else type(error).__name__


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
            data = pyg_class(str(root / benchmark.subroot), *benchmark.arguments)[0]
        finally:
            socket.setdefaulttimeout(timeout)
    data.y = data.y.to(torch.int64).reshape(-1)
    return data


@contextlib.contextmanager
def _staging(root: Path) -> Iterator[Path]:
    """A folder below the root that is gone afterwards, whatever happens."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        stage = Path(tempfile.mkdtemp(prefix=".staging-", dir=root))
    except OSError as error:
        raise ValueError(
            f"the data root must be a writable folder, got {str(root)!r} ({error.strerror}). "
            "Set LLPE_DATA or --data-root to another folder."
        ) from error
    try:
        yield stage
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _corrected_cornell(root: Path, mirror: Path | None) -> NodeDataset | None:
    """Cornell from the corrected arrays, if there are any below the root or the mirror."""
    file = root / CORRECTED_CORNELL
    if not file.is_file():
        if mirror is None or not (mirror / CORRECTED_CORNELL).is_file():
            return None
        with _staging(root) as stage:
            shutil.copyfile(mirror / CORRECTED_CORNELL, stage / file.name)
            file.parent.mkdir(exist_ok=True)
            os.replace(stage / file.name, file)
    dataset = load_file(file)
    note = f"corrected features and labels, from {CORRECTED_CORNELL} (PyG's Cornell has those of Texas)"
    return replace(dataset, notes=(note, *dataset.notes), published=True)
