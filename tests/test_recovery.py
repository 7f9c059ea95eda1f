"""What the encodings are for: a linear classifier finds the blocks of a graph, at both ends of homophily."""

import dataclasses

import pytest
import torch
from torch import nn

from llpe import LLPE, Graph, full_spectrum, make_encoding
from llpe.data.synthetic import sbm
from llpe.encodings.llpe import minmax
from llpe.probes import draw

FORMS = {"llpe": {}, "llpe-ends": {"k": 16}, "llpe-probes": {"probes": 8}}


def accuracy_of_a_linear_classifier(encoding, data, cache=True):
    """Θ and a linear head, trained on 60 % of the nodes; accuracy on 20 % others."""
    torch.manual_seed(0)
    data = encoding.prepare(data, cache=cache)
    head = nn.Linear(encoding.dim, 2)
    order = torch.randperm(data.num_nodes, generator=torch.Generator().manual_seed(1))
    train, test = order[: int(0.6 * len(order))], order[int(0.8 * len(order)) :]
    optimiser = torch.optim.Adam([*encoding.parameters(), *head.parameters()], lr=0.05)
    for _ in range(120):
        optimiser.zero_grad()
        nn.functional.cross_entropy(head(encoding(data))[train], data.y[train]).backward()
        optimiser.step()
    with torch.no_grad():
        return float((head(encoding(data)).argmax(dim=1) == data.y)[test].float().mean())


@pytest.fixture(scope="module", params=[0.0, 1.0], ids=["heterophilous", "homophilous"])
def blocks(request):
    return request.param, sbm(n=2000, blocks=2, degree=10, homophily=request.param, seed=0)


@pytest.mark.parametrize("name", FORMS)
def test_llpe_recovers_the_blocks_at_both_ends(blocks, name):
    _, data = blocks
    assert accuracy_of_a_linear_classifier(make_encoding(name, dim=16, **FORMS[name]), data) > 0.95


def test_first_eigenvectors_recover_the_blocks_only_where_neighbours_agree(blocks):
    homophily, data = blocks
    accuracy = accuracy_of_a_linear_classifier(make_encoding("lpe-fk", dim=16, k=16), data)
    if homophily == 1:
        assert accuracy > 0.95
    else:
        assert abs(accuracy - 0.5) < 0.1


def indicators(graph):
    """The two null vectors of a graph of two components that live on one component each: a right answer of a solver."""
    root = torch.from_numpy(graph.degree).sqrt()
    sides = [root * torch.from_numpy(graph.components == component) for component in (0, 1)]
    return torch.stack([side / side.norm() for side in sides], dim=1)


def test_published_scaling_can_lose_the_components_and_why():
    """Two components: λ = 0 twice, and a filter sees only λ, so the null space enters as the sum of its two vectors.

    With the component indicators as basis, a valid answer of a solver, the sum of the two min-max scaled vectors is
    the same function of the degree on both sides: the components are gone. In another basis they are there. One
    direction per eigenspace, ``scaling="unit"``, does not depend on the basis and keeps them.
    """
    data = sbm(n=2000, blocks=2, degree=10, homophily=1.0, seed=0)
    graph = Graph.from_data(data)
    spectrum = full_spectrum(graph)
    null = spectrum.vectors[:, spectrum.spaces == spectrum.spaces[0]]
    unlucky = indicators(graph)
    lucky = unlucky @ torch.tensor([[0.8, 0.6], [-0.6, 0.8]], dtype=torch.float64)
    probe = torch.from_numpy(draw(2000, 1, 0)[:, 0]).double()
    for basis in (unlucky, lucky):  # both are right answers
        assert torch.allclose(basis @ basis.T, null @ null.T, atol=1e-9)
        assert best_threshold(basis @ (basis.T @ probe), data.y) == 1.0
    assert best_threshold(minmax(unlucky).sum(dim=1), data.y) < 0.6
    assert best_threshold(minmax(lucky).sum(dim=1), data.y) > 0.95


def best_threshold(values, labels):
    """Accuracy of the best rule "above or below a number" for two classes."""
    ordered = labels[values.argsort()]
    ones = ordered.cumsum(0)
    right = torch.arange(1, len(ones) + 1) - ones + (ones[-1] - ones)  # zeros below, ones above
    share = right.double() / len(ones)
    return float(torch.maximum(share, 1 - share).max())


def test_llpe_full_on_a_disconnected_graph_keeps_what_the_indicator_basis_loses(monkeypatch):
    """The whole encoding, not only its null space: published scaling in the unlucky basis against the default."""
    data = sbm(n=600, blocks=2, degree=10, homophily=1.0, seed=0)
    graph = Graph.from_data(data)
    spectrum = full_spectrum(graph)
    vectors = spectrum.vectors.clone()
    vectors[:, :2] = indicators(graph)
    unlucky = dataclasses.replace(spectrum, vectors=vectors)
    monkeypatch.setattr("llpe.encodings.llpe.full_spectrum", lambda *a, **b: unlucky)

    published, default = (
        accuracy_of_a_linear_classifier(LLPE(16, order=64, scaling=scaling), data, cache=False)
        for scaling in ("minmax", "unit")
    )
    assert default > 0.95
    assert published < default - 0.2
