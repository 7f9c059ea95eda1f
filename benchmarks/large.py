"""A graph larger than its share of memory: the commands under a limit of the operating system, killed and resumed.

``ulimit -v`` limits all addresses of a process, mapped files and libraries included. TMPDIR says where files go: the
full size needs 25 GB there.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from rows import Row, Size, against, amount, duration, limit_row, measured, row

from llpe import probe_features
from llpe.data.convert import convert
from llpe.features import Features
from llpe.folder import GraphFolder
from llpe.measuring import Work
from llpe.out_of_core import encode_folder, needed_memory

NODES = {"full": 10_000_000, "quick": 300_000, "tiny": 20_000}
COMPARED = {"full": 1_000_000, "quick": 100_000, "tiny": 5000}  # with the work in memory
DEGREE, ORDER, PROBES = 10, 16, 16
LIMIT = 6.0  # GB
ENCODING = ("--encoding", "llpe-probes", "--dim", "64", f"probes={PROBES}", f"order={ORDER}")


class Done(NamedTuple):
    seconds: float
    peak: int


def large(size: Size) -> Iterator[Row]:
    """`llpe convert` and `llpe encode` within 6 GB; `encode` is killed in its second block and started again."""
    n = NODES[size]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        write_edges(place / "edges.npz", n)
        converted = run("convert", "edges.npz", "graph", "--num-nodes", str(n), "--memory", "2GB", place=place)
        (place / "edges.npz").unlink()
        memory = needed_memory(GraphFolder.open(place / "graph"), PROBES // 2)  # two blocks
        command = ("encode", "graph", "-o", "features", *ENCODING, "--memory", str(memory))
        killed = run(*command, place=place, until="features/block-001-*/terms")
        finished = (place / "features" / "block-000.npy").stat().st_mtime_ns
        resumed = run(*command, place=place)
        features, entries = Features.open(place / "features"), GraphFolder.open(place / "graph").num_entries
        sound = (place / "features" / "block-000.npy").stat().st_mtime_ns == finished
        at = f"{n} nodes, {entries} entries"
        words = f"{amount(converted.peak)} in {duration(converted.seconds)}"
        yield limit_row("memory of llpe convert, in GB", at, LIMIT, converted.peak / 1e9, words)
        both = duration(killed.seconds + resumed.seconds)
        words = f"{amount(max(killed.peak, resumed.peak))} in {both}, {features.num_blocks} blocks, killed and resumed"
        found = limit_row("memory of llpe encode, in GB", at, LIMIT, max(killed.peak, resumed.peak) / 1e9, words)
        yield found | {"met": bool(found["met"] and sound)}
    yield from compared(size)


def run(*arguments: str, place: Path, until: str | None = None) -> Done:
    """Runs `llpe` within the limit, to its end or until a file of this pattern is there; then it is killed."""
    shell = f'ulimit -v {int(LIMIT * 1e6)} && exec "$@"'
    command = ["bash", "-c", shell, "-", sys.executable, "-m", "llpe.cli", *arguments]
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=place)
    while until is not None and not list(place.glob(until)) and _alive(process.pid):
        time.sleep(0.02)
    if until is not None:
        process.kill()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != (0 if until is None else -signal.SIGKILL):
        raise RuntimeError(f"llpe {' '.join(arguments)} ended with {process.returncode}")
    return Done(time.perf_counter() - start, usage.ru_maxrss * 1024)


def _alive(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def write_edges(path: Path, n: int) -> None:
    """Random edges, with an average degree of 10."""
    rng = np.random.default_rng(0)
    np.savez(path, edge_index=rng.integers(0, n, (2, n * DEGREE // 2 + 1000), dtype=np.int32))


def compared(size: Size) -> Iterator[Row]:
    """The same features from a folder and in memory: the same bits, and how much longer it takes."""
    n = COMPARED[size]
    outside, inside = (measured("large", name, n=n) for name in ("from_folder", "in_memory"))
    same = outside["sum"] == inside["sum"]
    words = f"{against(outside['seconds'], inside['seconds'])}, {amount(outside['bytes'])} against "
    words += f"{amount(inside['bytes'])}; {'the same bits' if same else 'other bits'}"
    ratio = inside["seconds"] / outside["seconds"]
    yield row("features from a folder into a folder", f"{n} nodes", "in memory", ratio, 0.4, words, sound=same)


def _graph(n: int, place: Path) -> GraphFolder:
    write_edges(place / "edges.npz", n)
    return convert(place / "edges.npz", place / "graph", num_nodes=n)


def _sum(features: torch.Tensor) -> int:
    """A checksum of all bits."""
    return int(features.contiguous().view(torch.int32).sum())


def from_folder(n: int) -> Work:
    holder = tempfile.TemporaryDirectory()
    place = Path(holder.name)
    graph, count = _graph(n, place), iter(range(100))

    def work() -> Features:
        return encode_folder(graph, place / str(next(count)), order=ORDER, probes=PROBES, memory=4 * 10**9)

    return Work(work, lambda done: {"sum": _sum(done[:]), "folder": holder.name}, short=60.0)


def in_memory(n: int) -> Work:
    with tempfile.TemporaryDirectory() as place:
        data = _graph(n, Path(place)).to_data()
    return Work(lambda: probe_features(data, order=ORDER, probes=PROBES)[0], lambda out: {"sum": _sum(out)}, short=60.0)
