"""LLPE from node features: what it depends on, and that it serves other graphs; the formula is in test_fuzz."""

import pytest
import torch
from torch import Tensor, nn

from llpe import Cache, Graph, make_encoding, tiny
from llpe.data import sbm
from llpe.encodings.filtered import SHARE
from llpe.encodings.invariant import mixtures
from llpe.models import Classifier


@pytest.mark.parametrize("change", [Tensor.to_sparse, Tensor.long, Tensor.double, Tensor.flatten])
def test_features_may_be_sparse_or_whole_numbers_or_one_for_each_node(change):
    data = sbm(50)
    data.x = (data.x[:, :1] > 1).float()
    expected = mixtures(Graph.from_data(data), 4, seed=0)
    data.x = change(data.x)
    assert torch.allclose(mixtures(Graph.from_data(data), 4, seed=0), expected, atol=1e-6)


def test_a_graph_without_features_has_its_degrees():
    encoding = make_encoding("llpe-invariant", dim=4)
    star = encoding(encoding.prepare(tiny("star")))
    assert not torch.allclose(star[0], star[1])
    assert torch.allclose(star[1:], star[1].expand(star.size(0) - 1, -1), atol=1e-6)
    ring = make_encoding("llpe-invariant", dim=4)
    assert (ring(ring.prepare(tiny("ring"))) == 0).all(), "equal degrees say nothing"


def test_the_cache_knows_the_features(tmp_path):
    cache, data = Cache(tmp_path), sbm(200)  # nothing of a small graph is kept
    encoding = make_encoding("llpe-invariant", dim=4)
    one = encoding(encoding.prepare(data, cache=cache))
    data.x = data.x.flip(0)
    two = encoding(encoding.prepare(data, cache=cache))
    assert len(cache.entries()) == 2
    assert not torch.allclose(one, two)
    assert torch.equal(two, encoding(encoding.prepare(data, cache=False)))


@pytest.mark.parametrize("homophily", [0.1, 0.9])
def test_a_model_trained_on_one_block_model_serves_a_larger_one(homophily):
    small, large = sbm(1000, homophily=homophily, seed=1), sbm(2000, homophily=homophily, seed=11)
    scores = {}
    for name in ("none", "llpe-invariant"):
        torch.manual_seed(0)
        encoding = make_encoding(name, dim=32)
        data, other = encoding.prepare(small), encoding.prepare(large)
        model = Classifier(encoding, in_features=10, num_classes=2, hidden=32, layers=1)
        train = torch.rand(1000) < 0.6
        optimiser = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
        for _ in range(40):
            optimiser.zero_grad()
            nn.functional.cross_entropy(model(data)[train], data.y[train]).backward()
            optimiser.step()
        own = (model(data).argmax(dim=1) == data.y)[~train].double().mean().item()
        scores[name] = own, (model(other).argmax(dim=1) == other.y).double().mean().item()
    assert scores["llpe-invariant"][1] > scores["llpe-invariant"][0] - 0.03
    assert scores["llpe-invariant"][1] > scores["none"][1] + 0.25


def test_what_the_first_graph_sets_is_used_on_the_next_and_stored():
    encoding = make_encoding("llpe-invariant", dim=8)
    first, other = sbm(200, seed=1), sbm(300, seed=2)
    before = encoding(encoding.prepare(first))
    assert before.norm(dim=1).mean().item() == pytest.approx(SHARE * first.x.norm(dim=1).mean().item(), rel=1e-4)
    other.x = 10 * other.x
    there = encoding(encoding.prepare(other))
    assert torch.equal(encoding(encoding.prepare(first)), before)
    loaded = make_encoding("llpe-invariant", dim=8)
    loaded.load_state_dict(encoding.state_dict())
    assert torch.equal(loaded(loaded.prepare(other)), there)


def test_a_graph_keeps_its_features_on_the_way():
    data = sbm(50)
    encoding = make_encoding("llpe-invariant", dim=8)
    assert torch.equal(encoding(encoding.prepare(data)), encoding(encoding.prepare(Graph.from_data(data))))
