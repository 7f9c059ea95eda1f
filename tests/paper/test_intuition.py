"""Promises of the opening figures: what they show is also a number, and the number is the paper's point."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from llpe.paper import Context, find_study, intuition


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("intuition")
    return find_study("intuition").run(Context("standard", folder / "runs", folder / "out", workers=1))


def test_the_planes_show_what_the_paper_says(written):
    planes: dict[str, list[dict[str, str]]] = {}
    with written[0].open(newline="") as lines:
        for row in csv.DictReader(lines):
            planes.setdefault(row["plane"], []).append(row)
    shares = {}
    for plane, rows in planes.items():
        assert len(rows) == 2000
        points = np.array([[float(row["x"]), float(row["y"])] for row in rows])
        shares[plane] = intuition.told_apart(points, np.array([int(row["class"]) for row in rows]))
    same, differ, learned = shares.values()
    assert same > 0.95
    assert differ < 0.7
    assert learned > 0.95


def test_two_figures_and_tables_are_written(written):
    names = [file.name for file in written]
    assert names[:3] == ["intuition.csv", "intuition.md", "intuition.tex"]
    assert names[3:] == [f"intuition-{kind}.{suffix}" for kind in ("lpe", "llpe") for suffix in ("png", "pdf")]
    assert all(file.stat().st_size > 0 for file in written)


def test_a_line_tells_apart_what_it_can():
    square = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    assert intuition.told_apart(square, np.array([0, 1, 0, 1])) == 1.0
    assert intuition.told_apart(square, np.array([0, 1, 1, 0])) == 0.75, "exclusive or"
    assert intuition.told_apart(square, np.array([0, 0, 0, 0])) == 1.0
