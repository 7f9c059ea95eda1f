"""Chebyshev features of random probes of a graph that does not fit in memory: from a folder into a folder.

Columns of the features never need each other, so they are computed in blocks of probes, each into a file of its own. In
memory are only the last term of a block, T_m(L̃)S ∈ R^(n × width), and d^(−1/2), which a product reads at random
places. The product goes through the rows of the graph range by range; T_{m−1}(L̃)S, which the recurrence reads in
order, comes from disk. The terms are written one after another, and turned at the end into rows that hold all of them.

The features are those of :func:`llpe.probe_features`, to the bit.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from filelock import FileLock, Timeout
from torch import Tensor

from llpe.checks import check_count, refusal
from llpe.features import FILE, FORMAT, Features
from llpe.folder import ENTRIES, ROWS, ArrayWriter, GraphFolder
from llpe.laplacian import inverse_sqrt
from llpe.probes import GROUP, inner_products, precision, probe_block
from llpe.sealed import DamageWarning, write_json
from llpe.spmm import multiply_rows, ranges, threads, torch_csr

WIDTH = 16  # probes of a block: as many numbers as a cache line holds, which is what a product fetches at least
PROGRAM = 400_000_000  # bytes of the program and its libraries
Tell = Callable[[int, int], None]
Compute = Callable[[Path, Path, list[int], Tell], None]


def encode_folder(
    graph: GraphFolder,
    out: str | Path,
    *,
    order: int,
    probes: int,
    centred: bool = False,
    seed: int = 0,
    memory: int,
    on_progress: Tell = lambda done, total: None,
    compute: Compute | None = None,
) -> Features:
    """Computes the features of a graph in a folder into another one; what is finished there is not computed again.

    Args:
        order, probes, centred, seed: as in :func:`llpe.probe_features`.
        memory: bytes to use at most; from it the width of the blocks follows.
        on_progress: told how many of all products are done.
        compute: computes the blocks of these numbers from one folder into the other, and tells how many products of
            a block are done; by default here, one after another.
    """
    check_count("order", order)
    check_count("probes", probes)
    if precision(order) != torch.float32:
        raise refusal("order", "be at most 64 out of core, where terms are kept in float32", order)
    out = Path(out).expanduser()
    width = block_width(graph, probes, memory)
    wanted = Features(out, graph.fingerprint, graph.num_nodes, order, probes, centred, seed, width)
    graph.check()
    out.mkdir(exist_ok=True)
    try:
        with FileLock(out / ".lock", timeout=0):
            features = _plan(wanted)
            for killed in out.glob("block-*-*"):
                shutil.rmtree(killed, ignore_errors=True)
            left = [block for block in range(features.num_blocks) if not _sound(features, block)]
            _require_disk(features, left)
            done = {block: len(features.columns(block)) * order for block in range(features.num_blocks)}
            total = sum(done.values())
            done |= dict.fromkeys(left, 0)

            def tell(block: int, products: int) -> None:
                done[block] = products
                on_progress(sum(done.values()), total)

            (compute or _compute)(graph.path, out, left, tell)
    except Timeout:
        raise refusal(str(out), "be written by one process", "another that is at work", "Wait for it.") from None
    return Features.read(out)


def _compute(graph: Path, out: Path, blocks: list[int], tell: Tell) -> None:
    for block in blocks:
        encode_block(graph, out, block, partial(tell, block))


def block_width(graph: GraphFolder, probes: int, memory: int) -> int:
    """The probes of a block that fit in ``memory``, spread evenly over the blocks."""
    fixed = needed_memory(graph, 0)
    fits = min(WIDTH, probes, (memory - fixed) // (4 * graph.num_nodes))
    if fits < 1:
        rule = f"be at least {needed_memory(graph, 1) / 1e9 + 0.005:.2f}GB for {graph.num_nodes} nodes"
        raise refusal("memory", rule, f"{memory / 1e9:.2f}GB", "Allow more.")
    blocks = -(-probes // fits)
    return -(-probes // blocks)


def needed_memory(graph: GraphFolder, width: int) -> int:
    """The bytes that blocks of this width need: 4·n·width for a term, 36·n to draw it (later 8·n for d^(−1/2)), 60 for
    each entry of the range of rows that a thread works on, and the program."""
    indptr, longest = graph.array("indptr"), 0
    for first in range(0, graph.num_nodes, ROWS):
        longest = max(longest, int(np.diff(indptr[first : first + ROWS + 1]).max()))
    range_of_rows = 60 * max(ENTRIES, longest) + 12 * WIDTH * ROWS
    return PROGRAM + torch.get_num_threads() * range_of_rows + graph.num_nodes * (4 * width + 36)


def _plan(wanted: Features) -> Features:
    """Writes the plan into a new folder; one that was started with the same plan is resumed, with its width."""
    file = wanted.path / FILE
    document = {name: value for name, value in vars(wanted).items() if name != "path"}
    if not file.exists():
        if others := [each.name for each in wanted.path.iterdir() if each.name != ".lock"]:
            raise refusal("output", "be a new folder or one of features", f"{wanted.path} with {others[0]}")
        write_json(file, {"format": FORMAT, **document})
        return wanted
    found = Features.read(wanted.path)
    differ = [name for name in document if name != "width" and getattr(found, name) != document[name]]
    if differ:
        got = ", ".join(f"{name}: {getattr(found, name)} there, {document[name]} asked for" for name in differ)
        raise refusal("output", "hold features of the same graph and options", got, "Choose another folder.")
    if found.width > wanted.width:
        got = f"blocks of {found.width} probes there, and memory for {wanted.width}"
        rule, instead = "be as much as when the folder was started", "Allow more, or choose another folder."
        raise refusal("memory", rule, got, instead)
    return found


def _sound(features: Features, block: int) -> bool:
    """Whether a block is finished and unchanged; warns of a changed one, which is computed again."""
    if not features.finished(block):
        return False
    try:
        features.check(block)
    except ValueError:
        warnings.warn(f"{features.file(block)} is damaged; computing it again.", DamageWarning, stacklevel=3)
        features.file(block).with_suffix(".json").unlink()
        return False
    return True


def _require_disk(features: Features, left: list[int]) -> None:
    """Refuses, before anything is computed, what would fill the disk: the blocks, and the terms of one of them."""
    row = 4 * features.num_nodes * features.order
    needed = row * (sum(len(features.columns(block)) for block in left) + (features.width if left else 0))
    free = shutil.disk_usage(features.path).free
    if needed > free:
        text = f"the features need {needed / 1e9:.1f} GB of disk, and {free / 1e9:.1f} GB are free"
        raise OSError(errno.ENOSPC, text, str(features.path))


def encode_block(graph: Path, out: Path, block: int, on_term: Callable[[int], None] = lambda m: None) -> None:
    """Computes one block of the features that ``out`` plans, into its file.

    Blocks are independent, and the arguments can be pickled: they may be computed by many processes that share the
    folders.
    """
    folder, features = GraphFolder.open(graph), Features.read(out)
    if folder.fingerprint != features.graph:
        raise refusal(str(graph), "be the graph of the features", "another one", "Choose another folder.")
    file = features.file(block)
    # a folder of its own: a cluster may give up a worker that still computes the same block
    with tempfile.TemporaryDirectory(prefix=f"{file.stem}-", dir=out, ignore_cleanup_errors=True) as own:
        terms, turned = Path(own, "terms"), Path(own, file.name)
        with _naming(terms), terms.open("w+b") as file_of_terms:
            columns = features.columns(block)
            store = _Terms(file_of_terms.fileno(), folder.num_nodes, len(columns))
            _write_terms(folder, features, columns, store, on_term)
            with _naming(turned):
                facts = _turn(store, turned, features.order)
        os.replace(turned, file)
        write_json(file.with_suffix(".json"), {"format": FORMAT, **facts})


def _write_terms(
    folder: GraphFolder, features: Features, columns: range, store: _Terms, on_term: Callable[[int], None]
) -> None:
    """Writes T_m(L̃)S for all m, one after another."""
    n, width, degree = folder.num_nodes, len(columns), _degrees(folder)
    term = torch.empty(n, width).numpy()  # each row of 16 numbers is then one line of the cache
    options: dict[str, Any] = {"variance": 1 / features.probes, "centred": features.centred, "seed": features.seed}
    for column, number in enumerate(columns):  # one by one: what they need beside the term is then that of one
        term[:, column] = probe_block(degree, number, number + 1, **options)[:, 0]
    scale = inverse_sqrt(degree)
    del degree
    store.write(term)
    on_term(width)
    with threads(n) as run:
        for m in range(1, features.order):

            def step(rows: tuple[int, int], m: int = m) -> None:
                new = _product(folder, *rows, scale, term)
                if m > 1:
                    new.add_(torch.from_numpy(store.read(m - 2, *rows)), alpha=-0.5).mul_(2)
                store.write(new.numpy(), m, rows[0])

            run(step, folder.row_ranges())
            run(partial(store.read_rows, m, term), ranges(n, ROWS))
            on_term(width * (m + 1))


def _product(folder: GraphFolder, first: int, last: int, scale: np.ndarray, term: np.ndarray) -> Tensor:
    """The rows ``first`` … ``last`` − 1 of −D^(−1/2) A D^(−1/2) · term."""
    part = folder.matrix(first, last)
    rows = np.repeat(scale[first:last], np.diff(part.indptr))
    part.data = -(part.data * (rows * scale[part.indices]))
    return multiply_rows(torch_csr(part), torch.from_numpy(term))


def _degrees(folder: GraphFolder) -> np.ndarray:
    out = np.empty(folder.num_nodes)
    for first, last in folder.row_ranges():
        out[first:last] = np.asarray(folder.matrix(first, last).sum(axis=1)).reshape(-1)
    return out


def _turn(store: _Terms, path: Path, order: int) -> dict[str, Any]:
    """Writes the stored terms [order, n, width] as an array [n, width, order]; returns the content of its JSON file."""
    inner = np.zeros((2, order, store.width))
    with ArrayWriter(path, "<f4", (store.num_nodes, store.width, order)) as writer, threads(store.num_nodes) as run:
        for rows in ranges(store.num_nodes, GROUP * max(1, ROWS // (GROUP * order))):
            terms = np.stack([store.read(m, rows.start, rows.stop) for m in range(order)], axis=1)
            sums = np.empty((-(-len(terms) // GROUP), *inner.shape))

            def add_up(group: slice, terms: np.ndarray = terms, sums: np.ndarray = sums) -> None:
                sums[group.start // GROUP : -(-group.stop // GROUP)] = inner_products(terms[group])

            run(add_up, ranges(len(terms), 2 * GROUP))
            for part in sums:  # in order, as in memory
                inner += part
            writer.append(terms.transpose(0, 2, 1))
        return writer.finish() | {"inner": inner.tolist()}


@dataclass(frozen=True)
class _Terms:
    """Blocks [num_nodes, width] one after another in a file, which many threads may read and write."""

    descriptor: int
    num_nodes: int
    width: int

    def write(self, block: np.ndarray, term: int = 0, first: int = 0) -> None:
        for rows in ranges(len(block), ROWS):
            content = np.ascontiguousarray(block[rows]).reshape(-1).view(np.uint8).data
            place = self._place(term, first + rows.start)
            while content:
                done = os.pwrite(self.descriptor, content, place)
                content, place = content[done:], place + done

    def read(self, term: int, first: int, last: int) -> np.ndarray:
        out = np.empty((last - first, self.width), dtype=np.float32)
        self.read_rows(term, out, slice(0, last - first), first)
        return out

    def read_rows(self, term: int, out: np.ndarray, rows: slice, first: int = 0) -> None:
        """Reads rows of a term into the same rows of ``out``, counted from ``first``."""
        content, place = out[rows].reshape(-1).view(np.uint8).data, self._place(term, first + rows.start)
        while content:
            done = os.preadv(self.descriptor, [content], place)
            if not done:
                raise OSError(errno.EIO, "the file of terms was cut off")
            content, place = content[done:], place + done

    def _place(self, term: int, row: int) -> int:
        return 4 * self.width * (term * self.num_nodes + row)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Gives an error of writing, such as a full disk, the name of the file."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) if error.filename is None else error from None
