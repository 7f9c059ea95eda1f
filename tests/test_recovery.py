"""What the encodings are for: a linear classifier finds the blocks of a graph, at both ends of homophily."""

import dataclasses

import pytest
import torch
from torch import nn

from llpe import LLPE, Graph, full_spectrum, make_encoding
from llpe.data.synthetic import sbm

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


def test_llpe_on_a_disconnected_graph_keeps_what_the_published_scaling_can_lose(monkeypatch):
    """Two components: λ = 0 twice, and a filter sees only λ, so the null space enters as the sum of its two vectors.

    With the component indicators as basis, a valid answer of a solver, the sum of the two min-max scaled vectors is
    the same function of the degree on both sides: the components are gone. One direction per eigenspace,
    ``scaling="unit"``, does not depend on the basis and keeps them.
    """
    data = sbm(n=600, blocks=2, degree=10, homophily=1.0, seed=0)
    graph = Graph.from_data(data)
    spectrum = full_spectrum(graph)
    vectors = spectrum.vectors.clone()
    for component in (0, 1):
        vectors[:, component] = torch.from_numpy(graph.degree).sqrt() * torch.from_numpy(graph.components == component)
    null = vectors[:, :2] / vectors[:, :2].norm(dim=0)
    assert torch.allclose(null @ null.T, spectrum.vectors[:, :2] @ spectrum.vectors[:, :2].T, atol=1e-9)
    vectors[:, :2] = null
    unlucky = dataclasses.replace(spectrum, vectors=vectors)
    monkeypatch.setattr("llpe.encodings.llpe.full_spectrum", lambda *a, **b: unlucky)

    published, default = (
        accuracy_of_a_linear_classifier(LLPE(16, order=64, scaling=scaling), data, cache=False)
        for scaling in ("minmax", "unit")
    )
    assert default > 0.95
    assert published < default - 0.2
