"""Faults on purpose: what was tried, what survived, what was lost. The exit code is 1 if anything was lost.

python faults/run.py            # all, in ten minutes
python faults/run.py --quick    # a few of each kind, in seconds
"""

import argparse
import logging
import os
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # processes are forked here, and threads do not survive that

from crowd import at_once, many_folders, many_trials
from damage import damaged
from disk import can_mount, full, read_only
from jobs import JOBS, prepare_job, search_job, small, train_job
from kills import killed, orphaned

Rows = dict[str, Callable[[Path], tuple[int, list[str]]]]

DISK = "disk full" if can_mount() else "file size limited"  # the second where no small disk can be mounted
KILLS = {"train": 90, "search": 90, "prepare": 50, "reproduce": 40, "encode": 50}


def rows() -> Rows:
    found: Rows = {}
    for name, count in KILLS.items():
        found[f"{name} killed"] = partial(killed, name, count)
    found["parent alone killed"] = partial(orphaned, 20)
    found["files damaged"] = partial(damaged, 100)
    for name in JOBS:
        found[f"{DISK}, {name}"] = partial(full, name, 10)
    found["folder read-only"] = read_only
    found["processes on one cache"] = partial(at_once, prepare_job, 8)
    found["processes on one run"] = partial(at_once, train_job, 8)
    found["processes on one study"] = partial(at_once, search_job, 8)
    found["trials without growth"] = partial(many_trials, 1000)
    found["run folders in a table"] = partial(many_folders, 10_000)
    return found


def quick_rows() -> Rows:
    return {
        "encode killed": partial(killed, "encode", 10),
        "train killed": partial(killed, "train", 4),
        "parent alone killed": partial(orphaned, 3),
        "files damaged": partial(damaged, 3),
        f"{DISK}, prepare": partial(full, "prepare", 2),
        "processes on one cache": partial(at_once, prepare_job, 3),
        "run folders in a table": partial(many_folders, 20),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", help="only kinds that contain this text")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable()
    small()
    base, losses = Path(tempfile.mkdtemp(prefix="llpe-faults-")), []
    print(f"{'kind of fault':28}{'tried':>8}{'survived':>10}{'lost':>6}{'seconds':>9}", flush=True)
    try:
        for number, (kind, make) in enumerate((quick_rows() if options.quick else rows()).items()):
            if options.only in kind:
                start = time.monotonic()
                tried, lost = make(base / str(number))
                shutil.rmtree(base / str(number), ignore_errors=True)
                seconds = time.monotonic() - start
                print(f"{kind:28}{tried:8}{tried - len(lost):10}{len(lost):6}{seconds:9.1f}", flush=True)
                losses += lost
    finally:
        shutil.rmtree(base, ignore_errors=True)
    for loss in losses:
        print(f"lost: {loss}")
    sys.exit(bool(losses))


if __name__ == "__main__":
    main()
