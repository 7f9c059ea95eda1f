"""What only some encodings do, and the options that each name takes; the contract of all is in test_every_encoding."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Batch, Data

from encoding_cases import build
from llpe import Graph, SpectrumError, make_encoding, tiny
from llpe.encodings import SignNet
from llpe.encodings.elastic import potentials
from naive_formulas import CHECKS, Naive


@pytest.mark.parametrize("name", ["lpe-full", "elastic"])
def test_a_projection_with_a_row_per_node_takes_its_width_from_the_first_graph(name):
    encoding = make_encoding(name, dim=4)
    data = encoding.prepare(tiny("grid"))
    assert encoding.project.weight.shape == (4, 12)
    assert encoding(data).shape == (12, 4)
    with pytest.raises(ValueError, match=r"must see 12 columns.*got 5"):
        encoding(encoding.prepare(tiny("path")))
    with pytest.raises(ValueError, match="`width` must be at least the number of nodes, got 3 for a graph of 12"):
        make_encoding(name, dim=4, width=3).prepare(tiny("grid"))
    batch = Batch.from_data_list([tiny("path"), tiny("grid")])
    with pytest.raises(ValueError, match=rf"graphs of equal size for '{name}', got .* \[5, 5\], \[12, 12\].* `width`"):
        make_encoding(name, dim=4).prepare(batch)


def test_descent_on_all_eigenvectors_teaches_nodes_without_a_label_nothing():
    def learned(name, **options):
        """What a step on the loss of the first six nodes changes for the other six, but for the bias."""
        encoding = make_encoding(name, dim=3, **options)
        data = encoding.prepare(tiny("grid"))
        before, bias = encoding(data), encoding.project.bias.clone()
        before[:6].square().sum().backward()
        torch.optim.SGD(encoding.parameters(), lr=0.1).step()
        return (encoding(data) - before - (encoding.project.bias - bias))[6:].abs().max()

    assert learned("lpe-full") < 1e-6
    assert learned("lpe-fk", k=4) > 1e-3


def test_two_encodings_with_other_arguments_live_on_one_graph():
    one, two = build("llpe"), build("llpe-minmax")
    data = two.prepare(one.prepare(tiny("grid")))
    assert not torch.allclose(one(data), two(data))
    assert torch.equal(one(data), one(one.prepare(tiny("grid"))))


def test_san_takes_nodes_in_chunks_which_changes_nothing(monkeypatch):
    encoding = build("san")
    data = encoding.prepare(tiny("grid"))
    results = []
    for entries in (2**24, 1):
        monkeypatch.setattr("llpe.encodings.san.CHUNK_ENTRIES", entries)
        out = encoding(data)
        results.append([out, *torch.autograd.grad(out.square().sum(), list(encoding.parameters()))])
    torch.testing.assert_close(*results, atol=1e-3, rtol=1e-4)
    with torch.no_grad():
        torch.testing.assert_close(encoding(data), results[0][0])


def test_san_flips_signs_in_training_only():
    encoding = build("san")
    data = encoding.prepare(tiny("grid"))
    assert torch.equal(encoding(data), encoding(data))
    encoding.train()
    torch.manual_seed(0)
    outputs = [encoding(data) for _ in range(6)]
    assert any(not torch.allclose(outputs[0], other) for other in outputs[1:])


@pytest.fixture
def signnet():
    """SignNet in float64, and a graph of 40 nodes with some eigenvectors missing."""
    encoding = SignNet(5, k=7, hidden=9, out=3).double()
    generator = torch.Generator().manual_seed(0)
    data = Data(num_nodes=40)
    data[encoding.attribute("vectors")] = torch.randn(40, 7, generator=generator).double()
    data[encoding.attribute("mask")] = torch.rand(40, 7, generator=generator) > 0.3
    return encoding, data


@pytest.mark.parametrize("bias", [1.0, 0.0, 1e-3, 1e3, "no bend"])
def test_signnet_has_the_values_and_gradients_of_evaluating_phi_wherever_the_bends_are(signnet, bias):
    encoding, data = signnet
    first = encoding.phi[0]
    with torch.no_grad():
        if bias == "no bend":  # a unit with slope 0 is constant; with slope and offset 0 it is nothing
            first.weight[:3] = 0
            first.bias[:3] = torch.tensor([0.5, -0.5, 0.0])
        else:
            first.bias *= bias
    entries, mask = data[encoding.attribute("vectors")][..., None], data[encoding.attribute("mask")][..., None]
    naive = encoding.rho(((encoding.phi(entries) + encoding.phi(-entries)) * mask).sum(dim=1))
    weights = torch.linspace(-1, 1, naive.numel(), dtype=torch.float64).view_as(naive)
    found, expected = (
        [out, *torch.autograd.grad((out * weights).sum(), list(encoding.parameters()))]
        for out in (encoding(data), naive)
    )
    torch.testing.assert_close(found, expected, atol=1e-11, rtol=1e-10)


def test_signs_change_no_bit_of_signnet(signnet):
    encoding, data = signnet
    before = encoding(data)
    data[encoding.attribute("vectors")] *= torch.tensor([1, -1, 1, -1, -1, 1, -1])
    assert torch.equal(encoding(data), before)


@pytest.mark.parametrize("weight", [1e-30, 1e12, 1e16, 1e37])
def test_elastic_potentials_are_inverse_to_the_weights(weight):
    """A ring of m nodes: L⁺_ij = ((m² − 1)/12 − d(m − d)/2) / m for nodes d steps apart, over the weight."""
    data = tiny("ring")
    data.edge_weight = torch.full((16,), weight, dtype=torch.float64)
    distance = np.abs(np.subtract.outer(np.arange(8), np.arange(8)))
    expected = -distance * (8 - distance) / 16 / weight
    assert np.allclose(potentials(Graph.from_data(data)), expected, rtol=1e-12, atol=1e-13 / weight)


def test_elastic_refuses_what_cannot_be_represented():
    data = tiny("path")
    for weight in (1e-310, 1e-40, 1e40, 1e308):
        data.edge_weight = torch.full((8,), weight, dtype=torch.float64)
        with pytest.raises(ValueError, match=r"`data.edge_weight` must give potentials between 1e-38 and 3e\+38, got"):
            potentials(Graph.from_data(data))
    data.edge_weight = torch.tensor([1.0, 1.0, 1e-16, 1e-16, 1.0, 1.0, 1.0, 1.0], dtype=torch.float64)
    with pytest.raises(SpectrumError, match=r"mostly rounding errors.* 'llpe-probes'"):
        potentials(Graph.from_data(data))
    data.edge_weight = torch.tensor([1e-16, 1e-16, *[1.0] * 6], dtype=torch.float64)  # a node that hangs by a thread
    a = potentials(Graph.from_data(data))
    assert np.allclose(a[0, 1] - a[1, 1], -0.2e16, rtol=1e-6)


def test_elastic_refuses_what_does_not_fit_in_memory(monkeypatch):
    graph = Graph.from_data(tiny("grid"))
    monkeypatch.setattr("llpe.storage.SMALL_WORK", 0)
    monkeypatch.setattr("llpe.storage.available_memory", lambda: 100)
    with pytest.raises(SpectrumError, match=r"potentials of 12 nodes needs about .* 'llpe-probes'"):
        potentials(graph)


def weighted(widest: float) -> Data:
    """A ring of 200 nodes with chords, and weights from 1e-widest to 1e+widest."""
    nodes = torch.arange(200)
    edges = torch.stack([nodes.repeat(2), torch.cat([nodes + 1, nodes + 7]) % 200])
    weights = 10.0 ** torch.linspace(-widest, widest, 400, dtype=torch.float64)
    return Data(edge_index=torch.cat([edges, edges.flip(0)], dim=1), edge_weight=weights.repeat(2), num_nodes=200)


@pytest.mark.parametrize("widest", [0, 2, 20, 60])
def test_fastrp_is_its_formula_at_any_range_of_weights(widest):
    encoding = make_encoding("fastrp", dim=6, powers=4, exponent=-0.7, size=0.5, seed=3)
    data = encoding.prepare(weighted(widest), cache=False)
    rows = data[encoding.attribute("rows")]
    assert CHECKS["fastrp"](encoding, data, Naive(data), lambda part: rows.double().numpy())
    assert torch.equal(encoding(data), 0.5 * rows)


def test_fastrp_refuses_degrees_too_far_apart():
    with pytest.raises(ValueError, match="no power of the degrees, to -2, is below 1e-150 of the largest"):
        make_encoding("fastrp", dim=4, exponent=-2).prepare(weighted(140), cache=False)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("spectral", {}, "`name` must be one of none, lpe-fk, .*llpe-invariant, got 'spectral'"),
        ("lpe-fk", {}, "`dim` must be given for 'lpe-fk'"),
        ("lpe-fk", {"k": 0}, "`k` must be an integer of at least 1, got 0"),
        (
            "rwse",
            {"foo": 1, "k": 3},
            r"must be among dim, steps, seed, got foo, k\. `k` is an option of lpe-fk,",
        ),
        ("san", {"dim": 6}, "`dim` must be a multiple of heads=4, got 6"),
        ("llpe", {"source": "full"}, "`source` must be left out, got 'full'.* Use the encoding 'llpe'"),
        ("llpe", {"source": "ends", "k": 2}, "`source` must be left out.* Use the encoding 'llpe-ends'"),
        ("llpe", {"probes": 2, "source": "probes"}, "`source` must .* Use the encoding 'llpe-probes'"),
        ("llpe-probes", {"source": "probes"}, "`source` must .* Use the encoding 'llpe-probes'"),
        ("llpe", {"scaling": "minmax"}, "`scaling` must be left out.* Use the encoding 'llpe-minmax'"),
        ("llpe-minmax", {"scaling": "unit"}, "`scaling` must be left out.* Use the encoding 'llpe'"),
        ("llpe", {"probes": 2}, r"must be among dim, order, .*, got probes\. .* is an option of llpe-probes"),
        ("llpe-minmax", {"size": 10.0}, "must be among dim, order, l1, l2, seed, got size"),
        ("llpe-ends", {"scaling": "none"}, "`scaling` must be one of 'unit', 'minmax', got 'none'"),
        ("llpe-ends", {"scaling": "minmax", "directions": 2}, "`directions` must be 1 with scaling='minmax', got 2"),
        ("llpe", {"start": "zero"}, "`start` must be one of 'uniform', 'heat', 'step', got 'zero'"),
        ("llpe", {"l1": -1.0}, "`l1` must be a finite number of at least 0"),
        ("llpe", {"frozen": True, "l2": 0.1}, r"`l2` must be 0 for frozen filters, got 0\.1"),
        ("llpe", {"directions": 1, "rows": "unit"}, "`rows` must be 'plain' with one direction, got 'unit'"),
        ("llpe-probes", {"size": 0.0}, "`size` must be a finite number above 0, got 0"),
        ("llpe-probes", {"rows": "long"}, "`rows` must be one of 'plain', 'unit', got 'long'"),
        ("llpe-probes", {"dim": 96, "probes": 64}, "`dim` must be probes × filters, a multiple of probes=64, got 96"),
        ("llpe-invariant", {"dim": 6}, "`dim` must be a multiple of filters=4, got 6"),
        ("fastrp", {"size": 0}, "`size` must be a finite number above 0, got 0"),
    ],
)
def test_options_that_a_name_does_not_take_are_refused_with_advice(name, options, words):
    with pytest.raises(ValueError, match=words):
        make_encoding(name, **({"dim": 4} if options else {}) | options)
