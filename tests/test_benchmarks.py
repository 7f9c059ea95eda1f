"""The benchmarks compare like with like and keep their contract. No test asserts a time."""

import doctest
import importlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from llpe import LLPE, full_spectrum, measuring
from llpe.data import DownloadError, sbm

FOLDER = Path(__file__).parents[1] / "benchmarks"
CONTRACT = {"name", "at", "baseline", "ratio", "target", "met"}


@pytest.fixture
def benchmark(monkeypatch):
    """Imports a module of benchmarks/, which stand side by side as scripts do."""
    monkeypatch.syspath_prepend(str(FOLDER))

    def load(name: str) -> ModuleType:
        return importlib.import_module(name)

    yield load
    for path in FOLDER.glob("*.py"):
        sys.modules.pop(path.stem, None)


def test_reference_formulation_is_llpe_with_minmax_scaling(benchmark):
    """The same encoding, penalty and gradient: so their ratio is one of the same work."""
    data = sbm(80, degree=6, homophily=0.7)
    data.x = data.x.double()
    options = {"order": 9, "l1": 0.3, "l2": 0.2}
    ours = LLPE(5, scaling="minmax", **options).double()
    spectrum = full_spectrum(data, cache=False)
    reference = benchmark("reference").Reference(spectrum.values, spectrum.vectors, dim=5, **options)
    with torch.no_grad():
        reference.theta.copy_(ours.theta)
    prepared = ours.prepare(data, cache=False)
    gradient = torch.randn(80, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for encoding in (ours, reference):
        benchmark("training").backward(encoding, prepared, gradient)
    torch.testing.assert_close(reference(data), ours(prepared))
    torch.testing.assert_close(reference.penalty(data), ours.penalty(prepared))
    torch.testing.assert_close(reference.theta.grad, ours.theta.grad)


def test_an_epoch_of_ours_and_of_the_reference_score_alike(benchmark, tmp_path):
    from llpe.cache import Cache
    from llpe.data import load_graph

    dataset = load_graph("sbm:n=120,homophily=0.9")
    (_, ours), (_, theirs) = benchmark("training").epoch_times(dataset, Cache(tmp_path), epochs=3)
    assert ours == pytest.approx(theirs, abs=0.05)


def test_rows_keep_the_contract_and_other_groups(benchmark, tmp_path):
    run = benchmark("run")
    file = tmp_path / "rows.json"
    file.write_text(json.dumps([{"name": "kept", "group": "walks"}, {"name": "of an older format"}]))
    assert run.measure(["product"], "tiny", file) == []
    rows = json.loads(file.read_text())
    assert [row["group"] for row in rows] == ["product", "product", "walks"]
    for row in rows[:2]:
        assert set(row) >= CONTRACT
        assert row["met"] == (row["ratio"] >= row["target"])


def test_a_group_that_fails_is_said_and_does_not_stop_the_others(benchmark, tmp_path, monkeypatch, capsys):
    run = benchmark("run")

    def broken(size):
        raise RuntimeError("no luck")
        yield

    monkeypatch.setitem(run.GROUPS, "step", broken)
    file = tmp_path / "rows.json"
    assert run.measure(["step", "product"], "tiny", file) == ["step"]
    assert {row["group"] for row in json.loads(file.read_text())} == {"product"}
    assert "no luck" in capsys.readouterr().err


def test_a_limit_is_met_from_one_on_and_an_unsound_result_never(benchmark):
    rows = benchmark("rows")
    assert rows.limit_row("slope", "here", 1.1, 1.0, "")["met"]
    assert not rows.limit_row("slope", "here", 1.1, 1.2, "")["met"]
    assert not rows.row("pairs", "here", "theirs", 5.0, 1, "", sound=False)["met"]
    assert rows.row("share", "here", "limit", 0.59999, 0.6, "")["met"]  # 0.6 as it is shown


def test_one_group_runs_from_the_command_line(tmp_path):
    file = tmp_path / "rows.json"
    command = [sys.executable, str(FOLDER / "run.py"), "--tiny", "--only", "product", "--output", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for row in json.loads(file.read_text()):
        assert set(row) >= CONTRACT
        assert row["name"] in done.stdout


@pytest.mark.skipif(not shutil.which("gcc"), reason="needs a C compiler")
def test_mkl_is_told_which_kernels_to_take(benchmark, monkeypatch):
    """The same numbers, on any processor; what it gains is another question."""
    kernels = benchmark("kernels")
    monkeypatch.setattr(kernels, "amd_with_avx512", lambda: torch.backends.mkl.is_available())
    for row in kernels.kernels("tiny"):
        assert float(row["measured"].split("; results ")[1].removesuffix(" apart")) < 1e-4


def test_work_is_measured_and_described(benchmark, capsys):
    result = measuring.main("probes", "grown", {"n": 300})
    assert set(result) == {"seconds", "bytes", "graph", "output"}
    assert result["output"] == 300 * 32 * 16 * 4


def test_a_result_that_comes_at_once_is_not_lost(tmp_path):
    (tmp_path / "quick.py").write_text("""
import os
def work():
    print('ready\\n{"seconds": 1.0}', flush=True)
    os._exit(0)
""")
    assert measuring.measure("quick", "work", folder=tmp_path) == {"seconds": 1.0}


def test_a_process_that_fails_says_why(benchmark):
    rows = benchmark("rows")
    assert "has no attribute 'nothing'" in rows.measure("rows", "nothing")["failed"]
    with pytest.raises(RuntimeError, match="nothing"):
        rows.measured("rows", "nothing")


def test_quick_and_tiny_runs_leave_the_published_numbers_alone(benchmark):
    files = benchmark("run").FILES
    assert files["full"].name == "latest.json"
    assert files["full"] not in (files["quick"], files["tiny"])


def test_a_graph_that_is_not_at_hand_is_replaced_by_one_of_its_size(benchmark, monkeypatch):
    graphs = benchmark("graphs")

    def absent(name):
        raise DownloadError("no network")

    monkeypatch.setattr(graphs, "real", absent)
    dataset, at = graphs.load("cora")
    assert dataset.num_nodes == 2708
    assert abs(dataset.data.num_edges / 10556 - 1) < 0.1
    assert at == "SBM of Cora's size, 2708 nodes"


def test_page_is_written_between_its_markers(benchmark, tmp_path, monkeypatch):
    page, rows = benchmark("page"), benchmark("rows")
    monkeypatch.setattr(page, "PAGE", tmp_path / "scale.md")
    monkeypatch.setattr(page, "FIGURE", tmp_path / "scale.png")
    monkeypatch.setattr(page, "README", tmp_path / "README.md")
    (tmp_path / "README.md").write_text("<!-- speed --><!-- end of speed -->")
    (tmp_path / "scale.md").write_text((FOLDER.parent / "docs" / "scale.md").read_text())
    points = [{"n": n, "seconds": n / 1e4, "bytes": 3 * n, "graph": n, "output": 2 * n} for n in (1000, 10_000)]
    row = rows.row("a step", "1000 nodes", "a slow step", 2.5, 3, "1 s against 2.5 s")
    measured = {"date": "2001-02-03", "machine": "two slow cores", "points": points, "group": "step"}
    page.write([row | measured])
    text = (tmp_path / "scale.md").read_text()
    assert "| a step | 1000 nodes | a slow step | 2.5 | 3 | **missed** | 1 s against 2.5 s |" in text
    assert "Measured on 2001-02-03, on two slow cores." in text
    assert "| a step | 1000 nodes | a slow step | 2.5× |" in (tmp_path / "README.md").read_text()
    assert (tmp_path / "scale.png").stat().st_size > 0


def test_page_shows_the_published_rows(benchmark):
    file = FOLDER / "latest.json"
    text = (FOLDER.parent / "docs" / "scale.md").read_text()
    for line in benchmark("page").table(json.loads(file.read_text())).splitlines()[2:]:
        assert line in text


@pytest.mark.parametrize("name", ["rows", "small_graphs"])
def test_examples_in_the_benchmarks_hold(benchmark, name):
    assert doctest.testmod(benchmark(name)).failed == 0


@pytest.mark.parametrize("model", ["mlp", "gcn", "sage", "gat"])
def test_the_drop_in_benchmark_scores_every_encoding_in_pyg_s_script(benchmark, monkeypatch, model):
    drop_in = benchmark("drop_in")
    monkeypatch.setattr(drop_in, "EPOCHS", 20)
    dataset = drop_in.load("sbm:n=120,homophily=1")
    split = drop_in.split_of(dataset, "random", 0)
    assert torch.cat(split).sort().values.equal(torch.arange(120))
    scores = {}
    for name in ("none", drop_in.PYG, *drop_in.ENCODINGS):
        cell = drop_in.Cell("sbm", "random", model, name)
        scores[name] = drop_in.score(dataset.data, split, cell, 0, 2)
        if name != drop_in.PYG:  # whose eigenvectors have the signs that the solver gave them
            assert drop_in.score(dataset.data, split, cell, 0, 2) == scores[name]
    assert all(0 <= each <= 100 for each in scores.values())


def test_the_drop_in_benchmark_has_a_cell_without_encoding_for_each_with_one(benchmark):
    drop_in = benchmark("drop_in")
    found = list(drop_in.cells(["cora", "photo"], list(drop_in.ENCODINGS), penalty=False))
    assert all(drop_in.without(cell) in found and not cell.penalty for cell in found)
    assert {cell.labels for cell in found if cell.graph == "cora"} == {"few", "random"}
    assert {cell.labels for cell in found if cell.graph == "photo"} == {"random"}


def test_few_labels_of_the_drop_in_benchmark_are_twenty_of_each_class(benchmark):
    drop_in = benchmark("drop_in")
    dataset = drop_in.load("sbm:n=120")
    train, val, test = drop_in.split_of(dataset, "few", 3)
    assert dataset.data.y[train].bincount().tolist() == [20, 20]
    assert (len(val), len(test)) == (80, 0)
    assert len(torch.cat([train, val, test]).unique()) == 120
