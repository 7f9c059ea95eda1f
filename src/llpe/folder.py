"""A graph larger than memory: a folder of arrays in NumPy's format that are mapped into memory, not read.

    graph.json    what the arrays are and their checksums; written last, so that a folder without it is not finished
    indptr.npy    [num_nodes + 1] int64: the neighbours of node i are indices[indptr[i] : indptr[i + 1]]
    indices.npy   [num_entries] int32 or int64: ascending in each row, each edge in both of its rows, no self-loops
    weight.npy    [num_entries] float64, positive, only where edges have weights
    x.npy, y.npy, train_mask.npy, val_mask.npy, test_mask.npy    features, classes and splits as in PyG, if any

``llpe convert`` writes such a folder (:mod:`llpe.data.convert`); ``docs/large-graphs.md`` says more.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from llpe import sealed
from llpe.checks import refusal
from llpe.storage import require_memory

FILE = "graph.json"
FORMAT = "llpe graph 1"
NODE_ARRAYS = ("x", "y", "train_mask", "val_mask", "test_mask")
AGAIN = "Write the folder again, with llpe convert."
ENTRIES = 2**21  # of a range of rows, unless a single row has more
ROWS = 2**17


@dataclass(frozen=True)
class GraphFolder:
    """A graph in a folder of mapped arrays.

    Attributes:
        path: the folder.
        num_nodes, num_entries: its size; every undirected edge is two entries.
        fingerprint: that of :class:`llpe.Graph` of the same graph.
        arrays: for each array its ``dtype``, ``shape`` and ``sha256`` of the file.
        changes: what the converter changed, one sentence each.
    """

    path: Path
    num_nodes: int
    num_entries: int
    fingerprint: str
    arrays: dict[str, dict[str, Any]]
    changes: tuple[str, ...] = ()

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Opens a folder; the arrays must be there and have their sizes. :meth:`check` reads them."""
        path = Path(path).expanduser()
        document = read_document(path / FILE, FORMAT, AGAIN)
        document["changes"] = tuple(document["changes"])
        folder = cls(path, **document)
        for name in folder.arrays:
            folder.array(name)
        return folder

    def array(self, name: str) -> np.ndarray:
        """An array, mapped and read-only."""
        return mapped(self.path / f"{name}.npy", self.arrays[name], AGAIN)

    def tensor(self, name: str) -> Tensor:
        """The same as a tensor, without a copy. It must not be written to."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
            return torch.from_numpy(self.array(name))

    def row_ranges(self) -> Iterator[tuple[int, int]]:
        """Ranges of rows one after another, each of at most ``ENTRIES`` entries or of a single row."""
        indptr, first = self.array("indptr"), 0
        while first < self.num_nodes:
            last = int(np.searchsorted(indptr[: first + ROWS + 1], indptr[first] + ENTRIES, side="right")) - 1
            last = min(max(last, first + 1), self.num_nodes)
            yield first, last
            first = last

    def matrix(self, first: int, last: int) -> sp.csr_array:
        """The rows ``first`` … ``last`` − 1 of the adjacency."""
        indptr = self.array("indptr")[first : last + 1]
        entries = slice(int(indptr[0]), int(indptr[-1]))
        columns = np.array(self.array("indices")[entries])
        weight = np.array(self.array("weight")[entries]) if "weight" in self.arrays else np.ones(columns.size)
        out = sp.csr_array((last - first, self.num_nodes))
        out.indptr, out.indices, out.data = (indptr - indptr[0]).astype(columns.dtype), columns, weight
        return out

    def check(self) -> None:
        """Reads everything once, and refuses altered arrays and what is not the view of an undirected graph."""
        for name, facts in self.arrays.items():
            check_content(self.path / f"{name}.npy", facts, AGAIN)
        indptr = self.array("indptr")
        for first in range(0, self.num_nodes, ROWS):
            if (first == 0 and indptr[0] != 0) or (np.diff(indptr[first : first + ROWS + 1]) < 0).any():
                raise self._refusal("indptr", "ascend from 0", f"other numbers after row {first}")
        if indptr[-1] != self.num_entries:
            raise self._refusal("indptr", f"end with the {self.num_entries} entries", int(indptr[-1]))
        balance = np.zeros(2, dtype=np.uint64)
        for first, last in self.row_ranges():
            self._check_rows(first, last, balance)
        if balance[0] != balance[1]:
            raise self._refusal("indices", "hold each edge in both of its rows", "edges in one direction only")

    def _check_rows(self, first: int, last: int, balance: np.ndarray) -> None:
        """Adds to ``balance`` Σ p(row)·q(column)·weight and Σ q(row)·p(column)·weight, modulo 2⁶⁴, for hash functions
        p and q: the sums agree for symmetric entries and, except with probability 2⁻⁶⁴, for no others.
        """
        part = self.matrix(first, last)
        rows = np.repeat(np.arange(first, last), np.diff(part.indptr))
        columns = part.indices.astype(np.int64)
        if columns.size and (columns.min() < 0 or columns.max() >= self.num_nodes):
            wrong = columns[(columns < 0) | (columns >= self.num_nodes)][0]
            raise self._refusal("indices", f"name nodes 0 … {self.num_nodes - 1}", wrong)
        unsorted = (np.diff(columns) <= 0) & (rows[1:] == rows[:-1])
        if unsorted.any():
            raise self._refusal("indices", "ascend in each row", f"other columns in row {rows[1:][unsorted][0]}")
        if (rows == columns).any():
            raise self._refusal("indices", "have no self-loops", f"one at node {rows[rows == columns][0]}")
        if "weight" in self.arrays and not (np.isfinite(part.data) & (part.data > 0)).all():
            raise self._refusal("weight", "be positive and finite", f"others in the rows {first} … {last - 1}")
        weight = np.ascontiguousarray(part.data).view(np.uint64)
        r, c = rows.view(np.uint64), columns.view(np.uint64)
        balance += [np.sum(_hash(r, 1) * _hash(c, 2) * weight), np.sum(_hash(r, 2) * _hash(c, 1) * weight)]

    def _refusal(self, name: str, rule: str, got: object) -> ValueError:
        return refusal(f"{self.path / name}.npy", rule, got, AGAIN)

    def to_data(self) -> Data:
        """The graph as a PyG ``Data``: its edges are read into memory, features, classes and masks are mapped."""
        instead = "Use llpe encode and llpe train --features, which map it."
        require_memory(24 * self.num_entries, f"reading the edges of {self.path}", instead)
        entries = self.matrix(0, self.num_nodes).tocoo()
        data = Data(edge_index=torch.from_numpy(np.stack(entries.coords).astype(np.int64)), num_nodes=self.num_nodes)
        if "weight" in self.arrays:
            data.edge_weight = torch.from_numpy(np.array(entries.data))
        return data.update({name: self.tensor(name) for name in NODE_ARRAYS if name in self.arrays})


def _hash(numbers: np.ndarray, seed: int) -> np.ndarray:
    """Steele, Lea and Flood's splitmix64."""
    out = numbers + np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64)
    out = (out ^ (out >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    out = (out ^ (out >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return out ^ (out >> np.uint64(31))


def is_folder(path: str | Path) -> bool:
    """Whether this is a folder of a graph, finished or not."""
    return any((Path(path).expanduser() / name).is_file() for name in (FILE, "indptr.npy", "indices.npy"))


class ArrayWriter:
    """Writes a ``.npy`` file of known shape piece by piece, and its checksum on the way.

    Writing to a mapped file ends the program where the disk is full; this raises.
    """

    def __init__(self, path: Path, dtype: str, shape: tuple[int, ...]) -> None:
        self.facts: dict[str, Any] = {"dtype": np.dtype(dtype).str, "shape": list(shape)}
        self.file, self.digest = path.open("wb"), hashlib.sha256()
        self.left = int(np.prod(shape))
        header = {"descr": self.facts["dtype"], "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self, header)

    def append(self, piece: np.ndarray) -> None:
        piece = np.ascontiguousarray(piece, dtype=np.dtype(self.facts["dtype"]))
        self.left -= piece.size
        self.write(piece.reshape(-1).view(np.uint8).data)

    def write(self, data: Any) -> None:
        """Bytes of the file."""
        self.digest.update(data)
        self.file.write(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def finish(self) -> dict[str, Any]:
        """Ends the file, which is then on the disk; returns its dtype, shape and checksum."""
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()
        assert self.left == 0, f"{self.left} numbers of {self.facts['shape']} are missing"
        return self.facts | {"sha256": self.digest.hexdigest()}


def read_document(path: Path, kind: str, instead: str) -> dict[str, Any]:
    """The content of a folder's JSON file but for its ``format``; a folder without one is not finished."""
    if not path.is_file():
        raise refusal(str(path.parent), f"hold {path.name}", "none: it is not finished", instead)
    document = sealed.read_json(path, instead)
    if (found := document.pop("format", None)) != kind:
        raise refusal(str(path), f"have the format {kind!r}", repr(found), instead)
    return document


def mapped(path: Path, facts: Mapping[str, Any], instead: str) -> np.ndarray:
    """An array that is there and as large as ``facts`` say, mapped and read-only."""
    if not path.is_file():
        raise refusal(str(path), "exist", "no such file", instead)
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise refusal(str(path), "be a whole array in NumPy's format", error, instead) from None
    if array.dtype.str != facts["dtype"] or list(array.shape) != facts["shape"]:
        rule = f"be {facts['dtype']} of shape {facts['shape']}"
        raise refusal(str(path), rule, f"{array.dtype.str} {list(array.shape)}", instead)
    return array


def check_content(path: Path, facts: Mapping[str, Any], instead: str) -> None:
    """Refuses a file that has changed since it was written."""
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != facts["sha256"]:
            raise refusal(str(path), "have the checksum it was written with", "another: altered", instead)
