"""A graph in any common form as a PyG ``Data``, and the checks that it must pass."""

from __future__ import annotations

import copy
import math
import sys
import warnings
from numbers import Real
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, Union

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.utils import to_edge_index

from llpe.checks import check_count, refusal, show
from llpe.storage import require_memory

if TYPE_CHECKING:
    import networkx

SPARSE = (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc)
FEATURE_LAYOUTS = (torch.strided, *SPARSE)
DTYPES = {torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}
DTYPES |= {torch.float16, torch.bfloat16, torch.float32, torch.float64}


class HasData(Protocol):
    """Anything that converts itself, such as :class:`llpe.Graph`."""

    def to_data(self) -> Data: ...


GraphLike: TypeAlias = Union[HasData, Data, tuple[Tensor, int], sp.sparray, sp.spmatrix, "networkx.Graph"]


def as_data(data: GraphLike) -> Data:
    """A graph in any common form as a PyG ``Data`` with ``edge_index``.

    Args:
        data: a ``Data``, with ``edge_index`` or with ``adj_t`` as PyG's ``ToSparseTensor`` leaves it; a tuple
            ``(edge_index, num_nodes)``; a SciPy sparse adjacency, whose entries are weights; a networkx graph, whose
            weights are the edge attribute ``weight`` (nodes are numbered in its order, other attributes are not
            used); or a :class:`llpe.Graph`. A matrix with no entry but 1 has no weights.

    Example:
        >>> as_data((torch.tensor([[0, 1], [1, 2]]), 3))
        Data(edge_index=[2, 2], num_nodes=3)
        >>> as_data(sp.csr_array([[0.0, 0.5], [0.5, 0.0]])).edge_weight.tolist()
        [0.5, 0.5]
    """
    if isinstance(data, Data):
        return _with_edge_index(data) if data.edge_index is None and "adj_t" in data else data
    if isinstance(data, tuple):
        return _from_pair(data)
    if sp.issparse(data):
        return _from_scipy(data)
    if hasattr(data, "to_data"):
        return data.to_data()
    networkx = sys.modules.get("networkx")  # imported, if this is one of its graphs
    if networkx is not None and isinstance(data, networkx.Graph):
        return _from_networkx(data)
    rule = "be a torch_geometric.data.Data, (edge_index, num_nodes), a SciPy sparse matrix or a networkx graph"
    raise refusal("data", rule, type(data).__name__, "Convert it, e.g. with HeteroData.to_homogeneous().")


def _with_edge_index(data: Data) -> Data:
    """A shallow copy with the edges of ``adj_t``, a sparse tensor of torch or of torch_sparse."""
    adjacency = data.adj_t
    if hasattr(adjacency, "coo"):  # as torch_sparse has it
        _check_square("data.adj_t", adjacency.size(0), adjacency.size(1))
        target, source, weight = adjacency.coo()
    else:
        check_tensor("data.adj_t", adjacency, SPARSE)
        _check_square("data.adj_t", *adjacency.shape)
        (target, source), weight = to_edge_index(adjacency.coalesce() if adjacency.is_sparse else adjacency)
    out = copy.copy(data)
    out.edge_index, out.edge_weight = torch.stack([source, target]), _unless_ones(weight)
    return out


def _from_pair(data: tuple[Any, ...]) -> Data:
    if len(data) != 2 or not isinstance(data[0], Tensor) or not isinstance(data[1], int | np.integer):
        rule = "be (edge_index, num_nodes) where it is a tuple, a tensor and an integer"
        kinds = ", ".join(type(part).__name__ for part in data)
        raise refusal("data", rule, f"({kinds})", "Use Data(edge_index=…, edge_weight=…, num_nodes=…) for weights.")
    return Data(edge_index=data[0], num_nodes=check_count("num_nodes", data[1], least=0))


def _from_scipy(matrix: Any) -> Data:
    _check_square("data", *matrix.shape)
    if matrix.dtype.kind not in "biuf":
        raise refusal("data", "have real entries", matrix.dtype, "Convert it, e.g. with abs(data).")
    summed = sp.csr_array(matrix, dtype=np.float64, copy=True)
    summed.sum_duplicates()
    entries = summed.tocoo()
    edge_index, weight = torch.from_numpy(np.stack(entries.coords).astype(np.int64)), torch.from_numpy(entries.data)
    return Data(edge_index=edge_index, num_nodes=summed.shape[0], edge_weight=_unless_ones(weight))


def _from_networkx(graph: networkx.Graph) -> Data:
    number = {node: i for i, node in enumerate(graph)}
    edges = list(graph.to_directed(as_view=True).edges(data="weight"))
    ends = torch.tensor([(number[source], number[target]) for source, target, _ in edges], dtype=torch.int64)
    weight = None
    if any(each is not None for *_, each in edges):
        weight = torch.tensor([_number(each) for *_, each in edges], dtype=torch.float64)
    return Data(edge_index=ends.reshape(-1, 2).t().contiguous(), num_nodes=len(number), edge_weight=weight)


def _number(weight: Any) -> float:
    try:
        if isinstance(weight, Real):
            return float(weight)
    except OverflowError:
        pass
    raise refusal("weight", "be a number on every edge of `data`", show(weight), "Set it, or remove it.")


def _unless_ones(weight: Tensor | None) -> Tensor | None:
    return None if weight is None or bool((weight == 1).all()) else weight


def _check_square(name: str, *shape: int) -> None:
    if len(shape) != 2 or shape[0] != shape[1]:
        rule = "be square, a row and a column for each node"
        raise refusal(name, rule, f"shape {list(shape)}", "Give the adjacency of one graph.")


def check_data(data: Data) -> int:
    """Refuses what is not one homogeneous graph with finite features and valid edges; returns its number of nodes."""
    if not isinstance(data, Data):
        instead = "Convert it, e.g. with HeteroData.to_homogeneous()."
        raise refusal("data", "be a torch_geometric.data.Data", type(data).__name__, instead)
    if isinstance(data, Batch):
        instead = "Prepare each graph before batching, e.g. with `pre_transform=Prepare(encoding)`."
        raise refusal("data", "be a single graph", "a Batch", instead)
    edge_index, x, weight = data.edge_index, data.x, data.edge_weight  # PyG takes long to find an attribute
    if edge_index is None:
        instead = "Set it, or undo ToSparseTensor; a graph without edges has an empty one."
        raise refusal("data.edge_index", "be a [2, num_edges] tensor", None, instead)
    check_pairs("data.edge_index", edge_index)
    if x is not None:
        check_tensor("data.x", x, FEATURE_LAYOUTS)
        if x.dim() == 0:
            instead = "Give it the shape [num_nodes, num_features]."
            raise refusal("data.x", "have a row for each node", "a single number", instead)
    num_nodes = _count_nodes(data)
    if num_nodes < 1:
        raise refusal("data", "have at least one node", 0, "Remove empty graphs first.")
    if x is not None and x.size(0) != num_nodes:
        rule = f"have a row for each of {num_nodes} nodes"
        raise refusal("data.x", rule, f"shape {list(x.shape)}", "Correct data.num_nodes or the features.")
    check_range("data.edge_index", edge_index, num_nodes, "Set data.num_nodes, or remove the edge.")
    require_memory(64 * num_nodes, f"a graph of {num_nodes} nodes", "Check data.num_nodes and the edges.")
    if weight is not None:
        _check_weights(weight, edge_index.size(1))
    if x is not None:
        _check_finite("data.x", x)
    return num_nodes


def _count_nodes(data: Data) -> int:
    """The number of nodes, 0 if it is unknown."""
    number = data.get("num_nodes")  # data.num_nodes takes what is no number for none
    if number is None and data.x is not None:  # entering the context below takes as long as many small steps
        number = data.num_nodes
    if number is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyG warns when it infers the number from the edges; that is fine here
            try:
                number = data.num_nodes
            except Exception as error:  # PyG also looks at attributes that nobody has checked
                raise refusal("data.num_nodes", "be known", f"{type(error).__name__}: {error}", "Set it.") from error
    if isinstance(number, Tensor) and number.numel() == 1 and not number.is_floating_point():
        number = number.item()
    return 0 if number is None else check_count("data.num_nodes", number, least=0)


def check_tensor(name: str, value: Any, layouts: tuple[torch.layout, ...] = (torch.strided,)) -> None:
    """Refuses what is not a tensor of real numbers that can be computed with."""
    if not isinstance(value, Tensor):
        raise refusal(name, "be a tensor", type(value).__name__, "Convert it, e.g. with torch.as_tensor.")
    if value.layout not in layouts or value.is_nested:
        kinds = " or ".join("dense" if layout == torch.strided else str(layout)[6:] for layout in layouts)
        raise refusal(name, f"be {kinds}", "a nested tensor" if value.is_nested else value.layout, "Convert it.")
    if value.is_meta:
        raise refusal(name, "hold numbers", "a tensor on the device meta, which has none", "Move the real one here.")
    if value.dtype not in DTYPES:
        raise refusal(name, "be real numbers", value.dtype, "Convert it with float().")


def check_pairs(name: str, edge_index: Tensor) -> None:
    check_tensor(name, edge_index)
    if edge_index.dtype != torch.int64:
        raise refusal(name, "have dtype torch.int64", edge_index.dtype, "Convert it with edge_index.long().")
    if edge_index.dim() != 2 or edge_index.size(0) != 2:
        instead = "Transpose an edge list of shape [num_edges, 2]."
        raise refusal(name, "have shape [2, num_edges]", list(edge_index.shape), instead)


def check_range(name: str, edge_index: Tensor, num_nodes: int, instead: str) -> None:
    if edge_index.numel():
        low, high = map(int, edge_index.aminmax())
        if low < 0 or high >= num_nodes:
            missing = low if low < 0 else high
            raise refusal(name, f"name nodes 0 … {num_nodes - 1}", f"an edge to node {missing}", instead)


def _check_weights(weight: Tensor, num_edges: int) -> None:
    name = "data.edge_weight"
    check_tensor(name, weight)
    if not weight.is_floating_point() and weight.dtype not in (torch.int64, torch.int32):
        raise refusal(name, "be real numbers", weight.dtype, "Convert it to float.")
    if weight.numel() != num_edges:
        rule = f"have one weight for each of {num_edges} edges"
        raise refusal(name, rule, weight.numel(), "Remove it, or give one weight per column of edge_index.")
    weight = weight.detach()
    _check_finite(name, weight)
    if weight.numel() and float(weight.min()) < 0:
        instead = "The Laplacian of a signed graph has no spectrum in [0, 2]; take absolute values or shift."
        raise refusal(name, "not be negative", f"{float(weight.min()):g}", instead)


def _check_finite(name: str, tensor: Tensor) -> None:
    values = tensor.coalesce() if tensor.layout == torch.sparse_coo else tensor
    values = values.values() if values.layout in SPARSE else values
    if not values.is_floating_point() or math.isfinite(values.sum()):  # far faster than testing every entry
        return
    if count := int((~torch.isfinite(values)).sum()):  # or only the sum was too large a number
        raise refusal(name, "be finite", f"{count} NaN or infinite entries", "Clean or impute them before encoding.")
