"""Search: what it tries, what it chooses, and that interruption changes nothing."""

import json
from collections import Counter
from contextlib import suppress
from importlib import import_module
from itertools import product

import pytest

from llpe.data import load_graph
from llpe.encodings import ENCODINGS
from llpe.lab import ConfigError, Outcome, SearchConfig, search, take_search, wave
from llpe.lab.search import _rising, _Search
from llpe.lab.spaces import PATIENCE, key_of, space_of
from llpe.lab.trials import Trials, stratified
from llpe.runs import load_runs
from llpe.sealed import DamageWarning

MODULE = import_module("llpe.lab.search")  # the package has a function of that name
SPEC = "sbm:n=120,homophily=1"
RAW = {
    "dataset": SPEC,
    "encoding": {"dim": 8, "order": 16},
    "model": {"hidden": 8},
    "training": {"epochs": 8, "patience": 8},
    "splits": {"count": 3},
}
SPACE = {"lr": [0.1, 0.01], "optimizer": ["adam"], "dropout": [0.0, 0.2], "hidden": [8], "layers": [1]}
SPACE |= {"order": [16], "l1": [0.0], "size": [1.0]}


@pytest.fixture(scope="module")
def graph():
    return load_graph(SPEC)


@pytest.fixture
def look(graph, tmp_path):
    """Searches ``SPACE``, with other choices for the keys of ``space``."""

    def look(root="runs", *, raw=RAW, space=(), on_trial=None, on_progress=None, **settings):
        config = SearchConfig(space=SPACE | dict(space), **settings)
        tell = {"on_trial": on_trial, "on_progress": on_progress}
        return search(graph, raw, config, root=tmp_path / root, workers=1, **tell)

    return look


def choices(found):
    return [key_of(trial.choice) for trial in found.trials]


def test_grid_tries_every_setting_and_takes_the_best_on_validation(look):
    found = look(method="grid", pruner="none")
    assert len(set(choices(found))) == len(found.trials) == 4
    assert {trial.state for trial in found.trials} == {"complete"}
    assert found.val == max(trial.val for trial in found.trials)
    reports = [json.loads(file.read_text()) for file in sorted(found.run.glob("split-*/report.json"))]
    assert found.val == pytest.approx(sum(report["val"] for report in reports) / 3)


def test_the_pruner_best_trains_one_setting_of_a_wave_on_all_splits(look, monkeypatch):
    monkeypatch.setattr(wave, "ENOUGH_NODES", 1)
    found = look(method="grid", pruner="best")
    assert sorted(trial.state for trial in found.trials) == ["complete", *["pruned"] * 3]
    first = json.loads((found.run / "split-00" / "report.json").read_text())["val"]
    assert all(trial.val <= first for trial in found.trials if trial.state == "pruned")
    assert len(list(found.run.glob("split-*"))) == 3
    assert len(list(found.run.parent.glob("*/split-*"))) == 3 + 3


def test_only_the_chosen_trial_keeps_its_weights_and_counts_as_a_run(look, tmp_path):
    found = look(trials=3, pruner="none")
    assert {file.parent.parent for file in tmp_path.rglob("model.safetensors")} == {found.run}
    assert [run.path for run in load_runs([tmp_path])] == [found.run]
    assert len(load_runs([found.run.parent])) == 3


@pytest.mark.parametrize("stop_at", [3, 40])
def test_stopped_search_ends_as_an_uninterrupted_one(look, stop_at, monkeypatch):
    monkeypatch.setattr("llpe.lab.workers.REPORT_SECONDS", 0.0)
    whole = look("whole", trials=4)
    seen = 0

    def stop(progress):
        nonlocal seen
        seen += 1
        if seen == stop_at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        look("parts", trials=4, on_progress=stop)
    again = look("parts", trials=4)
    assert again.trials == whole.trials
    assert again.run.name == whole.run.name


@pytest.mark.parametrize("stop_at", range(1, 13, 2))
def test_a_search_killed_between_any_two_trials_chooses_the_same(look, stop_at, monkeypatch):
    """Stopped just before what is known of its trials is replaced, as by a kill, and started again."""
    monkeypatch.setattr(wave, "FIRST_EPOCHS", 2)
    whole = look("whole", trials=4)
    write, seen = Trials._write, []

    def stop(self):
        seen.append(self)
        if len(seen) == stop_at:
            raise KeyboardInterrupt
        write(self)

    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
        patch.setattr(Trials, "_write", stop)
        look("parts", trials=4)
    again = look("parts", trials=4)
    assert again.trials == whole.trials
    assert again.run.name == whole.run.name


def test_a_trial_that_was_stopped_while_it_was_given_more_epochs_gets_all_of_them(graph, tmp_path, monkeypatch):
    """Two epochs, and twice as many while it improves: stopped after three, it still gets its four and eight."""
    monkeypatch.setattr(wave, "FIRST_EPOCHS", 2)
    monkeypatch.setattr(MODULE, "RISING", 0.0)
    monkeypatch.setattr("llpe.lab.workers.REPORT_SECONDS", 0.0)

    def stop(progress):
        if progress.epoch == 3:
            raise KeyboardInterrupt

    whole, parts = (
        _Search(graph, RAW, SearchConfig(space=SPACE), tmp_path / name, {"workers": 1}) for name in ("whole", "parts")
    )
    (expected,) = whole._train(whole.default(), 1, 2)
    parts.how["on_progress"] = stop
    with pytest.raises(KeyboardInterrupt):
        parts._train(parts.default(), 1, 2)
    del parts.how["on_progress"]
    (found,) = parts._train(parts.default(), 1, 2)
    assert (found.status, found.epochs, found.val) == (expected.status, expected.epochs, expected.val)


def test_damaged_trials_are_evaluated_again_and_copied_to_a_storage(look, tmp_path):
    import optuna

    storage = f"sqlite:///{tmp_path / 'study.db'}"
    found = look(trials=2, storage=storage)
    file = found.run.parents[1] / "trials.json"
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.warns(DamageWarning, match=r"trials.json: must be as it was written.* It is made again"):
        assert look(trials=2, storage=storage).trials == found.trials
    study = optuna.load_study(study_name=file.parent.name, storage=storage)
    assert [trial.params for trial in study.trials] == [trial.choice for trial in found.trials]


def test_bad_trials_are_pruned_before_all_splits_are_trained(look, monkeypatch):
    monkeypatch.setattr(wave, "ENOUGH_NODES", 10)
    found = look(trials=8, space={"lr": [0.1, 1e-7], "optimizer": ["adam", "sgd"]})
    pruned = [trial for trial in found.trials if trial.state == "pruned"]
    assert pruned
    assert found.val > max(trial.val for trial in pruned)
    unfinished = [run for run in found.run.parent.iterdir() if len(list(run.glob("split-*/report.json"))) < 3]
    assert unfinished


def test_few_validation_nodes_are_evaluated_on_more_splits(look, monkeypatch):
    monkeypatch.setattr(wave, "FIRST_EPOCHS", 2)
    trained = []
    original = _Search._train

    def train(self, choice, splits, pause):
        trained.append((splits, pause))
        return original(self, choice, splits, pause)

    monkeypatch.setattr(_Search, "_train", train)
    for enough, expected in ((20, [(1, 2)] * 4 + [(3, None)] * 3), (40, [(2, 2)] * 4 + [(3, None)] * 3)):
        trained.clear()
        monkeypatch.setattr(wave, "ENOUGH_NODES", enough)  # a split has 24
        look(str(enough), trials=4)
        assert trained == expected  # 4, the better 2, and of these the best, which is done


@pytest.mark.parametrize(
    ("last", "states"),
    [
        (0.9, ["complete"] + ["pruned"] * 3),
        (0.4, ["complete"] * 3 + ["pruned"]),
        (None, ["complete", "failed", "failed", "pruned"]),
    ],
)
def test_where_training_fails_or_collapses_on_a_split_the_next_best_goes_on_until_one_holds(
    look, monkeypatch, last, states
):
    monkeypatch.setattr(wave, "ENOUGH_NODES", 1)
    monkeypatch.setattr(_Search, "conclude", lambda self, trials: trials)

    def train(self, choice, splits, pause):
        scores = [0.9, 0.9, last] if choice["dropout"] else [0.8, 0.8, 0.8]
        return [
            Outcome(number, "failed" if score is None else "done", "accuracy", "nan", val=score)
            for number, score in enumerate(scores[:splits])
        ]

    monkeypatch.setattr(_Search, "_train", train)
    trials = look(method="grid", pruner="best", space={"lr": [0.1, 0.01]})
    assert sorted(trial.state for trial in trials) == states
    assert max(trial.val for trial in trials if trial.state == "complete") == pytest.approx(0.9 if last == 0.9 else 0.8)


def test_failed_trials_are_listed_with_their_reason(look):
    found = look(method="grid", space={"lr": [0.01, 1e30], "dropout": [0.0], "optimizer": ["sgd"]})
    (failed,) = (trial for trial in found.trials if trial.state == "failed")
    assert "the loss was" in failed.reason
    assert found.config.training.lr == 0.01
    summary = json.loads((found.run.parents[1] / "best.json").read_text())
    assert summary["failed"] == 1
    assert "the loss was" in summary["reasons"][0]["reason"]
    with pytest.raises(RuntimeError, match=r"no trial of .* was completed: .*the loss was"):
        look(method="grid", space={"lr": [1e30], "dropout": [0.0], "optimizer": ["sgd"]})


def test_more_trials_go_on_from_those_that_are_there(look):
    first, told = look(trials=2), []
    more = look(trials=3, on_trial=lambda done, total, trial: told.append((done, total)))
    assert choices(more)[:2] == choices(first)
    assert told == [(3, 3)]


def test_the_first_trial_is_the_config_itself(look):
    found = look(raw=RAW | {"training": RAW["training"] | {"lr": 0.01}}, trials=1)
    assert found.trials[0].choice["lr"] == 0.01


def test_bad_spaces_are_refused_all_at_once(graph, tmp_path):
    space = {"nonsense": [1], "lr": [-1.0], "dropout": []}
    with pytest.raises(ConfigError) as error:
        search(graph, RAW, SearchConfig(space=space), root=tmp_path)
    assert all(words in str(error.value) for words in ("nonsense", "lr", "`search.space.dropout` must have at least"))
    assert not list(tmp_path.rglob("study.db"))


@pytest.mark.parametrize(("key", "value"), [("tirals", 7), ("trials", True), ("trials", "7"), ("seed", 2.0)])
def test_the_section_search_is_taken_apart_and_checked(key, value):
    assert take_search(RAW | {"search": {"trials": 7}}) == (RAW, SearchConfig(trials=7))
    with pytest.raises(ConfigError, match=rf"search\.{key}"):
        take_search(RAW | {"search": {key: value}})


@pytest.mark.parametrize("preset", PATIENCE)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_choice_of_a_preset_is_a_valid_config(preset, encoding, graph, tmp_path):
    space = space_of(preset, encoding)
    assert all(space.values())
    raw = {"dataset": SPEC, "encoding": {"name": encoding}}
    running = _Search(graph, raw, SearchConfig(preset=preset), tmp_path, {})
    assert (running.size > 1) == (preset != "own")  # which has no choices before some are given


def test_the_published_form_has_no_size_to_choose():
    assert "size" in space_of("paper", "llpe")
    assert "size" not in space_of("paper", "llpe-minmax")


@pytest.mark.parametrize("count", [8, 12, 48])
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


def test_a_search_begins_with_its_own_settings_and_every_rate_with_every_optimiser(graph, tmp_path):
    space = SPACE | {"lr": [0.1, 0.05, 0.01, 0.001], "optimizer": ["adam", "sgd"], "dropout": [0.0, 0.1, 0.2, 0.3]}
    running = _Search(graph, RAW, SearchConfig(trials=20, space=space), tmp_path, {})
    with running.locked() as trials:
        first = trials.draw(9)
    assert first == [running.default(), *stratified(running.space, 8)]
    assert {(choice["lr"], choice["optimizer"]) for choice in first} == set(product(space["lr"], space["optimizer"]))


def test_a_stratified_search_tries_its_settings_in_one_wave_and_resumes(look, monkeypatch):
    found = look(method="stratified", trials=3)
    assert [trial.choice for trial in found.trials] == stratified(space_of("paper", "llpe") | SPACE, 3)
    monkeypatch.setattr(MODULE, "train_splits", None)  # nothing is trained again
    assert look(method="stratified", trials=3).run == found.run


def test_a_trial_that_still_improves_is_given_twice_the_epochs():
    assert _rising(Outcome(0, "paused", "accuracy", epochs=500, best_epoch=490), 500)
    assert not _rising(Outcome(0, "paused", "accuracy", epochs=500, best_epoch=320), 500)
    assert not _rising(Outcome(0, "done", "accuracy", epochs=500, best_epoch=490), 500)
