"""The one interface of all encodings.

    encoding = LLPE(dim=64)                     # an nn.Module; what it learns does not grow with the graph
    data = encoding.prepare(data)               # the fixed part: tensors on data, cached on disk, deterministic
    pe = encoding(data)                         # [rows, dim], differentiable; data may be a row slice or a Batch
    loss = task_loss + encoding.penalty(data)   # 0 for encodings without one

A subclass says what its fixed part is made of (:meth:`fixed_arguments`), computes it (:meth:`compute`), and turns it
into an encoding (:meth:`forward`). Everything random in it follows ``seed``: the fixed part always, the parameters
when the module is built; a later ``reset_parameters()`` draws from torch's global generator, as in PyTorch.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from llpe.cache import Cache, Result, fetch
from llpe.graph import Graph


class Encoding(nn.Module, ABC):
    """Base of all encodings. See the module's docstring for the contract.

    Attributes:
        name: the name in the table of encodings.
        dim: width of the output.
        invariances: what of the eigenvectors the fixed part does not depend on: ``sign``, ``basis``.
        comparable: whether encodings of different graphs mean the same, so that a model trained on one graph can be
            used on another.
        from_spectrum: the fixed part is a cheap function of a spectrum that is cached itself, so it is not stored.
        graph_parts: the parts that have a row per graph; all others have a row per node.
        needs, keeps, cost: for the documents, what ``prepare`` computes for a graph of n nodes, the size of what it
            leaves on data, and the time it takes.
        reference: where the encoding comes from.
    """

    name: str
    invariances: frozenset[str] = frozenset()
    comparable: bool = False
    from_spectrum: ClassVar[bool] = False
    graph_parts: ClassVar[frozenset[str]] = frozenset()
    needs: str = "nothing"
    keeps: str = "n × 0"
    cost: str = "nothing"
    reference: ClassVar[str] = ""

    def __init__(self, dim: int, seed: int) -> None:
        super().__init__()
        check_count("dim", dim)
        check_seed(seed)
        self.dim = dim
        self.seed = seed
        self._digest: str | None = None  # of the arguments, which do not change after construction

    @abstractmethod
    def fixed_arguments(self) -> dict[str, Any]:
        """The arguments that the fixed part depends on: they name and key it."""

    @abstractmethod
    def compute(self, graph: Graph, cache: bool | Cache) -> dict[str, Tensor]:
        """The fixed part as named tensors: node-level ones of shape (num_nodes, …), graph-level ones (1, …)."""

    @abstractmethod
    def forward(self, data: Data) -> Tensor:
        """The encoding of the rows of ``data``, shape (rows, dim)."""

    @abstractmethod
    def reset_parameters(self) -> None:
        """Draws the parameters anew."""

    def uses(self, part: str) -> bool:
        """Whether this part of the fixed part is wanted on prepared data."""
        return True

    def penalty(self, data: Data) -> Tensor:
        """What to add to the loss, a scalar; 0 unless the encoding has a penalty."""
        return torch.zeros(())

    def meet(self, data: Data) -> None:
        """Called with prepared data, once before the first forward: for what can be sized or scaled only then."""

    def prepare(self, data: Data, *, cache: bool | Cache = True) -> Data:
        """A shallow copy of ``data`` with the fixed part attached.

        Args:
            data: one graph. Its features, if any, decide dtype and device.
            cache: keep the result on disk, and find it there; ``False`` computes it every time.
        """
        graph = Graph.from_data(data)
        key = {"graph": graph.fingerprint, "encoding": self.name, **self.fixed_arguments()}
        keep = False if self.from_spectrum else cache
        result = fetch("encoding", key, lambda: Result(self.compute(graph, cache), {}), cache=keep)
        out = copy.copy(data)
        edge_index = data.edge_index
        device = data.x.device if isinstance(data.x, Tensor) else edge_index.device
        for part, tensor in result.tensors.items():
            if not self.uses(part):
                continue
            dtype = self._dtype(data) if tensor.is_floating_point() else tensor.dtype
            out[self.attribute(part)] = tensor.to(device, dtype)
        self.meet(out)
        return out

    def attribute(self, part: str) -> str:
        """The attribute of prepared data that holds ``part``; other arguments have other attributes."""
        if self._digest is None:
            text = json.dumps(self.fixed_arguments(), sort_keys=True)
            self._digest = hashlib.sha256(text.encode()).hexdigest()[:6]
        return f"{self.name.replace('-', '_')}_{part}_{self._digest}"

    def fixed(self, data: Data, part: str) -> Tensor:
        """A part of the fixed part, checked to be there and to fit ``data``."""
        name = self.attribute(part)
        if name not in data:
            raise ValueError(
                f"`data` must be prepared by this encoding, got no attribute {name!r}. "
                f"Call data = encoding.prepare(data) first, with the same arguments: {self!r}."
            )
        tensor = data[name]
        rows = None if part in self.graph_parts else _rows(data)
        if rows is not None and tensor.size(0) != rows:
            raise ValueError(
                f"`data.{name}` must have a row for each of {rows} nodes, got {tensor.size(0)}. "
                "The graph has changed since it was prepared: call encoding.prepare(data) again."
            )
        return tensor

    def _dtype(self, data: Data) -> torch.dtype:
        """float64 if the features or the parameters are, else the features' dtype, else the parameters'."""
        own = next((p.dtype for p in self.parameters()), torch.get_default_dtype())
        if not isinstance(data.x, Tensor) or not data.x.is_floating_point():
            return own
        return torch.float64 if torch.float64 in (own, data.x.dtype) else data.x.dtype

    def __repr__(self) -> str:
        names = list(inspect.signature(type(self).__init__).parameters)[1:]
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"


def _rows(data: Data) -> int | None:
    """The number of nodes that ``data`` states, not one guessed from its edges."""
    if isinstance(data.x, Tensor):
        return data.x.size(0)
    return int(data.num_nodes) if "num_nodes" in data and data.num_nodes is not None else None


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Inside, torch's CPU generator starts from ``seed``; outside, it is as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def padded(tensor: Tensor, width: int) -> Tensor:
    """The same columns and zeros up to ``width`` of them."""
    return nn.functional.pad(tensor, (0, width - tensor.size(1)))


def check_count(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"`{name}` must be an integer of at least 1, got {value!r}.")


def check_seed(seed: Any) -> None:
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise ValueError(f"`seed` must be an integer of at least 0, got {seed!r}.")


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"`{name}` must be one of {', '.join(map(repr, choices))}, got {value!r}.")
