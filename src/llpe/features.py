"""The features of random probes in a folder, written by :mod:`llpe.out_of_core` and read row by row.

features.json     the graph, the arguments, and the width of a block
block-000.npy     [num_nodes, width, order] float32
block-000.json    its checksum and its part of the moments: written last, so that a block without it is not finished
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from llpe.checks import refusal
from llpe.folder import check_content, mapped, read_document
from llpe.probes import moments

FILE = "features.json"
FORMAT = "llpe features 1"
AGAIN = "Run the same llpe encode again: it computes what is damaged again."


@dataclass(frozen=True)
class Features:
    """The features of the probes of one graph in a folder, complete or not.

    ``features[rows]`` reads rows as a tensor [len(rows), probes, order].

    Attributes:
        path: the folder.
        graph: the fingerprint of the graph.
        num_nodes, order, probes, centred, seed: as in :func:`llpe.probe_features`.
        width: probes of a block.
    """

    path: Path
    graph: str
    num_nodes: int
    order: int
    probes: int
    centred: bool
    seed: int
    width: int

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Opens a folder; every block must be finished and unchanged."""
        features = cls.read(Path(path).expanduser())
        if left := [block for block in range(features.num_blocks) if not features.finished(block)]:
            instead = "Run the same llpe encode again: it resumes."
            got = f"{len(left)} without, the first is {left[0]}"
            raise refusal(str(features.path), f"hold {features.num_blocks} finished blocks", got, instead)
        for block in range(features.num_blocks):
            features.check(block)
        return features

    @classmethod
    def read(cls, path: Path) -> Self:
        """The plan of a folder, whether or not its blocks are finished."""
        return cls(path, **read_document(path / FILE, FORMAT, "Remove the folder and run llpe encode again."))

    @property
    def num_blocks(self) -> int:
        return -(-self.probes // self.width)

    @property
    def arguments(self) -> dict[str, Any]:
        """Those of :func:`llpe.probe_features`."""
        return {name: getattr(self, name) for name in ("order", "probes", "centred", "seed")}

    @property
    def moments(self) -> np.ndarray:
        """The moments of the spectrum, as :func:`llpe.probe_features` returns them."""
        parts = [np.array(self._facts(block)["inner"]) for block in range(self.num_blocks)]
        return moments(np.concatenate(parts, axis=2))

    def columns(self, block: int) -> range:
        """The probes of a block."""
        return range(block * self.width, min(self.probes, (block + 1) * self.width))

    def finished(self, block: int) -> bool:
        return self.file(block).with_suffix(".json").is_file()

    def check(self, block: int) -> None:
        """Refuses a finished block that is not as it was written."""
        self.block(block)
        check_content(self.file(block), self._facts(block), AGAIN)

    def block(self, block: int) -> np.ndarray:
        """A finished block [num_nodes, width, order], mapped and read-only."""
        return mapped(self.file(block), self._facts(block), AGAIN)

    def __getitem__(self, rows: Tensor | slice) -> Tensor:
        where = rows.cpu().numpy() if isinstance(rows, Tensor) else rows
        parts = [torch.from_numpy(np.array(self.block(block)[where])) for block in range(self.num_blocks)]
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)

    def file(self, block: int) -> Path:
        """Where a block is, or will be."""
        return self.path / f"block-{block:03}.npy"

    def _facts(self, block: int) -> dict[str, Any]:
        return read_document(self.file(block).with_suffix(".json"), FORMAT, AGAIN)
