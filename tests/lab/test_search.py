"""Search: what it tries, what it chooses, and that interruption changes nothing."""

import json
from contextlib import suppress
from importlib import import_module

import pytest

from llpe.data import load_graph
from llpe.encodings import ENCODINGS
from llpe.lab import ConfigError, SearchConfig, search, take_search
from llpe.lab.search import _Search
from llpe.lab.spaces import PRESETS, assignments, space_of
from llpe.lab.trials import Trials
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
SPACE = {
    "lr": [0.1, 0.01],
    "optimizer": ["adam"],
    "dropout": [0.0, 0.2],
    "hidden": [8],
    "layers": [1],
    "order": [16],
    "l1": [0.0],
    "size": [1.0],
}


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
    return [json.dumps(trial.choice, sort_keys=True) for trial in found.trials]


def test_grid_tries_every_setting_and_takes_the_best_on_validation(look):
    found = look(method="grid", pruner="none")
    assert len(set(choices(found))) == len(found.trials) == 4
    assert {trial.state for trial in found.trials} == {"complete"}
    assert found.val == max(trial.val for trial in found.trials)
    reports = [json.loads(file.read_text()) for file in sorted(found.run.glob("split-*/report.json"))]
    assert found.val == pytest.approx(sum(report["val"] for report in reports) / 3)


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
    monkeypatch.setattr(MODULE, "FIRST_EPOCHS", 2)
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
    monkeypatch.setattr(MODULE, "FIRST_EPOCHS", 2)
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
    monkeypatch.setattr(MODULE, "ENOUGH_NODES", 10)
    found = look(trials=8, space={"lr": [0.1, 1e-7], "optimizer": ["adam", "sgd"]})
    pruned = [trial for trial in found.trials if trial.state == "pruned"]
    assert pruned
    assert found.val > max(trial.val for trial in pruned)
    unfinished = [run for run in found.run.parent.iterdir() if len(list(run.glob("split-*/report.json"))) < 3]
    assert unfinished


def test_few_validation_nodes_are_evaluated_on_more_splits(look, monkeypatch):
    monkeypatch.setattr(MODULE, "FIRST_EPOCHS", 2)
    trained = []
    original = _Search._train

    def train(self, choice, splits, pause):
        trained.append((splits, pause))
        return original(self, choice, splits, pause)

    monkeypatch.setattr(_Search, "_train", train)
    for enough, expected in ((20, [(1, 2)] * 4 + [(3, None)] * 3), (40, [(2, 2)] * 4 + [(3, None)] * 3)):
        trained.clear()
        monkeypatch.setattr(MODULE, "ENOUGH_NODES", enough)  # a split has 24
        look(str(enough), trials=4)
        assert trained == expected  # 4, the better 2, and of these the best, which is done


def test_failed_trials_are_listed_with_their_reason(look):
    found = look(method="grid", space={"lr": [0.01, 1e30], "dropout": [0.0], "optimizer": ["sgd"]})
    failed = [trial for trial in found.trials if trial.state == "failed"]
    assert len(failed) == 1
    assert "the loss was" in failed[0].reason
    assert found.config.training.lr == 0.01
    summary = json.loads((found.run.parents[1] / "best.json").read_text())
    assert summary["failed"] == 1
    assert "the loss was" in summary["reasons"][0]["reason"]


def test_a_search_where_all_fail_says_why(look):
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
    text = str(error.value)
    assert "nonsense" in text
    assert "lr" in text
    assert "`search.space.dropout` must have at least one choice" in text
    assert not list(tmp_path.rglob("study.db"))


def test_the_section_search_is_taken_apart_and_checked():
    rest, settings = take_search(RAW | {"search": {"trials": 7}})
    assert settings.trials == 7
    assert rest == RAW


@pytest.mark.parametrize(("key", "value"), [("tirals", 7), ("trials", True), ("trials", "7"), ("seed", 2.0)])
def test_a_bad_section_search_is_refused(key, value):
    with pytest.raises(ConfigError, match=rf"search\.{key}"):
        take_search(RAW | {"search": {key: value}})


@pytest.mark.parametrize("preset", PRESETS)
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


def test_joint_choices_are_taken_apart():
    assert assignments({"probes,dim": [64, 256], "lr": 0.1}) == {"probes": 64, "dim": 256, "lr": 0.1}
    with pytest.raises(ValueError, match="`preset` must be one of"):
        space_of("mine", "llpe")
