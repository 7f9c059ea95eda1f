"""The page in a real browser: no errors, no requests, figures that answer, tables that sort, screen and phone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from llpe.report.page import write_page
from llpe.runs import load_runs


@pytest.fixture
def page_file(make_run, add_traces, tmp_path: Path) -> Path:
    for name, scores in (("llpe", [0.9] * 6), ("none", [0.7] * 6), ("rwse", [0.8] * 5)):
        add_traces(make_run("texas", name, scores=scores), filters=12 if name == "llpe" else 5)
    return write_page(load_runs([tmp_path]), tmp_path / "report.html")


@pytest.fixture
def visit(browser, page_file):
    """Opens a page; in the end, nothing may have gone wrong and nothing may have been asked of a network."""
    complaints: list[str] = []
    contexts = []

    def go(file: Path = page_file, **options: Any) -> Any:
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: request.url.startswith("file:") or complaints.append(request.url[:80]))
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-ready]", timeout=60_000)
        return page

    yield go
    for context in contexts:
        context.close()
    assert [each for each in complaints if not each.startswith(("data:", "blob:"))] == []


def order(page: Any) -> list[str]:
    return page.eval_on_selector_all("table.results tbody th", "cells => cells.map(cell => cell.dataset.value)")


def draw_everything(page: Any) -> None:
    page.eval_on_selector_all(".plot", "places => places.forEach(place => draw(place))")


def test_the_keyboard_sorts_the_table(visit):
    page = visit()
    assert order(page) == ["llpe", "rwse", "none"]
    heads = page.locator("table.results thead button")
    heads.nth(0).focus()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    assert order(page) == ["llpe", "none", "rwse"]
    page.keyboard.press("Enter")
    assert order(page) == ["rwse", "none", "llpe"]
    assert page.get_attribute("table.results th:first-child", "aria-sort") == "descending"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert order(page) == ["llpe", "rwse", "none"]
    assert page.locator("th[aria-sort]").count() == 1


def test_another_baseline_gives_other_differences_and_a_missing_number_is_last(visit):
    page = visit()
    cells = page.locator('tr[data-run="1"] td')
    assert cells.all_inner_texts()[2:5] == ["+10.0", "5 of 5", "0.063"]
    page.select_option("select.baseline", label="llpe")
    assert cells.all_inner_texts()[2:5] == ["−10.0", "0 of 5", "0.063"]
    page.locator("thead button", has_text="difference").click()
    assert order(page) == ["rwse", "none", "llpe"]
    page.locator("thead button", has_text="difference").click()
    assert order(page) == ["none", "rwse", "llpe"], "the baseline itself has no difference"


def test_on_a_phone_every_figure_is_drawn_and_nothing_is_wider_than_the_screen(visit):
    page = visit(viewport={"width": 390, "height": 800}, color_scheme="dark")
    draw_everything(page)
    drawn = page.eval_on_selector_all(
        ".plot", "places => places.map(place => place.querySelector('.main-svg') !== null)"
    )
    assert drawn == [True] * 10  # thirds, 3 × filters, 3 × pictures, homophily, 2 × curves
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    right = "places => Math.max(...places.map(place => place.querySelector('svg').getBoundingClientRect().right))"
    assert page.eval_on_selector_all(".plot", right) <= 390
    colour = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(colour) == "rgb(20, 24, 29)"
    page.click("#theme")
    assert page.evaluate(colour) == "rgb(255, 255, 255)"
    assert page.inner_text("#theme") == "dark colours"
    assert page.evaluate("document.querySelector('.plot')._fullLayout.font.color") == "#1b1f24"
    assert "var(" not in page.evaluate("[...document.querySelectorAll('.plot svg')].map(each => each.outerHTML).join()")


@pytest.mark.parametrize("width", [1280, 390])
def test_wide_tables_scroll_inside_the_page(visit, make_run, tmp_path, width):
    for dataset in [f"{name}-{number}" for name in ("cornell", "preferential:n=2000,m=5") for number in range(8)]:
        for size in (8, 16):
            make_run(dataset, "llpe", name=f"order-{size}", root="wide", encoding__order=size)
        make_run(dataset, "none", root="wide")
    file = write_page(load_runs([tmp_path / "wide"]), tmp_path / "wide.html")
    page = visit(file, viewport={"width": width, "height": 800})
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    inner, outer = page.eval_on_selector(".scroll", "place => [place.scrollWidth, place.clientWidth]")
    assert inner > outer, "the table is wider than the page, so that there is something to scroll"


def test_figures_answer(visit):
    page = visit(color_scheme="light")
    page.locator('.plot[data-kind="homophily"]').scroll_into_view_if_needed()
    page.wait_for_selector('.plot[data-kind="homophily"] .points path')
    page.locator('.plot[data-kind="homophily"] .points path').last.hover(force=True)
    page.wait_for_selector(".hovertext")
    assert "% of 48 nodes" in page.locator(".hovertext").first.text_content()
    draw_everything(page)
    named = "places => places.map(place => place.data.map(trace => trace.name))"
    many, few, _ = page.eval_on_selector_all('.plot[data-kind="filters"]', named)
    assert many[1:-1] == ["other filters"] * 8 + ["the 4 strongest filters"] * 4, "of many a few are in colour"
    assert few == ["density of eigenvalues", *["filters"] * 5, "root mean square of all"]
    place = page.locator('.plot[data-kind="picture"]').nth(1)
    assert place.is_visible()
    page.locator(".grid summary").nth(1).click()
    assert not place.is_visible()


def test_without_scripts_the_tables_are_there(browser, page_file):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(page_file.as_uri())
    assert page.locator("table.results tbody tr").count() == 3
    assert "figures need JavaScript" in page.content()
    context.close()
