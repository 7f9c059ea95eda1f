"""Promises of the table: right numbers, honest labels, nothing hidden."""

from __future__ import annotations

import csv
import io
import json

import pytest
from typer.testing import CliRunner

from llpe.cli import app
from llpe.runs import load_runs
from llpe.report.render import RENDERERS
from llpe.report.table import Cell, make_tables


@pytest.fixture
def tables(tmp_path):
    """The tables of all runs below ``tmp_path``."""
    return lambda **options: make_tables(load_runs([tmp_path]), **options)


def two_by_two(make_run):
    make_run("cora", "none", scores=[0.70, 0.72])
    make_run("cora", "llpe", scores=[0.80, 0.84])
    make_run("texas", "none", scores=[0.60, 0.60])
    make_run("texas", "llpe", scores=[0.50, 0.55], failed={2: "loss not finite in epoch 3"}, unfinished=[3])


def test_cells_are_means_over_finished_splits(make_run, tables):
    two_by_two(make_run)
    (table,) = tables()
    assert (table.model, table.datasets, table.metrics) == ("mlp", ("cora", "texas"), ("accuracy", "accuracy"))
    header, rows = table.as_text()
    assert header == ["encoding", "cora", "texas", "rank"]
    assert rows == [
        ["llpe", "82.0 ± 2.8 (2)", "52.5 ± 3.5 (2)", "1.5"],
        ["none", "71.0 ± 1.4 (2)", "60.0 ± 0.0 (2)", "1.5"],
    ]
    assert table.best() == {(0, 1), (1, 2)}
    assert table.remarks == (
        "failed: texas, llpe, split 2: loss not finite in epoch 3",
        "unfinished: texas, llpe, split 3",
    )
    assert table.title == "mlp: test accuracy in %, mean ± standard deviation (number of splits)"


def test_rows_are_by_rank_or_as_asked(make_run, tables):
    for encoding, score in (("a", 0.5), ("b", 0.7), ("c", 0.6)):
        make_run("cora", encoding, scores=[score])
    assert [row.encoding for row in tables()[0].rows] == ["b", "c", "a"]
    assert [row.rank for row in tables()[0].rows] == [1, 2, 3]
    assert [row.encoding for row in tables(order=["a", "b"])[0].rows] == ["a", "b", "c"]


def test_ties_share_their_ranks(make_run, tables):
    for encoding, score in (("a", 0.5), ("b", 0.5), ("c", 0.4)):
        make_run("cora", encoding, scores=[score])
    (table,) = tables()
    assert [(row.encoding, row.rank) for row in table.rows] == [("a", 1.5), ("b", 1.5), ("c", 3.0)]
    assert table.best() == {(0, 1), (1, 1)}


def test_ranks_are_over_the_data_sets_that_all_rows_have(make_run, tables):
    make_run("cora", "a", scores=[0.9])
    make_run("cora", "b", scores=[0.8])
    make_run("texas", "a", scores=[0.5])
    (table,) = tables()
    assert table.as_text()[1] == [["a", "90.0 (1)", "50.0 (1)", "1.0"], ["b", "80.0 (1)", "–", "2.0"]]
    assert table.remarks == ("rank: over cora, the data sets that all rows have",)


def test_without_a_common_data_set_there_is_no_rank(make_run, tables):
    make_run("cora", "a", scores=[0.9])
    make_run("texas", "b", scores=[], failed={0: "x"})
    make_run("pubmed", "b", scores=[], unfinished=[1, 2])
    (table,) = tables()
    header, rows = table.as_text()
    assert header == ["encoding", "cora", "pubmed", "texas"]
    assert rows == [["a", "90.0 (1)", "–", "–"], ["b", "–", "unfinished", "failed"]]
    assert "unfinished: pubmed, b, splits 1, 2" in table.remarks


def test_every_model_has_its_table_and_its_scores(make_run, tables):
    make_run("cora", "llpe", "mlp")
    make_run("tolokers", "llpe", "sage", metric="auroc")
    make_run("cora", "llpe", "sage")
    mlp, sage = tables()
    assert (mlp.model, sage.model) == ("mlp", "sage")
    assert sage.as_text()[0] == ["encoding", "cora (accuracy)", "tolokers (auroc)"]
    assert sage.title.startswith("sage: test score in %")


def test_runs_that_differ_in_options_are_told_apart(make_run, tables):
    make_run("cora", "llpe", name="a", encoding__start="heat", training__lr=0.1)
    make_run("cora", "llpe", name="b", encoding__start="step", encoding__order=32, training__lr=0.2)
    make_run("texas", "llpe", name="c", encoding__start="heat", training__lr=0.5)
    make_run("cora", "none", name="d", training__lr=0.1)
    make_run("texas", "none", name="e", training__lr=0.2)  # tuned for its data set: still one row
    (table,) = tables()
    assert sorted(row.encoding for row in table.rows) == ["llpe (start=heat)", "llpe (start=step)", "none"]


def test_runs_of_one_encoding_are_in_one_table_whatever_they_differ_in(make_run, tables):
    make_run("cora", "llpe", "gt", name="a", model__variant="plain", model__hidden=64)
    make_run("cora", "llpe", "gt", name="b", model__variant="strong", model__hidden=64)
    make_run("cora", "none", "gt", name="c", model__variant="plain", model__hidden=64)
    make_run("cora", "rwse", "mlp", name="d", training__fused=True)
    make_run("cora", "rwse", "mlp", name="e")
    gt, mlp = tables()
    assert (gt.model, mlp.model) == ("gt", "mlp")
    assert sorted(row.encoding for row in gt.rows) == ["llpe (variant=plain)", "llpe (variant=strong)", "none"]
    assert sorted(row.encoding for row in mlp.rows) == ["rwse (fused=none)", "rwse (fused=true)"]


def set_config(folder, **values):
    file = folder / "config.toml"
    lines = file.read_text().splitlines()
    kept = [line for line in lines if line.partition(" = ")[0] not in values]
    file.write_text("\n".join([*(f"{key} = {json.dumps(value)}" for key, value in values.items()), *kept]))


def test_a_graph_is_named_after_its_file_wherever_that_is(make_run, tables):
    set_config(make_run("mine", "none", name="0"), dataset="/home/someone/mine.npz", data="a" * 64)
    set_config(make_run("mine", "llpe", name="1"), dataset="mine.npz", data="a" * 64)
    set_config(make_run("mine", "llpe", name="2"), dataset="../mine.npz", data="a" * 64)
    (table,) = tables()
    assert table.datasets == ("mine",)
    assert sorted(row.encoding for row in table.rows) == ["llpe (run=1)", "llpe (run=2)", "none"]


def test_two_graphs_of_one_name_are_told_apart_by_their_content(make_run, tables):
    set_config(make_run("mine", name="0", data="a" * 64), dataset="one/mine.npz", data="a" * 64)
    set_config(make_run("mine", name="1", data="b" * 64), dataset="two/mine.npz", data="b" * 64)
    (table,) = tables()
    assert sorted(row.encoding for row in table.rows) == ["llpe (data=aaaaaaaa)", "llpe (data=bbbbbbbb)"]
    assert table.remarks == ("beware: mine: the runs were made on different data (fingerprints differ)",)


def test_the_same_config_twice_is_refused(make_run, tables):
    make_run(root="one")
    make_run(root="two")
    with pytest.raises(ValueError, match=r"must differ in their configs, got the same one in .*one.* and .*two"):
        tables()


def test_runs_on_other_data_or_splits_are_not_compared_silently(make_run, tables):
    make_run("cora", "a")
    make_run("cora", "b", data="other")
    make_run("texas", "a")
    make_run("texas", "b", splits="other")
    assert tables()[0].remarks == (
        "beware: cora: the runs were made on different data (fingerprints differ)",
        "beware: texas: the runs were made on different splits (fingerprints differ)",
    )


def test_markdown_has_the_best_in_bold(make_run, tables):
    two_by_two(make_run)
    lines = RENDERERS["markdown"](tables()).splitlines()
    assert lines[2:6] == [
        "| encoding | cora | texas | rank |",
        "|---|--:|--:|--:|",
        "| llpe | **82.0 ± 2.8 (2)** | 52.5 ± 3.5 (2) | 1.5 |",
        "| none | 71.0 ± 1.4 (2) | **60.0 ± 0.0 (2)** | 1.5 |",
    ]
    assert lines[7] == "* failed: texas, llpe, split 2: loss not finite in epoch 3"


def test_latex_has_the_best_in_bold_and_escapes(make_run, tables):
    make_run("cora_ml", "llpe", scores=[0.8, 0.84], name="a", encoding__k="5%")
    make_run("cora_ml", "llpe", scores=[0.7], name="b", encoding__k="6%")
    make_run("texas", "none", scores=[], failed={0: "x"})
    text = RENDERERS["latex"](tables())
    assert r"encoding & cora\_ml & texas \\" in text
    assert r"llpe (k=5\%) & \textbf{\boldmath $82.0 \pm 2.8$} {\scriptsize(2)} & -- \\" in text
    assert r"llpe (k=6\%) & $70.0$ {\scriptsize(1)} & -- \\" in text
    assert r"none & -- & failed \\" in text
    assert text.count(r"\begin{tabular}{lrr}") == text.count(r"\end{tabular}") == 1
    assert text.splitlines()[-1] == "% failed: texas, none, split 0: x"


def test_csv_has_all_digits(make_run, tables):
    two_by_two(make_run)
    rows = list(csv.DictReader(io.StringIO(RENDERERS["csv"](tables()))))
    assert len(rows) == 4
    first = rows[0]
    assert (first["model"], first["encoding"], first["dataset"], first["metric"]) == ("mlp", "llpe", "cora", "accuracy")
    assert float(first["mean"]) == pytest.approx(0.82, abs=1e-15)
    assert float(first["std"]) == pytest.approx(0.04 / 2**0.5)
    assert (first["splits"], first["best"]) == ("2", "True")
    assert (rows[1]["failed"], rows[1]["unfinished"]) == ("1", "1")


def test_a_cell_without_a_mean_says_why():
    assert Cell(None, None, 0, 0, 2).as_text() == "unfinished"
    assert Cell(None, None, 0, 1, 2).as_text() == "failed"


def command(*arguments):
    return CliRunner().invoke(app, ["table", *map(str, arguments)])


def test_the_command_prints_the_table(make_run, tmp_path):
    two_by_two(make_run)
    make_run("cora", "none", "sage")
    result = command(tmp_path / "runs")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "mlp: test accuracy in %, mean ± standard deviation (number of splits)",
        "encoding            cora           texas  rank",
        "llpe      82.0 ± 2.8 (2)  52.5 ± 3.5 (2)   1.5",
        "none      71.0 ± 1.4 (2)  60.0 ± 0.0 (2)   1.5",
        "failed: texas, llpe, split 2: loss not finite in epoch 3",
        "unfinished: texas, llpe, split 3",
        "",
        "sage: test accuracy in %, mean ± standard deviation (number of splits)",
        "encoding            cora",
        "none      85.0 ± 7.1 (2)",
    ]


@pytest.mark.parametrize("arguments", [["--json"], ["--format", "json"]])
def test_the_command_prints_one_json_document(make_run, tmp_path, arguments):
    two_by_two(make_run)
    (table,) = json.loads(command(tmp_path, *arguments).stdout)
    assert table["metrics"] == {"cora": "accuracy", "texas": "accuracy"}
    assert table["rows"][0]["cells"]["texas"] == {
        "mean": 0.525,
        "std": pytest.approx(0.05 / 2**0.5),
        "splits": 2,
        "failed": 1,
        "unfinished": 1,
        "best": False,
    }
    assert len(table["remarks"]) == 2


@pytest.mark.parametrize("form", sorted(RENDERERS))
def test_the_command_prints_every_format(make_run, tables, tmp_path, form):
    two_by_two(make_run)
    assert command(tmp_path, "--format", form).stdout == RENDERERS[form](tables()) + "\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["."], "`runs` must hold run folders"),
        (["nowhere"], "`runs` must be folders, got 'nowhere', which is none."),
        ([".", "--format", "xml"], "`format` must be one of text, json, markdown, latex, csv, got 'xml'."),
        ([], "Missing argument 'RUNS'. See `llpe table --help`."),
    ],
)
def test_the_command_refuses_in_words(tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    result = command(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert says in result.stderr


def test_the_command_names_a_damaged_file(make_run, tmp_path):
    (make_run() / "split-00" / "report.json").write_text("{")
    result = command(tmp_path)
    assert result.exit_code == 2
    assert "split-00/report.json: must be a readable JSON file" in result.stderr
