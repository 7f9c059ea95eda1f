"""Configs: resolved completely, hashed by content, and all problems said at once."""

import pytest

from llpe.encodings import ENCODINGS
from llpe.lab import ConfigError, assign, load_config, resolve
from llpe.lab.config import differences, dump_toml
from llpe.lab.spaces import as_in_the_paper

SPEC = "sbm:n=60"


def test_every_default_is_spelled_out():
    config = resolve({"dataset": SPEC})
    assert config.encoding.model_dump() == {
        "name": "llpe",
        "dim": 128,
        "order": 32,
        "directions": 128,
        "start": "heat",
        "rows": "unit",
        "share": 1.0,
        "size": None,
        "l1": 0.0,
        "l2": 0.01,
        "frozen": False,
        "seed": 0,
    }
    assert config.model.model_dump() == {
        "name": "mlp",
        "hidden": 64,
        "layers": 1,
        "dropout": 0.5,
        "input_dropout": 0.5,
        "variant": "plain",
    }
    assert resolve({"dataset": SPEC, "model": {"name": "sage"}}).encoding.share == 0.3
    assert (config.training.features, config.training.weight_decay) == ("auto", 2e-3)
    assert (config.training.epochs, config.training.patience) == (1000, 200)


def test_only_the_plain_mlp_has_one_layer():
    models = [{"name": "mlp"}, {"name": "sage"}, {"name": "mlp", "variant": "strong"}, {"name": "mlp", "layers": 2}]
    assert [resolve({"dataset": SPEC, "model": model}).model.layers for model in models] == [1, 2, 4, 2]


def test_the_paper_s_protocol_takes_the_place_of_defaults_and_of_nothing_that_was_said():
    config = resolve(as_in_the_paper({"dataset": SPEC}))
    assert config.encoding.model_dump() == {
        "name": "llpe",
        "dim": 128,
        "order": 64,
        "directions": 1,
        "start": "uniform",
        "rows": "plain",
        "share": 0.1,
        "size": 1.0,
        "l1": 0.0,
        "l2": 0.0,
        "frozen": False,
        "seed": 0,
    }
    model = config.model
    assert (model.hidden, model.layers, model.dropout, model.input_dropout) == (128, 2, 0.0, 0.0)
    assert (config.training.features, config.training.weight_decay, config.training.epochs) == ("raw", 0.0, 2000)
    raw = {"dataset": SPEC, "encoding": {"order": 8}, "model": {"hidden": 4}, "training": {"features": "rows"}}
    said = resolve(as_in_the_paper(raw))
    assert (said.encoding.order, said.model.hidden, said.training.features) == (8, 4, "rows")
    assert raw == {"dataset": SPEC, "encoding": {"order": 8}, "model": {"hidden": 4}, "training": {"features": "rows"}}
    rwse = {"name": "rwse", "steps": 4}
    assert as_in_the_paper({"dataset": SPEC, "encoding": rwse})["encoding"] == rwse


@pytest.mark.parametrize("value", [float("inf"), float("nan"), "inf"])
@pytest.mark.parametrize("key", ["training.lr", "training.weight_decay", "encoding.l1"])
def test_numbers_that_are_not_finite_are_refused(key, value):
    with pytest.raises(ConfigError, match=rf"`{key.removeprefix('encoding.')}` must be .*{value}"):
        resolve(assign({"dataset": SPEC}, {key: value}))


def test_a_size_takes_the_place_of_the_share():
    assert resolve({"dataset": SPEC, "encoding": {"share": 0.3}}).encoding.share == 0.3
    sized = resolve({"dataset": SPEC, "encoding": {"size": 2.0}}).encoding
    assert (sized.size, sized.directions) == (2.0, 1)


def test_the_same_experiment_said_in_two_ways_has_one_hash():
    short = resolve({"dataset": SPEC, "encoding": {"name": "llpe"}})
    long = resolve({"dataset": SPEC, "encoding": {"order": 32, "dim": 128}, "model": {"layers": 1}})
    assert short == long
    assert short.hash == long.hash
    assert short.hash != resolve({"dataset": SPEC, "training": {"lr": 0.02}}).hash


@pytest.mark.parametrize("name", ENCODINGS)
def test_a_written_config_reads_back_as_the_same(name, tmp_path):
    config = resolve({"dataset": SPEC, "encoding": {"name": name, "dim": 8}, "model": {"name": "gt", "heads": 2}})
    file = tmp_path / "config.toml"
    file.write_text(dump_toml(config))
    again = resolve(load_config(file))
    assert again == config
    assert repr(again.make_encoding()) == repr(config.make_encoding())


def test_options_that_a_name_decides_are_not_in_the_config():
    options = resolve({"dataset": SPEC, "encoding": {"name": "llpe-minmax"}}).encoding.model_dump()
    assert list(options) == ["name", "dim", "order", "l1", "l2", "seed"]
    options = resolve({"dataset": SPEC, "encoding": {"name": "llpe-ends", "scaling": "minmax"}}).encoding.model_dump()
    assert (options["k"], options["scaling"], "source" in options) == (64, "minmax", False)


@pytest.mark.parametrize("key", ["source", "encoding.source"])
def test_options_that_became_names_are_refused_with_the_name(key):
    with pytest.raises(ConfigError, match=r"encoding: `source` must be left out.* Use the encoding 'llpe-probes'"):
        resolve(assign({"dataset": SPEC}, {key: "probes"}))
    with pytest.raises(ConfigError, match=r"encoding: `scaling` must be left out.* Use the encoding 'llpe-minmax'"):
        resolve(assign({"dataset": SPEC, "encoding": {"name": "llpe"}}, {key.replace("source", "scaling"): "minmax"}))


def test_all_problems_are_reported_at_once():
    raw = {
        "dataset": "corra",
        "encoding": {"name": "llpe", "ordr": 3},
        "model": {"name": "mlpp"},
        "training": {"lr": -1, "lrr": 2, "optimizer": "lbfgs"},
        "splits": {"count": 0},
        "other": 1,
    }
    with pytest.raises(ConfigError) as caught:
        resolve(raw)
    text = str(caught.value)
    for words in (
        "dataset: `graph` must be a benchmark",
        "options of 'llpe' must be among dim, order,",
        "`model` must be one of mlp, sage, gcn, gt",
        "`training.lr` must be greater than 0, got -1",
        "`training.lrr` must be one of features, optimizer, lr,",
        "`training.optimizer` must be 'adam' or 'sgd', got 'lbfgs'",
        "`splits.count` must be greater than or equal to 1, got 0",
        "`other` must be one of dataset, encoding, model, training, splits",
    ):
        assert words in text, words


def test_a_config_without_a_data_set_is_refused():
    with pytest.raises(ConfigError, match="`dataset` must be given"):
        resolve({})


def test_options_of_the_model_are_checked_with_the_encoding():
    with pytest.raises(ConfigError, match=r"model: .*heads"):
        resolve({"dataset": SPEC, "encoding": {"dim": 3}, "model": {"name": "gt", "hidden": 8, "heads": 4}})
    with pytest.raises(ConfigError, match=r"options of 'mlp' must be among .* got heads"):
        resolve({"dataset": SPEC, "model": {"name": "mlp", "heads": 4}})


def test_an_impossible_encoding_is_refused_with_its_own_words():
    with pytest.raises(ConfigError, match="encoding: `dim` must be probes × filters"):
        resolve({"dataset": SPEC, "encoding": {"name": "llpe-probes", "dim": 66, "probes": 64}})


def test_plain_keys_find_their_section():
    raw = assign({"dataset": SPEC}, {"lr": 0.1, "order": 8, "hidden": 4, "count": 2})
    assert raw == {
        "dataset": SPEC,
        "training": {"lr": 0.1},
        "encoding": {"order": 8},
        "model": {"hidden": 4},
        "splits": {"count": 2},
    }


def test_plain_keys_follow_the_named_encoding():
    assert assign({"encoding": {"name": "rwse"}}, {"steps": 4})["encoding"]["steps"] == 4
    with pytest.raises(ConfigError, match=r"`steps` must be one of encoding\.name"):
        assign({}, {"steps": 4})


def test_ambiguous_unknown_and_misplaced_keys_are_refused():
    with pytest.raises(ConfigError) as caught:
        assign({}, {"seed": 1, "speed": 2, "optim.lr": 3})
    assert "`seed` must be encoding.seed or training.seed or splits.seed, got a name that is ambiguous" in str(
        caught.value
    )
    assert "got a name that is unknown" in str(caught.value)
    assert "`optim.lr` must begin with one of encoding, model, training, splits" in str(caught.value)


def test_differences_name_the_keys():
    one, two = resolve({"dataset": SPEC}), resolve({"dataset": SPEC, "training": {"lr": 0.5}})
    assert differences(one, two) == ["training.lr: 0.01 / 0.5"]


def test_a_file_that_is_no_toml_is_refused(tmp_path):
    file = tmp_path / "bad.toml"
    file.write_text("dataset = \n")
    with pytest.raises(ConfigError, match="must be a TOML file"):
        load_config(file)
