"""Promises of tables: right numbers, honest labels, nothing hidden, and the same cells in every form."""

from __future__ import annotations

import csv
import io
import json

import pytest
from typer.testing import CliRunner

from llpe.cli import app
from llpe.report.tables import Table, make_tables, percent
from llpe.runs import load_runs
from llpe.sealed import write_text


@pytest.fixture
def tables(tmp_path):
    """The tables of all runs below ``tmp_path``."""
    return lambda: make_tables(load_runs([tmp_path]))


@pytest.fixture
def two_by_two(make_run):
    make_run("cora", "none", scores=[0.70, 0.72])
    make_run("cora", "llpe", scores=[0.80, 0.84])
    make_run("texas", "none", scores=[0.60, 0.60])
    make_run("texas", "llpe", scores=[0.50, 0.55], failed={2: "loss not finite in epoch 3"}, unfinished=[3])


def names(table):
    return [row[0] for row in table.rows]


def test_cells_are_means_over_finished_splits(two_by_two, tables):
    (table,) = tables()
    assert table.metrics == {"cora": "accuracy", "texas": "accuracy"}
    assert table.header == ["encoding", "cora", "texas", "rank"]
    assert table.rows == [
        ["llpe", "**82.0 ± 2.8 (2)**", "52.5 ± 3.5 (2)", "1.5"],
        ["none", "71.0 ± 1.4 (2)", "**60.0 ± 0.0 (2)**", "1.5"],
    ]
    assert table.remarks == [
        "failed: texas, llpe, split 2: loss not finite in epoch 3",
        "unfinished: texas, llpe, split 3",
    ]
    assert table.title == "mlp: test accuracy in %, mean ± standard deviation (number of splits)"


def test_rows_are_by_rank_and_ties_share_theirs(make_run, tables):
    for encoding, score in (("c", 0.4), ("b", 0.5), ("a", 0.5), ("d", 0.7)):
        make_run("cora", encoding, scores=[score])
    (table,) = tables()
    assert table.ranks == {"d": 1.0, "a": 2.5, "b": 2.5, "c": 4.0}
    assert names(table) == list(table.ranks)


def test_ranks_are_over_the_data_sets_that_all_rows_have(make_run, tables):
    make_run("cora", "a", scores=[0.9])
    make_run("cora", "b", scores=[0.8])
    make_run("texas", "a", scores=[0.5])
    (table,) = tables()
    assert table.rows == [["a", "**90.0 (1)**", "**50.0 (1)**", "1.0"], ["b", "80.0 (1)", "–", "2.0"]]
    assert table.remarks == ["rank: over cora, the data sets that all rows have"]


def test_without_a_common_data_set_there_is_no_rank_and_no_mean_is_explained(make_run, tables):
    make_run("cora", "a", scores=[0.9])
    make_run("texas", "b", scores=[], failed={0: "x"}, unfinished=[1])
    make_run("pubmed", "b", scores=[], unfinished=[1, 2])
    (table,) = tables()
    assert table.header == ["encoding", "cora", "pubmed", "texas"]
    assert table.rows == [["a", "**90.0 (1)**", "–", "–"], ["b", "–", "unfinished", "failed"]]
    assert "unfinished: pubmed, b, splits 1, 2" in table.remarks
    assert [row["rank"] for row in table.as_dict()["rows"]] == [None, None]


def test_every_model_has_its_table_and_its_scores(make_run, tables):
    make_run("cora", "llpe", "mlp")
    make_run("tolokers", "llpe", "sage", metric="auroc")
    make_run("cora", "llpe", "sage")
    mlp, sage = tables()
    assert mlp.title.startswith("mlp: test accuracy in %")
    assert sage.title.startswith("sage: test score in %")
    assert sage.header == ["encoding", "cora (accuracy)", "tolokers (auroc)"]


def test_runs_that_differ_in_options_are_told_apart(make_run, tables):
    make_run("cora", "llpe", name="a", encoding__start="heat", training__lr=0.1)
    make_run("cora", "llpe", name="b", encoding__start="step", encoding__order=32, training__lr=0.2)
    make_run("texas", "llpe", name="c", encoding__start="heat", training__lr=0.5)
    make_run("cora", "none", name="d", training__lr=0.1)
    make_run("texas", "none", name="e", training__lr=0.2)  # tuned for its data set: still one row
    make_run("cora", "rwse", "gt", name="f", model__variant="plain", model__hidden=64)
    make_run("cora", "rwse", "gt", name="g", model__variant="strong", model__hidden=64)
    make_run("cora", "rwse", "sage", name="h", training__fused=True)
    make_run("cora", "rwse", "sage", name="i")
    found = {table.title.partition(":")[0]: sorted(names(table)) for table in tables()}
    assert found == {
        "mlp": ["llpe (start=heat)", "llpe (start=step)", "none"],
        "gt": ["rwse (variant=plain)", "rwse (variant=strong)"],
        "sage": ["rwse (fused=none)", "rwse (fused=true)"],
    }


def set_config(folder, **values):
    file = folder / "config.toml"
    kept = [line for line in file.read_text().splitlines() if line.partition(" = ")[0] not in values]
    write_text(file, "\n".join([*(f"{key} = {json.dumps(value)}" for key, value in values.items()), *kept]))


def test_a_graph_is_named_after_its_file_wherever_that_is(make_run, tables):
    set_config(make_run("mine", "none", name="0"), dataset="/home/someone/mine.npz", data="a" * 64)
    set_config(make_run("mine", "llpe", name="1"), dataset="mine.npz", data="a" * 64)
    set_config(make_run("mine", "llpe", name="2"), dataset="../mine.npz", data="a" * 64)
    (table,) = tables()
    assert list(table.metrics) == ["mine"]
    assert sorted(names(table)) == ["llpe (run=1)", "llpe (run=2)", "none"]


def test_two_graphs_of_one_name_are_told_apart_by_their_content(make_run, tables):
    set_config(make_run("mine", name="0", data="a" * 64), dataset="one/mine.npz", data="a" * 64)
    set_config(make_run("mine", name="1", data="b" * 64), dataset="two/mine.npz", data="b" * 64)
    (table,) = tables()
    assert sorted(names(table)) == ["llpe (data=aaaaaaaa)", "llpe (data=bbbbbbbb)"]
    assert table.remarks == ["beware: mine: the runs were made on different data (fingerprints differ)"]


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
    assert tables()[0].remarks == [
        "beware: cora: the runs were made on different data (fingerprints differ)",
        "beware: texas: the runs were made on different splits (fingerprints differ)",
    ]


TABLE = Table("Accuracy in %", ["encoding", "a_b"], [["llpe | x", "**1.0 ± 2**"], ["5%", percent(None)]], ["10 splits"])


def test_markdown_has_a_line_for_each_row_and_each_remark():
    assert TABLE.markdown().splitlines() == [
        "**Accuracy in %**",
        "",
        "| encoding | a_b |",
        "|---|--:|",
        "| llpe \\| x | **1.0 ± 2** |",
        "| 5% | – |",
        "",
        "* 10 splits",
    ]


def test_latex_has_the_best_in_bold_and_escapes_what_latex_reads():
    assert TABLE.latex().splitlines() == [
        "% Accuracy in %",
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"encoding & a\_b \\",
        r"\midrule",
        r"llpe | x & \textbf{\textcolor{green!50!black}{1.0 $\pm$ 2}} \\",
        r"5\% & -- \\",
        r"\bottomrule",
        r"\end{tabular}",
        "% 10 splits",
    ]


def command(*arguments):
    return CliRunner().invoke(app, ["table", *map(str, arguments)])


def test_the_command_prints_the_table(make_run, two_by_two, tmp_path):
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


def test_the_command_prints_every_format(two_by_two, tables, tmp_path):
    (table,) = tables()
    for form in ("markdown", "latex"):
        assert command(tmp_path, "--format", form).stdout == getattr(table, form)() + "\n"
    (document,) = json.loads(command(tmp_path, "--json").stdout)
    assert json.loads(command(tmp_path, "--format", "json").stdout) == [document]
    assert (document["model"], document["metrics"]) == ("mlp", {"cora": "accuracy", "texas": "accuracy"})
    assert [(row["encoding"], row["rank"]) for row in document["rows"]] == [("llpe", 1.5), ("none", 1.5)]
    numbers = {"mean": 0.525, "std": pytest.approx(0.05 / 2**0.5), "splits": 2, "failed": 1, "unfinished": 1}
    assert document["rows"][0]["cells"]["texas"] == numbers | {"best": False}
    assert len(document["remarks"]) == 2
    rows = list(csv.DictReader(io.StringIO(command(tmp_path, "--format", "csv").stdout)))
    assert [(row["encoding"], row["dataset"]) for row in rows] == [
        (encoding, dataset) for encoding in ("llpe", "none") for dataset in ("cora", "texas")
    ]
    numbers = {key: pytest.approx(float(rows[0].pop(key))) for key in ("mean", "std")}
    assert numbers == {"mean": 0.82, "std": 0.04 / 2**0.5}, "all digits"
    texts = {"model": "mlp", "encoding": "llpe", "dataset": "cora", "metric": "accuracy"}
    assert rows[0] == texts | {"splits": "2", "failed": "0", "unfinished": "0", "best": "True"}
