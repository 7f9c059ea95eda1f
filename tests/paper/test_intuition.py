"""Promises of the opening figures: what they show is also a number, and the number is the paper's point."""

import numpy as np
import pandas as pd

from llpe.paper import run_study
from llpe.paper.base import merge, settings_of
from llpe.paper.intuition import separated


def test_the_planes_show_what_the_paper_says(context):
    settings = merge(settings_of("intuition", "quick"), {"training": {"epochs": 200}})
    written = run_study("intuition", context, settings)
    planes = pd.read_csv(written[0]).groupby("plane", sort=False)
    assert list(planes.size()) == [400] * 3
    same, differ, learned = (separated(each[["x", "y"]].to_numpy(), each["class"].to_numpy()) for _, each in planes)
    assert min(same, learned) > 0.95
    assert differ < 0.7
    names = ["intuition.csv", "intuition.md", "intuition.tex"]
    names += [f"intuition-{kind}.{suffix}" for kind in ("lpe", "llpe") for suffix in ("png", "pdf")]
    assert [file.name for file in written] == names
    assert all(file.stat().st_size > 0 for file in written)


def test_a_line_separates_what_it_can():
    square = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    assert separated(square, np.array([0, 1, 0, 1])) == 1.0
    assert separated(square, np.array([0, 1, 1, 0])) == 0.75, "exclusive or"
    assert separated(square, np.array([0, 0, 0, 0])) == 1.0
