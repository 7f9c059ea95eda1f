"""Promises of the config files: valid for every budget, and as the paper has it where they say so."""

from importlib.resources import files
from pathlib import Path

import pytest

from llpe.data import parse_spec
from llpe.lab import resolve
from llpe.lab.config import assign
from llpe.lab.spaces import TRAINING, assignments
from llpe.paper import BUDGETS, STUDIES, run_study, settings_of
from llpe.paper.base import config_of
from llpe.paper.tables import Cell, cells_of, plan_of
from llpe.paper.tables import config_of as config_of_cell

TABLES = [name for name in STUDIES if name.startswith("table-")]
PROBES = ["llpe-probes", "llpe-probes-frozen"]
LLPE = ["llpe", "llpe-minmax", "llpe-probes"]


def test_every_config_is_a_study_or_the_base_of_one_and_its_departures_are_listed():
    departures = (Path(__file__).parents[2] / "docs" / "departures.md").read_text()
    configs = {path.name.removesuffix(".toml"): path for path in (files("llpe.paper") / "configs").iterdir()}
    assert set(configs) == {*STUDIES, "tables"}
    for name, path in configs.items():
        assert "NOTE[PAPER]" not in path.read_text("utf-8") or f"`paper/configs/{name}.toml`" in departures


@pytest.mark.parametrize("name", STUDIES)
def test_budgets_have_the_same_settings_and_valid_configs(name):
    found = {budget: settings_of(name, budget) for budget in BUDGETS}
    assert len({frozenset(settings.keys() - {"smaller", "differs"}) for settings in found.values()}) == 1
    for settings in found.values():
        if "training" not in settings:
            continue
        encodings = settings.get("encodings", settings.get("arms", {"": settings.get("encoding")}))
        for encoding in [*encodings.values(), *([settings["baseline"]] if "baseline" in settings else [])]:
            resolve(config_of(settings, "texas", encoding))


def test_unknown_studies_are_refused_with_the_choices():
    with pytest.raises(ValueError, match="`name` must be one of table-small"):
        settings_of("tables")


def test_standard_and_paper_have_the_papers_graphs_and_model():
    standard, paper = (settings_of("sbm", budget) for budget in ("standard", "paper"))
    two, five = (parse_spec(graph["names"][0].format(0.0)).keywords for graph in paper["graphs"])
    assert two == {"n": 2000, "homophily": 0.0}
    assert five == {"n": 5000, "blocks": 5, "homophily": 0.0}
    assert [graph["names"] for graph in standard["graphs"]] == [paper["graphs"][at]["names"] for at in (0, 1, 1)]
    assert standard["values"] == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert set(paper["values"]) > set(standard["values"])
    for name in ("sbm", "preferential-attachment", "local-homophily", "order", "ends"):
        assert (settings_of(name, "paper")["model"]["name"], settings_of(name, "paper")["splits"]) == ("gt", 10)
    for name in ("sbm", "preferential-attachment", "local-homophily"):
        assert settings_of(name, "standard")["model"]["name"] == "gt"


@pytest.mark.parametrize("name", ["local-homophily", "signs", "presets", "order", "table-large"])
def test_a_study_without_a_graph_says_so(name, untrained):
    with pytest.raises(ValueError, match=f"{name} must have a graph, got no benchmark"):
        run_study(name, untrained("standard", benchmarks=False))


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("num_nodes", [183, 2708, 7650])
def test_every_choice_of_every_cell_is_a_valid_config(budget, num_nodes):
    for name in TABLES:
        settings = settings_of(name, budget)
        for cell in {Cell("texas", cell.model, cell.encoding) for cell in cells_of(settings)}:
            plan, splits = plan_of(settings, num_nodes, cell)
            raw = config_of_cell(settings, cell, splits)
            for key, choices in plan.space.items():
                for choice in choices:
                    resolve(assign(raw, assignments({key: choice})))


def test_the_standard_table_holds_the_cells_of_the_paper_that_fit():
    cells = cells_of(settings_of("table-small"))
    for name in ("texas", "cornell", "cora-ml", "cora", "photo"):
        for model in ("mlp", "sage"):
            assert sum(cell.dataset == name and cell.model == model for cell in cells) == 11
    for name in ("texas", "cornell", "cora-ml", "cora", "photo"):
        assert sum(cell.model == "gt" and cell.dataset == name for cell in cells) == 13
    assert cells == cells_of(settings_of("table-small", "paper"))
    medium = [cell.encoding for cell in cells_of(settings_of("table-medium")) if cell.dataset == "tolokers"]
    assert medium == ["none", "lpe-fk", "san", "signnet", "rwse", *LLPE, "llpe-probes-frozen", "fastrp"] * 2
    assert Cell("tolokers", "sage", "elastic") in cells_of(settings_of("table-medium", "paper"))


def test_the_extended_table_has_the_same_cells_in_another_space():
    first, extended = settings_of("table-small"), settings_of("table-small-extended")
    cells = cells_of(extended)
    here = [cell for cell in cells_of(first) if cell.model != "gt" and cell.dataset != "photo"]
    assert sorted(map(str, cells)) == sorted(map(str, here))
    for cell in cells:
        (plan, splits), (other, _) = plan_of(first, 2708, cell), plan_of(extended, 2708, cell)
        assert config_of_cell(first, cell, splits) == config_of_cell(extended, cell, splits)
        assert other == plan.model_copy(update={"preset": "extended"})


RATES = {key: TRAINING["paper"][key] for key in ("lr", "optimizer")}


@pytest.mark.parametrize(
    ("model", "encodings", "num_nodes", "method", "trials", "splits", "space"),
    [
        ("sage", ["llpe", "san"], 999, "stratified", 16, 10, {}),
        ("gt", ["llpe", "elastic"], 999, "grid", 8, 10, {}),
        ("mlp", ["llpe", "none"], 1000, "tpe", 18, 10, {}),
        ("mlp", PROBES, 4999, "tpe", 18, 10, {"probes,dim": [[64, 128], [128, 128], [64, 256]], "order": [16, 32]}),
        ("sage", [*PROBES, "none"], 4999, "stratified", 16, 10, {"model.layers": [1, 2]}),
        ("mlp", ["san"], 5000, "tpe", 12, 10, {"k": [8, 16], "encoding.dim": [32]}),
        ("gt", LLPE, 1000, "grid", 8, 10, {}),
        ("gt", ["san"], 2708, "grid", 8, 5, {"k": [8], "encoding.dim": [32]}),
        ("gt", ["elastic", "rwse", "fastrp"], 2708, "grid", 8, 5, {}),
        ("gt", ["signnet"], 5000, "grid", 1, 3, {"k": [64]}),
    ],
)
def test_a_cell_is_searched_by_the_size_of_its_graph_and_its_model(
    model, encodings, num_nodes, method, trials, splits, space
):
    large = {"model.hidden": [64]} if num_nodes >= 1000 else {}
    if model == "gt":
        large |= RATES | {"model.layers": [1], "training.epochs": [1000]}
    elif model == "sage" and num_nodes >= 1000:
        large |= RATES
    for encoding in encodings:
        plan, count = plan_of(settings_of("table-small"), num_nodes, Cell("any", model, encoding))
        assert (plan.method, plan.trials, plan.preset, count) == (method, trials, "paper", splits)
        assert list(plan.space.items()) == list((large | space).items()), "in this order: what is drawn depends on it"
