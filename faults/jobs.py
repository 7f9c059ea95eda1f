"""The work that is disturbed: each job fills a folder, and what it leaves there is known."""

import hashlib
import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

from safetensors import safe_open

from llpe import Cache, cache, make_encoding
from llpe.data import load_graph
from llpe.lab import SearchConfig, resolve, run, train
from llpe.lab import search as search_settings
from llpe.lab.export import export_encoding
from llpe.paper import run_study
from llpe.paper.base import Context, settings_of

SPEC = "sbm:n=60,homophily=1"
GRAPH = load_graph(SPEC)
RAW = {
    "dataset": SPEC,
    "encoding": {"dim": 4, "order": 8},
    "model": {"hidden": 4, "dropout": 0.2},
    "training": {"epochs": 12, "patience": 12},
    "splits": {"count": 3},
}
CONFIG = resolve(RAW)
SPACE: dict[str, list[Any]] = {"lr": [0.1, 0.03, 0.01], "dropout": [0.0, 0.2, 0.4], "order": [8, 16]}
SPACE |= {"optimizer": ["adam"], "hidden": [4], "layers": [1], "l1": [0.0], "size": [1.0]}
STUDY = settings_of("sbm", "quick") | {
    "graphs": [{"title": "blocks", "names": ["sbm:n=60,degree=8,homophily={}"], "classes": 2}],
    "values": [0.0, 1.0],
    "encodings": {"none": {"name": "none"}, "llpe": {"name": "llpe", "dim": 4, "order": 8, "l1": 0.0001}},
    "model": {"name": "mlp", "hidden": 4},
    "training": {"lr": 0.05, "epochs": 8, "patience": 8},
    "splits": 2,
}
VOLATILE = ("seconds", "peak_memory", "finished")  # keys of a report that differ between equal runs


def small() -> None:
    """Checkpoints come often, and the steps of a search are short."""
    train.CHECKPOINT_SECONDS = 0.02
    short: dict[str, dict[str, float]] = {
        "llpe.lab.wave": {"FIRST_EPOCHS": 4, "ENOUGH_NODES": 10},
        "llpe.lab.search": {"WAVE": 4, "WAIT_SECONDS": 0.1},
    }
    for module, values in short.items():
        for name, value in values.items():
            assert hasattr(import_module(module), name), name
            setattr(import_module(module), name, value)


def train_job(folder: Path, workers: int = 1) -> None:
    run(GRAPH, CONFIG, root=folder / "runs", workers=workers)


def search_job(folder: Path) -> None:
    search_settings(GRAPH, RAW, SearchConfig(trials=8, space=SPACE), root=folder / "runs", workers=1)


def prepare_job(folder: Path) -> None:
    store = Cache(folder / "cache")
    encodings = {"llpe": {"order": 8}, "lpe-fk": {"k": 4}, "rwse": {}, "llpe-probes": {"order": 8}}
    with mock.patch.object(cache, "SMALL", 0):
        for name, options in encodings.items():
            make_encoding(name, dim=8, **options).prepare(GRAPH.data, cache=store)


def reproduce_job(folder: Path) -> None:
    run_study("sbm", Context("quick", folder / "runs", folder / "out", 1, None), STUDY)


def encode_job(folder: Path) -> None:
    for ending in ("npz", "pt", "safetensors"):
        export_encoding(GRAPH, folder / f"pe.{ending}", "llpe", {"dim": 8, "order": 8})


JOBS: dict[str, Callable[[Path], None]] = {
    "train": train_job,
    "search": search_job,
    "prepare": prepare_job,
    "reproduce": reproduce_job,
    "encode": encode_job,
}


def state(folder: Path) -> dict[str, str]:
    """What is in a folder: the hash of every file, of reports without what differs between equal runs."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.name == ".lock" or "locks" in path.parts or (path.is_dir() and not path.name.endswith(".partial")):
            continue
        content = b"" if path.is_dir() else path.read_bytes()
        if path.suffix == ".safetensors":  # which has its header in any order
            content = safetensors_content(path)
        if path.name == "report.json":
            report = json.loads(content)
            content = json.dumps({k: v for k, v in report.items() if k not in (*VOLATILE, "checksum")}).encode()
        found[str(path.relative_to(folder))] = hashlib.sha256(content).hexdigest()
    return found


def safetensors_content(path: Path) -> bytes:
    with safe_open(path, framework="np") as file:
        facts = sorted((file.metadata() or {}).items())
        tensors = [(name, file.get_tensor(name).tobytes()) for name in sorted(file.keys())]
    return repr((facts, tensors)).encode()


def differences(found: dict[str, str], expected: dict[str, str]) -> str:
    """In words, the files in which two states differ; empty if they are equal."""
    return ", ".join(sorted(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name)))
