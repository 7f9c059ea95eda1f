"""Promises of the page: everything is in it, it is small, it asks no network, and no text of a run can break it."""

import html
import json
import re
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from llpe.report import charts
from llpe.report.page import POINTS, render, write_page
from llpe.report.palette import ENCODINGS, styles
from llpe.runs import RunFolder, load_runs
from llpe.sealed import write_arrays

LIMIT = 6_000_000


@pytest.fixture
def runs(make_run, add_traces, tmp_path):
    """Two graphs; on the first, three encodings on eight splits, one of them with filters."""
    scores = [0.7 + 0.01 * i for i in range(8)]
    for name, gain in (("none", 0.0), ("llpe", 0.1), ("rwse", 0.0)):
        folder = make_run("texas", name, scores=[score + gain for score in scores], unfinished=[9] * (name == "rwse"))
        add_traces(folder)
        if name != "llpe":
            for file in folder.rglob("filters.npz"):
                file.unlink()
    make_run("cora", "none")
    return load_runs([tmp_path])


def texas(runs):
    return {run.encoding: run for run in runs if run.dataset == "texas"}


def own(page):
    """The page without plotly.js."""
    return re.sub(r'type="text/plain">[^<]*<', "", page)


def charts_of(page):
    """Everything that plotly draws."""
    scripts = re.findall(r'<script type="application/json">(.*?)</script>', page, re.S)
    return [trace for script in scripts for trace in json.loads(script)["data"]]


def rows_of(page):
    """The texts of the table of results, row by row."""
    section = own(page)[own(page).index('id="group-1"') :]
    table = section[section.index('<table class="results">') : section.index("</table>")]
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in table.split("<tr")[2:]]
    return [[html.unescape(re.sub(r"<.*?>", "", cell)) for cell in row] for row in rows]


def test_the_page_holds_what_the_folders_hold(runs):
    page = render(runs, title="all")
    assert rows_of(page) == [
        ["llpebest", "83.5 ± 2.4", "8", "+10.0", "8 of 8", "0.008", "1.5"],
        ["none", "73.5 ± 2.4", "8", "–", "–", "–", "1.5"],
        ["rwse", "73.5 ± 2.4", "8", "+0.0", "0 of 8", "1.000", "1.5"],
    ]
    assert "llpe is best with 83.5 % on average, and better than each of the others beyond noise" in page
    kinds = re.findall(r'data-kind="(\w+)"', page)
    assert kinds == ["thirds", "filters", "picture", "picture", "picture", "homophily", "curves", "curves"]
    assert "The energy of the labels is 0 % low, 0 % middle, 100 % high" in page
    for script in re.findall(r'<script type="application/json">(.*?)</script>', page, re.S):
        go.Figure(json.loads(script))  # plotly knows every option
    colours = dict(re.findall(r'data-value="([\w-]+)"><span class="chip" style="background: (#\w+)"', page))
    assert colours == {name: ENCODINGS[name] for name in ("none", "llpe", "rwse")}, "the same as in print"


def test_a_run_has_one_colour_on_the_whole_page(make_run, add_traces, tmp_path):
    for dataset, order in (("cora", 8), ("texas", 8), ("texas", 16)):
        add_traces(make_run(dataset, "llpe", name=str(order), encoding__order=order))
    page = render(load_runs([tmp_path]), title="")
    chips = set(re.findall(r'data-value="([^"]+)"><span class="chip" style="background: (#\w+)"', page))
    lines = {(trace["name"], trace["line"]["color"]) for trace in charts_of(page) if trace["name"].startswith("llpe")}
    assert chips == lines == {("llpe (order=16)", "#D55E00"), ("llpe (order=8)", "#e8a673")}


def test_curves_are_those_of_every_split(runs):
    val, loss = charts.curves_charts(texas(runs), styles(texas(runs)), "accuracy", 20)
    assert len(val["data"]) == len(loss["data"]) == 3 * 8
    assert sorted(trace["name"] for trace in val["data"] if trace["showlegend"]) == ["llpe", "none", "rwse"]
    assert (val["data"][0]["x"][-1], val["data"][0]["y"][-1], loss["layout"]["yaxis"]["type"]) == (30, 99, "log")
    assert len(val["data"][0]["x"]) <= 21


def test_accuracy_by_homophily_counts_every_test_node(runs, make_run):
    trace = charts.homophily_chart(texas(runs), styles(texas(runs)))["data"][0]
    assert trace["customdata"] == [8 * 8, 8 * 8, 8 * 7, 8 * 8, 8 * 8]
    assert (trace["y"][0], trace["y"][-1]) == (0, 100)
    assert trace["line"]["color"] == ENCODINGS[trace["name"]]
    folder = make_run("few", scores=[0.5])
    arrays = {"homophily": np.array([0.1, 0.9]), "correct": np.array([True, False])}
    write_arrays(folder / "split-00" / "predictions.npz", arrays)
    trace = charts.homophily_chart({"llpe": RunFolder.read(folder)}, styles(["llpe"]))["data"][0]
    assert trace["y"] == [100, None, None, None, 0], "bins without a node leave a gap"


def test_a_picture_has_a_colour_for_each_class(runs):
    traces = charts.picture_chart(texas(runs)["llpe"], ["left"], 2000)["data"]
    assert [trace["name"] for trace in traces] == ["no label", "left", "class 1"]
    assert sum(len(trace["x"]) for trace in traces) == 40


def test_a_density_integrates_to_one(runs):
    llpe = texas(runs)["llpe"]
    spectrum = llpe.arrays("spectrum")
    chart = charts.filters_chart(charts.read_filters(llpe, spectrum), "#D55E00", spectrum, 16)
    density = next(trace for trace in chart["data"] if trace["name"] == "density of eigenvalues")
    assert np.trapezoid(density["y"], density["x"]) == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("rows", ["unit", "plain"])
def test_filters_are_scaled_by_what_they_do_at_eigenvalues_and_their_peak_is_up(make_run, rows):
    lambdas = 1 - np.cos(np.pi * (np.arange(201) + 0.5) / 201)
    inside = (lambdas < 1.6).astype(float)  # where the graph has eigenvalues
    low, high = -3 * np.exp(-2 * lambdas), 0.1 * np.exp(9 * (lambdas - 1.6))  # the second grows where there are none
    folder = make_run(encoding__rows=rows)
    for place in folder.glob("split-*"):
        write_arrays(place / "filters.npz", {"lambdas": lambdas, "response": np.stack([high, low], axis=1)})
    spectrum = {"lambdas": lambdas, "weights": inside / inside.sum() + 1e-9}
    found = charts.read_filters(RunFolder.read(folder), spectrum)
    strongest, other = found.response.T
    peak = 1 if rows == "unit" else 3
    assert strongest[0] == pytest.approx(peak, rel=0.01)
    assert max(other) > 3, "where there are no eigenvalues a filter leaves the figure"
    bottom, top = charts.filters_chart(found, "#D55E00", spectrum, 16)["layout"]["yaxis"]["range"]
    assert (bottom, top) == pytest.approx((-0.08 * peak, 1.08 * peak), abs=0.06)
    assert found.shares[0] == pytest.approx({"unit": 0.5, "plain": 0.95}[rows], abs=0.05)


def test_old_run_folders_without_arrays_have_a_page_too(make_run, tmp_path):
    for encoding in ("none", "llpe"):
        make_run("/home/someone/graphs/mine.npz", encoding)
    page = write_page(load_runs([tmp_path]), tmp_path / "page.html").read_text()
    assert "data-kind" not in own(page)
    assert "In short." in page
    assert "<h1>Encodings compared: mine</h1>" in page
    assert "/home/someone" not in page, "a graph has the name of its file, and no path of this machine"


def test_the_page_is_small_and_whole(runs, tmp_path):
    file = write_page(runs, tmp_path / "report.html")
    text = file.read_text(encoding="utf-8")
    assert 1_000_000 < file.stat().st_size < LIMIT
    assert "http" not in own(text)
    assert "src=" not in own(text)
    assert 'href="#group-1"' in text
    assert "unfinished: texas, rwse, split 9" in text
    assert "{{" not in own(text), "a place in the template was left empty"
    assert write_page(runs, tmp_path / "again.html").read_bytes() == file.read_bytes()


def test_a_hundred_runs_stay_below_the_limit(make_run, add_traces):
    folder = make_run("cora", "llpe", scores=[0.8])
    add_traces(folder, filters=64, epochs=2000, nodes=2000)
    run = RunFolder.read(folder)
    many = [replace(run, config={**run.config, "dataset": f"graph {i}"}) for i in range(100)]
    page = render(many, title="many")
    assert len(page.encode()) < LIMIT
    assert sum(len(trace["x"]) for trace in charts_of(page) if trace.get("mode") == "markers") <= POINTS


def test_no_text_of_a_run_can_break_the_page(make_run, add_traces, tmp_path):
    add_traces(make_run("<b>{{title}}", "none", name="0", model__note="</script></pre><i>&"))
    make_run("<b>{{title}}", "</script>", name="1")
    page = write_page(load_runs([tmp_path]), tmp_path / "page.html", title="<u> & co").read_text()
    assert "<b>" not in page
    assert "<i>" not in page
    assert "<title>&lt;u&gt; &amp; co</title>" in page
    assert "&lt;b&gt;{{title}}" in page
    scripts = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.S)
    assert [type(json.loads(script)) for script in scripts] == [list, *[dict] * 6]


def test_a_baseline_can_be_chosen_by_encoding_or_label(runs):
    assert rows_of(render(runs, title="", baseline="rwse"))[2][3:6] == ["–", "–", "–"]
    with pytest.raises(ValueError, match="`baseline` must be one of llpe, none, rwse, got 'lpe'"):
        render(runs, title="", baseline="lpe")


def test_a_broken_array_is_named(runs):
    (texas(runs)["llpe"].split(3) / "curves.npz").write_bytes(b"PK not really")
    with pytest.raises(ValueError, match=r"split-03/curves.npz: must be as it was written"):
        render(runs, title="")
