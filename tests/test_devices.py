"""Every encoding with every backbone on a GPU that is not there; and on one that is, where there is one.

Torch's fake tensors have a shape, a dtype and a device, but no numbers. An operation on two devices is refused as a
real one would be. Without a GPU, torch can neither index a fake ``cuda`` tensor nor take its gradient; there the device
is ``lazy``, which every build knows and no line of the package names.
"""

import copy
import re
from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._mode_utils import no_dispatch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from llpe.data import NodeDataset, Split, sbm
from llpe.device import check_autocast, find_device
from llpe.encodings import ENCODINGS, make_encoding
from llpe.graph import Graph
from llpe.lab import resolve
from llpe.lab.batches import all_logits
from llpe.lab.config import dump_toml
from llpe.lab.export import export_encoding, predict_graph
from llpe.lab.task import make_task
from llpe.lab.train import _Run, train_split
from llpe.models import BACKBONES, PYG_MODELS
from llpe.probes import probe_features, probe_range

DEVICE = torch.device("cuda:0" if torch.cuda.is_available() else "lazy:0")
GRAPH = NodeDataset("sbm", sbm(n=24, degree=4), metric="accuracy", num_classes=2)
SPLIT = Split(*torch.arange(24).split([12, 6, 6]))

aten = torch.ops.aten


class _Answers(TorchDispatchMode):
    """The CPU computes as ever. Numbers that are read from the fake device are 1, and masks there are true everywhere.

    Attributes:
        fetched: the operations that read from the device.
    """

    def __init__(self):
        super().__init__()
        self.fetched = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        there = any(isinstance(each, FakeTensor) for each in tree_leaves((args, kwargs)))
        if not there and torch.device(kwargs.get("device") or "cpu").type == "cpu":
            with no_dispatch():
                return func(*args, **kwargs)
        if func is aten._local_scalar_dense.default:
            self.fetched.append(func)
            return 1.0 if args[0].is_floating_point() else 1
        if func is aten.index.Tensor:
            self.fetched += [func for index in args[1] if index is not None and index.dtype == torch.bool]
            args = (args[0], [self._all(index) for index in args[1]])
        if func is aten.copy_.default and not isinstance(args[0], FakeTensor):
            self.fetched.append(func)
            with no_dispatch():
                return args[0].fill_(1)
        out = func(*args, **kwargs)
        if there and isinstance(out, torch.Tensor) and out.device.type == "cpu":
            self.fetched.append(func)
            with no_dispatch():
                return torch.ones(out.shape, dtype=out.dtype)
        return out

    def _all(self, index):
        """The positions that a mask leaves, if it leaves all."""
        if index is None or index.dtype != torch.bool:
            return index
        return torch.empty(index.numel(), dtype=torch.int64, device=index.device)


@contextmanager
def fake_device():
    """Inside, tensors can be on ``DEVICE``; yields what was fetched from it so far."""
    answers = _Answers()
    with FakeTensorMode(allow_non_fake_inputs=True), answers:
        try:
            torch.nn.Linear(1, 1).to(DEVICE)
        except NotImplementedError:
            pytest.skip(f"torch {torch.__version__} has no fake tensors on {DEVICE}")
        yield answers.fetched


def task_of(encoding="llpe", model="mlp", *, graph=GRAPH, **training):
    own = {"deg": torch.ones(9, dtype=torch.long), "aggregators": ["mean"], "scalers": ["identity"]}  # no defaults
    raw = {
        "dataset": "sbm:n=24",
        "encoding": {"name": encoding, "dim": 8},
        "model": {"name": model, "hidden": 8} | (own if model == "PNA" else {}),
        "training": training,
    }
    return make_task(graph, resolve(raw, find_dataset=False), cache=False)


def train(task, change=lambda run: None):
    """Evaluates, takes the steps of an epoch and classifies all nodes on a fake device, as ``train_split`` does."""
    settings = task.config.training
    with fake_device() as fetched, patch("llpe.lab.train.find_device", return_value=DEVICE):
        run = _Run(task, SPLIT, 0)
        change(run)
        run.evaluate()
        before = len(fetched)
        run.train()
        if task.config.model.name in BACKBONES:  # PyG's layers look at the edges in each pass
            steps = -(-len(SPLIT.train) // (settings.batch or len(SPLIT.train)))
            assert fetched[before:] == [aten._local_scalar_dense.default] * steps  # its losses, after the epoch
        with torch.no_grad():
            logits = all_logits(run.model.eval(), task.data, task.inputs)
        assert logits.device == DEVICE
        assert all(tensor.device == DEVICE for tensor in run.model.state_dict().values())


@pytest.mark.parametrize("model", BACKBONES)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_encoding_with_every_backbone_learns_on_another_device(encoding, model):
    train(task_of(encoding, model))


@pytest.mark.parametrize("model", PYG_MODELS)
def test_every_model_of_pyg_learns_on_another_device(model):
    train(task_of(model=model))


@pytest.mark.parametrize(
    ("model", "settings"), [("mlp", {"batch": 5}), ("mlp", {"optimizer": "sgd"}), ("sage", {}), ("gt", {})]
)
def test_sparse_features_and_the_rows_of_a_split_are_sent_there(model, settings):
    data = copy.copy(GRAPH.data)
    data.x = torch.eye(24)
    task = task_of("llpe-probes", model, graph=replace(GRAPH, data=data), **settings)
    assert task.data.x.layout == torch.sparse_csr
    train(task)


def leave_behind(run):
    run.model.encoding.base = run.model.encoding.base.cpu().new_ones(run.model.encoding.base.shape, device="cpu")


def read_in_a_step(run):
    run.model.head.register_forward_hook(lambda module, inputs, logits: logits * float(logits.detach().max()))


@pytest.mark.parametrize("model", BACKBONES)
def test_a_tensor_that_is_left_on_the_cpu_is_noticed(model):
    with pytest.raises(RuntimeError, match=r"Expected all tensors to be on the same device|two different devices"):
        train(task_of(model=model), leave_behind)


def test_a_number_that_is_fetched_in_a_step_is_noticed():
    with pytest.raises(AssertionError, match="_local_scalar_dense"):
        train(task_of(), read_in_a_step)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_prepare_puts_the_fixed_part_where_the_data_is(encoding, monkeypatch):
    """An encoding that is still on the CPU too: it can be moved later."""
    encoding = make_encoding(encoding, dim=8)
    graph = Graph.from_data(GRAPH.data)
    parts = encoding.fixed_part(graph, False)
    monkeypatch.setattr(type(encoding), "fixed_part", lambda *_: parts)
    with fake_device():
        data = GRAPH.data.clone().to(DEVICE)
        encoding.attach(data, [graph], False)
        assert parts
        assert all(data[name].device == DEVICE for name in parts)
        assert encoding.to(DEVICE)(data).device == DEVICE


def test_probe_features_are_computed_there_and_written_to_the_cpu(monkeypatch):
    monkeypatch.setattr("llpe.probes.SMALL", 0)
    with fake_device() as fetched:
        features, inner = probe_range(GRAPH.graph, 0, 4, order=3, probes=4, centred=True, device=DEVICE)
    assert features.shape == (24, 4, 3)
    assert features.eq(1).all()  # all of it came from there
    assert inner.shape == (2, 3, 4)
    assert fetched.count(aten.copy_.default) == 4 * 3  # each term of each block of probes, here of one, at its time


def test_a_checkpoint_of_the_cpu_continues_on_another_device(tmp_path, monkeypatch):
    task = task_of(model="sage", epochs=4)
    train_split(task, SPLIT, 0, checkpoint=tmp_path / "c.pt", pause=2)
    saved = torch.load(tmp_path / "c.pt", weights_only=True)
    monkeypatch.setattr(torch, "load", lambda *_, **__: saved)  # in the mode, torch would load fake tensors

    def resume(run):
        run.load(tmp_path / "c.pt")
        assert run.epoch == 2
        assert all(tensor.device == DEVICE for tensor in run.best_state.values())

    train(task, resume)


@pytest.mark.parametrize(
    ("device", "words"),
    [
        ("gpu", "be auto, cpu, cuda, cuda:0, cuda:1, … or mps, got 'gpu'"),
        ("cuda", "got 'cuda' without CUDA. Install a build of PyTorch with it"),
        ("cuda:1", "got 'cuda:1' where PyTorch sees no GPU. Look for it with nvidia-smi"),
        ("cuda:7", "be one of 2 GPUs, cuda:0 … cuda:1, got 'cuda:7'. Or take device='cpu'"),
        ("mps", "got 'mps', which is for Apple's own processors. Or take device='cpu'"),
    ],
)
def test_a_device_that_is_not_there_is_refused(device, words, monkeypatch):
    monkeypatch.setattr(torch.backends.cuda, "is_built", lambda: device != "cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: device == "cuda:7")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    for refuses in (
        lambda: task_of(device=device),
        lambda: probe_features(GRAPH.data, order=2, probes=1, device=device),
        lambda: make_encoding("llpe", dim=2).prepare(GRAPH.data, device=device),
        lambda: predict_graph("run", GRAPH, device=device),
        lambda: export_encoding(GRAPH, "pe.npz", device=device),
    ):
        with pytest.raises(ValueError, match=re.escape(words)):
            refuses()


def test_auto_is_a_gpu_where_there_is_one(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert find_device("auto") == torch.device("cpu")
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert find_device("auto") == torch.device("mps")


def test_a_gpu_without_bfloat16_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: False)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "Tesla P4")
    with pytest.raises(ValueError, match="be a format that the GPU supports, got 'bfloat16' on a Tesla P4"):
        check_autocast(torch.device("cuda"), "bfloat16")


def test_a_cpu_that_imitates_bfloat16_is_warned_of(monkeypatch):
    monkeypatch.setattr("llpe.device.cpu_has_bfloat16", lambda: False)
    with pytest.warns(UserWarning, match="this CPU can only imitate, many times slower than float32. Leave it out"):
        task_of(autocast="bfloat16")


def test_the_device_is_no_part_of_a_run_and_autocast_is(monkeypatch):
    monkeypatch.setattr("llpe.device.cpu_has_bfloat16", lambda: True)
    plain, auto, half = (task_of(**own).config for own in ({}, {"device": "auto"}, {"autocast": "bfloat16"}))
    assert plain.hash == auto.hash != half.hash
    assert "device" not in dump_toml(auto)
    assert {"device", "autocast"} & plain.model_dump()["training"].keys() == set()


def test_autocast_leaves_the_encoding_and_the_last_scores_their_digits(monkeypatch):
    monkeypatch.setattr("llpe.device.cpu_has_bfloat16", lambda: True)  # where it is imitated, the digits are the same
    task = task_of("llpe-probes", "gcn", autocast="bfloat16", epochs=3)
    encoded, logits = [], []
    task.model.encoding.register_forward_hook(lambda module, inputs, out: encoded.append(out.dtype))
    task.model.head.register_forward_hook(lambda module, inputs, out: logits.append(out.dtype))
    outcome = train_split(task, SPLIT, 0)
    assert outcome.status == "done"
    assert set(encoded) == {torch.float32}
    assert set(logits[:-1]) >= {torch.bfloat16}
    assert logits[-1] == torch.float32
    plain = train_split(task_of("llpe-probes", "gcn", epochs=3), SPLIT, 0).traces["curves"]["loss"]
    close = outcome.traces["curves"]["loss"]
    assert not np.array_equal(close, plain)
    np.testing.assert_allclose(close, plain, rtol=0.02)


needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU that PyTorch can use")


@needs_gpu
@pytest.mark.parametrize("model", BACKBONES)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_gpu_learns_what_the_cpu_learns(encoding, model):
    curves = []
    for device in ("cpu", "cuda"):
        task = task_of(encoding, model, epochs=5, device=device)
        curves.append(train_split(task, SPLIT, 0).traces["curves"]["loss"])
    np.testing.assert_allclose(*curves, rtol=1e-2)


@needs_gpu
@pytest.mark.parametrize("devices", [("cpu", "cuda"), ("cuda", "cpu"), ("cuda", "cuda")])
def test_a_run_continues_on_another_device(devices, tmp_path):
    first, second = (task_of(model="sage", epochs=8, device=device) for device in devices)
    train_split(first, SPLIT, 0, checkpoint=tmp_path / "c.pt", pause=4)
    resumed = train_split(second, SPLIT, 0, checkpoint=tmp_path / "c.pt").traces["curves"]["loss"]
    np.testing.assert_allclose(resumed, train_split(first, SPLIT, 0).traces["curves"]["loss"], rtol=1e-2)


@needs_gpu
def test_prepared_data_and_probe_features_of_a_gpu_are_those_of_the_cpu():
    features = [probe_features(GRAPH.data, order=8, probes=4, device=device)[0] for device in ("cpu", "cuda")]
    torch.testing.assert_close(*features)
    encoding = make_encoding("llpe-probes", dim=8)
    there = encoding.prepare(GRAPH.data.clone().to("cuda"), cache=False)
    torch.testing.assert_close(encoding.cuda()(there).cpu(), encoding.cpu()(encoding.prepare(GRAPH.data)))
