"""The rows looked at: in batches, or no more than are asked for, learning is the same; and resuming bit for bit."""

import numpy as np
import pytest
import torch

from llpe.data import load_graph, make_splits
from llpe.lab import resolve, views
from llpe.lab.train import make_task, predict, train_split

RAW = {
    "dataset": "sbm:n=200,homophily=1",
    "encoding": {"name": "llpe-probes", "dim": 8, "order": 16, "probes": 8},
    "model": {"hidden": 8, "dropout": 0.0, "input_dropout": 0.0},
    "training": {"epochs": 12},
    "splits": {"count": 1},
}


@pytest.fixture(scope="module")
def ready():
    graph = load_graph(RAW["dataset"])
    config = resolve(RAW)
    return make_task(graph, config.make_encoding()), make_splits(graph, count=1)[0]


def config_of(**training):
    return resolve(RAW | {"training": RAW["training"] | training})


def test_one_batch_of_all_rows_learns_as_full_batch_does(ready):
    task, split = ready
    whole = train_split(task, split, 0, config_of())
    batch = train_split(task, split, 0, config_of(batch=10_000))
    np.testing.assert_allclose(batch.traces["curves"]["loss"], whole.traces["curves"]["loss"], rtol=1e-3)


def test_batches_cover_every_row_once(ready):
    task, split = ready
    seen = torch.cat([view.data.node_number for view in views.batches(_numbered(task.data), split.train, 7)])
    assert torch.equal(seen, split.train)
    torch.manual_seed(0)
    mixed = [view.data.node_number for view in views.batches(_numbered(task.data), split.train, 7, shuffle=True)]
    assert max(map(len, mixed)) == 7
    assert not torch.equal(torch.cat(mixed), split.train)
    assert torch.equal(torch.cat(mixed).sort().values, split.train.sort().values)


def _numbered(data):
    data = data.clone()
    data.node_number = torch.arange(data.num_nodes)
    return data


def test_small_batches_learn_the_blocks(ready):
    task, split = ready
    assert train_split(task, split, 0, config_of(batch=16, epochs=20)).val > 0.9


@pytest.mark.parametrize("stop_at", [1, 5])
def test_a_resumed_split_in_batches_ends_with_the_same_bits(ready, tmp_path, stop_at):
    task, split = ready
    config = config_of(batch=16)
    whole = train_split(task, split, 0, config)

    def stop(progress):
        if progress.epoch == stop_at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_split(task, split, 0, config, checkpoint=tmp_path / "c.pt", on_epoch=stop)
    torch.manual_seed(99)
    again = train_split(task, split, 0, config, checkpoint=tmp_path / "c.pt")
    assert (again.val, again.test, again.best_epoch) == (whole.val, whole.test, whole.best_epoch)
    assert all(torch.equal(again.state[name], whole.state[name]) for name in whole.state)


def test_output_in_batches_is_the_output_of_the_whole(ready, monkeypatch):
    task, _ = ready
    model = config_of().make_classifier(task.num_features, task.num_classes)
    whole = predict(model.eval(), task.data)
    monkeypatch.setattr(views, "MANY_ROWS", 50)
    monkeypatch.setattr(views, "BATCH", 17)
    torch.testing.assert_close(predict(model, task.data), whole)
    rows = torch.tensor([3, 199, 0])
    torch.testing.assert_close(views.logits_of(model, task.data, rows).softmax(dim=1), whole[rows])


def test_many_rows_are_taken_in_batches_by_default(ready, monkeypatch):
    task, _ = ready
    model = config_of().make_classifier(task.num_features, task.num_classes)
    assert views.batch_of(None, model, 1000) is None
    assert views.batch_of(None, model, 1_000_000) == views.BATCH
    assert views.batch_of(64, model, 1000) == 64


def test_batches_are_refused_where_nodes_see_each_other(ready):
    task, split = ready
    config = resolve(RAW | {"model": {"name": "sage", "hidden": 8}, "training": {"batch": 8}})
    with pytest.raises(ValueError, match="`batch` must be left out with a model whose nodes see each other, got 8"):
        train_split(task, split, 0, config)


def test_a_batch_left_out_does_not_change_the_name_of_a_run():
    assert "batch" not in config_of().described()["training"]
    assert config_of().hash != config_of(batch=8).hash


def shares(model, dropout, few, monkeypatch, encoding="llpe", input_dropout=0.0):
    """How a split trains and what its steps share, where graphs of ``few`` nodes count as few."""
    monkeypatch.setattr(views, "FEW_NODES", few)
    own = {"dim": 8} | ({"order": 16} if encoding == "llpe" else {"k": 8} if encoding == "san" else {})
    options = {"name": model, "hidden": 8, "layers": 2, "dropout": dropout, "input_dropout": input_dropout}
    raw = RAW | {"encoding": {"name": encoding, **own}, "model": options}
    graph, config = load_graph(RAW["dataset"]), resolve(raw)
    task, split = make_task(graph, config.make_encoding()), make_splits(graph, count=1)[0]
    outcome = train_split(task, split, 0, config)
    classifier = config.make_classifier(task.num_features, task.num_classes)
    return outcome, views.look(classifier.train(), task.data, split).share


@pytest.mark.parametrize("few", [0, 1000])
@pytest.mark.parametrize("model", ["mlp", "sage", "gcn", "gt", "GAT"])
def test_looking_at_few_rows_and_sharing_passes_change_no_training(model, few, monkeypatch):
    outcome, share = shares(model, 0.0, few, monkeypatch)
    assert share == ("nothing" if (model, few) == ("mlp", 0) else "scores")
    monkeypatch.setattr(views, "same_in_training", lambda model, forward: False)
    plain, share = shares(model, 0.0, 1000, monkeypatch)
    assert share == "nothing"
    assert (outcome.test, outcome.best_epoch, outcome.epochs) == (plain.test, plain.best_epoch, plain.epochs)
    np.testing.assert_allclose(outcome.traces["curves"]["loss"], plain.traces["curves"]["loss"], rtol=1e-4)


@pytest.mark.parametrize("model", ["sage", "gt"])
def test_with_dropout_the_states_before_it_are_shared_and_training_is_bit_for_bit_the_same(model, monkeypatch):
    outcome, share = shares(model, 0.5, 0, monkeypatch)
    assert share == "states"
    monkeypatch.setattr(views, "same_in_training", lambda model, forward: False)
    plain, share = shares(model, 0.5, 0, monkeypatch)
    assert share == "nothing"
    assert all(torch.equal(outcome.state[name], plain.state[name]) for name in plain.state)


@pytest.mark.parametrize("few", [0, 1000])
def test_an_input_that_is_drawn_at_random_in_training_shares_nothing(few, monkeypatch):
    assert shares("sage", 0.0, few, monkeypatch, encoding="san")[1] == "nothing"
    assert shares("sage", 0.0, few, monkeypatch, input_dropout=0.5)[1] == "nothing"
