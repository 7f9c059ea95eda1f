"""Every claim of speed or memory as a ratio against a baseline in the same run.

python benchmarks/run.py                  # all; writes benchmarks/latest.json and the table of docs/scale.md
python benchmarks/run.py --quick          # the small sizes, in three minutes; writes benchmarks/quick.json
python benchmarks/run.py --only step      # one group; rows of the others stay as they were
"""

import argparse
import datetime
import json
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import page
from cluster import cluster
from kernels import kernels
from large import large
from probes import growth, prepare, product, whole
from rows import Row, Size, machine
from small_graphs import small_graphs
from spectra import both_ends, hundreds
from starting import starting
from training import attention, beside, epoch, memory, signnet, step, subnormals, ten_splits
from walks import walks

GROUPS: dict[str, Callable[[Size], Iterator[Row]]] = {
    "step": step,
    "memory": memory,
    "epoch": epoch,
    "splits": ten_splits,
    "cluster": cluster,
    "prepare": prepare,
    "product": product,
    "whole": whole,
    "growth": growth,
    "large": large,
    "ends": both_ends,
    "hundreds": hundreds,
    "walks": walks,
    "signnet": signnet,
    "attention": attention,
    "kernels": kernels,
    "subnormals": subnormals,
    "beside": beside,
    "small": small_graphs,
    "starting": starting,
}
HERE = Path(__file__).resolve().parent
FILES: dict[Size, Path | None] = {"full": HERE / "latest.json", "quick": HERE / "quick.json", "tiny": None}


def show(row: Row) -> None:
    verdict = "met" if row["met"] else "MISSED"
    print(
        f"{row['name']:38} {row['at']:42} {row['baseline']:28} {row['ratio']:>8g}{row['target']:>7g}  {verdict:6}  "
        f"{row['measured']}",
        flush=True,
    )


def measure(names: list[str], size: Size, file: Path | None) -> list[str]:
    """Runs the groups one after another, writes after each, and returns those that failed."""
    kept: list[Row] = json.loads(file.read_text()) if file is not None and file.exists() else []
    today = datetime.date.today().isoformat()
    failed = []
    for name in names:
        kept = [row for row in kept if row.get("group") != name]
        try:
            for row in GROUPS[name](size):
                kept.append(row | {"group": name, "date": today, "machine": machine()})
                show(row)
        except Exception:
            traceback.print_exc()
            failed.append(name)
        kept = [row for group in GROUPS for row in kept if row.get("group") == group]
        if file is not None:
            file.write_text(json.dumps(kept, indent=1) + "\n")
    return failed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_const", dest="size", const="quick", help="only the small sizes")
    size.add_argument(
        "--tiny", action="store_const", dest="size", const="tiny", help="to see that it works: no number counts"
    )
    parser.add_argument("--only", choices=GROUPS, help="one group")
    parser.add_argument("--output", type=Path, help="another file to write to")
    arguments = parser.parse_args()
    chosen: Size = arguments.size or "full"
    file = arguments.output or FILES[chosen]
    if chosen != "full":
        print("The targets are those of the full sizes: of a smaller one, a miss says nothing.")
    failed = measure([arguments.only] if arguments.only else list(GROUPS), chosen, file)
    if chosen == "full" and not arguments.output:
        page.write(json.loads(FILES["full"].read_text()))  # type: ignore[union-attr]
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
