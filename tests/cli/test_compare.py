"""compare, demo, table, report: as a newcomer would call them."""

import numpy as np
import pytest

from llpe.cli.compare import SPLITS
from llpe.data import sbm
from llpe.lab.spaces import QUICK, demo_configs, quick_configs
from llpe.report.statistics import enough_splits

SHORT = ["epochs=4", "--workers", 1]
USUAL = [each["name"] for each in QUICK["compare"]["encodings"]]


@pytest.fixture(scope="session")
def compared(llpe, tmp_path_factory):
    """A comparison on two splits, and its folder."""
    folder = tmp_path_factory.mktemp("compared")
    line = ["compare", "sbm:n=80", *SHORT, "--splits", 2, "--runs", folder / "runs", "-o", folder / "page.html"]
    return llpe(*line), folder, line


def test_compare_answers_the_question_and_says_where_the_page_is(compared):
    result, folder, _ = compared
    assert "mlp: test accuracy in %" in result.stdout
    assert result.stderr.count("note: sbm:n=80: each column of the features is scaled to mean 0") == 1
    assert "Which encoding? " in result.stdout
    assert "2 common splits are too few for the paired test: it needs 8." in result.stdout
    assert "With 2 splits p is never below 0.5" in result.stdout
    assert f"wrote {folder / 'page.html'}" in result.stdout
    assert "<h1>Which encoding for sbm:n=80?</h1>" in (folder / "page.html").read_text()


def test_compare_resumes_and_answers_in_json(compared, answer, monkeypatch):
    monkeypatch.setattr("llpe.lab.train.make_optimiser", None)
    document = answer(*compared[2])
    assert set(document) == {"answer", "limits", "splits", "tables", "page"}
    assert document["splits"] == {"kind": "random", "count": 2}
    assert {row["encoding"] for row in document["tables"][0]["rows"]} == set(USUAL)


@pytest.mark.parametrize("command", ["compare", "report"])
def test_a_file_of_another_program_is_not_replaced_without_force(compared, llpe, tmp_path, command):
    page = tmp_path / "notes.html"
    page.write_text("<h1>My notes</h1>")
    line = [*(compared[2][:-1] if command == "compare" else ["report", compared[1] / "runs", "-o"]), page]
    assert "notes.html', which exists. Add --force to replace it." in llpe(*line, code=2).stderr
    assert page.read_text() == "<h1>My notes</h1>"
    llpe(*line, "--force")
    assert "My notes" not in page.read_text()


def test_compare_uses_the_splits_of_the_file_and_names_the_graph_after_it(llpe, answer, tmp_path):
    data, rng = sbm(n=80), np.random.default_rng(0)
    part = np.stack([rng.permutation(80) % 4 for _ in range(3)])
    masks = {"train_masks": part < 2, "val_masks": part == 2, "test_masks": part == 3}
    (tmp_path / "place").mkdir()
    path = tmp_path / "place" / "mine.npz"
    np.savez(path, x=data.x.numpy(), y=data.y.numpy(), edge_index=data.edge_index.numpy(), **masks)
    line = ["compare", path, *SHORT, "--runs", tmp_path / "runs", "-o", tmp_path / "page.html"]
    told = "note: mine: its own splits are used, 3 of them; --splits 8 asks for random ones."
    assert told in llpe(*line).stderr
    document = answer(*line)
    assert document["splits"] == {"kind": "official", "count": 3}
    kept = sorted(tmp_path.glob("runs/mine/none+mlp/*/split-0*/split.npz"))
    assert [np.load(file)["train"].tolist() for file in kept] == (part < 2).tolist()
    assert list(document["tables"][0]["metrics"]) == ["mine"]
    page = (tmp_path / "page.html").read_text()
    assert "<h1>Which encoding for mine?</h1>" in page
    assert str(path) not in page
    assert answer(*line, "--splits", 2)["splits"] == {"kind": "random", "count": 2}


def test_the_usual_encodings_are_compared_on_enough_splits_to_tell():
    configs, left_out = quick_configs("sbm:n=100", 100, model="sage", splits=SPLITS, kind="random")
    assert [config.encoding.name for config, _ in configs] == USUAL
    assert {config.model.name for config, _ in configs} == {"sage"}
    assert enough_splits(len(USUAL) - 1) == SPLITS
    assert left_out == []
    slow = quick_configs("sbm:n=100", 30_000, model="mlp", splits=2, kind="random")[1]
    assert "rwse is left out: it is slow beyond 20000 nodes, and this graph has 30000." in slow


def test_report_writes_a_page_about_any_runs(compared, llpe, answer, tmp_path):
    line = ["report", compared[1] / "runs", "-o", tmp_path / "report.html"]
    result = llpe(*line, "--baseline", "llpe", "--title", "Mine")
    assert result.stdout.startswith(f"wrote {tmp_path / 'report.html'} (")
    assert "6 runs" in result.stdout
    assert "<h1>Mine</h1>" in (tmp_path / "report.html").read_text()
    document = answer(*line)
    assert document["runs"] == 6
    assert document["bytes"] == (tmp_path / "report.html").stat().st_size


def test_demo_trains_and_draws(answer, tmp_path, monkeypatch):
    monkeypatch.setattr("llpe.lab.spaces.demo_configs", lambda **_: demo_configs(splits=2)[4:6])
    document = answer("demo", "--runs", tmp_path, "--workers", 1)
    assert set(document) == {"tables", "figure"}
    assert [row["encoding"] for row in document["tables"][0]["rows"]] == ["llpe-probes", "none"]
    assert document["figure"] == str(tmp_path / "demo.png")
    assert (tmp_path / "demo.png").stat().st_size > 10_000


def test_table_reads_published_results(llpe, answer, tmp_path):
    file = tmp_path / "table.csv"
    header = "dataset,model,encoding,metric,mean,std,splits,wins,rank,paper_mean,paper_std,trials,command"
    file.write_text(f"{header}\ntexas,mlp,none,accuracy,82.5,2.0,10,,1.0,82.64,6.8,8,llpe reproduce table-small\n")
    for format, word in (("markdown", "| none | **82.50 ± 2.00** |"), ("latex", r"\toprule"), ("text", "82.50 ± 2.00")):
        assert word in llpe("table", file, "--format", format).stdout
    assert llpe("table", file, "--format", "csv").stdout == file.read_text()
    assert answer("table", file)[0]["mean"] == 82.5
