"""A disk that is full, and folders that may not be written: nothing is lost, nothing half is left."""

import os
import resource
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

from jobs import JOBS, differences, state
from kills import ended, forked, left_alone, problem

NOBODY = 65534


def full(name: str, count: int, folder: Path) -> tuple[int, list[str]]:
    """Works on a disk with too little room, then with enough, and compares with work that was left alone."""
    random, work, lost = Random(name), JOBS[name], []
    expected, _ = left_alone(work, folder / "whole")
    room = max(path.stat().st_size for path in (folder / "whole").rglob("*"))
    for number in range(count):
        place, log, limit = folder / str(number), folder / f"{number}.log", random.randrange(1, room)
        place.mkdir()
        mounted = mount(place, limit)
        ended(forked(partial(work, place) if mounted else partial(limited, name, place, limit), log))
        if halves := [path for path in state(place) if ".partial" in path]:
            lost.append(f"{name}, {limit} bytes: left {halves}")
        if mounted:
            subprocess.run(["mount", "-o", "remount,size=1g", place], check=True)
        if wrong := problem(work, place, log, expected):
            lost.append(f"{name}, {limit} bytes: {wrong}")
        if mounted:
            subprocess.run(["umount", place], check=True)
    return count, lost


def mount(place: Path, limit: int) -> bool:
    """A disk of its own for the folder, of some pages more than the limit, where that is permitted."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={limit + 8 * resource.getpagesize()}", "tmpfs", str(place)]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def can_mount() -> bool:
    with tempfile.TemporaryDirectory() as place:
        mounted = mount(Path(place), resource.getpagesize())
        if mounted:
            subprocess.run(["umount", place], check=True)
        return mounted


def limited(name: str, place: Path, limit: int) -> None:
    """Where no disk can be mounted: every file may have this many bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    JOBS[name](place)


def read_only(folder: Path) -> tuple[int, list[str]]:
    """Work in a folder that may only be read leaves it as it was, empty or finished; root becomes nobody for it."""
    lost, tried = [], 0
    for name, work in JOBS.items():
        for before in ("empty", "finished"):
            place, log, tried = folder / f"{name}-{before}", folder / f"{name}-{before}.log", tried + 1
            place.mkdir(parents=True)
            if before == "finished":
                work(place)
            there = state(place)
            for path in (place, *place.rglob("*")):
                path.chmod(path.stat().st_mode & ~0o222)
            log.touch()
            if ended(forked(partial(unprivileged, work, place), log)) < 0:
                lost.append(f"{name}, {before}: ended by a signal")
            if wrong := differences(state(place), there):
                lost.append(f"{name}, {before}: changed {wrong}")
            for path in (place, *place.rglob("*")):
                path.chmod(path.stat().st_mode | 0o200)
            if code := ended(forked(partial(work, place), log)):
                lost.append(f"{name}, {before}: exit {code} when it may be written again")
    return tried, lost


def unprivileged(work: Callable[[Path], None], place: Path) -> None:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    work(place)
