"""What is published says what the files in results/ say."""

from pathlib import Path

import pytest

from llpe.report.experiments import experiments_page, summary
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
