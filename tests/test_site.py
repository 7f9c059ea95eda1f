"""The documentation site builds without a warning, shows every public name, and fetches nothing from elsewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import llpe

pytest.importorskip("mkdocs", reason="mkdocs is not installed: pip install 'llpe[dev]'")
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    # not --quiet: with it, mkdocs counts no warnings, and --strict has nothing to refuse
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}  # the theme's word on the next major version of mkdocs
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "WARNING" not in said
    return folder


def test_the_site_has_every_page(site):
    for path in (ROOT / "docs").glob("*.md"):
        assert (site / path.with_suffix(".html").name).is_file(), path.name


def test_the_reference_has_every_public_name(site):
    text = (site / "api.html").read_text()
    missing = [name for name in llpe.__all__ if f'id="llpe.{name}"' not in text]
    assert not missing


def test_lists_and_tables_are_not_left_as_text(site):
    """GitHub starts a list or a table right after a paragraph, the site wants an empty line between."""
    for page in site.glob("*.html"):
        for paragraph in re.findall(r"<p>(.*?)</p>", page.read_text(), flags=re.DOTALL):
            left = re.search(r"^(?:[*-] |\d+\. |\|).*", paragraph, flags=re.MULTILINE)
            assert left is None, f"{page.name}: {left.group()}"


def test_pages_fetch_nothing_from_elsewhere(site):
    for page in site.glob("*.html"):
        fetched = re.findall(r"<(?:script|img|iframe)[^>]+src=\"?(https?:[^\">]+)", page.read_text())
        fetched += re.findall(r"<link[^>]+rel=\"?stylesheet[^>]+href=\"?(https?:[^\">]+)", page.read_text())
        assert not fetched, page.name
