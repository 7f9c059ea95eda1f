"""``llpe search``, and ``llpe table`` on published results."""

import json

import pytest
from typer.testing import CliRunner

from llpe.cli import app


@pytest.fixture
def run_command():
    return lambda *arguments: CliRunner().invoke(app, list(map(str, arguments)))


def test_search_prints_its_trials_and_goes_on(run_command, tmp_path):
    line = ["search", "--dataset", "sbm:n=80", "--encoding", "rwse", "--runs", tmp_path, "--workers", 1]
    done = run_command(*line, "--trials", 2, "dim=8", "epochs=6", "splits.count=2")
    assert done.exit_code == 0, done.output
    assert "chosen by validation" in done.stdout
    more = run_command(*line, "--trials", 3, "--json", "dim=8", "epochs=6", "splits.count=2")
    assert more.exit_code == 0, more.output
    found = json.loads(more.stdout)
    assert len(found["trials"]) == 3
    assert found["mean_val"] == max(trial["val"] for trial in found["trials"] if trial["state"] == "complete")


def test_a_config_with_a_search_is_searched_and_not_trained(run_command, tmp_path):
    file = tmp_path / "config.toml"
    file.write_text(
        'dataset = "sbm:n=80"\n[encoding]\nname = "none"\n[training]\nepochs = 4\n[splits]\ncount = 2\n'
        "[search]\ntrials = 1\n[search.space]\nlr = [0.1]\n"
    )
    refused = run_command("train", file, "--runs", tmp_path)
    assert refused.exit_code == 2
    assert "Use `llpe search`" in refused.stderr
    done = run_command("search", file, "--runs", tmp_path, "--workers", 1, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["trials"][0]["choice"]["lr"] == 0.1


def test_bad_search_settings_are_refused_in_words(run_command, tmp_path):
    refused = run_command("search", "--dataset", "sbm:n=80", "--method", "guess", "--runs", tmp_path)
    assert refused.exit_code == 2
    assert "search.method" in refused.stderr


def test_table_reads_published_results(run_command, tmp_path):
    file = tmp_path / "table.csv"
    header = "dataset,model,encoding,metric,mean,std,splits,wins,rank,paper_mean,paper_std,trials,command"
    file.write_text(f"{header}\ntexas,mlp,none,accuracy,82.5,2.0,10,,1.0,82.64,6.8,8,llpe reproduce table-small\n")
    for format, word in (("markdown", "| none | **82.50 ± 2.00** |"), ("latex", r"\toprule"), ("text", "82.50 ± 2.00")):
        shown = run_command("table", file, "--format", format)
        assert shown.exit_code == 0, shown.output
        assert word in shown.stdout
    assert run_command("table", file, "--format", "csv").stdout == file.read_text()
    assert json.loads(run_command("table", file, "--json").stdout)[0]["mean"] == 82.5
