"""What only some encodings do, and the options that each name takes; the contract of all is in test_every_encoding."""

import pytest
import torch
from torch_geometric.data import Batch

from encoding_cases import build
from llpe import make_encoding, tiny


@pytest.mark.parametrize("name", ["lpe-full", "elastic"])
def test_a_batch_of_graphs_of_different_sizes_needs_a_width(name):
    batch = Batch.from_data_list([tiny("path"), tiny("grid")])
    with pytest.raises(ValueError, match=rf"graphs of equal size for '{name}', got .* \[5, 5\], \[12, 12\].* `width`"):
        make_encoding(name, dim=4).prepare(batch)


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


def test_two_encodings_with_other_arguments_live_on_one_graph():
    one, two = build("llpe"), build("llpe-minmax")
    data = two.prepare(one.prepare(tiny("grid")))
    assert not torch.allclose(one(data), two(data))
    assert torch.equal(one(data), one(one.prepare(tiny("grid"))))


@pytest.mark.parametrize("case", ["signnet", "san"])
def test_node_chunks_change_nothing(case, monkeypatch):
    encoding = build(case)
    data = encoding.prepare(tiny("grid"))
    whole = encoding(data)
    whole.square().sum().backward()
    gradients = [p.grad.clone() for p in encoding.parameters()]
    encoding.zero_grad()
    monkeypatch.setattr(f"llpe.encodings.{case}.CHUNK_ENTRIES", 1)
    chunked = encoding(data)
    assert torch.allclose(chunked, whole, atol=1e-6)
    chunked.square().sum().backward()
    for parameter, gradient in zip(encoding.parameters(), gradients, strict=True):
        assert torch.allclose(parameter.grad, gradient, atol=1e-3)
    with torch.no_grad():
        assert torch.allclose(encoding(data), whole, atol=1e-6)


def test_san_flips_signs_in_training_only():
    encoding = build("san")
    data = encoding.prepare(tiny("grid"))
    assert torch.equal(encoding(data), encoding(data))
    encoding.train()
    torch.manual_seed(0)
    outputs = [encoding(data) for _ in range(6)]
    assert any(not torch.allclose(outputs[0], other) for other in outputs[1:])


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("spectral", {}, "`name` must be one of none, lpe-fk, .*llpe-invariant, got 'spectral'"),
        ("lpe-fk", {}, "`dim` must be given for 'lpe-fk'"),
        ("lpe-fk", {"dim": 4, "order": 3}, "options of 'lpe-fk' must be among dim, k, seed, got order"),
        ("lpe-fk", {"dim": 4, "k": 0}, "`k` must be an integer of at least 1, got 0"),
        ("lpe-flk", {"dim": 4, "k": -2}, "`k` must be an integer of at least 1, got -2"),
        ("rwse", {"dim": 4, "steps": 0}, "`steps` must be an integer of at least 1"),
        ("signnet", {"dim": 4, "hidden": 0}, "`hidden` must be an integer of at least 1"),
        ("san", {"dim": 6}, "`dim` must be a multiple of heads=4, got 6"),
        ("elastic", {"dim": 4, "width": 0}, "`width` must be an integer of at least 1"),
        (
            "rwse",
            {"dim": 4, "foo": 1, "k": 3},
            r"among dim, steps, seed, got foo, k\. `k` is an option of lpe-fk,",
        ),
        ("llpe", {"dim": 4, "source": "full"}, "`source` must be left out, got 'full'.* Use the encoding 'llpe'"),
        ("llpe", {"dim": 4, "source": "ends", "k": 2}, "`source` must be left out.* Use the encoding 'llpe-ends'"),
        ("llpe", {"dim": 4, "probes": 2, "source": "probes"}, "`source` must .* Use the encoding 'llpe-probes'"),
        ("llpe-probes", {"dim": 4, "source": "probes"}, "`source` must .* Use the encoding 'llpe-probes'"),
        ("llpe", {"dim": 4, "scaling": "minmax"}, "`scaling` must be left out.* Use the encoding 'llpe-minmax'"),
        ("llpe-minmax", {"dim": 4, "scaling": "unit"}, "`scaling` must be left out.* Use the encoding 'llpe'"),
        ("llpe", {"dim": 4, "probes": 2}, r"must be among dim, order, .*, got probes\. .* is an option of llpe-probes"),
        ("llpe-minmax", {"dim": 4, "size": 10.0}, "must be among dim, order, l1, l2, seed, got size"),
    ],
)
def test_bad_arguments_are_refused(name, options, words):
    with pytest.raises(ValueError, match=words):
        make_encoding(name, **options)
