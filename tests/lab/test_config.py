"""Configs: resolved completely, hashed by content, and all problems said at once."""

import pytest

from llpe.encodings import ENCODINGS
from llpe.lab import ConfigError, assign, load_config, resolve
from llpe.lab.config import dump_toml
from llpe.lab.spaces import as_in_the_paper

SPEC = "sbm:n=60"
LLPE = {"name": "llpe", "dim": 128, "order": 32, "directions": 128, "start": "heat", "rows": "unit", "share": 1.0}
LLPE |= {"size": None, "l1": 0.0, "l2": 0.01, "frozen": False, "seed": 0}
MLP = {"name": "mlp", "hidden": 64, "layers": 1, "dropout": 0.5, "input_dropout": 0.5, "variant": "plain"}


def resolved(**sections):
    return resolve({"dataset": SPEC, **sections})


def test_every_default_is_spelled_out():
    config = resolved()
    assert config.encoding.model_dump() == LLPE
    assert config.model.model_dump() == MLP
    assert resolved(model={"name": "sage"}).encoding.share == 0.3
    training = {"features": "auto", "weight_decay": 2e-3, "epochs": 1000, "patience": 200}
    assert config.training.model_dump().items() >= training.items()
    models = [{"name": "mlp"}, {"name": "sage"}, {"name": "mlp", "variant": "strong"}, {"name": "mlp", "layers": 2}]
    assert [resolved(model=model).model.layers for model in models] == [1, 2, 4, 2]


def test_the_paper_s_protocol_takes_the_place_of_defaults_and_of_nothing_that_was_said():
    config = resolve(as_in_the_paper({"dataset": SPEC}))
    paper = {"order": 64, "directions": 1, "start": "uniform", "rows": "plain", "share": 0.1, "size": 1.0, "l2": 0.0}
    assert config.encoding.model_dump() == LLPE | paper
    assert config.model.model_dump() == MLP | {"hidden": 128, "layers": 2, "dropout": 0.0, "input_dropout": 0.0}
    training = {"features": "raw", "weight_decay": 0.0, "epochs": 2000}
    assert config.training.model_dump().items() >= training.items()
    raw = {"dataset": SPEC, "encoding": {"order": 8}, "model": {"hidden": 4}, "training": {"features": "rows"}}
    said = resolve(as_in_the_paper(raw))
    assert (said.encoding.order, said.model.hidden, said.training.features) == (8, 4, "rows")
    assert raw == {"dataset": SPEC, "encoding": {"order": 8}, "model": {"hidden": 4}, "training": {"features": "rows"}}
    rwse = {"name": "rwse", "steps": 4}
    assert as_in_the_paper({"dataset": SPEC, "encoding": rwse})["encoding"] == rwse


def test_a_size_takes_the_place_of_the_share():
    assert resolved(encoding={"share": 0.3}).encoding.share == 0.3
    sized = resolved(encoding={"size": 2.0}).encoding
    assert (sized.size, sized.directions) == (2.0, 1)


def test_the_same_experiment_said_in_two_ways_has_one_hash():
    short, long = resolved(), resolved(encoding={"order": 32, "dim": 128}, model={"layers": 1})
    assert short == long
    assert short.hash == long.hash == "0a6226c3"  # run folders of other versions are found by it
    assert short.hash != resolved(training={"lr": 0.02}).hash


@pytest.mark.parametrize("name", ENCODINGS)
def test_a_written_config_reads_back_as_the_same(name, tmp_path):
    config = resolved(encoding={"name": name, "dim": 8}, model={"name": "gt", "heads": 2})
    file = tmp_path / "config.toml"
    file.write_text(dump_toml(config))
    again = resolve(load_config(file))
    assert again == config
    assert repr(again.make_encoding()) == repr(config.make_encoding())


def test_options_that_a_name_decides_are_not_in_the_config():
    options = resolved(encoding={"name": "llpe-minmax"}).encoding.model_dump()
    assert list(options) == ["name", "dim", "order", "l1", "l2", "seed"]
    options = resolved(encoding={"name": "llpe-ends", "scaling": "minmax"}).encoding.model_dump()
    assert (options["k"], options["scaling"], "source" in options) == (64, "minmax", False)


PROBLEMS = [
    ({"dataset": "corra"}, "dataset: `graph` must be a benchmark"),
    ({"encoding": {"ordr": 3}}, "options of 'llpe' must be among dim, order,"),
    ({"encoding": {"name": "llpe-probes", "dim": 66, "probes": 64}}, "encoding: `dim` must be probes × filters"),
    ({"encoding": {"source": "probes"}}, "Use the encoding 'llpe-probes'"),
    ({"encoding": {"scaling": "minmax"}}, "Use the encoding 'llpe-minmax'"),
    ({"encoding": {"l1": float("nan")}}, "`l1` must be"),
    ({"model": {"name": "mlpp"}}, "`model` must be one of mlp, sage, gcn, gt"),
    ({"model": {"name": "mlp", "heads": 4}}, "model: options of 'mlp' must be among"),
    ({"encoding": {"dim": 3}, "model": {"name": "gt", "hidden": 8, "heads": 4}}, "model: `width` must be"),
    ({"training": {"lr": -1}}, "`training.lr` must be greater than 0, got -1"),
    ({"training": {"lr": float("inf")}}, "`training.lr` must be a finite number"),
    ({"training": {"weight_decay": "inf"}}, "`training.weight_decay` must be"),
    ({"training": {"lrr": 2}}, "`training.lrr` must be one of features, optimizer, lr,"),
    ({"training": {"optimizer": "lbfgs"}}, "`training.optimizer` must be 'adam' or 'sgd', got 'lbfgs'"),
    ({"splits": {"count": 0}}, "`splits.count` must be greater than or equal to 1, got 0"),
    ({"other": 1}, "`other` must be one of dataset, encoding, model, training, splits"),
]


@pytest.mark.parametrize(("raw", "words"), PROBLEMS)
def test_each_problem_is_said_in_words(raw, words):
    with pytest.raises(ConfigError) as caught:
        resolve({"dataset": SPEC} | raw)
    assert words in str(caught.value)


def test_all_problems_are_reported_at_once():
    raw = {"encoding": {"ordr": 3}, "model": {"name": "mlpp"}, "training": {"lr": -1, "lrr": 2}, "other": 1}
    with pytest.raises(ConfigError) as caught:
        resolve(raw)
    words = ("`dataset` must be given", "'llpe' must be", "`model` must", "training.lr`", "training.lrr`", "`other`")
    assert all(any(word in problem for problem in caught.value.problems) for word in words)
    assert len(caught.value.problems) == len(words)


def test_plain_keys_find_their_section():
    raw = assign({"dataset": SPEC}, {"lr": 0.1, "order": 8, "hidden": 4, "count": 2})
    found = {"training": {"lr": 0.1}, "encoding": {"order": 8}, "model": {"hidden": 4}, "splits": {"count": 2}}
    assert raw == {"dataset": SPEC} | found
    assert assign({"encoding": {"name": "rwse"}}, {"steps": 4})["encoding"]["steps"] == 4
    assert assign({}, {"source": "probes"}) == {"encoding": {"source": "probes"}}  # which says what to use instead


def test_ambiguous_unknown_and_misplaced_keys_are_refused():
    with pytest.raises(ConfigError) as caught:
        assign({}, {"seed": 1, "steps": 2, "optim.lr": 3})
    ambiguous, unknown, misplaced = caught.value.problems
    assert "`seed` must be encoding.seed or training.seed or splits.seed, got a name that is ambiguous" in ambiguous
    assert "`steps` must be one of encoding.name" in unknown
    assert "`optim.lr` must begin with one of encoding, model, training, splits" in misplaced


def test_what_is_no_config_is_refused(tmp_path):
    file = tmp_path / "bad.toml"
    file.write_text("dataset = \n")
    with pytest.raises(ConfigError, match="must be a TOML file"):
        load_config(file)
    with pytest.raises(ConfigError, match="`config` must be nested dicts"):
        resolve("cora")
