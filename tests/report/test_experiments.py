"""The published page of experiments is what the published results give."""

from pathlib import Path

import pytest

from llpe.report.experiments import experiments_page

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_of_experiments_is_made_from_the_results():
    page = ROOT / "docs" / "experiments.md"
    if not page.is_file():
        pytest.skip("no results are published yet")
    assert page.read_text(encoding="utf-8") == experiments_page(ROOT / "results", to=page), "run `make experiments`"
