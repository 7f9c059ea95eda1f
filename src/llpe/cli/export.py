"""Encodings as files: ``.npz``, ``.pt`` or ``.safetensors``, each with a line of JSON on what is inside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor
from torch_geometric.data import Data

from llpe import __version__
from llpe.cli import output
from llpe.data import NodeDataset
from llpe.encodings import Encoding, make_encoding
from llpe.graph import Graph
from llpe.storage import replacing

WIDTH = 64  # of an encoding, unless --dim says otherwise


def untrained(name: str, dim: int | None, options: dict[str, Any]) -> Encoding:
    """The encoding of that name, of which the fixed part is wanted."""
    if dim is not None and "dim" in options:
        raise ValueError(f"`dim` must be given once, got --dim {dim} and dim={options['dim']}.")
    try:
        return make_encoding(name, **{"dim": WIDTH if dim is None else dim, **options})
    except TypeError as error:
        raise ValueError(f"options of {name!r} must be as `llpe list encodings` shows them, got: {error}.") from error


def trained(run: Path, split: int | None) -> Encoding:
    """The encoding that a run has learned."""
    from llpe.lab import load_encoding

    return load_encoding(run, split=split)


def write(
    path: Path, encoding: Encoding, dataset: NodeDataset, *, run: Path | None, split: int | None
) -> dict[str, Any]:
    """Encodes the graph, writes the file, and tells what is in it."""
    make = fixed_parts if run is None else learned_part
    tensors = make(encoding, dataset.data)
    facts = {
        "encoding": repr(encoding),
        "graph": dataset.name,
        "graph_fingerprint": Graph.from_data(dataset.data, warn=False).fingerprint,
        "llpe": __version__,
    }
    if run is not None:
        facts |= {"run": str(run)} | ({} if split is None else {"split": str(split)})
    save(path, tensors, facts)
    shapes = {name: list(tensor.shape) for name, tensor in tensors.items()}
    return {"file": str(path), "bytes": path.stat().st_size, "tensors": shapes, **facts}


def fixed_parts(encoding: Encoding, data: Data) -> dict[str, Tensor]:
    """The encoding's fixed part on ``data`` as named tensors."""
    prepared = encoding.prepare(data)
    prefix, suffix = encoding.attribute("|").split("|")
    return {
        name.removeprefix(prefix).removesuffix(suffix): prepared[name]
        for name in prepared.keys()  # noqa: SIM118  PyG's Data iterates over pairs
        if name not in data and name.startswith(prefix) and name.endswith(suffix)
    }


@torch.no_grad()
def learned_part(encoding: Encoding, data: Data) -> dict[str, Tensor]:
    """The encoding itself, P, in eval mode."""
    encoding.eval()
    return {"encoding": encoding(encoding.prepare(data))}


def save(path: Path, tensors: dict[str, Tensor], facts: dict[str, str]) -> None:
    """Writes all or nothing; the suffix decides the format."""
    kept = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    with replacing(path) as partial:
        if path.suffix.lower() == ".npz":
            arrays: dict[str, Any] = {name: tensor.numpy() for name, tensor in kept.items()}
            with partial.open("wb") as file:
                np.savez(file, **arrays, metadata=np.array(json.dumps(facts)))
        elif path.suffix.lower() == ".pt":
            torch.save({**kept, "metadata": json.dumps(facts)}, partial)
        else:
            save_file(kept, partial, metadata=facts)


def show(document: dict[str, Any]) -> None:
    """Prints what was written."""
    shapes = [(name, f"[{', '.join(map(str, shape))}]") for name, shape in document["tensors"].items()]
    output.fields([*shapes, ("of", document["encoding"])])
    output.write(f"wrote {document['file']} ({output.size(document['bytes'])})")
