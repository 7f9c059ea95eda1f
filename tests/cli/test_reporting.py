"""report and compare: as a newcomer would call them."""

import json

import numpy as np
import pytest

from llpe.cli import comparison
from llpe.cli.comparison import ENCODINGS, SPLITS, quick_configs
from llpe.data import sbm
from llpe.report.verdict import enough_splits

QUICK = {"lr": 0.02, "epochs": 6, "patience": 6}


@pytest.fixture
def quick(monkeypatch):
    """Comparisons of two encodings, in few epochs."""
    monkeypatch.setattr(comparison, "TRAINING", QUICK)
    monkeypatch.setattr(comparison, "ENCODINGS", (ENCODINGS[0], {"name": "llpe", "dim": 8, "order": 8}))


@pytest.fixture
def trained(llpe, tmp_path, quick):
    """A comparison on two splits, and its folder."""
    result = llpe("compare", "sbm:n=80", "--splits", 2, "--runs", tmp_path / "runs", "-o", tmp_path / "page.html")
    assert result.exit_code == 0, result.output
    return result, tmp_path


def test_compare_answers_the_question_and_says_where_the_page_is(trained):
    result, folder = trained
    assert "mlp: test accuracy in %" in result.stdout
    assert result.stderr.count("note: sbm:n=80: each column of the features is scaled to mean 0") == 1
    assert "Which encoding? " in result.stdout
    assert "2 common splits are too few for the paired test: it needs 6." in result.stdout
    assert "With 2 splits p is never below 0.5: nothing can be told from noise." in result.stdout
    assert f"wrote {folder / 'page.html'}" in result.stdout
    page = (folder / "page.html").read_text()
    assert "<h1>Which encoding for sbm:n=80?</h1>" in page
    assert page.count('data-kind="filters"') == 1
    assert page.count('data-kind="picture" data-run=') == 1


def test_compare_goes_on_where_it_was_and_speaks_json(trained, llpe, monkeypatch):
    _, folder = trained
    monkeypatch.setattr("llpe.lab.train.make_optimiser", None)
    again = llpe("compare", "sbm:n=80", "--splits", 2, "--runs", folder / "runs", "-o", folder / "page.html", "--json")
    assert again.exit_code == 0, again.output
    document = json.loads(again.stdout)
    assert set(document) == {"answer", "limits", "splits", "tables", "page"}
    assert document["splits"] == {"kind": "random", "count": 2}


@pytest.fixture
def masked(tmp_path):
    """A graph file with three splits of its own, and the lists of their training nodes."""
    data, rng = sbm(n=80), np.random.default_rng(0)
    part = np.stack([rng.permutation(80) % 4 for _ in range(3)])
    masks = {"train_masks": part < 2, "val_masks": part == 2, "test_masks": part == 3}
    (tmp_path / "place").mkdir()
    path = tmp_path / "place" / "mine.npz"
    np.savez(path, x=data.x.numpy(), y=data.y.numpy(), edge_index=data.edge_index.numpy(), **masks)
    return path, part


def test_compare_uses_the_splits_of_the_file_and_names_the_graph_after_it(masked, quick, llpe, tmp_path):
    path, part = masked
    result = llpe("compare", path, "--runs", tmp_path / "runs", "-o", tmp_path / "page.html", "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["splits"] == {"kind": "official", "count": 3}
    assert "note: mine: own splits are used, 3 of them; --splits 8 asks for random ones." in result.stderr
    kept = sorted(tmp_path.glob("runs/mine/none+mlp/*/split-0*/split.npz"))
    assert [np.load(file)["train"].tolist() for file in kept] == (part < 2).tolist()
    assert list(document["tables"][0]["metrics"]) == ["mine"]
    page = (tmp_path / "page.html").read_text()
    assert "<h1>Which encoding for mine?</h1>" in page
    assert str(path) not in page
    again = llpe("compare", path, "--splits", 2, "--runs", tmp_path / "runs", "-o", tmp_path / "page.html", "--json")
    assert json.loads(again.stdout)["splits"] == {"kind": "random", "count": 2}


def test_the_usual_encodings_are_compared_on_enough_splits_to_tell(capsys):
    configs = list(quick_configs("sbm:n=100", 100, model="sage", splits=SPLITS))
    assert [config.encoding.name for config in configs] == ["none", "lpe-fk", "lpe-flk", "rwse", "llpe", "llpe-probes"]
    assert {config.model.name for config in configs} == {"sage"}
    assert enough_splits(len(ENCODINGS) - 1) == SPLITS
    assert capsys.readouterr().err == ""


def test_what_is_too_slow_on_a_large_graph_is_left_out_and_said(capsys):
    configs = list(quick_configs("sbm:n=100", 30_000, model="mlp", splits=2))
    assert [config.encoding.name for config in configs] == ["none", "lpe-fk", "lpe-flk", "llpe-probes"]
    notes = capsys.readouterr().err
    assert "rwse is left out: it is slow beyond 20000 nodes, and this graph has 30000." in notes
    assert "llpe is left out: it is slow beyond 5000 nodes" in notes


def test_report_writes_a_page_about_any_runs(trained, llpe):
    _, folder = trained
    result = llpe("report", folder / "runs", "-o", folder / "report.html", "--baseline", "llpe", "--title", "Mine")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(f"wrote {folder / 'report.html'} (")
    assert "2 runs" in result.stdout
    assert "<h1>Mine</h1>" in (folder / "report.html").read_text()
    document = json.loads(llpe("report", folder / "runs", "-o", folder / "report.html", "--json").stdout)
    assert document["runs"] == 2
    assert document["bytes"] == (folder / "report.html").stat().st_size


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["report", "nowhere"], "`runs` must be folders"),
        (["report", ".", "-o", "report.pdf"], "`output` must end in one of .html, .htm"),
        (["compare", "sbm:n=80", "-o", "no/such/folder/page.html"], "`output` must be in an existing folder"),
        (["compare", "sbm:n=80", "--model", "mlpp"], "mlpp"),
        (["compare", "sbm:n=80", "--splits", "0"], "splits.count"),
    ],
)
def test_bad_requests_are_refused_in_words(llpe, arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = llpe(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr
