"""Encodings as files: ``.npz``, ``.pt`` or ``.safetensors``, each with metadata that says what is inside."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor

from llpe import __version__
from llpe.data import NodeDataset
from llpe.device import find_device
from llpe.encodings import Encoding, make_encoding
from llpe.lab import load_encoding
from llpe.lab.sections import EncodingConfig
from llpe.storage import replacing

DIM = 64  # columns, where options do not say


def export_encoding(
    dataset: NodeDataset,
    path: Path,
    name: str | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    run: Path | None = None,
    split: int | None = None,
    device: str = "cpu",
) -> dict[str, Any]:
    """Writes the fixed part of an encoding, or the encoding that a run has learned, and says what is in the file.

    Args:
        dataset: the graph.
        path: where to write; the ending decides the format.
        name, options: of the encoding, by default the default config's with ``DIM`` columns.
        run: a run folder; then the encoding is the one that it has learned.
        split: which split of the run; default the best on validation.
        device: where to compute.
    """
    where = find_device(device)
    encoding = (
        untrained(name or EncodingConfig().name, options or {}) if run is None else load_encoding(run, split=split)
    )
    prepared = encoding.eval().prepare(dataset.data, device=where)
    if run is None:
        prefix, suffix = encoding.attribute("|").split("|")
        added = [name for name in prepared.to_dict() if name not in dataset.data]
        mine = [name for name in added if name.startswith(prefix) and name.endswith(suffix)]
        tensors = {name.removeprefix(prefix).removesuffix(suffix): prepared[name] for name in mine}
    else:
        with torch.no_grad():
            tensors = {"encoding": encoding.to(where)(prepared.to(str(where)))}
    facts = {
        "encoding": repr(encoding),
        "graph": dataset.name,
        "graph_fingerprint": dataset.graph_fingerprint,
        "llpe": __version__,
    }
    facts |= {key: str(value) for key, value in (("run", run), ("split", split)) if value is not None}
    _save(path, tensors, facts)
    shapes = {part: list(tensor.shape) for part, tensor in tensors.items()}
    return {"file": str(path), "bytes": path.stat().st_size, "tensors": shapes, **facts}


def untrained(name: str, options: Mapping[str, Any]) -> Encoding:
    """An encoding by name, with ``DIM`` columns unless the options say otherwise."""
    try:
        return make_encoding(name, **{"dim": DIM, **options})
    except TypeError as error:
        raise ValueError(f"options of {name!r} must be as `llpe list encodings` shows them, got: {error}.") from error


def _save(path: Path, tensors: Mapping[str, Tensor], facts: Mapping[str, str]) -> None:
    """Writes the whole file or nothing; the ending decides the format."""
    kept = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    with replacing(path) as partial:
        if path.suffix.lower() == ".npz":
            arrays: dict[str, Any] = {name: tensor.numpy() for name, tensor in kept.items()}
            with partial.open("wb") as file:
                np.savez(file, **arrays, metadata=np.array(json.dumps(facts)))
        elif path.suffix.lower() == ".pt":
            torch.save({**kept, "metadata": json.dumps(facts)}, partial)
        else:
            save_file(kept, partial, metadata=dict(facts))
