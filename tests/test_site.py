"""The documentation site builds without a warning, shows every public name, sets its formulas, fits a phone, and
fetches nothing from elsewhere."""

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


def test_no_formula_is_left_as_text(site):
    for page in site.glob("*.html"):
        text = re.sub(r"<(pre|code|script)\b.*?</\1>", "", page.read_text(), flags=re.DOTALL)
        left = re.search(r"\$[^$\n]{0,60}", text)
        assert left is None, f"{page.name}: {left.group()}"


@pytest.mark.parametrize("width", [1280, 390])
def test_pages_fit_the_screen_and_their_formulas_are_set(site, browser, width):
    tab = browser.new_page(viewport={"width": width, "height": 800})
    missing: list[str] = []

    def note(request):
        if "ERR_ABORTED" not in (request.failure or ""):  # going on to the next page ends what is still being fetched
            missing.append(request.url)

    tab.on("requestfailed", note)
    formulas = 0
    for page in sorted(site.glob("*.html")):
        if page.name == "404.html":  # the one page with addresses from the root
            continue
        tab.goto(page.as_uri())
        tab.evaluate("document.fonts.ready")
        assert tab.evaluate("document.scrollingElement.scrollWidth") <= width, page.name
        assert tab.locator(".katex-error").count() == 0, page.name
        places = tab.locator(".arithmatex").count()
        assert tab.locator(".arithmatex > .katex, .arithmatex > .katex-display").count() == places, page.name
        formulas += places
    tab.close()
    assert formulas > 100
    assert not missing


def test_wide_tables_and_formulas_scroll_inside_the_page(site, browser):
    tab = browser.new_page(viewport={"width": 390, "height": 800})
    for name, wide in (("departures", ".md-typeset__scrollwrap"), ("theory", "div.arithmatex")):
        tab.goto((site / f"{name}.html").as_uri())
        tab.wait_for_selector(wide)
        over = "places => places.filter(each => each.scrollWidth > each.clientWidth)"
        style = f"{over}.map(each => getComputedStyle(each).overflowX)"
        assert set(tab.eval_on_selector_all(wide, style)) == {"auto"}, name
    tab.close()
