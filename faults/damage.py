"""Every kind of file that is read back: flipped bits, cut ends, nothing left. Damage is named, or does not matter."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from unittest import mock

import torch
from jobs import CONFIG, GRAPH, prepare_job, search_job, state, train_job
from safetensors import safe_open

from llpe import Cache
from llpe.cache import Result
from llpe.data import make_splits
from llpe.lab.task import make_task
from llpe.lab.traces import load_classifier, write_spectrum
from llpe.lab.train import train_split
from llpe.paper import settings_of, solving
from llpe.runs import RunFolder, load_runs
from llpe.sealed import DamagedError, read_json


class Read(NamedTuple):
    """A file, and what is read from it or made of it again."""

    file: Path
    value: Callable[[], Any]
    share: float = 1.0  # of the damages that are tried, where each takes long


def damaged(each: int, folder: Path) -> tuple[int, list[str]]:
    """Damages every kind of file ``each`` times. Either the error names the file, or the value is as before."""
    folder.mkdir(parents=True)
    tried, lost = 0, []
    for file, value, share in readers(folder):
        content, expected, random = file.read_bytes(), value(), Random(file.name)
        for change in changes(content, max(3, int(share * each)), random):
            tried += 1
            file.write_bytes(change)
            try:
                if value() != expected:
                    lost.append(f"{file.name}: {len(change)} of {len(content)} bytes, unseen")
            except DamagedError as error:
                if str(file) not in str(error):
                    lost.append(f"{file.name}: not named: {error}")
            except Exception as error:
                lost.append(f"{file.name}: {error!r}")
            file.write_bytes(content)
    return tried, lost


def changes(content: bytes, count: int, random: Random) -> Iterator[bytes]:
    yield b""
    for _ in range(max(1, count // 5)):
        yield content[: random.randrange(1, len(content))]
    for _ in range(count - 1 - max(1, count // 5)):
        place = random.randrange(len(content))
        yield content[:place] + bytes([content[place] ^ 1 << random.randrange(8)]) + content[place + 1 :]


def readers(folder: Path) -> Iterator[Read]:
    train_job(folder)
    run = next(folder.rglob("config.toml")).parent
    split = run / "split-01"
    yield Read(run / "config.toml", lambda: RunFolder.read(run).config)
    yield Read(split / "report.json", lambda: RunFolder.read(run).reports)
    yield Read(split / "model.safetensors", lambda: _bytes(load_classifier(RunFolder.read(run), 1).state_dict()))
    for name in ("split", "curves", "predictions", "filters", "picture"):
        yield Read(split / f"{name}.npz", partial(_arrays, run, name, 1))
    yield Read(run / "spectrum.npz", partial(_arrays, run, "spectrum", None))
    yield Read(run / "spectrum.npz", partial(_again, run))
    yield _checkpoint(folder)
    search_job(folder / "search")
    best = next(folder.rglob("best.json")).parent
    chosen = best / read_json(best / "best.json")["run"]
    yield Read(best / "best.json", lambda: [each.path for each in load_runs([folder / "search"])])
    yield Read(best / "search.toml", lambda: RunFolder.read(chosen).searched)
    yield Read(best / "trials.json", partial(_after, search_job, folder / "search", state), 0.1)
    prepare_job(folder)
    for entry in sorted((folder / "cache").glob("*.safetensors"))[:2]:
        yield Read(entry, partial(_after, prepare_job, folder, _cached))
    yield _sum(Cache(folder / "sum"))
    case, settings = solving.Case("first", 4, 50, 0), settings_of("solver-time", "quick")
    work = partial(solving._measure, folder, case, settings)
    with mock.patch.object(solving, "measure", return_value={"seconds": 1.0, "bytes": 2.0}):
        work()
        yield Read(next(folder.glob("first-*.json")), work)
    (folder / "first-k4-n50-seed0.json").unlink()


def _arrays(run: Path, name: str, split: int | None) -> dict[str, bytes]:
    return {key: array.tobytes() for key, array in (RunFolder.read(run).arrays(name, split) or {}).items()}


def _bytes(tensors: dict[str, torch.Tensor]) -> dict[str, bytes]:
    return {name: tensor.numpy().tobytes() for name, tensor in tensors.items()}


def _again(run: Path) -> bytes:
    write_spectrum(RunFolder.read(run), GRAPH)
    return (run / "spectrum.npz").read_bytes()


def _checkpoint(folder: Path) -> Read:
    task, split, file = make_task(GRAPH, CONFIG), make_splits(GRAPH)[0], folder / "checkpoint.pt"
    train_split(task, split, 0, checkpoint=file, pause=5)

    def resumed() -> dict[str, bytes]:
        return _bytes(train_split(task, split, 0, checkpoint=file).state or {})

    return Read(file, resumed)


def _after(job: Callable[[Path], None], folder: Path, value: Callable[[Path], Any]) -> Any:
    job(folder)
    return value(folder)


def _cached(folder: Path) -> list[tuple[Any, ...]]:
    found, store = [], Cache(folder / "cache")
    for path, key, _ in store.entries():
        with safe_open(path, framework="pt") as file:
            result = store._read(path, file.metadata()["key"])
        assert result is not None
        found.append((sorted(key.items(), key=str), _bytes(result.tensors), result.facts))
    return sorted(found, key=str)


def _sum(cache: Cache) -> Read:
    number = 0

    def add() -> bool:
        nonlocal number
        number += 1
        cache.fetch("kind", {"number": number}, lambda: Result({"a": torch.ones(8)}, {}))
        return read_json(file)["bytes"] == sum(path.stat().st_size for path in cache.folder.glob("*.safetensors"))

    file = cache.folder / "locks" / "bytes.json"
    add()
    return Read(file, add)
