"""The readers of graph files: ``.npz``, PyG's ``Data`` saved as ``.pt``, CSV tables, GraphML. Nothing is unpickled.

Every reader returns the arrays of a file, unchecked, and notes on what it did not use. The keys are ``edge_index``
[2, num_edges] and, where the file has them, ``x``, ``y``, ``edge_weight``, ``num_nodes`` and ``train_mask, …``.
"""

from __future__ import annotations

import csv
import math
import pickle
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import iterparse

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from llpe.data.dataset import PARTS
from llpe.extra import how_to_install
from llpe.storage import require_memory

Arrays = dict[str, Any]
MASKS = tuple(f"{part}_mask" for part in PARTS)
KEYS = ("edge_index", "x", "y", "edge_weight", "num_nodes", *MASKS)
FEATURES = ("x", "node_features", "attr", "attr_matrix")
LABELS = ("y", "node_labels", "labels")
ADJACENCY = ("adj", "adj_matrix")
EDGES = ("edge_index", "edges", *ADJACENCY)
CSR = ("data", "indices", "indptr", "shape")  # x_data, … or x.data, … are together the matrix x
SPARSE = tuple(name + mark for name in (*FEATURES, *ADJACENCY) for mark in "_.")
USED = {*KEYS, *FEATURES, *LABELS, *EDGES, *(f"{mask}s" for mask in MASKS)}
USED |= {start + part for start in SPARSE for part in CSR}
LARGE, MOST_EXPANDED = 2**28, 100  # bytes; how many times larger a compressed archive of that size may become
Column = Sequence[Any]
Table = Mapping[str, Column]


def describe(error: BaseException) -> str:
    """The type of an error and the first line of its message."""
    return ": ".join([type(error).__name__, *str(error).strip().splitlines()[:1]]).rstrip(".")


def ignored(what: str, names: Iterable[str]) -> list[str]:
    """The note on what in a file is not used, if there is anything."""
    text = ", ".join(names)
    return [f"ignored {what}: {text}"] if text else []


def check_file(path: Path) -> None:
    """Refuses what is not there, and pipes and devices, which may never end."""
    if not path.exists():
        raise ValueError(f"{path}: the file must exist, got nothing there. Check the path.")
    if not path.is_file():
        raise ValueError(f"{path}: must be a file, got a folder, a pipe or a device. Copy it to a file first.")


def open_npz(path: str | Path, *, used: Container[str] | None = None) -> Arrays:
    """All arrays of an ``.npz`` archive, refusing pickled objects; keys that are not ``used`` are empty, unread."""
    check_file(Path(path))
    try:
        archive = np.load(path, allow_pickle=False)
    except Exception as error:  # numpy and zipfile let many kinds of errors through, here and below
        raise ValueError(f"{path}: must be a numpy .npz archive, got {describe(error)}.") from error
    if not isinstance(archive, np.lib.npyio.NpzFile):
        raise ValueError(f"{path}: must be a numpy .npz archive, got a single array. Use numpy.savez.")
    arrays = {}
    with archive:
        _check_expanded(path, archive, used)
        for key in archive.files:
            try:
                arrays[key] = archive[key] if used is None or key in used else np.empty(0)
            except Exception as error:
                advice = "Save numbers or texts, not objects."
                raise ValueError(f"{path}: `{key}` must be a plain array, got {error}. {advice}") from error
    return arrays


def _check_expanded(path: str | Path, archive: Any, used: Container[str] | None) -> None:
    """Refuses an archive that is small on disk and enormous in memory."""
    members = archive.zip.infolist()
    expanded = sum(each.file_size for each in members if used is None or each.filename.removesuffix(".npy") in used)
    packed = sum(each.compress_size for each in members)
    if expanded > LARGE and expanded > MOST_EXPANDED * packed:
        raise ValueError(
            f"{path}: must not expand to more than {MOST_EXPANDED} times its size, got {expanded / 1e9:.1f} GB from "
            f"{packed / 1e6:.1f} MB. If you trust it, save it again with numpy.savez, uncompressed."
        )
    require_memory(2 * expanded, str(path), "Give the features as a sparse matrix.")


def read_npz(path: Path) -> tuple[Arrays, list[str]]:
    """Keys: features ``x``, ``node_features`` or ``attr_matrix``; labels ``y``, ``node_labels`` or ``labels``; edges
    ``edge_index`` [2, E], ``edges`` [E, 2] or ``adj_matrix`` [n, n]. Features and ``adj_matrix`` may be CSR matrices in
    four keys (``x_data``, ``attr_data`` or ``attr_matrix.data``, …). Optionally ``edge_weight``, ``num_nodes``,
    ``train_mask, val_mask, test_mask`` [n] or [n, S], or ``train_masks, …`` [S, n].
    """
    arrays = open_npz(path, used=USED)
    for start in SPARSE:
        if start + CSR[0] in arrays:
            _assemble(arrays, start)
    (_, x), (_, y), (kind, edges) = (_take(arrays, names) for names in (FEATURES, LABELS, EDGES))
    if edges is None:
        raise ValueError(
            "the archive must hold `edge_index` [2, num_edges], `edges` [num_edges, 2] or the CSR parts of "
            "`adj_matrix`, got none of them."
        )
    for mask in MASKS:
        if f"{mask}s" in arrays:
            arrays[mask] = np.atleast_2d(arrays.pop(f"{mask}s")).T
    graph = {key: arrays.pop(key) for key in KEYS if key in arrays}
    if sp.issparse(x):
        require_memory(16 * x.shape[0] * x.shape[1], f"a dense matrix of shape {list(x.shape)}", "Give fewer features.")
        x = x.toarray()
    graph |= {"edge_index": edges.T if kind == "edges" else edges, "x": x, "y": y}
    count = graph.get("num_nodes")
    if count is not None:
        if count.size != 1 or count.dtype.kind not in "iu":
            raise ValueError(f"`num_nodes` must be one integer, got {count.dtype} of shape {list(count.shape)}.")
        graph["num_nodes"] = int(count.item())
    if kind in ADJACENCY:
        _read_adjacency(graph, edges)
    return graph, ignored("keys", arrays)


def _assemble(arrays: Arrays, start: str) -> None:
    """Replaces the four parts of a CSR matrix by the matrix."""
    parts = [start + part for part in CSR]
    missing = [key for key in parts if key not in arrays]
    if missing:
        raise ValueError(f"a sparse matrix must have the keys {', '.join(parts)}, got no {', '.join(missing)}.")
    if start[:-1] in arrays:
        raise ValueError(f"the archive must hold `{start[:-1]}` or {', '.join(parts)}, got both. Remove one.")
    data, indices, indptr, shape = (arrays.pop(key) for key in parts)
    try:
        matrix = sp.csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
        matrix.check_format()
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"{', '.join(parts)} must be a CSR matrix: {error}.") from error
    arrays[start[:-1]] = matrix


def _take(arrays: Arrays, names: tuple[str, ...]) -> tuple[str, Any]:
    """The one of these keys that the archive has, and its value; None if there is none."""
    found = [name for name in names if name in arrays]
    if len(found) > 1:
        raise ValueError(f"the archive must hold one of {', '.join(names)}, got {' and '.join(found)}. Remove one.")
    return (found[0], arrays.pop(found[0])) if found else ("", None)


def _read_adjacency(graph: Arrays, matrix: Any) -> None:
    """Edges from the entries of a sparse matrix, and weights if they are not all 1."""
    if not sp.issparse(matrix) or matrix.shape[0] != matrix.shape[1]:
        kind = "CSR" if sp.issparse(matrix) else "array"
        raise ValueError(f"the adjacency matrix must be CSR and square, got {kind} of shape {list(matrix.shape)}.")
    if "edge_weight" in graph:
        raise ValueError("`edge_weight` must be left out with an adjacency matrix, whose entries are the weights.")
    entries = matrix.tocoo()
    graph["edge_index"] = np.stack(entries.coords)
    if not (entries.data == 1).all():
        graph["edge_weight"] = entries.data
    graph.setdefault("num_nodes", matrix.shape[0])


def read_pt(path: Path) -> tuple[Arrays, list[str]]:
    """A PyG ``Data``, or a dict of tensors with its keys, saved with ``torch.save``."""
    from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.storage import GlobalStorage

    needed = {Data, DataEdgeAttr, DataTensorAttr, GlobalStorage}
    missing = needed - set(torch.serialization.get_safe_globals())  # those that PyG has allowed must stay allowed
    try:
        with torch.serialization.safe_globals(list(missing)):
            data = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise ValueError(
            "the file must hold one torch_geometric.data.Data of plain tensors, got other objects, which are "
            f"not loaded for safety ({describe(error)}). Save Data(x=…, edge_index=…, y=…) with torch.save."
        ) from error
    except Exception as error:  # torch lets struct, index, assertion and many other errors through
        raise ValueError(f"the file must be readable by torch.load, got {describe(error)}.") from error
    values = data.to_dict() if isinstance(data, Data) else data
    if not isinstance(values, dict):
        got = f"{type(data).__name__}. Save the Data of one graph, e.g. dataset[0]"
        raise ValueError(f"the file must hold one torch_geometric.data.Data, got {got}.")
    if not isinstance(values.get("edge_index"), Tensor):
        raise ValueError(f"the Data must have a tensor `edge_index`, got the keys {', '.join(map(str, values))}.")
    graph: Arrays = {"num_nodes": values.pop("num_nodes", None)}
    graph |= {key: _numpy(key, values[key]) for key in KEYS if values.get(key) is not None}
    return graph, ignored("attributes", (str(key) for key in values if key not in KEYS))


def _numpy(key: str, value: object) -> np.ndarray:
    if not isinstance(value, Tensor):
        raise ValueError(f"`{key}` must be a tensor, got {type(value).__name__}.")
    require_memory(16 * value.numel(), f"a dense tensor of shape {list(value.shape)}", "Give a smaller one.")
    dense = value.detach().to_dense() if value.layout != torch.strided else value.detach()
    return (dense.float() if dense.is_floating_point() and dense.dtype != torch.float64 else dense).numpy()


def read_csv(path: Path) -> tuple[Arrays, list[str]]:
    """``edges.csv`` (columns source, target and optionally weight) with ``nodes.csv`` next to it (columns id,
    optionally label, and numeric features). ``path`` is the edge file or its folder.
    """
    edge_file = path / "edges.csv" if path.is_dir() else path
    nodes = _table(edge_file.with_name("nodes.csv"), required=("id",))
    edges = _table(edge_file, required=("source", "target"))
    features = {name: cells for name, cells in nodes.items() if name != "id"}
    unused = [name for name in edges if name not in ("source", "target", "weight")]
    graph = _graph(nodes["id"], features, edges, "nodes.csv: column", f"{edge_file.name}: column")
    return graph, ignored(f"columns of {edge_file.name}", unused)


def read_graphml(path: Path) -> tuple[Arrays, list[str]]:
    """Numeric node attributes become features, the node attribute ``label`` (or ``y``) the class, the edge
    attribute ``weight`` the weight.
    """
    try:
        import networkx
    except ImportError:
        install = how_to_install("lab")
        raise ValueError(f"GraphML must be read with networkx, got none. Install it with: {install}") from None
    try:
        declared = {element.get("id") for _, element in iterparse(path) if element.tag.rpartition("}")[2] == "node"}
        graph = networkx.read_graphml(path)
    except Exception as error:  # networkx lets XML, key and value errors through
        raise ValueError(f"the file must be GraphML, got {describe(error)}.") from error
    unknown = [node for node in graph if node not in declared]
    if unknown:
        raise ValueError(f"edges must join nodes of the file, got one to {unknown[0]!r}. Declare it with <node id=…>.")
    default = graph.graph.get("node_default", {})
    rows = [{**default, **attributes} for _, attributes in graph.nodes(data=True)]
    names = dict.fromkeys(name for row in rows for name in row)
    nodes = {name: [row.get(name) for row in rows] for name in names}
    if "y" in nodes:
        if "label" in nodes:
            raise ValueError("the class must be the node attribute `label` or `y`, got both. Remove one.")
        nodes["label"] = nodes.pop("y")
    texts = [name for name, cells in nodes.items() if name != "label" and any(isinstance(cell, str) for cell in cells)]
    numeric = {name: cells for name, cells in nodes.items() if name not in texts}
    edges = {"source": [edge[0] for edge in graph.edges()], "target": [edge[1] for edge in graph.edges()]}
    weight = graph.graph.get("edge_default", {}).get("weight")
    weights = [weight for *_, weight in graph.edges(data="weight", default=weight)]
    if any(weight is not None for weight in weights):
        edges["weight"] = weights
    arrays = _graph(list(graph), numeric, edges, "node attribute", "edge attribute")
    return arrays, ignored("node attributes that are not numbers", texts)


def _graph(ids: Column, nodes: Table, edges: Table, of_node: str, of_edge: str) -> Arrays:
    """The arrays of a graph. Its nodes are named by ``ids``; columns of ``nodes`` are features, except ``label``."""
    number = {node: i for i, node in enumerate(ids)}
    twice = [node for i, node in enumerate(ids) if number[node] != i]
    if twice:
        raise ValueError(f"{of_node} `id` must name each node once, got {twice[0]!r} twice.")
    labels, weights, finite = nodes.get("label"), edges.get("weight"), "be finite numbers"
    features = [_convert(nodes[n], _finite, f"{of_node} `{n}`", finite, ids) for n in nodes if n != "label"]
    ends = [_convert(edges[n], number.get, f"{of_edge} `{n}`", "name nodes") for n in ("source", "target")]
    return {
        "edge_index": np.stack(ends).astype(np.int64),
        "x": np.stack(features, axis=1) if features else None,
        "y": None if labels is None else np.array(["" if label is None else str(label) for label in labels], dtype=str),
        "edge_weight": None if weights is None else _convert(weights, _finite, f"{of_edge} `weight`", finite),
        "num_nodes": len(number),
    }


def _convert(
    cells: Column, convert: Callable[[Any], float | None], column: str, rule: str, nodes: Column = ()
) -> np.ndarray:
    """The values of a column's cells; refuses the first cell that has none."""
    values = [convert(cell) for cell in cells]
    if None in values:
        i = values.index(None)
        where = f"for node {nodes[i]!r}" if nodes else f"for edge {i + 1}"
        raise ValueError(f"{column} must {rule}, got {cells[i]!r} {where}. Correct or remove it.")
    return np.array(values)


def _finite(cell: Any) -> float | None:
    try:
        value = float(cell)
    except (ValueError, TypeError):
        return None
    return value if math.isfinite(value) else None


def _table(path: Path, required: tuple[str, ...]) -> Table:
    """The columns of a CSV file by name."""
    if not path.is_file():
        advice = "Put both CSV files in one folder."
        raise ValueError(f"{path.name} must exist in {path.parent}, got no such file. {advice}")
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            header, *rows = [[cell.strip() for cell in row] for row in csv.reader(file)] or [[]]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path.name} must be a CSV file in UTF-8, got {error}.") from error
    rows = [row for row in rows if row]
    if missing := [name for name in required if name not in header]:
        raise ValueError(f"{path.name} must have a column `{missing[0]}`, got {', '.join(header) or 'no header'}.")
    if len(set(header)) < len(header):
        raise ValueError(f"{path.name} must name each column once, got {', '.join(header)}.")
    for i, row in enumerate(rows):
        if len(row) != len(header):
            raise ValueError(f"{path.name}: row {i + 1} must have {len(header)} cells, got {len(row)}.")
    columns = list(zip(*rows, strict=True)) or [()] * len(header)
    return dict(zip(header, columns, strict=True))
