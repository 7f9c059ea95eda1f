"""Training: what is learned, what is kept, what is refused, and that interruption changes nothing."""

import json
import os
import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch_geometric.nn import GCN

from lab_cases import SBM, config_of, same_weights
from llpe import LLPE, ProbeLLPE
from llpe.data import NodeDataset, Split, make_splits, sbm
from llpe.lab import ConfigError, RunFolder, fit, load_encoding, predict, run
from llpe.lab import train as train_module
from llpe.lab.export import predict_graph
from llpe.lab.task import make_task, prepared
from llpe.lab.traces import load_classifier, write_config
from llpe.lab.train import make_optimiser, score, train_split
from llpe.lab.workers import plan
from llpe.sealed import write_text

QUICK = {"dim": 8, "order": 16, "hidden": 8, "epochs": 25}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A finished run of three splits."""
    return run(SBM, config_of(), root=tmp_path_factory.mktemp("runs"))


def test_fit_learns_blocks_and_returns_everything():
    data = sbm(n=300, homophily=1.0, seed=0)
    before = set(data.keys())
    result = fit(data, splits=2, encoding="llpe-probes", dim=16, order=32, probes=8, epochs=60, lr=0.02)
    assert result.mean_test > 0.95
    assert result.predictions.shape == (300,)
    assert torch.allclose(result.probabilities.sum(dim=1), torch.ones(300), atol=1e-5)
    assert isinstance(result.encoding, ProbeLLPE)
    assert result.encoding(result.data).shape == (300, 16)
    assert len(result.val) == len(result.test) == 2
    assert set(data.keys()) == before
    assert result.run is None


@pytest.mark.parametrize("encoding", ["none", "llpe", "llpe-invariant"])
@pytest.mark.parametrize("words", [False, True])
def test_the_scale_of_the_features_does_not_matter_unless_they_are_to_be_raw(encoding, words):
    data = sbm(n=200, homophily=0.7, seed=0)
    if words:
        data.x = (data.x > 0.8).float()
    settings = {"encoding": encoding, "dim": 8, "hidden": 8, "epochs": 30, "splits": 2, "cache": False}
    plain = fit(data, **settings)
    for factor in (1000.0, 0.001):
        scaled = data.clone()
        scaled.x = factor * data.x
        other = fit(scaled, **settings)
        assert other.test == plain.test
        torch.testing.assert_close(other.probabilities, plain.probabilities, atol=1e-3, rtol=0)
        raw = fit(scaled, features="raw", **settings)
        assert not torch.allclose(raw.probabilities, plain.probabilities, atol=1e-2)
    assert torch.equal(scaled.x, 0.001 * data.x)


def test_a_fit_is_printed_as_a_line_without_tensors(tmp_path):
    result = fit(sbm(n=120), splits=2, runs=tmp_path / "runs", **QUICK)
    mean, std = 100 * result.mean_test, 100 * result.std_test
    assert repr(result) == f"Fit: test accuracy {mean:.1f} ± {std:.1f} % over 2 splits, llpe + mlp, in {result.run}"
    result.outcomes[1].status, result.outcomes[1].test = "failed", None
    assert repr(result).startswith(f"Fit: test accuracy {100 * result.outcomes[0].test:.1f} % over 2 splits (1 failed)")


def test_one_worker_and_two_give_the_same_bits():
    data = sbm(n=120, seed=1)
    one, two = (fit(data, splits=3, workers=workers, **QUICK) for workers in (1, 2))
    assert [o.test for o in one.outcomes] == [o.test for o in two.outcomes]
    assert all(map(same_weights, one.outcomes, two.outcomes))


def test_masks_of_the_data_are_its_splits():
    data = sbm(n=90, seed=0)
    part = torch.arange(90) % 3
    data.train_mask, data.val_mask, data.test_mask = part == 0, part == 1, part == 2
    result = fit(data, **QUICK)
    assert len(result.outcomes) == 1
    same = fit(data, splits=Split(*(torch.where(part == i)[0] for i in range(3))), **QUICK)
    assert same.test == result.test


def test_modules_can_be_given_instead_of_names():
    encoding, model = LLPE(8, order=16), GCN(16, 16, 1, out_channels=16)
    theta = encoding.theta.detach().clone()
    result = fit(sbm(n=90), encoding=encoding, model=model, hidden=8, epochs=3)
    assert repr(result) == f"Fit: test accuracy {100 * result.mean_test:.1f} % over 1 split, llpe + GCN"
    assert torch.equal(encoding.theta, theta)  # the module that was given is left alone
    with pytest.raises(ValueError, match="`layers` must be left out with a module as model"):
        fit(SBM.data, model=nn.Identity(), layers=3)
    with pytest.raises(ValueError, match="`runs` must be left out with a module"):
        fit(sbm(n=90), encoding=encoding, runs="somewhere")


def test_auroc_is_the_probability_of_ranking_a_pair_right():
    generator = torch.Generator().manual_seed(0)
    logits, target = torch.randn(40, 2, generator=generator), torch.arange(40) % 2
    margin = logits[:, 1] - logits[:, 0]
    pairs = margin[target == 1][:, None] - margin[target == 0][None, :]
    assert score("auroc", logits, target) == pytest.approx((pairs > 0).double().mean().item())
    assert np.isnan(score("auroc", logits, torch.zeros(40, dtype=torch.int64)))


def test_test_nodes_never_choose():
    """Labels of test nodes are shuffled: nothing but the test score may change."""
    data = sbm(n=150, homophily=0.9, seed=0)
    split = make_splits(NodeDataset("d", data, "accuracy", 2), count=1)[0]
    other = data.clone()
    other.y[split.test] = 1 - other.y[split.test]
    one, two = (fit(graph, splits=split, **QUICK).outcomes[0] for graph in (data, other))
    assert (one.val, one.best_epoch, one.epochs) == (two.val, two.best_epoch, two.epochs)
    assert same_weights(one, two)
    assert one.test == pytest.approx(1 - two.test)


def test_patience_ends_training_and_the_best_weights_are_kept():
    task, seen = make_task(SBM, config_of(epochs=500, patience=7, lr=0.05)), []
    outcome = train_split(task, make_splits(SBM)[0], 0, on_epoch=lambda p: seen.append(p.val))
    assert outcome.epochs - outcome.best_epoch == 7
    assert outcome.epochs < 500
    assert outcome.val == max(seen) == seen[outcome.best_epoch]


def test_a_failed_split_fails_alone_and_does_not_enter_the_mean(monkeypatch):
    made = []

    def sometimes_wild(model, settings):
        made.append(model)
        return torch.optim.SGD(model.parameters(), lr=1e30) if len(made) == 2 else make_optimiser(model, settings)

    monkeypatch.setattr(train_module, "make_optimiser", sometimes_wild)
    result = fit(sbm(n=120), splits=3, workers=1, **QUICK)
    assert [o.status for o in result.outcomes] == ["done", "failed", "done"]
    assert len(result.test) == 2


def test_a_run_folder_explains_itself(trained):
    folder = trained.run
    assert folder.parent.name == "llpe+mlp"
    splits = ["split-00", "split-01", "split-02"]
    assert sorted(p.name for p in folder.glob("[!.]*")) == ["config.toml", "spectrum.npz", *splits]
    files = "curves.npz filters.npz model.safetensors picture.npz predictions.npz report.json split.npz"
    assert sorted(p.name for p in (folder / "split-01").iterdir()) == files.split()
    report = json.loads((folder / "split-01" / "report.json").read_text())
    assert report["status"] == "done"
    assert report["test"] == trained.outcomes[1].test
    assert report["config"]["encoding"]["order"] == 16
    assert report["data"] == SBM.fingerprint
    assert report["versions"]["torch"]
    assert report["split_fingerprint"] == make_splits(SBM)[1].fingerprint
    with np.load(folder / "split-01" / "filters.npz") as filters:
        assert filters["response"].shape == (201, 1)  # shared by eight directions


def test_a_finished_run_is_not_trained_again_and_gives_the_same_result(trained, monkeypatch):
    monkeypatch.setattr(train_module, "make_optimiser", None)
    again = run(SBM, config_of(), root=trained.run.parents[2])
    assert again.test == trained.test
    assert torch.equal(again.probabilities, trained.probabilities)


def test_another_config_in_the_folder_is_refused_by_its_keys(tmp_path):
    folder = RunFolder.of(tmp_path, config_of(epochs=1).model_copy(update={"data": SBM.fingerprint}))
    with folder.locked():
        write_config(folder)
    text = (folder.path / "config.toml").read_text()
    write_text(folder.path / "config.toml", text.replace("lr = 0.01", "lr = 0.5"))
    with pytest.raises(ConfigError, match=r"holds another config.*\n?training.lr: 0.5 / 0.01"):
        run(SBM, config_of(epochs=1), root=tmp_path)


def test_a_changed_graph_is_another_run(tmp_path):
    data, other = sbm(n=60), sbm(n=60)
    other.x = other.x + 1
    one, two = (fit(graph, splits=1, runs=tmp_path, **QUICK).run for graph in (data, other))
    assert one != two


def test_a_trained_run_can_be_loaded_and_used(trained, tmp_path):
    folder = RunFolder.read(trained.run)
    model = load_classifier(folder)
    data = prepared(SBM, model.encoding, features="auto")
    assert torch.allclose(predict(model, data), trained.probabilities, atol=1e-6)
    assert torch.equal(load_encoding(trained.run).theta, trained.encoding.theta)
    with pytest.raises(ValueError, match="`split` must be a finished split"):
        load_classifier(folder, 7)
    with pytest.raises(ValueError, match=r"`run` must be a run folder with a config.toml"):
        RunFolder.read(tmp_path)
    empty = RunFolder.of(tmp_path, config_of())
    with empty.locked(), pytest.raises(ValueError, match="must have a finished split, got none"):
        load_classifier(empty)


@pytest.mark.parametrize(
    ("most", "work", "threads"), [(1, 10**9, 1), (64, 10**4, 1), (64, 10**9, len(os.sched_getaffinity(0)))]
)
def test_threads_are_few_and_never_more_than_torch_is_set_to(monkeypatch, most, work, threads):
    monkeypatch.setattr(torch, "get_num_threads", lambda: most)
    assert plan(1, work=work) == (1, threads)


def test_impossible_data_and_bad_settings_are_refused(tmp_path):
    unlabelled = sbm(n=60)
    unlabelled.y = torch.full((60,), -1)
    with pytest.raises(ValueError, match="must have labelled nodes, got none"):
        fit(unlabelled, **QUICK)
    with pytest.raises(ConfigError, match="`speed` must be one of"):
        fit(sbm(n=60), speed=3)
    with pytest.raises(ValueError, match="`workers` must be an integer of at least 1"):
        fit(sbm(n=60), workers=0, runs=tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_run_scales_the_features_of_other_graphs_as_it_scaled_its_own(tmp_path):
    """Counts, so rows, when it was trained; a few negative entries elsewhere do not make it columns."""
    data, other = sbm(n=80, seed=1), sbm(n=80, seed=2)
    data.x = torch.nn.functional.one_hot(torch.arange(80) % 8).float()
    other.x = data.x - 0.01
    dataset = NodeDataset("other", other, metric="accuracy", num_classes=2)
    result = fit(data, encoding="rwse", runs=tmp_path, dim=8, hidden=8, epochs=25)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = predict_graph(result.run, dataset)
    expected = predict(result.model, prepared(dataset, result.encoding, features="rows"))
    assert np.allclose(found.probabilities, expected.numpy(), atol=1e-6)


def test_subnormal_numbers_count_as_0_while_one_thread_trains_and_only_then():
    task, split, threads = make_task(SBM, config_of(epochs=1)), make_splits(SBM)[0], torch.get_num_threads()

    def tiny(_: object = None) -> float:
        return float(torch.tensor(1e-37) / 1e5)

    kept = tiny()
    try:
        for count, expected in ((1, 0.0), (2, kept)):
            torch.set_num_threads(count)
            seen = []
            train_split(task, split, 0, on_epoch=lambda p, seen=seen: seen.append(tiny()))
            assert seen == [expected, expected]
            assert tiny() == kept > 0
    finally:
        torch.set_num_threads(threads)
