"""Graphs stored as arrays: ``.npz`` archives and PyG ``Data`` saved as ``.pt``. Nothing is unpickled."""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from llpe.data.dataset import PARTS
from llpe.data.raw import RawGraph

FEATURES, LABELS, EDGES = ("x", "node_features"), ("y", "node_labels"), ("edge_index", "edges")


def open_npz(path: str | Path) -> dict[str, np.ndarray]:
    """All arrays of an ``.npz`` archive, refusing pickled objects."""
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
                arrays[key] = archive[key]
            except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
                raise ValueError(
                    f"{path}: `{key}` must be a plain array, got {error}. Save numbers or texts, not objects."
                ) from error
    return arrays


def read_npz(path: Path) -> RawGraph:
    """Keys: ``x`` or ``node_features`` (or CSR parts ``x_data, x_indices, x_indptr, x_shape``), ``y`` or
    ``node_labels``, ``edge_index`` [2, E] or ``edges`` [E, 2], and optionally ``edge_weight``, ``num_nodes``,
    ``train_mask, val_mask, test_mask`` [n] or [n, S], or ``train_masks, …`` [S, n].
    """
    arrays = open_npz(path)
    x = _take(arrays, FEATURES)
    if x is None and "x_data" in arrays:
        x = _dense(arrays)
    labels = _take(arrays, LABELS)
    edges = {key: arrays.pop(key) for key in EDGES if key in arrays}
    if len(edges) != 1:
        raise ValueError(
            "the archive must hold either `edge_index` [2, num_edges] or `edges` [num_edges, 2], "
            f"got {' and '.join(edges) or 'neither'}."
        )
    edge_index = edges["edge_index"] if "edge_index" in edges else edges["edges"].T
    weight = arrays.pop("edge_weight", None)
    count = arrays.pop("num_nodes", None)
    if count is not None and (count.size != 1 or count.dtype.kind not in "iu"):
        raise ValueError(f"`num_nodes` must be one integer, got {count.dtype} of shape {list(count.shape)}.")
    raw = RawGraph(edge_index, x, labels, weight, num_nodes=None if count is None else int(count.item()))
    raw.masks = _masks(arrays)
    raw.notes = _ignored("keys", list(arrays))
    return raw


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


def _take(arrays: dict[str, np.ndarray], names: tuple[str, str]) -> np.ndarray | None:
    if all(name in arrays for name in names):
        raise ValueError(f"the archive must hold `{names[0]}` or `{names[1]}`, got both. Remove one.")
    return next((arrays.pop(name) for name in names if name in arrays), None)


def _dense(arrays: dict[str, np.ndarray]) -> np.ndarray:
    parts = ("x_data", "x_indices", "x_indptr", "x_shape")
    missing = [key for key in parts if key not in arrays]
    if missing:
        raise ValueError(f"sparse features must have the keys {', '.join(parts)}, got no {', '.join(missing)}.")
    data, indices, indptr, shape = (arrays.pop(key) for key in parts)
    try:
        matrix = sp.csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
        matrix.check_format()
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"x_data, x_indices, x_indptr and x_shape must be a CSR matrix: {error}.") from error
    return matrix.toarray()


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
