"""Graphs stored as arrays: ``.npz`` archives and PyG ``Data`` saved as ``.pt``. Nothing is unpickled."""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Container
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from llpe.data.dataset import PARTS
from llpe.data.raw import RawGraph

FEATURES = ("x", "node_features", "attr", "attr_matrix")
LABELS = ("y", "node_labels", "labels")
ADJACENCY = ("adj", "adj_matrix")
EDGES = ("edge_index", "edges", *ADJACENCY)
CSR = ("data", "indices", "indptr", "shape")  # x_data, … or x.data, … are together the matrix x
SPARSE = tuple(name + mark for name in (*FEATURES, *ADJACENCY) for mark in "_.")
USED = {
    *(*FEATURES, *LABELS, *EDGES, "edge_weight", "num_nodes"),
    *(f"{part}_mask{s}" for part in PARTS for s in ("", "s")),
    *(start + part for start in SPARSE for part in CSR),
}


def open_npz(path: str | Path, *, used: Container[str] | None = None) -> dict[str, np.ndarray]:
    """All arrays of an ``.npz`` archive, refusing pickled objects; keys that are not ``used`` are empty, unread."""
    try:
        archive = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise ValueError(f"{path}: the file must exist, got nothing there. Check the path.") from None
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path}: must be a numpy .npz archive, got {error}.") from error
    if not isinstance(archive, np.lib.npyio.NpzFile):
        raise ValueError(f"{path}: must be a numpy .npz archive, got a single array. Use numpy.savez.")
    arrays = {}
    with archive:
        for key in archive.files:
            try:
                arrays[key] = archive[key] if used is None or key in used else np.empty(0)
            except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
                raise ValueError(
                    f"{path}: `{key}` must be a plain array, got {error}. Save numbers or texts, not objects."
                ) from error
    return arrays


def read_npz(path: Path) -> RawGraph:
    """Keys: features ``x``, ``node_features`` or ``attr_matrix``; labels ``y``, ``node_labels`` or ``labels``; edges
    ``edge_index`` [2, E], ``edges`` [E, 2] or ``adj_matrix`` [n, n]. Features and ``adj_matrix`` may be CSR matrices in
    four keys (``x_data``, ``attr_data`` or ``attr_matrix.data``, …). Optionally ``edge_weight``, ``num_nodes``,
    ``train_mask, val_mask, test_mask`` [n] or [n, S], or ``train_masks, …`` [S, n].
    """
    arrays: dict[str, Any] = open_npz(path, used=USED)
    for start in SPARSE:
        if start + CSR[0] in arrays:
            _assemble(arrays, start)
    (_, x), (_, labels), (kind, edges) = (_take(arrays, names) for names in (FEATURES, LABELS, EDGES))
    if edges is None:
        raise ValueError(
            "the archive must hold `edge_index` [2, num_edges], `edges` [num_edges, 2] or the CSR parts of "
            "`adj_matrix`, got none of them."
        )
    count = arrays.pop("num_nodes", None)
    if count is not None and (count.size != 1 or count.dtype.kind not in "iu"):
        raise ValueError(f"`num_nodes` must be one integer, got {count.dtype} of shape {list(count.shape)}.")
    raw = RawGraph(edges.T if kind == "edges" else edges, x.toarray() if sp.issparse(x) else x, labels)
    raw.num_nodes = None if count is None else int(count.item())
    raw.edge_weight = arrays.pop("edge_weight", None)
    if kind in ADJACENCY:
        _read_adjacency(raw, edges)
    raw.masks = _masks(arrays)
    raw.notes = _ignored("keys", list(arrays))
    return raw


def _assemble(arrays: dict[str, Any], start: str) -> None:
    """Puts the CSR matrix of four keys in their place."""
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


def _read_adjacency(raw: RawGraph, matrix: Any) -> None:
    """Edges from the entries of a sparse matrix, and weights if they are not all 1."""
    if not sp.issparse(matrix) or matrix.shape[0] != matrix.shape[1]:
        kind = "CSR" if sp.issparse(matrix) else "array"
        raise ValueError(f"the adjacency matrix must be CSR and square, got {kind} of shape {list(matrix.shape)}.")
    if raw.edge_weight is not None:
        raise ValueError("`edge_weight` must be left out with an adjacency matrix, whose entries are the weights.")
    entries = matrix.tocoo()
    raw.edge_index = np.stack(entries.coords)
    raw.edge_weight = None if (entries.data == 1).all() else entries.data
    raw.num_nodes = matrix.shape[0] if raw.num_nodes is None else raw.num_nodes


def read_pt(path: Path) -> RawGraph:
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
            f"not loaded for safety ({_first_line(error)}). Save Data(x=…, edge_index=…, y=…) with torch.save."
        ) from error
    except (RuntimeError, EOFError, OSError, KeyError, ValueError) as error:
        raise ValueError(f"the file must be readable by torch.load, got {_first_line(error)}.") from error
    values = data.to_dict() if isinstance(data, Data) else data
    if not isinstance(values, dict):
        raise ValueError(
            f"the file must hold one torch_geometric.data.Data, got {type(data).__name__}. "
            "Save the Data of one graph, e.g. dataset[0]."
        )
    if not isinstance(values.get("edge_index"), Tensor):
        raise ValueError(f"the Data must have a tensor `edge_index`, got the keys {', '.join(map(str, values))}.")
    used = ("x", "y", "edge_index", "edge_weight", *(f"{part}_mask" for part in PARTS))
    arrays = {key: _numpy(key, values[key]) for key in used if values.get(key) is not None}
    weight = arrays.get("edge_weight")
    raw = RawGraph(
        arrays["edge_index"],
        arrays.get("x"),
        arrays.get("y"),
        None if weight is None else weight.reshape(-1),
        _masks(arrays),
        values.get("num_nodes"),
    )
    raw.notes = _ignored("attributes", [str(k) for k in values if k not in (*used, "num_nodes")])
    return raw


def _take(arrays: dict[str, Any], names: tuple[str, ...]) -> tuple[str, Any]:
    """The one of these keys that is there, and what it holds; None if there is none."""
    found = [name for name in names if name in arrays]
    if len(found) > 1:
        raise ValueError(f"the archive must hold one of {', '.join(names)}, got {' and '.join(found)}. Remove one.")
    return (found[0], arrays.pop(found[0])) if found else ("", None)


def _masks(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray] | None:
    """Masks as bool [num_nodes, num_splits], from ``train_mask, …`` or ``train_masks, …`` of shape [S, n]."""
    masks = {}
    for part in PARTS:
        one, many = arrays.pop(f"{part}_mask", None), arrays.pop(f"{part}_masks", None)
        mask = one if many is None else np.atleast_2d(many).T
        if mask is None:
            continue
        if mask.ndim not in (1, 2) or not np.isin(mask, (0, 1)).all():
            raise ValueError(f"the {part} mask must hold true or false in 1 or 2 dimensions, got {list(mask.shape)}.")
        masks[part] = mask.reshape(len(mask), -1).astype(bool)
    if not masks:
        return None
    missing = [part for part in PARTS if part not in masks]
    if missing:
        raise ValueError(f"masks must be given for train, val and test, got none for {', '.join(missing)}.")
    return masks


def _numpy(key: str, value: object) -> np.ndarray:
    if not isinstance(value, Tensor):
        raise ValueError(f"`{key}` must be a tensor, got {type(value).__name__}.")
    dense = value.detach().to_dense() if value.layout != torch.strided else value.detach()
    return (dense.float() if dense.is_floating_point() and dense.dtype != torch.float64 else dense).numpy()


def _ignored(what: str, names: list[str]) -> list[str]:
    return [f"ignored {what}: {', '.join(names)}"] if names else []


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
