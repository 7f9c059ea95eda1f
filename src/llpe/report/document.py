"""What the page of a report shows, as plain numbers and texts: read from run folders, thinned to what a screen needs.

Runs are grouped by data set and model; within a group each is compared with each. What a run folder does not have (it
was made before such arrays were kept, or the encoding has no filters) is None, and the page leaves it out.
"""

from __future__ import annotations

import json
import zipfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from llpe.report.collect import Run
from llpe.report.colours import SERIES, THIRDS, looks
from llpe.report.paired import compare_runs
from llpe.report.table import label_runs, make_tables
from llpe.report.thirds import filter_energy, in_words, shares
from llpe.report.verdict import judge

POINTS, PICTURED = 60_000, 2000  # nodes drawn on the page, and in one picture
VALUES, CURVE = 60_000, 150  # points of curves on the page, and of one curve
FILTERS, FILTER = 800, 16  # filters on the page, and of one run: the strongest
EMPTY = 1e-4  # of the mean density: less is the tail of its estimate, and no eigenvalue
BINS = 5  # of local homophily
Arrays = Mapping[str, np.ndarray]


def make_document(runs: Sequence[Run], *, title: str, baseline: str | None = None) -> dict[str, Any]:
    """Everything on the page.

    Args:
        runs: from :func:`~llpe.report.collect.load_runs`.
        title: the heading.
        baseline: label or encoding of the run that the others are compared with at first; default ``none`` if there is
            such a run, else the last.
    """
    groups: dict[tuple[str, str], list[tuple[str, Run]]] = defaultdict(list)
    labels = label_runs(runs)
    for label, run in zip(labels, runs, strict=True):
        groups[run.dataset, run.model].append((label, run))
    known = set(labels) | {run.encoding for run in runs}
    if baseline is not None and baseline not in known:
        raise ValueError(f"`baseline` must be one of {', '.join(sorted(known))}, got {baseline!r}.")
    curves = max(1, sum(len(run.reports) + len(run.failed) for run in runs))
    limits = {
        "points": int(np.clip(POINTS // len(runs), 100, PICTURED)),
        "curve": int(np.clip(VALUES // curves, 20, CURVE)),
        "filters": int(np.clip(FILTERS // len(runs), 2, FILTER)),
    }
    return {
        "title": title,
        "looks": {label: asdict(look) for label, look in looks(labels).items()},
        "colours": {"classes": SERIES, "thirds": THIRDS},
        "overview": [table.as_dict() for table in make_tables(runs)] if len(groups) > 1 else [],
        "groups": [_group(*key, members, baseline or "none", limits) for key, members in groups.items()],
        "remarks": [line for table in make_tables(runs) for line in table.remarks],
    }


def _group(
    dataset: str, model: str, members: list[tuple[str, Run]], baseline: str, limits: dict[str, int]
) -> dict[str, Any]:
    members = sorted(members, key=lambda each: -(each[1].mean or -1.0))
    labels, runs = [label for label, _ in members], [run for _, run in members]
    chosen = [i for i, (label, run) in enumerate(members) if baseline in (label, run.encoding)]
    verdict = judge(runs, labels)
    spectrum = next((found for run in runs if (found := read_arrays(run.path / "spectrum.npz"))), None)
    report: dict[str, Any] = next((each for run in runs for each in run.reports), {})
    return {
        "dataset": dataset,
        "model": model,
        "metric": report.get("metric", "score"),
        "nodes": report.get("num_nodes"),
        "classes": report.get("num_classes"),
        "class_names": report.get("class_names", []),
        "notes": report.get("notes", []),
        "baseline": chosen[0] if chosen else len(runs) - 1,
        "verdict": verdict.sentence if verdict else None,
        "best": verdict.best if verdict else None,
        "level": list(verdict.level) if verdict else [],
        "versus": [[_versus(run, other) for other in runs] for run in runs],
        "spectrum": _spectrum(spectrum),
        "runs": [_run(label, run, spectrum, limits) for label, run in members],
    }


def _versus(run: Run, other: Run) -> dict[str, Any] | None:
    pair = None if run is other else compare_runs(run, other)
    if pair is None:
        return None
    return {
        "wins": pair.wins,
        "losses": pair.losses,
        "common": pair.common,
        "difference": pair.difference,
        "p": pair.p,
    }


def _spectrum(arrays: Arrays | None) -> dict[str, Any] | None:
    if arrays is None:
        return None
    lambdas, density = arrays["lambdas"], arrays["weights"]
    whole = shares(lambdas, density)
    spacing = np.pi / lambdas.size * np.sqrt(lambdas * (2 - lambdas))  # of the nodes 1 + cos, which lie inside (0, 2)
    out: dict[str, Any] = {"lambdas": rounded(lambdas), "density": rounded(density / spacing), "eigenvalues": whole}
    if "labels" in arrays:
        parts = shares(lambdas, arrays["labels"])
        out |= {"labels": parts, "words": in_words("the labels", parts, whole)}
    return out


def _run(label: str, run: Run, spectrum: Arrays | None, limits: dict[str, int]) -> dict[str, Any]:
    best = max(run.reports, key=lambda report: report["val"], default=None)
    folder = None if best is None else run.path / f"split-{best['split']:02d}"
    seconds = [report["seconds"] for report in run.reports if isinstance(report.get("seconds"), int | float)]
    return {
        "label": label,
        "encoding": run.encoding,
        "folder": str(run.path),
        "mean": run.mean,
        "std": run.std,
        "splits": len(run.reports),
        "failed": len(run.failed),
        "unfinished": len(run.unfinished),
        "seconds": float(np.mean(seconds)) if seconds else None,
        "curves": _curves(run, limits["curve"]),
        "filters": _filters(label, run, folder, spectrum, limits["filters"]),
        "homophily": _homophily(run),
        "picture": _picture(folder, best, limits["points"]),
        "config": _config(run),
        "provenance": _provenance(best),
    }


def _config(run: Run) -> str:
    """The text of ``config.toml``, in which a graph's file has its name and not its place on this machine."""
    text = (run.path / "config.toml").read_text(encoding="utf-8")
    return text.replace(json.dumps(run.config["dataset"]), json.dumps(run.dataset), 1)


def _provenance(report: dict[str, Any] | None) -> dict[str, Any]:
    names = ("versions", "commit", "data", "finished", "peak_memory")
    return {name: report[name] for name in names if report and report.get(name) is not None}


def _curves(run: Run, points: int) -> list[dict[str, Any]]:
    """Validation score (in %) and training loss of every split, at no more than so many epochs."""
    out = []
    for report in (*run.reports, *run.failed):
        arrays = read_arrays(run.path / f"split-{report['split']:02d}" / "curves.npz")
        if arrays is None:
            continue
        val = 100 * arrays["val"]
        loss = np.append(arrays["loss"], np.nan)[: val.size]
        best = int(report.get("best_epoch", 0))
        kept = np.unique([*np.linspace(0, val.size - 1, points).astype(int), min(best, val.size - 1)])
        out.append(
            {
                "split": report["split"],
                "best": best if report["status"] == "done" else None,
                "epochs": kept.tolist(),
                "val": rounded(val[kept]),
                "loss": rounded(loss[kept]),
            }
        )
    return out


def _filters(label: str, run: Run, folder: Path | None, spectrum: Arrays | None, count: int) -> dict[str, Any] | None:
    """Filters of the best split, the strongest first, their rms, and the energy of each third, averaged over splits."""
    arrays = None if folder is None else read_arrays(folder / "filters.npz")
    if arrays is None or spectrum is None:
        return None
    lambdas, density = spectrum["lambdas"], spectrum["weights"]
    unit = run.config["encoding"].get("rows") == "unit"
    parts = []
    for report in run.reports:
        each = read_arrays(run.path / f"split-{report['split']:02d}" / "filters.npz")
        if each is not None:
            parts.append(filter_energy(lambdas, density, each["lambdas"], each["response"], unit=unit)[1])
    mean = np.mean(parts, axis=0).tolist()
    weights = np.interp(arrays["lambdas"], lambdas, density)
    there = weights > EMPTY * weights.mean()
    response = turned(arrays["response"], there, unit=unit)
    energy = weights[there] @ np.square(response[there])
    drawn = response[:, np.argsort(-energy, kind="stable")[:count]]
    return {
        "lambdas": rounded(arrays["lambdas"]),
        "response": [rounded(values) for values in drawn.T],
        "range": [float(drawn[there].min()), float(drawn[there].max())],
        "rms": rounded(np.sqrt(np.square(response).mean(axis=1))),
        "count": response.shape[1],
        "unit": unit,
        "shares": mean,
        "words": in_words(f"the filters of {label}", mean, shares(lambdas, density)),
    }


def turned(response: np.ndarray, there: np.ndarray, *, unit: bool) -> np.ndarray:
    """Filters with the sign that makes their largest value positive: h and −h say the same.

    Args:
        response: shape (grid, filters).
        there: where on the grid the graph has eigenvalues; elsewhere a filter may be anything, and does nothing.
        unit: the filters have no scale of their own, and get one: their largest value is 1.

    Example:
        >>> turned(np.array([[1.0], [-4.0], [900.0]]), np.array([True, True, False]), unit=True).ravel().tolist()
        [-0.25, 1.0, -225.0]
    """
    inside = response[there].astype(np.float64)
    peak = inside[np.abs(inside).argmax(axis=0), np.arange(inside.shape[1])]
    return response / np.where(peak == 0, 1.0, peak if unit else np.sign(peak))


def _homophily(run: Run) -> dict[str, list[Any]] | None:
    """The share of test nodes that are classified correctly, by local homophily; all splits together."""
    right, count = np.zeros(BINS), np.zeros(BINS)
    for report in run.reports:
        arrays = read_arrays(run.path / f"split-{report['split']:02d}" / "predictions.npz")
        if arrays is not None:
            known = ~np.isnan(arrays["homophily"])
            bins = np.minimum((arrays["homophily"][known] * BINS + 1e-6).astype(int), BINS - 1)
            count += np.bincount(bins, minlength=BINS)
            right += np.bincount(bins, weights=arrays["correct"][known], minlength=BINS)
    if not count.any():
        return None
    score = np.divide(100 * right, count, out=np.full(BINS, np.nan), where=count > 0)
    return {"count": count.astype(int).tolist(), "score": rounded(score)}


def _picture(folder: Path | None, report: dict[str, Any] | None, points: int) -> dict[str, Any] | None:
    arrays = None if folder is None else read_arrays(folder / "picture.npz")
    if arrays is None or report is None:
        return None
    kept = np.linspace(0, len(arrays["points"]) - 1, min(points, len(arrays["points"]))).astype(int)
    x, y = arrays["points"][kept].T
    share = arrays["share"].round(4).tolist()
    classes = arrays["classes"][kept].tolist()
    return {"x": rounded(x), "y": rounded(y), "classes": classes, "share": share, "split": report["split"]}


def read_arrays(file: Path) -> Arrays | None:
    """The arrays of an ``.npz``, None if there is no such file."""
    if not file.is_file():
        return None
    try:
        with np.load(file, allow_pickle=False) as archive:
            return dict(archive)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{file}: must be a readable .npz file, got {error}. Delete it to go on without.") from error


def rounded(values: np.ndarray) -> list[float | None]:
    """To four digits, so that the page stays small; None where there is no number.

    Example:
        >>> rounded(np.array([0.123456, np.nan, 98765.4]))
        [0.1235, None, 98770.0]
    """
    return [float(f"{value:.4g}") if np.isfinite(value) else None for value in values.tolist()]
