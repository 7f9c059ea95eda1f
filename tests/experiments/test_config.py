"""Configs: resolved completely, hashed by content, and all problems said at once."""

import pytest

from llpe.encodings import ENCODINGS
from llpe.experiments import ConfigError, assign, load_config, resolve
from llpe.experiments.config import differences, dump_toml

SPEC = "sbm:n=60"


def test_every_default_is_spelled_out():
    config = resolve({"dataset": SPEC})
    assert config.encoding.model_dump() == {
        "name": "llpe",
        "dim": 128,
        "order": 64,
        "start": "uniform",
        "size": 1.0,
        "l1": 0.0,
        "l2": 0.0,
        "seed": 0,
    }
    assert config.model.layers == 2
    assert config.training.patience == 200


def test_the_same_experiment_said_in_two_ways_has_one_hash():
    short = resolve({"dataset": SPEC, "encoding": {"name": "llpe"}})
    long = resolve({"dataset": SPEC, "encoding": {"order": 64, "dim": 128}, "model": {"layers": 2}})
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
        "`training.lr` must be valid, got -1",
        "`training.lrr` must be one of optimizer, lr,",
        "`training.optimizer` must be valid, got 'lbfgs'",
        "`splits.count` must be valid, got 0",
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
        resolve({"dataset": SPEC, "encoding": {"name": "llpe-probes", "dim": 66}})


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
