"""One labelled graph, checked: what every loader returns and every experiment takes."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import subgraph

from llpe.checks import check_choice, check_count, checked, refusal, show
from llpe.graph import Graph
from llpe.inputs import check_data
from llpe.storage import GIANT

METRICS = ("accuracy", "auroc")
PARTS = ("train", "val", "test")
SCALINGS = ("auto", "rows", "columns", "raw")
CONSTANT = 1e-12  # spread, relative to its largest entry, below which a column varies by rounding only


@dataclass(frozen=True, eq=False)
class NodeDataset:
    """A graph with node features and classes, and how it is scored.

    Attributes:
        name: its name in tables and folders.
        data: ``x`` [num_nodes, num_features] float, ``y`` [num_nodes] int64 (−1 is unlabelled),
            ``edge_index``, and ``edge_weight`` if there are weights.
        metric: ``"accuracy"`` or, for two classes, ``"auroc"``.
        num_classes: classes are 0 … num_classes − 1; 0 for a graph without labels, which can be encoded but
            not trained on.
        notes: what a reader of results should know: traps, and what was changed on loading.
        masks: the official splits as boolean ``train``, ``val``, ``test`` [num_nodes, num_splits], or None.
        class_names: the names of the classes where they have some, else empty.
        published: a published benchmark, whose rare classes are taken as they are (see ``llpe.data.splits``).

    Example:
        >>> from llpe.data import sbm
        >>> dataset = NodeDataset("demo", sbm(100), metric="accuracy", num_classes=2)
        >>> dataset.num_nodes, dataset.num_labelled, dataset.fingerprint[:8]
        (100, 100, '81d2b718')
    """

    name: str
    data: Data
    metric: str
    num_classes: int
    notes: tuple[str, ...] = ()
    masks: dict[str, Tensor] | None = None
    class_names: tuple[str, ...] = ()
    published: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise refusal("name", "be a text", show(self.name))
        self.check_graph()
        check_count("num_classes", self.num_classes, least=0)
        x = self.data.x
        if not isinstance(x, Tensor) or x.dim() != 2 or not x.is_floating_point():
            got = f"{x.dtype} of shape {list(x.shape)}" if isinstance(x, Tensor) else type(x).__name__
            rule = "be a float tensor of shape [num_nodes, num_features]"
            instead = "A graph without features can use a column of ones."
            raise ValueError(f"{self.name}: `data.x` must {rule}, got {got}. {instead}")
        check_labels(self.name, self.data.y, self.num_nodes)
        _check_classes(self)
        if self.masks is not None:
            _check_masks(self.name, self.masks, self.num_nodes)

    def check_graph(self) -> None:
        """Refuses what is not a valid graph."""
        check_data(self.data)

    def scaling(self, how: str) -> str:
        """How the features are scaled where ``how`` is asked for, see :func:`feature_scaling`."""
        return feature_scaling(self.data.x, how)

    @property
    def num_nodes(self) -> int:
        return int(self.data.x.size(0))

    @property
    def num_features(self) -> int:
        return int(self.data.x.size(1))

    @property
    def num_labelled(self) -> int:
        return int((self.data.y >= 0).sum())

    @cached_property
    def graph(self) -> Graph:
        """The undirected view of the graph; says once what had to be changed for it."""
        return Graph.from_data(self.data)

    @property
    def graph_fingerprint(self) -> str:
        return self.graph.fingerprint

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the content of ``x``, ``y``, ``edge_index`` and ``edge_weight``."""
        digest = hashlib.sha256()
        for key in ("x", "y", "edge_index", "edge_weight"):
            value = self.data.get(key)
            if value is not None:
                array = np.ascontiguousarray(value.detach().cpu().numpy())
                digest.update(f"{key} {array.dtype.str} {array.shape}".encode())
                digest.update(array.data)
        return digest.hexdigest()

    def __repr__(self) -> str:
        return (
            f"NodeDataset({self.name!r}, num_nodes={self.num_nodes}, num_edges={self.data.num_edges}, "
            f"num_features={self.num_features}, num_classes={self.num_classes}, metric={self.metric!r})"
        )


@checked
def undirected(data: Data) -> tuple[Data, tuple[str, ...]]:
    """The data with the simple undirected edges every encoding sees, and a description of what changed.

    Models and encodings then work on the same graph. Only ``x``, ``y``, ``edge_index`` and ``edge_weight`` (if
    there was one) are kept.

    Example:
        >>> from llpe.graph import tiny
        >>> data, changes = undirected(tiny("directed"))
        >>> data.num_edges, changes
        (10, ('made 5 one-way edges undirected',))
    """
    bare = Data(edge_index=data.edge_index, edge_weight=data.edge_weight, num_nodes=data.num_nodes)
    # NOTE[PAPER]: the authors' code leaves WebKB directed, so that its eigensolver reads half of the edges.
    graph = Graph.from_data(bare, warn=False)
    edges = graph.adjacency.tocoo()
    edge_index = torch.from_numpy(np.stack(edges.coords).astype(np.int64))
    simple = Data(x=data.x, y=data.y, edge_index=edge_index)
    if data.x is None:
        simple.num_nodes = graph.num_nodes
    if data.edge_weight is not None:
        simple.edge_weight = _float32(np.ldexp(edges.data, graph.exponent))
    return simple, graph.changes


def _float32(weight: np.ndarray) -> Tensor:
    """The weights in the precision that models are trained in; refuses those that would become 0 or infinite there."""
    range32 = np.finfo(np.float32)
    outside = weight[(weight < range32.tiny) | (weight > range32.max)]
    if outside.size:
        rule = f"be 0 or between {range32.tiny:.1e} and {range32.max:.1e}"
        raise refusal("edge_weight", rule, f"{outside[0]:g}", "Choose another unit: multiply all weights by a number.")
    return torch.from_numpy(weight.astype(np.float32))


@checked
def giant_component(dataset: NodeDataset) -> NodeDataset:
    """The largest connected component, nodes in their old order; the first of several of that size.

    Classes keep their numbers, even if no node of a class is left.

    Example:
        >>> from llpe.data import load_graph
        >>> giant_component(load_graph("sbm:n=60,homophily=1")).num_nodes
        30
    """
    data = dataset.data
    components = Graph.from_data(data, warn=False).component_nodes
    nodes = torch.from_numpy(max(components, key=len))  # the first of the longest
    edge_index, weight = subgraph(
        nodes, data.edge_index, data.edge_weight, relabel_nodes=True, num_nodes=dataset.num_nodes
    )
    part = Data(x=data.x[nodes], y=data.y[nodes], edge_index=edge_index)
    if weight is not None:
        part.edge_weight = weight
    masks = dataset.masks and {name: mask[nodes] for name, mask in dataset.masks.items()}
    note = f"the largest of {len(components)} components: {nodes.numel()} of {dataset.num_nodes} nodes"
    return replace(dataset, name=GIANT + dataset.name, data=part, masks=masks, notes=(*dataset.notes, note))


@checked
def scaled_features(x: Tensor, how: str) -> tuple[Tensor, str]:
    """Features on a common scale, rows of length 1 or about 1 on average, and a description of what was done.

    Args:
        x: features of all nodes, dense.
        how: ``"rows"`` divides each row by its length; ``"columns"`` gives each column mean 0 and variance 1 over the
            nodes, and divides by the square root of their number; ``"auto"`` takes rows for bags of words, one-hot
            features and other mostly-zero counts, else columns; ``"raw"`` changes nothing.

    Example:
        >>> scaled_features(torch.tensor([[3.0, 4.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]), "rows")[0]
        tensor([[0.6000, 0.8000, 0.0000, 0.0000],
                [0.0000, 0.0000, 0.0000, 0.0000]])
    """
    how = feature_scaling(x, how)
    if how == "raw":
        return x, "features are used as they are"
    wide = x.double()
    if how == "rows":
        length = torch.linalg.vector_norm(wide, dim=1, keepdim=True)
        rows = wide / torch.where(length > 0, length, 1.0)
        return rows.to(x.dtype), "each row of the features is scaled to length 1"
    moved = wide - wide.mean(dim=0)
    spread = moved.square().mean(dim=0).sqrt()
    varies = spread > CONSTANT * wide.abs().amax(dim=0)
    columns = torch.where(varies, moved / torch.where(varies, spread, 1.0), 0.0) / x.size(1) ** 0.5
    return columns.to(x.dtype), "each column of the features is scaled to mean 0 and variance 1"


@checked
def feature_scaling(x: Tensor, how: str) -> str:
    """What ``how`` means for these features: ``"auto"`` becomes ``"rows"`` or ``"columns"``.

    Example:
        >>> feature_scaling(torch.eye(3), "auto"), feature_scaling(torch.tensor([[-1.0, 2.0]]), "auto")
        ('rows', 'columns')
    """
    check_choice("how", how, SCALINGS)
    if how != "auto":
        return how
    counts = not x.numel() or (bool(x.min() >= 0) and 2 * int(torch.count_nonzero(x)) <= x.numel())
    return "rows" if counts else "columns"


@checked
def sparse_features(x: Tensor) -> Tensor:
    """``x`` as a CSR tensor when fewer than 10 % of its entries are nonzero (bags of words), else ``x``.

    Example:
        >>> sparse_features(torch.eye(20)).layout, sparse_features(torch.ones(4, 2)).layout
        (torch.sparse_csr, torch.strided)
    """
    if x.layout != torch.strided or int(torch.count_nonzero(x)) >= 0.1 * x.numel():
        return x
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        return x.to_sparse_csr()


def unlabelled_note(y: Tensor) -> tuple[str, ...]:
    """How many nodes are unlabelled, if any."""
    count = int((y < 0).sum())
    return (f"{count} of {y.numel()} nodes are unlabelled",) if count else ()


def check_labels(name: str, y: object, num_nodes: int) -> None:
    """Refuses what is not one integer class (or −1) for each node."""
    if not isinstance(y, Tensor):
        rule, got = "be a tensor of classes", f"{type(y).__name__}. Use −1 for unlabelled nodes"
    elif y.is_floating_point():
        rule = "hold integer classes"
        got = f"{y.dtype}. Regression targets are not supported; if these are classes, convert them with y.long()"
    elif list(y.shape) != [num_nodes]:
        rule = f"hold one class for each of {num_nodes} nodes"
        got = f"shape {list(y.shape)}. Use argmax on one-hot labels; pick one task of several"
    elif y.dtype != torch.int64:
        rule, got = "have dtype torch.int64", f"{y.dtype}. Convert it with y.long()"
    elif num_nodes and int(y.min()) < -1:
        rule, got = "hold classes 0, 1, … or −1 for unlabelled", str(int(y.min()))
    else:
        return
    raise ValueError(f"{name}: `y` must {rule}, got {got}.")


def _check_classes(dataset: NodeDataset) -> None:
    name, y, num_classes = dataset.name, dataset.data.y, dataset.num_classes
    if int(y.max()) >= num_classes:
        raise ValueError(f"{name}: `y` must hold classes below num_classes={num_classes}, got {int(y.max())}.")
    if not isinstance(dataset.metric, str) or dataset.metric not in METRICS:
        raise ValueError(f"{name}: `metric` must be one of {', '.join(METRICS)}, got {show(dataset.metric)}.")
    if dataset.metric == "auroc" and num_classes not in (0, 2):
        raise ValueError(f"{name}: metric 'auroc' must have 2 classes, got {num_classes}. Use 'accuracy'.")
    if not isinstance(dataset.class_names, tuple | list):
        raise ValueError(f"{name}: `class_names` must be a tuple of names, got {show(dataset.class_names)}.")
    count = len(dataset.class_names)
    if count and count != num_classes:
        raise ValueError(f"{name}: `class_names` must name {num_classes} classes, got {count} names.")


def _check_masks(name: str, masks: dict[str, Tensor], num_nodes: int) -> None:
    if not isinstance(masks, dict) or set(masks) != set(PARTS):
        got = ", ".join(map(str, masks)) if isinstance(masks, dict) else show(masks)
        raise ValueError(f"{name}: `masks` must have the keys {', '.join(PARTS)}, got {got}.")
    for part, mask in masks.items():
        if not isinstance(mask, Tensor):
            raise ValueError(f"{name}: `masks[{part!r}]` must be a tensor, got {type(mask).__name__}.")
        if mask.dtype != torch.bool or mask.dim() != 2 or mask.size(0) != num_nodes:
            rule, got = f"be boolean of shape [{num_nodes}, num_splits]", f"{mask.dtype} of shape {list(mask.shape)}"
            raise ValueError(f"{name}: `masks[{part!r}]` must {rule}, got {got}.")
    counts = {part: mask.size(1) for part, mask in masks.items()}
    if len(set(counts.values())) != 1:
        raise ValueError(f"{name}: `masks` must hold the same number of splits in each part, got {counts}.")
