"""The rows of a step: in batches, or no more than are asked for, learning is the same; and resuming bit for bit."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from lab_cases import same_weights
from llpe.data import load_graph, make_splits
from llpe.lab import batches, predict, resolve
from llpe.lab.batches import make_batches
from llpe.lab.task import make_task
from llpe.lab.train import train_split

RAW = {
    "dataset": "sbm:n=200,homophily=1",
    "encoding": {"name": "llpe-probes", "dim": 8, "order": 16, "probes": 8},
    "model": {"hidden": 8, "dropout": 0.0, "input_dropout": 0.0},
    "training": {"epochs": 12},
    "splits": {"count": 1},
}
GRAPH = load_graph(RAW["dataset"])
SPLIT = make_splits(GRAPH, count=1)[0]


def task_of(model=None, encoding=None, **training):
    sections = {"model": model or {}, "training": training}
    raw = RAW | {name: RAW[name] | changes for name, changes in sections.items()}
    return make_task(GRAPH, resolve(raw | ({"encoding": encoding} if encoding else {})))


def batches_of(task):
    return make_batches(task.model, task.data, task.inputs, SPLIT, task.config.training.batch)


def test_one_batch_of_all_rows_learns_as_full_batch_does():
    losses = [train_split(task_of(batch=size), SPLIT, 0).traces["curves"]["loss"] for size in (None, 10_000)]
    np.testing.assert_allclose(*losses, rtol=1e-3)


def test_batches_cover_every_row_once_and_are_shuffled():
    task = task_of(batch=7)
    task.data.y = torch.arange(task.data.num_nodes)  # the class of a row is its number
    made = batches_of(task)
    mixed = [view.target for view in made.train]
    assert max(map(len, mixed)) == 7
    assert not torch.equal(torch.cat(mixed), SPLIT.train)
    assert torch.equal(torch.cat(mixed).sort().values, SPLIT.train.sort().values)
    assert torch.equal(torch.cat([view.target for view in made.val]), SPLIT.val)
    assert torch.equal(torch.cat([view.inputs.data.x for view in made.val]), task.data.x[SPLIT.val])


def test_what_a_penalty_reads_is_sent_to_a_device_even_if_it_has_a_row_for_each_edge():
    data = Data(x=torch.ones(5, 1), edge_index=torch.ones(2, 3, dtype=torch.long), levels=torch.ones(3, 2))
    assert list(batches.whole_parts(data, torch.device("meta")).to_dict()) == ["num_nodes", "levels"]


def test_small_batches_learn_the_blocks():
    assert train_split(task_of(batch=16, epochs=20), SPLIT, 0).val > 0.9


def test_predictions_in_batches_are_those_of_the_whole(monkeypatch):
    task = task_of()
    whole = predict(task.model, task.data)
    monkeypatch.setattr(batches, "MANY_ROWS", 50)
    monkeypatch.setattr(batches, "BATCH", 17)
    torch.testing.assert_close(predict(task.model, task.data), whole)


def test_many_rows_are_taken_in_batches_by_default(monkeypatch):
    assert len(batches_of(task_of()).train) == 1
    assert batches_of(task_of(batch=64)).train.size == 64
    monkeypatch.setattr(batches, "MANY_ROWS", 50)
    assert batches_of(task_of()).train.size == batches.BATCH
    assert len(batches_of(task_of(model={"name": "sage"})).train) == 1


def test_batches_are_refused_where_nodes_see_each_other():
    with pytest.raises(ValueError, match="`batch` must be left out with a model whose nodes see each other, got 8"):
        train_split(task_of(model={"name": "sage"}, batch=8), SPLIT, 0)


def shares(model, *, encoding=None, layers=2, dropout=0.0, input_dropout=0.0):
    """The outcome of a split, and what its steps share."""
    options = {"name": model, "layers": layers, "dropout": dropout, "input_dropout": input_dropout}
    task = task_of(model=options, encoding=encoding or {"name": "llpe", "dim": 8, "order": 16})
    return train_split(task, SPLIT, 0), batches_of(task).share


@pytest.mark.parametrize(
    ("model", "dropout", "shared"),
    [*((name, 0.0, "logits") for name in ("sage", "gcn", "gt", "GAT")), ("sage", 0.5, "states"), ("gt", 0.5, "states")],
)
def test_sharing_a_pass_changes_no_training(model, dropout, shared, monkeypatch):
    outcome, share = shares(model, dropout=dropout)
    assert share == shared
    monkeypatch.setattr(batches, "same_in_training", lambda model, forward: False)
    plain, share = shares(model, dropout=dropout)
    assert share is None
    assert (outcome.test, outcome.best_epoch, outcome.epochs) == (plain.test, plain.best_epoch, plain.epochs)
    np.testing.assert_allclose(outcome.traces["curves"]["loss"], plain.traces["curves"]["loss"], rtol=1e-4)
    assert shared == "logits" or same_weights(outcome, plain)  # states are the same to the last bit


def test_a_single_layer_of_attention_gives_validation_rows_no_gradients():
    assert shares("gt", layers=1)[1] == "states"


def test_an_input_that_is_drawn_at_random_in_training_shares_nothing():
    assert shares("sage", encoding={"name": "san", "dim": 8, "k": 8})[1] is None
    assert shares("sage", input_dropout=0.5)[1] is None


@pytest.mark.parametrize("model", ["mlp", "sage", "gt"])
def test_rows_read_alone_have_the_logits_of_the_whole_graph(model):
    task = task_of(model={"name": model}, encoding={"name": "llpe", "dim": 8, "order": 16})
    (view,) = batches_of(task).val
    logits = task.model.eval()(view.inputs)[view.rows]
    torch.testing.assert_close(logits, task.model(task.model.inputs(task.data))[SPLIT.val], rtol=1e-4, atol=1e-5)
