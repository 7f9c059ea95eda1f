"""What is published says what the files in results/ say."""

from pathlib import Path

import pytest

from llpe.report.experiments import _stragglers, experiments_page, summary
from llpe.report.marks import fill

ROOT = Path(__file__).parents[2]


@pytest.fixture
def results():
    return ROOT / "results"


def test_the_page_of_experiments_is_the_one_that_results_give(results):
    page = ROOT / "docs" / "experiments.md"
    assert page.read_text(encoding="utf-8") == experiments_page(results, to=page), "run `make experiments`"


def test_the_table_of_the_readme_is_the_one_that_results_give(results):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text == fill(text, "results", summary(results)), "run `make experiments`"


def test_a_split_far_below_the_others_is_named():
    cell = {"dataset": "ring", "model": "mlp", "encoding": "none"}
    tests = [80.0, 81.0, 79.0, 30.0]
    rows = [cell | {"split": str(at), "val": "31", "test": str(test)} for at, test in enumerate(tests)]
    (sentence,) = _stragglers(rows)
    assert "ring, mlp, none: split 3 at 30.0 (validation 31.0), the median is 79.5" in sentence
    assert not list(_stragglers(rows[:3]))
