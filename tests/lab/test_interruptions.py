"""Training that is interrupted, killed or finds damaged files: nothing is lost, and the bits are the same."""

import os
import signal
from functools import cache

import pytest
import torch
from filelock import FileLock

from lab_cases import SBM, config_of, same_weights
from llpe.data import make_splits
from llpe.lab import RunFolder, WorkerError, run
from llpe.lab import train as train_module
from llpe.lab.export import predict_graph
from llpe.lab.task import make_task
from llpe.lab.train import train_split
from llpe.sealed import DamagedError, DamageWarning

SPLITS = make_splits(SBM)


@cache
def train_whole(**changes):
    """What all splits share, and the first of them, trained without interruption."""
    task = make_task(SBM, config_of(**changes))
    return task, train_split(task, SPLITS[0], 0)


@pytest.mark.parametrize("settings", [{"dropout": 0.0}, {"dropout": 0.5}, {"batch": 16}])
def test_a_resumed_split_ends_with_the_same_bits(tmp_path, settings):
    """Stopped after every third epoch, saved, and resumed."""
    task, whole = train_whole(**settings)
    stops = []

    def stop(progress):
        if progress.epoch % 3 == 2 and progress.epoch not in stops:
            stops.append(progress.epoch)
            raise KeyboardInterrupt

    pieces = None
    while pieces is None:
        try:
            pieces = train_split(task, SPLITS[0], 0, checkpoint=tmp_path / "checkpoint.pt", on_epoch=stop)
        except KeyboardInterrupt:
            torch.manual_seed(99)
    assert len(stops) > 4
    fields = ("test", "val", "best_epoch", "epochs")
    assert [getattr(pieces, name) for name in fields] == [getattr(whole, name) for name in fields]
    assert same_weights(pieces, whole)
    for name in ("val", "loss"):
        assert pieces.traces["curves"][name].tobytes() == whole.traces["curves"][name].tobytes()


@pytest.mark.parametrize("keep", [0, 0.5, 1])
def test_a_split_with_a_damaged_checkpoint_says_so_and_starts_again(tmp_path, keep):
    (task, whole), file = train_whole(), tmp_path / "checkpoint.pt"
    train_split(task, SPLITS[0], 0, checkpoint=file, pause=9)
    content = bytearray(file.read_bytes())
    content[len(content) // 3] ^= 1
    file.write_bytes(content[: int(keep * len(content))])
    with pytest.warns(DamageWarning, match=r"checkpoint.pt: must be as it was written.* Its split starts again"):
        resumed = train_split(task, SPLITS[0], 0, checkpoint=file)
    assert same_weights(resumed, whole)


def test_damaged_results_and_models_are_refused_by_name(tmp_path):
    found = run(SBM, config_of(), root=tmp_path)
    for name in ("report.json", "model.safetensors", "split.npz"):
        file = found.run / "split-00" / name
        content = file.read_bytes()
        file.write_bytes(content.replace(b"sha256:", b"sha255:"))
        with pytest.raises(DamagedError, match=rf"split-00/{name}: must be as it was written"):
            predict_graph(found.run, SBM, split=0)
        file.write_bytes(content)
    assert predict_graph(found.run, SBM, split=0).scores["test"].score == found.outcomes[0].test


def test_a_step_that_was_interrupted_leaves_the_checkpoint_before_it(tmp_path, monkeypatch):
    (task, whole), file = train_whole(), tmp_path / "checkpoint.pt"
    monkeypatch.setattr(train_module, "CHECKPOINT_SECONDS", 0.0)
    original, steps = torch.optim.Adam.step, []

    def interrupted(self):
        original(self)
        steps.append(self)
        if len(steps) == 5:
            raise KeyboardInterrupt

    monkeypatch.setattr(torch.optim.Adam, "step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train_split(task, SPLITS[0], 0, checkpoint=file)
    assert same_weights(train_split(task, SPLITS[0], 0, checkpoint=file), whole)


def test_a_folder_in_use_is_refused(tmp_path, monkeypatch):
    folder = RunFolder.of(tmp_path, config_of())
    folder.path.mkdir(parents=True)
    held = FileLock(folder.path / ".lock", is_singleton=False)
    with held:
        monkeypatch.setattr("llpe.runs.FileLock", lambda path, timeout: FileLock(path, timeout=0.1))
        with pytest.raises(RuntimeError, match="is being trained by another process"), folder.locked():
            pass


def killed(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def wrong(*_):
    raise ValueError("something is wrong")


@pytest.mark.parametrize(
    ("fault", "error", "said"),
    [
        (killed, WorkerError, r"a worker process died \(signal 9\).*memory ran out"),
        (wrong, ValueError, "something is wrong"),
    ],
)
def test_a_dead_worker_and_an_error_in_one_reach_the_caller(monkeypatch, fault, error, said):
    monkeypatch.setattr(train_module, "make_optimiser", fault)
    with pytest.raises(error, match=said):
        run(SBM, config_of(), workers=2)


def test_an_interruption_in_the_parent_leaves_checkpoints_of_all_workers(tmp_path):
    def interrupt(progress):
        if progress.epoch > 3:
            raise KeyboardInterrupt

    config = config_of(epochs=100_000, patience=100_000)
    with pytest.raises(KeyboardInterrupt):
        run(SBM, config, root=tmp_path, workers=2, on_progress=interrupt)
    assert len(list(tmp_path.rglob("checkpoint.pt"))) == 2
    assert not list(tmp_path.rglob("report.json"))
