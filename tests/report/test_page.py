"""Promises of the page: everything is in it, it is small, it asks no network, and no text of a run can break it."""

import json
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from llpe.report.document import POINTS, make_document, rounded

from llpe.report.page import render, write_page
from llpe.runs import load_runs

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


def test_the_document_holds_what_the_folders_hold(runs):
    document = make_document(runs, title="all")
    cora, texas = document["groups"]
    assert (cora["dataset"], texas["dataset"]) == ("cora", "texas")
    best, *others = texas["runs"]
    assert best["label"] == "llpe"
    assert texas["best"] == 0
    assert texas["level"] == []
    assert [run["label"] for run in others] == ["none", "rwse"]
    assert texas["versus"][0][1] == {
        "wins": 8,
        "losses": 0,
        "common": 8,
        "difference": pytest.approx(0.1),
        "p": 2 / 256,
    }
    assert texas["versus"][1][1] is None
    assert texas["runs"][texas["baseline"]]["label"] == "none"
    assert len(best["curves"]) == 8
    assert best["curves"][0]["epochs"][-1] == 30
    assert best["curves"][0]["val"][-1] == 99
    assert best["homophily"]["count"] == [8 * 8, 8 * 8, 8 * 7, 8 * 8, 8 * 8]
    assert best["homophily"]["score"][0] == 0
    assert best["homophily"]["score"][-1] == 100
    assert best["filters"]["shares"] == pytest.approx([0, 0, 1], abs=0.02)
    assert best["filters"]["response"][0][-1] == 3
    assert others[0]["filters"] is None
    assert texas["spectrum"]["labels"] == pytest.approx([0, 0, 1])
    assert sorted(set(best["picture"]["classes"])) == [-1, 0, 1]


def test_a_density_integrates_to_one(runs):
    spectrum = make_document(runs, title="")["groups"][1]["spectrum"]
    assert np.trapezoid(spectrum["density"], spectrum["lambdas"]) == pytest.approx(1, abs=0.02)


def test_old_run_folders_without_arrays_have_a_page_too(make_run, tmp_path):
    make_run("cora", "none")
    make_run("cora", "llpe")
    page = write_page(load_runs([tmp_path]), tmp_path / "page.html").read_text()
    assert "Training</h3>" not in page
    assert "In short." in page


def test_the_page_is_small_and_whole(runs, tmp_path):
    file = write_page(runs, tmp_path / "report.html")
    text = file.read_text(encoding="utf-8")
    assert 1_000_000 < file.stat().st_size < LIMIT
    own = text.replace(re.search(r'type="text/plain">([^<]*)<', text).group(1), "")
    assert "http" not in own
    assert "src=" not in own
    assert 'href="#group-1"' in own
    assert "unfinished: texas, rwse, split 9" in own
    assert "$" not in re.sub(r"\$\{", "", own), "a place in the template was left empty"
    assert write_page(runs, tmp_path / "again.html").read_bytes() == file.read_bytes()


def test_a_hundred_runs_stay_below_the_limit(make_run, add_traces, tmp_path):
    folder = make_run("cora", "llpe", scores=[0.8])
    add_traces(folder, filters=64, epochs=2000, nodes=2000)
    (run,) = load_runs([folder])
    many = [replace(run, config={**run.config, "dataset": f"graph {i}"}) for i in range(100)]
    document = make_document(many, title="many")
    assert sum(len(group["runs"][0]["picture"]["x"]) for group in document["groups"]) <= POINTS
    assert len(render(document).encode()) < LIMIT


def test_no_text_of_a_run_can_break_the_page(make_run, tmp_path):
    make_run("<b>$title", "none", name="0", model__note="</script></pre><i>&")
    page = write_page(load_runs([tmp_path]), tmp_path / "page.html", title="<u> & co").read_text()
    assert "<b>" not in page
    assert "<i>" not in page
    assert "<title>&lt;u&gt; &amp; co</title>" in page
    document = re.search(r'type="application/json">(.*?)</script>', page, re.S).group(1)
    assert json.loads(document)["groups"][0]["dataset"] == "<b>$title"


def test_a_baseline_can_be_chosen_by_encoding_or_label(runs):
    assert make_document(runs, title="", baseline="rwse")["groups"][1]["baseline"] == 2
    with pytest.raises(ValueError, match="`baseline` must be one of llpe, none, rwse, got 'lpe'"):
        make_document(runs, title="", baseline="lpe")


def test_a_broken_array_is_named(runs):
    file = next(run for run in runs if run.encoding == "llpe").path / "split-03" / "curves.npz"
    file.write_bytes(b"PK not really")
    with pytest.raises(ValueError, match=r"split-03/curves.npz: must be a readable .npz file"):
        make_document(runs, title="")


def test_the_page_must_be_html(runs, tmp_path):
    with pytest.raises(ValueError, match=r"`path` must end in .html, got .*report.pdf"):
        write_page(runs, tmp_path / "report.pdf")


def test_writing_a_page_needs_no_torch(runs, tmp_path):
    code = f"""
import sys
from llpe.runs import load_runs
from llpe.report.page import write_page
write_page(load_runs([{str(tmp_path / "runs")!r}]), {str(tmp_path / "page.html")!r})
assert "torch" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_numbers_are_rounded_and_holes_kept():
    assert rounded(np.array([np.inf, -0.000123456, 1.0])) == [None, -0.0001235, 1.0]


def test_a_graph_has_the_name_of_its_file_and_no_path_of_this_machine(make_run, add_traces, tmp_path):
    add_traces(make_run("/home/someone/graphs/mine.npz", "none"))
    page = write_page(load_runs([tmp_path]), tmp_path / "page.html").read_text()
    assert "<h1>Encodings compared: mine</h1>" in page
    assert "/home/someone" not in page


@pytest.mark.parametrize("rows", ["unit", "plain"])
def test_filters_are_scaled_by_what_they_do_at_eigenvalues_and_their_peak_is_up(make_run, tmp_path, rows):
    lambdas = 1 - np.cos(np.pi * (np.arange(201) + 0.5) / 201)
    inside = (lambdas < 1.6).astype(float)  # where the graph has eigenvalues
    low, high = -3 * np.exp(-2 * lambdas), 0.1 * np.exp(9 * (lambdas - 1.6))  # the second grows where there are none
    folder = make_run(encoding__rows=rows)
    np.savez(folder / "spectrum.npz", lambdas=lambdas, weights=inside / inside.sum() + 1e-9)
    for place in folder.glob("split-*"):
        np.savez(place / "filters.npz", lambdas=lambdas, response=np.stack([high, low], axis=1))
    (group,) = make_document(load_runs([tmp_path]), title="T")["groups"]
    found = group["runs"][0]["filters"]
    strongest, other = found["response"]
    peak = 1 if rows == "unit" else 3
    assert strongest[0] == pytest.approx(peak, rel=0.01)
    assert found["range"] == pytest.approx([0, peak], abs=0.03)
    assert max(other) > 3, "where there are no eigenvalues a filter leaves the figure"
    assert found["shares"][0] == pytest.approx({"unit": 0.5, "plain": 0.95}[rows], abs=0.05)
