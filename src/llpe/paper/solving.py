"""What eigenpairs cost: seconds and memory of the first k, and of the first and last k, as graphs grow.

The paper's figures of time and space on block models, with the features of random probes beside them: those need no
eigenvector and see the whole spectrum. Both studies read the same measurements. Each measurement is made in a process
of its own, which is ended when it takes too long; larger graphs are then left out. Settings:

    sizes, graphs, counts, limit   nodes, graphs of each size, the k, seconds that a measurement may take
    graph, probes                  options of the block model and of the probes
    quantity, scale, unit, axis, remarks   the number of a measurement that is shown, and how
"""

from __future__ import annotations

import io
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from llpe.data import sbm
from llpe.graph import Graph
from llpe.lab.workers import cores
from llpe.measuring import Work, measure, processor
from llpe.paper.base import Context, Settings
from llpe.probes import probe_features
from llpe.report.figures import Point, line_plot, plain_log_ticks
from llpe.report.tables import Table
from llpe.sealed import intact, read_json, write_json, write_zip
from llpe.spectrum import end_spectrum

PANELS = {"first": "first k eigenpairs", "both": "first and last k eigenpairs"}
Row = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One measurement: ``method`` is ``first``, ``both`` or ``probes``; ``seed`` that of the graph of ``n`` nodes."""

    method: str
    k: int
    n: int
    seed: int

    def __str__(self) -> str:
        what = "probes" if self.method == "probes" else f"{PANELS[self.method]}, k = {self.k}"
        return f"{what}, n = {self.n}, graph {self.seed + 1}"


def run(name: str, settings: Settings, context: Context) -> list[Path]:
    """Measures what is not measured yet, and writes table and figure of one quantity."""
    found = measure_all(settings, context)
    rows = [_row(settings, found, method, k, n) for method, k in _lines(settings) for n in settings["sizes"]]
    probes = f"probes ({settings['probes']['probes']}, order {settings['probes']['order']})"
    points = _points(rows, probes, settings["unit"])
    figure = line_plot(points, xlabel="nodes n", ylabel=settings["axis"], strong={probes}, log="xy")
    plain_log_ticks(figure, settings["sizes"], y=True)
    return context.write(name, rows, [_grid(settings, rows, probes, list(found.values()))], {name: figure})


def cases(settings: Settings) -> list[Case]:
    """All measurements, small graphs first."""
    seeds = range(settings["graphs"])
    return [Case(method, k, n, seed) for n in settings["sizes"] for seed in seeds for method, k in _lines(settings)]


def _lines(settings: Settings) -> list[tuple[str, int]]:
    return [*((method, k) for method in PANELS for k in settings["counts"]), ("probes", 0)]


def measure_all(settings: Settings, context: Context) -> dict[Case, Row]:
    """The measurements that could be made, with a note about each of the others."""
    found: dict[Case, Row] = {}
    given_up: dict[tuple[str, int], int] = {}
    for case in context.track(cases(settings), "measuring", str):
        smaller = given_up.get((case.method, case.k))
        if smaller is not None and smaller < case.n:
            context.say(f"{case} is left out, as n = {smaller} was.")
            continue
        result = _measure(context.runs / "solving", case, settings)
        if "reason" in result:
            context.say(f"{case} is left out: it {result['reason']}.")
            given_up.setdefault((case.method, case.k), case.n)
        else:
            found[case] = result
    return found


def _measure(folder: Path, case: Case, settings: Settings) -> Row:
    """A measurement, from its file if it was made before; one that took too long is repeated with more time."""
    limit = settings["limit"]
    file = folder / f"{case.method}-k{case.k}-n{case.n}-seed{case.seed}.json"
    if file.exists() and intact(file):
        kept: Row = read_json(file)
        if "reason" not in kept or kept["limit"] >= limit:
            return kept
    graph = folder / f"sbm-n{case.n}-seed{case.seed}.npz"
    if not graph.exists() or not intact(graph):
        write_graph(graph, case.n, **settings["graph"], seed=case.seed)
    work = {"first": {"first": case.k}, "both": {"first": case.k, "last": case.k}, "probes": settings["probes"]}
    result = measure("llpe.paper.solving", "solver", limit=limit, file=str(graph), options=work[case.method])
    if "failed" in result:
        report = {**asdict(case), "reason": result["failed"], "limit": limit}
    else:
        report = {**asdict(case), **result, "cores": cores(), "processor": processor()}
    if "failed" not in result or "after" in result:
        write_json(file, report)
    return report


def solver(file: str, options: dict[str, Any]) -> Work:
    """The work that is measured, from the adjacency in ``file`` to eigenvectors or features; nothing is cached.

    ``options`` are those of ``end_spectrum``, or those of ``probe_features``, which have ``probes``.
    """

    def solve(graph: Graph, options: dict[str, Any]) -> None:
        if "probes" in options:
            probe_features(graph, **options)
        else:
            end_spectrum(graph, **options, cache=False)

    # libraries load and threads start before the measurement
    solve(Graph.from_data(sbm(1000)), options if "probes" in options else dict.fromkeys(options, 2))
    adjacency = sp.csr_array(sp.load_npz(file))
    return Work(lambda: solve(Graph(adjacency), options))  # a new graph each time: it remembers results


def write_graph(path: Path, n: int, *, degree: float, homophily: float, seed: int) -> None:
    """Keeps the adjacency of a block model, so that the measuring process need not make it."""
    graph = Graph.from_data(sbm(n, degree=degree, homophily=homophily, seed=seed))
    path.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    sp.save_npz(buffer, graph.adjacency, compressed=False)
    write_zip(path, buffer)


def _row(settings: Settings, found: dict[Case, Row], method: str, k: int, n: int) -> Row:
    """Mean and deviation over the graphs of one size; empty where nothing was measured."""
    made = [Case(method, k, n, seed) for seed in range(settings["graphs"])]
    values = [found[case][settings["quantity"]] / settings["scale"] for case in made if case in found]
    return {
        "method": method,
        "k": "" if method == "probes" else k,
        "n": n,
        settings["unit"]: statistics.fmean(values) if values else "",
        "std": statistics.stdev(values) if len(values) > 1 else "",
        "graphs": len(values),
    }


def _points(rows: Sequence[Row], probes: str, unit: str) -> list[Point]:
    points = []
    for panel in PANELS:
        for row in rows:
            if row["method"] in (panel, "probes") and row[unit] != "":
                series = probes if row["method"] == "probes" else f"k = {row['k']}"
                error = row["std"] if row["graphs"] > 1 else None
                points.append(Point(series, row["n"], row[unit], error, PANELS[panel]))
    return points


def _grid(settings: Settings, rows: Sequence[Row], probes: str, found: Sequence[Row]) -> Table:
    lines: dict[str, list[str]] = {}
    unit, graph, number = settings["unit"], settings["graph"], settings["graphs"]
    for row in rows:
        name = probes if row["method"] == "probes" else f"{PANELS[row['method']]}, k = {row['k']}"
        lines.setdefault(name, []).append(_text(row[unit], row["std"]))
    count = "one graph" if number == 1 else f"mean ± standard deviation over {number} graphs"
    machines = sorted({f"{result['processor']}, {result['cores']} cores" for result in found})
    features = "the features of {probes} random probes up to order {order}; there is no k.".format(**settings["probes"])
    remarks = [
        f"Two blocks, mean degree {graph['degree']}, homophily {graph['homophily']}; {count}. Each number comes from a "
        "process of its own.",
        f"{probes}: {features}",
        f"Measured on {'; '.join(machines)}.",
        *settings["remarks"],
    ]
    if any(row[unit] == "" for row in rows):
        remarks.append(f"–: took more than {settings['limit']:g} s or failed, or a smaller graph did.")
    header = ["", *(f"n = {n}" for n in settings["sizes"])]
    return Table(f"{settings['title']}, in {unit}", header, [[name, *cells] for name, cells in lines.items()], remarks)


def _text(value: float | str, std: float | str) -> str:
    """Three significant digits; more before the point stay.

    Example:
        >>> _text(0.01234, ""), _text(1234.5, 56.7), _text("", "")
        ('0.0123', '1234 ± 57', '–')
    """
    if isinstance(value, str):
        return "–"
    digits = max(0, 2 - int(f"{value:e}".partition("e")[2]))
    return f"{value:.{digits}f}" + ("" if isinstance(std, str) else f" ± {std:.{digits}f}")
