"""Many at once, and many after each other: processes on one folder, trials of one search, run folders in one table."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from jobs import GRAPH, RAW, differences, state
from kills import ended, forked, left_alone

from llpe.lab import SearchConfig, search
from llpe.lab.search import BusyError
from llpe.report.tables import make_tables
from llpe.runs import load_runs
from llpe.sealed import write_json, write_text

GROWTH = 50e6  # bytes that a process may grow by in 1000 trials; a leaked graph or model each would be more
TABLE_SECONDS = 60.0  # of the processor, for 10 000 run folders


def at_once(work: Callable[[Path], None], count: int, folder: Path) -> tuple[int, list[str]]:
    """The same work by several processes in one folder ends as that of one; who is told to wait tries again."""
    expected, _ = left_alone(work, folder / "whole")
    (folder / "shared").mkdir()

    def patient() -> None:
        while True:
            try:
                return work(folder / "shared")
            except RuntimeError as error:
                if not isinstance(error, BusyError) and "by another process" not in str(error):
                    raise
                time.sleep(0.1)

    children = [forked(patient, folder / f"{number}.log") for number in range(count)]
    lost = [f"process {number}: exit {code}" for number, child in enumerate(children) if (code := ended(child))]
    if wrong := differences(state(folder / "shared"), expected):
        lost.append(f"{count} processes left other files than one: {wrong}")
    return count, lost


def many_trials(count: int, folder: Path) -> tuple[int, list[str]]:
    """The memory of a process after a fifth of the trials of a search, and after all."""
    folder.mkdir(parents=True)
    child = forked(lambda: write_json(folder / "memory.json", trials(count, folder)), folder / "log")
    code = ended(child, 1200)
    if code:
        return count, [f"a search of {count} trials: exit {code}"]
    found = json.loads((folder / "memory.json").read_text())
    grown = found["end"] - found["fifth"]
    lost = [f"{count} trials: the process grew by {grown / 1e6:.0f} MB"] if grown > GROWTH else []
    return found["trials"], lost


def trials(count: int, folder: Path) -> dict[str, int]:
    side = max(8, int(count**0.5) + 1)
    rates = [round(0.001 * (1 + step), 6) for step in range(side)]
    space: dict[str, list[Any]] = {"lr": rates, "weight_decay": rates, "dropout": [0.2], "order": [8]}
    space |= {"optimizer": ["adam"], "hidden": [4], "layers": [1], "l1": [0.0], "size": [1.0]}
    raw = RAW | {"training": {"epochs": 1, "patience": 1}, "splits": {"count": 1}}
    memory: list[int] = []
    settings = SearchConfig(trials=count, method="grid", space=space)
    search(GRAPH, raw, settings, root=folder, workers=1, on_trial=lambda *_: memory.append(resident()))
    return {"trials": len(memory), "fifth": memory[len(memory) // 5], "end": memory[-1]}


def resident() -> int:
    """The memory that this process holds now, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def many_folders(count: int, folder: Path) -> tuple[int, list[str]]:
    """Run folders of as many configs, read and put into tables."""
    with mock.patch("llpe.storage._sync"):
        for number in range(count):
            write_run(folder / str(number), number)
    start = time.process_time()
    runs = load_runs([folder])
    made = len(runs) if make_tables(runs) else 0
    seconds = time.process_time() - start
    lost = [f"{count} run folders took {seconds:.0f} s"] if seconds > TABLE_SECONDS else []
    return count, lost + [f"{count - made} run folders are missing"] * (made != count)


def write_run(folder: Path, number: int) -> None:
    (folder / "split-00").mkdir(parents=True)
    config = f'dataset = "graph-{number // 100}"\n[encoding]\nname = "llpe"\n[model]\nname = "mlp"\n[training]\n'
    write_text(folder / "config.toml", f"{config}lr = {0.001 * (1 + number % 100)}")
    report = {"status": "done", "metric": "accuracy", "train": 1.0, "val": 0.5, "test": 0.5, "seconds": 1.0}
    write_json(folder / "split-00" / "report.json", report | {"data": "data", "split_fingerprint": "split"})
