"""The one interface of all encodings.

    encoding = LLPE(dim=64)                     # an nn.Module; what it learns does not grow with the graph
    data = encoding.prepare(data)               # the fixed part: tensors on data, cached on disk, deterministic
    pe = encoding(data)                         # [rows, dim], differentiable; data may be a row slice or a Batch
    loss = task_loss + encoding.penalty(data)   # 0 for encodings without one

A whole graph that was not prepared is prepared when it is first encoded, and keeps its fixed part.

A subclass says what its fixed part depends on (``fixed_by``), computes it (:meth:`compute`), and turns it into an
encoding (:meth:`forward`). Everything random in it follows ``seed``: the fixed part always, the parameters
when the module is built; a later ``reset_parameters()`` draws from torch's global generator, as in PyTorch.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from llpe.cache import Cache, Result, fetch
from llpe.checks import Described, check_count, check_seed, refusal
from llpe.device import find_device
from llpe.features import Features
from llpe.graph import Graph
from llpe.inputs import GraphLike, as_data
from llpe.storage import require_memory


class Encoding(Described, nn.Module, ABC):
    """Base of all encodings. See the module's docstring for the contract.

    Attributes:
        name: the name in the table of encodings.
        dim: width of the output.
        invariances: what of the eigenvectors the fixed part does not depend on: ``sign``, ``basis``.
        comparable: whether encodings of different graphs mean the same, so that a model trained on one graph can be
            used on another.
        from_spectrum: the fixed part is a cheap function of a spectrum that is cached itself, so it is not stored.
        on_device: the fixed part is computed where the graph's ``device`` says.
        graph_parts: the parts that have a row per graph; all others have a row per node.
        needs, keeps, cost: for the documents, what ``prepare`` computes for a graph of n nodes, the size of what it
            leaves on data, and the time it takes.
        reference: where the encoding comes from.
        fixed_by: the arguments that the fixed part depends on: they name and key it.
        choices: what a search chooses from, by option; options that go together are written with a comma.
        paper_options: its options in the paper's protocol, where our defaults are others.
    """

    name: str
    invariances: frozenset[str] = frozenset()
    comparable: bool = False
    from_spectrum: ClassVar[bool] = False
    on_device: ClassVar[bool] = False
    graph_parts: ClassVar[frozenset[str]] = frozenset()
    needs: str = "nothing"
    keeps: str = "n × 0"
    cost: str = "nothing"
    reference: ClassVar[str] = ""
    fixed_by: ClassVar[tuple[str, ...]]
    choices: ClassVar[Mapping[str, list[Any]]] = {}
    paper_options: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, dim: int, seed: int) -> None:
        super().__init__()
        check_count("dim", dim)
        check_seed(seed)
        self.dim = dim
        self.seed = seed
        self._digest: str | None = None  # of the arguments, which do not change after construction

    @abstractmethod
    def compute(self, graph: Graph, cache: bool | Cache) -> dict[str, Tensor]:
        """The fixed part as named tensors: node-level ones of shape (num_nodes, …), graph-level ones (1, …)."""

    @abstractmethod
    def forward(self, data: Data) -> Tensor:
        """The encoding of the rows of ``data``, shape (rows, dim)."""

    @abstractmethod
    def reset_parameters(self) -> None:
        """Draws the parameters again."""

    @classmethod
    def space(cls, preset: str, decided: Mapping[str, Any]) -> dict[str, list[Any]]:
        """What a search chooses from, where that depends on more than the class: ``choices`` by default.

        Args:
            preset: ``paper``, ``authors`` or ``extended``, see :mod:`llpe.lab.spaces`.
            decided: the options that the encoding's name decides.
        """
        return dict(cls.choices)

    def fixed_arguments(self) -> dict[str, Any]:
        """The arguments of ``fixed_by`` with their values."""
        return {name: getattr(self, name) for name in self.fixed_by}

    def fixed_bytes(self, num_nodes: int) -> int:
        """Size of the fixed part on a graph of that many nodes, in float32: ``keeps`` in numbers."""
        numbers = 1
        for times, name in re.findall(r"(\d*)(\w*)(?: × |$)", self.keeps):
            numbers *= int(times or 1) * (num_nodes if name == "n" else getattr(self, name) if name else 1)
        return 4 * numbers

    def uses(self, part: str) -> bool:
        """Whether this part of the fixed part is wanted on prepared data."""
        return True

    def penalty(self, data: Data) -> Tensor:
        """What to add to the loss, a scalar; 0 unless the encoding has a penalty."""
        return torch.zeros(())

    def initialise(self, data: Data) -> None:
        """Called with prepared data, once before the first forward: for what can be sized or scaled only then."""

    def prepare(self, data: GraphLike, *, cache: bool | Cache = True, device: str | torch.device | None = None) -> Data:
        """A shallow copy of ``data`` with the fixed part attached.

        Args:
            data: one graph in any form that :func:`llpe.inputs.as_data` takes, or a ``Batch``, which is prepared graph
                by graph. Its features, if any, decide dtype and device.
            cache: keep the result on disk, and find it there; ``False`` computes it every time.
            device: where to compute what is made of sparse products (``llpe-probes``), by default where the data is.
        """
        out = copy.copy(data) if isinstance(data, Data) else as_data(data)
        self.attach(out, _views(out), cache, None if device is None else find_device(device))
        return out

    def attach(self, data: Data, graphs: list[Graph], cache: bool | Cache, device: torch.device | None = None) -> None:
        """Writes the fixed part onto ``data``, given its undirected view, or those of the graphs of a batch."""
        given = data.x if isinstance(data.x, Tensor) else as_data(data).edge_index
        for graph in graphs:
            graph.device = device or given.device
        fixed = [self.fixed_part(graph, cache) for graph in graphs]
        slices, increments = {}, {}
        for name in fixed[0]:
            tensors = [one[name] for one in fixed]
            widths = {tuple(tensor.shape[1:]) for tensor in tensors}
            if len(widths) > 1:
                got = f"{name} of the shapes {', '.join(str(list(tensor.shape)) for tensor in tensors)}"
                instead = "Its width grows with the graph: pass `width`, the nodes of the largest one."
                raise refusal("data", f"hold graphs of equal size for {self.name!r}", got, instead)
            tensor = tensors[0] if len(tensors) == 1 else torch.cat(tensors)
            data[name] = tensor.to(given.device, self._dtype(data) if tensor.is_floating_point() else tensor.dtype)
            slices[name] = torch.tensor([0, *accumulate(len(tensor) for tensor in tensors)])
            increments[name] = torch.zeros(len(tensors), dtype=torch.int64)
        if isinstance(data, Batch):  # the copy of a batch shares its dicts with the original
            data._slice_dict, data._inc_dict = data._slice_dict | slices, data._inc_dict | increments
        self.initialise(data.get_example(0) if isinstance(data, Batch) else data)

    def fixed_part(self, graph: Graph, cache: bool | Cache) -> dict[str, Tensor]:
        """What :meth:`prepare` attaches for one graph, from the cache if it is there, by the attributes' names."""
        arguments = {"encoding": self.name, **self.fixed_arguments()}
        if self.on_device and graph.device.type != "cpu":
            arguments["device"] = graph.device.type  # another device adds in another order, and rounds differently
        keep = False if self.from_spectrum else cache
        result = fetch("encoding", graph, arguments, lambda: Result(self.compute(graph, cache), {}), cache=keep)
        return {self.attribute(part): tensor for part, tensor in result.tensors.items() if self.uses(part)}

    def attribute(self, part: str) -> str:
        """The attribute of prepared data that holds ``part``; other arguments have other attributes."""
        if self._digest is None:
            self._digest = _digest(self.fixed_arguments())
        return f"{self.name.replace('-', '_')}_{part}_{self._digest}"

    def fixed(self, data: Data, part: str) -> Tensor:
        """A part of the fixed part, checked to fit ``data``; a whole graph without it is prepared first."""
        if not isinstance(data, Data):
            instead = "Call data = encoding.prepare(graph) first, which takes other forms too."
            raise refusal("data", "be a torch_geometric.data.Data", type(data).__name__, instead)
        name = self.attribute(part)
        if name not in data:
            self._prepare_late(data, name)
        if isinstance(data[name], Features):  # in a folder: only the rows of this sample are read
            data[name] = data[name][data.n_id].to(data.n_id.device, self._dtype(data))
        tensor = data[name]
        rows = None if part in self.graph_parts else _rows(data)
        if rows is not None and tensor.size(0) != rows:
            instead = "The graph has changed since it was prepared: call encoding.prepare(data) again."
            raise refusal(f"data.{name}", f"have a row for each of {rows} nodes", tensor.size(0), instead)
        return tensor

    def _prepare_late(self, data: Data, name: str) -> None:
        """Writes the fixed part onto ``data`` itself, unless that is a part of a graph or nothing with edges."""
        sample = "n_id" in data  # PyG's loaders number the nodes they have drawn
        if sample or (data.edge_index is None and "adj_t" not in data):
            got = f"{'a sample' if sample else 'no edges'} and no attribute {name!r}"
            instead = f"Call data = encoding.prepare(data) on the whole graph, before rows are taken, with {self!r}."
            raise refusal("data", "be a whole graph or prepared by this encoding", got, instead)
        self.attach(data, _views(data), cache=True)

    def _dtype(self, data: Data) -> torch.dtype:
        """float64 if the features or the parameters are, else the features' dtype, else the parameters'."""
        own = next((p.dtype for p in self.parameters()), torch.get_default_dtype())
        if not isinstance(data.x, Tensor) or not data.x.is_floating_point():
            return own
        return torch.float64 if torch.float64 in (own, data.x.dtype) else data.x.dtype


@torch.compiler.assume_constant_result
def _digest(arguments: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(arguments, sort_keys=True).encode()).hexdigest()[:6]


def _views(data: Data) -> list[Graph]:
    """The undirected views of the graphs of a batch, or of the one that ``data`` is."""
    if not isinstance(data, Batch):
        return [Graph.from_data(data)]
    if isinstance(data.get("adj_t"), Tensor):
        raise ValueError(
            "`data` must not be a Batch with torch's sparse tensors as adj_t, which PyG cannot take apart again. "
            "Prepare each graph before batching, e.g. with `pre_transform=Prepare(encoding)`."
        )
    return [Graph.from_data(graph) for graph in data.to_data_list()]


def _rows(data: Data) -> int | None:
    """The number of nodes that ``data`` states, not one guessed from its edges."""
    if isinstance(data.x, Tensor):
        return data.x.size(0)
    stated = data["num_nodes"] if "num_nodes" in data else None  # noqa: SIM401  # data.get cannot be compiled
    return None if stated is None else int(stated)


@contextlib.contextmanager
def seeded(seed: int, parameters: int = 0) -> Iterator[None]:
    """Inside, torch's CPU generator starts from ``seed``; outside, it is as it was.

    Refuses to draw more ``parameters`` than fit in memory.
    """
    require_memory(4 * parameters, f"{parameters} parameters", "Choose smaller sizes.")
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield
