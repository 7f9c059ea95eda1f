"""Promises of the config files: valid for every budget, and as the paper has it where they say so."""

import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from llpe.data import parse_spec
from llpe.lab import resolve
from llpe.paper import BUDGETS, MODULES, find_study, run_figure
from llpe.paper.base import config_of, merge, settings_of

FIGURES = [name for name, module in MODULES.items() if module != "tables"]


def test_every_figure_has_a_config_whose_departures_are_listed():
    folder = files("llpe.paper") / "configs"
    assert {path.name for path in folder.iterdir()} >= {f"{name}.toml" for name in FIGURES}
    departures = (Path(__file__).parents[2] / "docs" / "departures.md").read_text()
    for name in FIGURES:
        text = (folder / f"{name}.toml").read_text("utf-8")
        assert find_study(name).title == tomllib.loads(text)["title"]
        assert "NOTE[PAPER]" not in text or f"`paper/configs/{name}.toml`" in departures


@pytest.mark.parametrize("name", FIGURES)
def test_budgets_have_the_same_settings_and_valid_configs(name):
    found = {budget: settings_of(name, budget) for budget in BUDGETS}
    assert len({frozenset(settings.keys() - {"smaller", "differs"}) for settings in found.values()}) == 1
    for settings in found.values():
        if "training" not in settings:
            continue
        encodings = settings.get("encodings", settings.get("arms", {"": settings.get("encoding")}))
        for encoding in [*encodings.values(), *([settings["baseline"]] if "baseline" in settings else [])]:
            resolve(config_of(settings, "texas", encoding))


@pytest.mark.parametrize("budget", ["standard", "paper"])
def test_standard_and_paper_have_the_papers_graphs_model_and_splits(budget):
    sbm, attachment = settings_of("sbm", budget), settings_of("preferential-attachment", budget)
    two, five = (parse_spec(graph["names"][0].format(0.0)).keywords for graph in sbm["graphs"])
    assert two == {"n": 2000, "homophily": 0.0}
    assert five == {"n": 5000, "blocks": 5, "homophily": 0.0}
    assert set(sbm["values"]) >= {0.0, 0.2, 0.4, 0.6, 0.8, 1.0}
    assert (sbm["model"]["name"], sbm["splits"]) == ("gt", 10)
    assert set(attachment["encodings"]) == {"none", "lpe-flk", "llpe", "llpe-probes"}
    assert (settings_of("order", "paper")["model"]["name"], settings_of("order", "paper")["splits"]) == ("gt", 10)


@pytest.mark.parametrize("budget", BUDGETS)
def test_time_and_memory_are_measured_alike(budget):
    time, memory = settings_of("solver-time", budget), settings_of("solver-memory", budget)
    for key in ("sizes", "graphs", "counts", "limit", "graph", "probes"):
        assert time[key] == memory[key]


@pytest.mark.parametrize("name", ["local-homophily", "signs", "presets", "order"])
def test_a_study_without_a_graph_says_so(name, untrained):
    with pytest.raises(ValueError, match=f"{name} must have a graph, got no benchmark"):
        run_figure(name, untrained("standard", benchmarks=False))


def test_a_list_is_replaced_and_a_table_is_merged():
    assert merge({"a": [1, 2], "b": {"c": 1, "d": 2}}, {"a": [3], "b": {"d": 4}}) == {"a": [3], "b": {"c": 1, "d": 4}}
