"""Processes that are killed: at random, or before or amid an operation on a file; whole groups, or the parent alone."""

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

from jobs import JOBS, differences, state, train_job

from llpe.runs import load_runs

Work = Callable[[], object]
AIMED = ("replace", "fsync", "mkdir", "unlink", "rmdir", "chmod", "open")  # functions of os before which it may end


def forked(work: Work, log: Path, *, moment: int | None = None) -> int:
    """Starts work in a process group of its own, which kills itself at the given moment; returns its number."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        os.setsid()
        with log.open("a") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        if moment is not None:
            aim(moment)
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def aim(moment: int) -> None:
    """From now on, the process group ends before an operation on files, given by its number, or amid a write."""
    left = moment

    def reached() -> bool:
        nonlocal left
        left -= 1
        return left == 0

    def end() -> None:
        os.killpg(os.getpgrp(), signal.SIGKILL)

    def watched(original: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **options: object) -> object:
            if reached():
                end()
            return original(*arguments, **options)

        return call

    for name in AIMED:
        setattr(os, name, watched(getattr(os, name)))
    write = Path.write_bytes

    def write_bytes(path: Path, content: bytes) -> int:
        if reached():
            write(path, content[: len(content) // 2])
            end()
        return write(path, content)

    Path.write_bytes = write_bytes  # type: ignore[assignment, method-assign]


def ended(child: int, seconds: float = 120.0) -> int:
    """Waits for a process and returns its exit code, or minus the signal; one that hangs is killed and counts as 1."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    kill_group(child)
    os.waitpid(child, 0)
    return 1


def kill_group(child: int) -> None:
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:  # not yet a group, or gone
        os.kill(child, signal.SIGKILL)


def left_alone(work: Callable[[Path], None], place: Path) -> tuple[dict[str, str], float]:
    """What work leaves in a new folder when nothing disturbs it, and its seconds."""
    place.mkdir(parents=True)
    start = time.monotonic()
    work(place)
    return state(place), time.monotonic() - start


def problem(work: Callable[[Path], None], place: Path, log: Path, expected: dict[str, str]) -> str:
    """Lets disturbed work finish: its exit code, or the files that are not as expected; empty if all is well."""
    code = ended(forked(partial(work, place), log))
    return f"exit {code}" if code else differences(state(place), expected)


def killed(name: str, count: int, folder: Path) -> tuple[int, list[str]]:
    """Kills a job ``count`` times, a few times in each folder, lets it finish, and compares with one left alone."""
    random, work, lost, kills = Random(name), JOBS[name], [], 0
    expected, _ = left_alone(work, folder / "whole")  # in this process, so that everything is imported
    again, seconds = left_alone(work, folder / "again")
    if wrong := differences(again, expected):
        return 1, [f"{name}: two runs left alone differ in {wrong}"]
    moments = 400 if name in ("train", "search", "reproduce") else 60
    for chain in range(count):
        if kills >= count:
            break
        place, log, before = folder / str(chain), folder / f"{chain}.log", kills
        place.mkdir()
        for _ in range(6 if moments > 100 else 2):
            aimed = random.random() < 0.6
            child = forked(partial(work, place), log, moment=random.randrange(1, moments) if aimed else None)
            if not aimed:
                time.sleep(random.uniform(0, seconds))
                kill_group(child)
            kills += ended(child) == -signal.SIGKILL
            if wrong := unreadable(place):
                lost.append(f"{name}, folder {chain}: {wrong}")
        if wrong := problem(work, place, log, expected):
            lost.append(f"{name}, folder {chain} ({kills - before} kills): {wrong}")
    return kills, lost


def unreadable(folder: Path) -> str:
    """Why what a killed process has left cannot be read, if so."""
    try:
        load_runs([folder])
    except ValueError as error:
        return "" if "must hold run folders" in str(error) else str(error)
    return ""


def orphaned(count: int, folder: Path) -> tuple[int, list[str]]:
    """Kills the parent alone: its workers end, let go of the folder, and the run ends as if left alone."""
    random, lost, work = Random(0), [], partial(train_job, workers=2)
    expected, seconds = left_alone(work, folder / "whole")
    for number in range(count):
        place, log = folder / str(number), folder / f"{number}.log"
        place.mkdir()
        child = forked(partial(work, place), log)
        time.sleep(random.uniform(0, seconds))
        os.kill(child, signal.SIGKILL)
        ended(child)
        limit = time.monotonic() + 20
        while alive(child) and time.monotonic() < limit:
            time.sleep(0.05)
        if alive(child):
            lost.append(f"orphan {number}: workers live")
            kill_group(child)
        if wrong := problem(work, place, log, expected):
            lost.append(f"orphan {number}: {wrong}")
    return count, lost


def alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
