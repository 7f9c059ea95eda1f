"""Promises of reading run folders: all that is there, each once, and damage is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from llpe.runs import load_runs
from llpe.sealed import write_json, write_text


def test_a_run_is_read(make_run, tmp_path):
    folder = make_run(scores=[0.8, 0.9, 0.7], failed={3: "loss not finite"}, unfinished=[5, 4], encoding__dim=64)
    (folder / "notes").mkdir()
    (folder / "split-zz").mkdir()
    (folder / "split-09").touch()  # a file is no split
    (run,) = load_runs([tmp_path / "runs"])
    assert run.path == folder
    assert (run.dataset, run.encoding, run.model, run.metric) == ("texas", "llpe", "mlp", "accuracy")
    assert run.config["encoding"] == {"name": "llpe", "dim": 64}
    assert run.scores == (0.8, 0.9, 0.7)
    assert run.mean == pytest.approx(0.8)
    assert run.std == pytest.approx(0.1)  # dividing by splits − 1
    assert run.best_split() == 1
    assert [report["reason"] for report in run.failed] == ["loss not finite"]
    assert run.unfinished == (4, 5)


def test_one_split_has_no_deviation_and_none_no_mean(make_run, tmp_path):
    make_run("a", scores=[0.5])
    make_run("b", scores=[], unfinished=[0])
    one, none = load_runs([tmp_path])
    assert (one.mean, one.std) == (0.5, None)
    assert (none.mean, none.std, none.metric) == (None, None, None)


def test_every_run_is_read_once_whatever_the_paths(make_run, tmp_path):
    first, second = make_run("b"), make_run("a")
    (first / ".x1.partial").mkdir()
    (first / ".x1.partial" / "config.toml").write_text("half of a con")  # which is being written
    runs = load_runs([first, str(tmp_path / "runs"), second])
    assert [run.path for run in runs] == [first, second]
    assert [run.path for run in load_runs([tmp_path])] == [second, first]


def test_splits_come_in_the_order_of_their_numbers(make_run, tmp_path):
    make_run(scores=[i / 200 for i in range(102)])
    (run,) = load_runs([tmp_path])
    assert [report["split"] for report in run.reports] == list(range(102))


def test_missing_and_empty_folders_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"`runs` must be folders, got .*nowhere', which is none"):
        load_runs([tmp_path / "nowhere"])
    with pytest.raises(ValueError, match=r"must hold run folders \(with a config.toml\), got none below"):
        load_runs([tmp_path])
    with pytest.raises(ValueError, match="got none below nothing"):
        load_runs([])


CONFIG, REPORT = "config.toml", "split-01/report.json"
DONE = {"status": "done", "metric": "accuracy", "train": 1, "val": 1, "test": 1}


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        (CONFIG, b"dataset = 'edited'", r"config\.toml: must be as it was written, .* damaged or was edited"),
        (CONFIG, "dataset = 'a'\n[model]\nname = 'm'", r"config\.toml: must have a table \[encoding\] with a name"),
        (CONFIG, "dataset = 'a'\nencoding = 3", r"must have a table \[encoding\] with a name"),
        (CONFIG, "[encoding]\nname = 'x'\n[model]\nhidden = 3", r"must have a table \[model\] with a name"),
        (CONFIG, "[encoding]\nname = 'x'\n[model]\nname = 'y'", r"toml: must name its `dataset`, got None"),
        (REPORT, b'{"status": "do', r"split-01/report\.json: must be as it was written, .* Delete the"),
        (REPORT, {}, r"split-01/report\.json: `status` must be 'done' or 'failed', got None"),
        (REPORT, DONE | {"test": None}, "`test` must be a finite number"),
        (REPORT, DONE | {"val": float("nan")}, "`val` must be a finite"),
        (REPORT, DONE | {"train": True}, "`train` must be a finite number"),
        (REPORT, DONE | {"metric": None}, "`metric` must be a name, got None"),
        (REPORT, DONE | {"metric": "auroc"}, "all splits must have one metric, got accuracy, auroc"),
    ],
)
def test_a_damaged_file_is_named(make_run, tmp_path, file, content, says):
    write = {bytes: Path.write_bytes, str: write_text, dict: write_json}[type(content)]
    write(make_run() / file, content)
    with pytest.raises(ValueError, match=says):
        load_runs([tmp_path])


def test_reading_runs_and_reporting_them_needs_no_torch(make_run, add_traces, tmp_path, run_python):
    add_traces(make_run())
    run_python(f"""
import sys
from llpe.runs import load_runs
from llpe.report import figures, tables
from llpe.report.page import write_page
runs = load_runs([{str(tmp_path / "runs")!r}])
tables.make_tables(runs)
write_page(runs, {str(tmp_path / "page.html")!r})
assert not {{"torch", "llpe.lab"}} & set(sys.modules)
""")
