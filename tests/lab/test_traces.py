"""What a split leaves behind for reports agrees with its scores, and is drawn without chance."""

import json

import numpy as np
import pytest
import torch

from lab_cases import SBM
from llpe.chebyshev import basis
from llpe.data import make_splits, sbm
from llpe.encodings import ENCODINGS
from llpe.graph import Graph, tiny
from llpe.lab import assign, resolve, run
from llpe.lab.traces import label_moments, picture
from llpe.spectrum import full_spectrum


def trained(tmp_path, encoding, **training):
    small = {"encoding.name": encoding, "dim": 8, "model.hidden": 8, "epochs": 12, "lr": 0.02, "count": 1}
    return run(SBM, resolve(assign({"dataset": "sbm:n=120"}, small | training)), root=tmp_path, workers=1)


def arrays(fit, name):
    with np.load(fit.run / "split-00" / f"{name}.npz", allow_pickle=False) as file:
        return dict(file)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_traces_of_every_encoding_agree_with_its_scores(tmp_path, encoding):
    fit = trained(tmp_path, encoding)
    outcome = fit.outcomes[0]
    curves = arrays(fit, "curves")
    assert curves["val"].shape == (outcome.epochs + 1,)
    assert curves["loss"].shape == (outcome.epochs,)
    assert curves["val"][outcome.best_epoch] == curves["val"].max() == outcome.val
    assert curves["loss"][-1] < curves["loss"][0]
    predictions = arrays(fit, "predictions")
    split = make_splits(SBM)[0]
    assert predictions["correct"].shape == predictions["homophily"].shape == split.test.shape
    assert predictions["correct"].mean() == pytest.approx(outcome.test)
    assert (fit.run / "split-00" / "picture.npz").exists() == (encoding != "none")


def test_a_picture_holds_the_learned_encoding_up_to_a_rotation(tmp_path):
    fit = trained(tmp_path, "llpe")
    drawn = arrays(fit, "picture")
    with torch.no_grad():
        rows = fit.encoding(fit.data).double().numpy()
    gram = np.cov(rows.T)
    largest = np.linalg.eigvalsh(gram)[::-1]
    assert np.allclose(drawn["points"].var(axis=0, ddof=1), largest[:2], rtol=1e-4)
    assert np.allclose(drawn["share"], largest[:2] / largest.sum(), rtol=1e-4)
    assert (drawn["classes"] == fit.data.y.numpy()).all()


def test_a_split_that_fails_says_why_and_leaves_its_curves(tmp_path):
    with pytest.raises(RuntimeError, match=r"every split failed; split 0: the loss was .*smaller lr"):
        trained(tmp_path, "llpe", lr=1e30)
    (folder,) = tmp_path.rglob("split-00")
    assert sorted(path.name for path in folder.iterdir()) == ["curves.npz", "report.json", "split.npz"]
    assert json.loads((folder / "report.json").read_text())["status"] == "failed"


def test_pictures_show_the_same_nodes_of_graphs_of_one_size(tmp_path, monkeypatch):
    monkeypatch.setattr("llpe.lab.traces.PICTURED", 50)
    one, two = (arrays(trained(tmp_path, name), "picture") for name in ("llpe", "rwse"))
    assert one["points"].shape == (50, 2)
    assert one["classes"].tolist() == two["classes"].tolist()


def test_a_picture_of_one_constant_column_is_a_point():
    drawn = picture(torch.ones(4, 1), torch.tensor([0, 1, -1, 0]))
    assert not drawn["points"].any()
    assert drawn["share"].tolist() == [0, 0]


@pytest.mark.parametrize("name", ["grid", "two-triangles", "isolated-node"])
def test_moments_of_the_labels_are_those_of_the_eigenvectors(name):
    data = tiny(name)
    y = torch.arange(data.num_nodes) % 3
    y[0] = -1
    graph = Graph.from_data(data, warn=False)
    spectrum = full_spectrum(graph, cache=False)
    root = torch.from_numpy(np.sqrt(graph.degree)).double()
    labels = torch.stack([(y == c).double() for c in range(3)], dim=1)
    labels -= torch.outer(root, root @ labels) / root.square().sum()
    energy = (spectrum.vectors.double().T @ labels).square().sum(dim=1)
    expected = (energy[:, None] * basis(spectrum.values.double(), 9)).sum(dim=0) / energy.sum()
    assert np.allclose(label_moments(graph, y, 9), expected, atol=1e-5)


def test_many_classes_are_summed_with_random_signs_and_keep_their_moments(monkeypatch):
    data = sbm(1200, blocks=40, degree=30, homophily=0.8)
    graph = Graph.from_data(data)
    some = label_moments(graph, data.y, 12)
    monkeypatch.setattr("llpe.lab.traces.CLASSES", 100)
    each = label_moments(graph, data.y, 12)
    assert np.abs(some - each).max() < 0.05
    assert not np.array_equal(some, each)
