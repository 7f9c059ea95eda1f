"""Promises of the fair search: every choice equally often, the same for every encoding, and time for slow starters."""

import sys
from collections import Counter
from itertools import product

import pytest

from llpe.encodings import ENCODINGS
from llpe.lab import SearchConfig, search
from llpe.lab.spaces import key_of, space_of
from llpe.lab.train import Outcome
from llpe.lab.trials import stratified


@pytest.mark.parametrize("count", [8, 12, 24, 48])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_rate_and_optimiser_is_tried_equally_often(encoding, count):
    space = space_of("paper", encoding)
    settings = stratified(space, count)
    assert len({key_of(setting) for setting in settings}) == len(settings) == count
    pairs = Counter((setting["lr"], setting["optimizer"]) for setting in settings)
    assert set(pairs) == set(product(space["lr"], space["optimizer"]))
    assert max(pairs.values()) - min(pairs.values()) <= 1
    assert len({Counter(setting["optimizer"] for setting in settings)[name] for name in ("adam", "sgd")}) == 1


def test_other_choices_come_up_equally_often_and_are_the_same_for_every_encoding():
    found = [stratified(space_of("paper", name), 24) for name in ("llpe-minmax", "rwse", "san")]
    for key in ("dropout", "layers"):
        columns = [[setting.get(key, setting.get(f"model.{key}")) for setting in settings] for settings in found]
        assert columns[0] == columns[1] == columns[2]
        assert len(set(Counter(columns[0]).values())) == 1


def test_a_small_space_is_tried_whole_and_another_seed_has_another_order():
    space = {"lr": [0.1, 0.01], "k": [1, 2, 3]}
    settings = stratified(space, 100)
    assert sorted(map(key_of, settings)) == sorted(key_of({"lr": lr, "k": k}) for lr in (0.1, 0.01) for k in (1, 2, 3))
    assert stratified(space, 6, seed=1) != settings
    assert stratified(space, 100) == settings


def test_a_stratified_search_tries_its_settings_in_one_wave_and_resumes(tmp_path, monkeypatch):
    from llpe.data import load_graph

    raw = {
        "dataset": "sbm:n=120,homophily=1",
        "encoding": {"name": "rwse", "dim": 8},
        "model": {"hidden": 8},
        "training": {"epochs": 4, "patience": 4},
        "splits": {"count": 2},
    }
    graph = load_graph(raw["dataset"])
    space = {"hidden": [8], "layers": [1], "dropout": [0.0], "steps": [4], "lr": [0.1, 0.01]}
    settings = SearchConfig(method="stratified", trials=3, space=space)
    found = search(graph, raw, settings, root=tmp_path, workers=1)
    assert [trial.choice for trial in found.trials] == stratified(space_of("paper", "rwse") | space, 3)
    monkeypatch.setattr(sys.modules["llpe.lab.search"], "train_splits", None)  # nothing is trained again
    assert search(graph, raw, settings, root=tmp_path, workers=1).run == found.run


def test_a_trial_that_still_improves_is_given_twice_the_epochs():
    from llpe.lab.search import _rising

    assert _rising(Outcome(0, "paused", "accuracy", epochs=500, best_epoch=490), 500)
    assert not _rising(Outcome(0, "paused", "accuracy", epochs=500, best_epoch=320), 500)
    assert not _rising(Outcome(0, "done", "accuracy", epochs=500, best_epoch=490), 500)
