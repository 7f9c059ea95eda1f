"""What eigenpairs cost: seconds and memory of the first k, and of the first and last k, as graphs grow.

The paper's figures of time and space on block models of up to 100 000 nodes, with the features of random probes beside
them: those need no eigenvector and see the whole spectrum. Both studies read the same measurements. Each measurement is
made in a process of its own, which is ended when it takes too long; the longer ones of that kind are then left out.

NOTE[PAPER]: the paper does not give the degree or homophily of these block models. Ours: degree 10, as in its accuracy
experiment, and homophily 0.8 (with homophily 0 the graph would be bipartite and its spectrum symmetric).
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from llpe.files import replacing
from llpe.paper.base import Budget, Context, Study
from llpe.paper.measuring import METHODS, ORDER, PROBES, measure_apart, processor, write_graph
from llpe.report.figures import plain_log_ticks
from llpe.report.plots import Point, line_plot
from llpe.report.tables import Table

PANELS = {"first": "first k eigenpairs", "both": "first and last k eigenpairs"}
PROBE_LINE = f"probes ({PROBES}, order {ORDER})"


@dataclass(frozen=True)
class Plan:
    """What a budget pays for; ``graphs`` is how many of each size, ``limit`` the seconds a measurement may take."""

    sizes: tuple[int, ...]
    counts: tuple[int, ...]
    graphs: int
    limit: float


SIZES = (1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)
PLANS: dict[Budget, Plan] = {
    "quick": Plan((1000, 2000, 5000), (8, 32, 128), graphs=1, limit=120),
    "standard": Plan(SIZES, (8, 32, 128), graphs=3, limit=600),
    "paper": Plan(SIZES, (8, 32, 128, 512), graphs=5, limit=7200),
}


@dataclass(frozen=True)
class Case:
    """One measurement: ``method`` as in :mod:`llpe.paper.measuring`, on the graph of ``n`` nodes of that seed."""

    method: str
    k: int
    n: int
    seed: int

    def __str__(self) -> str:
        what = "probes" if self.method == "probes" else f"{PANELS[self.method]}, k = {self.k}"
        return f"{what}, n = {self.n}, graph {self.seed + 1}"


@dataclass(frozen=True)
class Quantity:
    """What one of the studies shows of a measurement: ``key`` in it, and how many of its units make one of ours."""

    name: str
    key: str
    unit: str
    scale: float
    title: str


QUANTITIES = (
    Quantity("solver-time", "seconds", "s", 1.0, "Time to find eigenpairs of block models"),
    Quantity("solver-memory", "bytes", "MB", 1e6, "Memory to find eigenpairs of block models"),
)


def cases(plan: Plan) -> list[Case]:
    """All measurements of a plan, small graphs first."""
    lines = [(method, k) for method in PANELS for k in plan.counts] + [("probes", 0)]
    return [Case(method, k, n, seed) for n in plan.sizes for seed in range(plan.graphs) for method, k in lines]


def measure_all(context: Context, plan: Plan) -> dict[Case, dict[str, Any]]:
    """The measurements that could be made; of the others it is said why not."""
    found: dict[Case, dict[str, Any]] = {}
    given_up: dict[tuple[str, int], int] = {}
    for case in context.track(cases(plan), "measuring", str):
        smaller = given_up.get((case.method, case.k))
        if smaller is not None and smaller < case.n:
            context.say(f"{case} is left out, as n = {smaller} was.")
            continue
        result = _measure(context.runs / "solving", case, plan.limit)
        if "reason" in result:
            context.say(f"{case} is left out: it {result['reason']}.")
            given_up.setdefault((case.method, case.k), case.n)
        else:
            found[case] = result
    return found


def _measure(folder: Path, case: Case, limit: float) -> dict[str, Any]:
    """A measurement, from its file where it was made before; one that took too long is made again with more time."""
    file = folder / f"{case.method}-k{case.k}-n{case.n}-seed{case.seed}.json"
    if file.exists():
        kept: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if "reason" not in kept or kept["limit"] >= limit:
            return kept
    graph = folder / f"sbm-n{case.n}-seed{case.seed}.npz"
    if not graph.exists():
        write_graph(graph, case.n, case.seed)
    result = measure_apart(graph, case.method, case.k, limit=limit)
    if isinstance(result, str):
        report = {**asdict(case), "reason": result, "limit": limit}
    else:
        report = {**asdict(case), **result, "cores": _cores(), "processor": processor()}
    if not str(report.get("reason", "")).startswith("failed"):
        with replacing(file) as partial_file:
            partial_file.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return report


def reproduce(quantity: Quantity, context: Context) -> list[Path]:
    """Measures what is not measured yet, and writes table and figure of one quantity."""
    plan = PLANS[context.budget]
    found = measure_all(context, plan)
    rows = [_row(quantity, plan, found, method, k, n) for method, k, n in _lines(plan)]
    grid = _grid(quantity, plan, rows, list(found.values()))
    figure = line_plot(
        _points(quantity, rows),
        xlabel="nodes n",
        ylabel=f"{'time' if quantity.unit == 's' else 'peak memory'} in {quantity.unit}",
        strong={PROBE_LINE},
        log="xy",
    )
    plain_log_ticks(figure, plan.sizes, y=True)
    return [
        context.write_results(quantity.name, rows),
        context.write_text(f"{quantity.name}.md", grid.markdown()),
        context.write_text(f"{quantity.name}.tex", grid.latex()),
        *context.write_figure(quantity.name, figure),
    ]


def _lines(plan: Plan) -> list[tuple[str, int, int]]:
    unique = dict.fromkeys((case.method, case.k, case.n) for case in cases(plan))
    return sorted(unique, key=lambda line: (METHODS.index(line[0]), line[1], line[2]))


def _row(
    quantity: Quantity, plan: Plan, found: dict[Case, dict[str, Any]], method: str, k: int, n: int
) -> dict[str, Any]:
    """Mean and deviation over the graphs of one size; empty where nothing was measured."""
    made = [Case(method, k, n, seed) for seed in range(plan.graphs)]
    values = [found[case][quantity.key] / quantity.scale for case in made if case in found]
    return {
        "method": method,
        "k": "" if method == "probes" else k,
        "n": n,
        quantity.unit: statistics.fmean(values) if values else "",
        "std": statistics.stdev(values) if len(values) > 1 else "",
        "graphs": len(values),
    }


def _points(quantity: Quantity, rows: Sequence[dict[str, Any]]) -> list[Point]:
    points = []
    for panel in PANELS:
        for row in rows:
            if row["method"] in (panel, "probes") and row[quantity.unit] != "":
                series = PROBE_LINE if row["method"] == "probes" else f"k = {row['k']}"
                error = None if row["std"] == "" else row["std"]
                points.append(Point(series, row["n"], row[quantity.unit], error, PANELS[panel]))
    return points


def _grid(quantity: Quantity, plan: Plan, rows: Sequence[dict[str, Any]], found: Sequence[dict[str, Any]]) -> Table:
    lines: dict[str, list[str]] = {}
    for row in rows:
        name = PROBE_LINE if row["method"] == "probes" else f"{PANELS[row['method']]}, k = {row['k']}"
        lines.setdefault(name, []).append(_text(row[quantity.unit], row["std"]))
    graphs = "one graph" if plan.graphs == 1 else f"mean ± standard deviation over {plan.graphs} graphs"
    machines = sorted({f"{result['processor']}, {result['cores']} cores" for result in found})
    remarks = [
        f"Two blocks, mean degree 10, homophily 0.8; {graphs}. Each number comes from a process of its own.",
        f"{PROBE_LINE}: the features of {PROBES} random probes up to order {ORDER}; there is no k.",
        f"Measured on {'; '.join(machines)}.",
    ]
    if quantity.key == "bytes":
        remarks.append(
            "Beyond the interpreter, the libraries and the graph itself; the result counts. 1 MB = 10⁶ bytes."
        )
    if any(row[quantity.unit] == "" for row in rows):
        remarks.append(f"–: took more than {plan.limit:g} s or failed, or a smaller graph did.")
    header = ["", *(f"n = {n}" for n in plan.sizes)]
    return Table(
        f"{quantity.title}, in {quantity.unit}", header, [[name, *cells] for name, cells in lines.items()], remarks
    )


def _text(value: float | str, std: float | str) -> str:
    """Three digits that count; more before the point stay.

    Example:
        >>> _text(0.01234, ""), _text(1234.5, 56.7), _text("", "")
        ('0.0123', '1234 ± 57', '–')
    """
    if isinstance(value, str):
        return "–"
    digits = max(0, 2 - _magnitude(value))
    return f"{value:.{digits}f}" + ("" if isinstance(std, str) else f" ± {std:.{digits}f}")


def _magnitude(value: float) -> int:
    return int(f"{value:e}".partition("e")[2])


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _study(quantity: Quantity) -> Study:
    run: Callable[[Context], list[Path]] = partial(reproduce, quantity)
    return Study(quantity.name, quantity.title, run)


STUDIES: dict[str, Study] = {quantity.name: _study(quantity) for quantity in QUANTITIES}
