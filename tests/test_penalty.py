"""The penalty on learned filters against the gain matrix, written out naively."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Batch, Data

from llpe import LLPE, ProbeLLPE, chebyshev, end_spectrum, full_spectrum, tiny
from llpe.data.synthetic import sbm
from llpe.encodings.filtered import LEVELS, penalty_parts
from naive_formulas import naive_gains

PLAIN = {"size": 1.0, "start": "uniform"}  # the paper's formula and what it learns


def test_penalty_of_probes_is_that_of_the_density():
    data = sbm(n=1500, seed=0)
    exact = LLPE(6, order=16, l1=1.0, l2=1.0, **PLAIN)
    probes = ProbeLLPE(64 * 6, order=16, probes=64, l1=1.0, l2=1.0, **PLAIN)
    assert torch.equal(exact.theta, probes.theta)
    expected = float(exact.penalty(exact.prepare(data)).detach())
    assert float(probes.penalty(probes.prepare(data)).detach()) == pytest.approx(expected, rel=0.05)


def test_merged_eigenvalues_keep_the_penalty():
    """More distinct eigenvalues than levels are merged with neighbours: the sums barely change."""
    values = torch.linspace(0, 2, 3 * LEVELS, dtype=torch.float64)
    theta = LLPE(8, order=64, **PLAIN).theta.detach().double()
    parts = penalty_parts(values.numpy(), np.ones(values.numel()), 64, values.numel())
    gains = chebyshev.basis(values, 64) @ theta
    angle, count = parts["levels"][:, :1], parts["levels"][:, 1:]
    merged = count * torch.cos(angle * torch.arange(64)) @ theta
    assert merged.abs().sum().item() == pytest.approx(gains.abs().sum().item(), rel=2e-3)
    squared = ((parts["gram"] @ theta) * theta).sum()
    assert squared.sqrt().item() == pytest.approx(torch.linalg.norm(gains).item(), rel=1e-10)


@pytest.mark.parametrize("source", ["full", "ends"])
@pytest.mark.parametrize(("l1", "l2"), [(0.3, 0.0), (0.0, 0.3), (0.3, 0.2)])
def test_the_penalty_is_that_of_the_gain_matrix_and_its_gradient_can_be_taken_twice(l1, l2, source):
    data = sbm(n=200, seed=0)
    k = 20 if source == "ends" else None
    encoding = LLPE(6, order=16, source=source, k=k, l1=l1, l2=l2, **PLAIN).double()
    penalty = encoding.penalty(encoding.prepare(data))
    penalty.backward(retain_graph=True)
    once = encoding.theta.grad.clone()
    theta = encoding.theta.detach().clone().requires_grad_()
    spectrum = full_spectrum(data) if source == "full" else end_spectrum(data, first=20, last=20)
    gains = naive_gains(spectrum.values, theta)
    naive = l1 * gains.abs().sum() + l2 * gains.square().sum().sqrt()
    naive.backward()
    assert torch.allclose(penalty, naive, rtol=1e-9)
    assert torch.allclose(once, theta.grad, rtol=1e-8, atol=1e-8)
    penalty.backward()
    assert torch.equal(encoding.theta.grad, 2 * once)


@pytest.mark.parametrize("start", ["uniform", "heat"])
def test_where_nothing_is_learned_yet_the_penalty_is_nothing_and_its_gradient_finite(start):
    encoding = LLPE(4, order=8, l1=0.1, l2=0.1, size=1.0, start=start)
    data = encoding.prepare(tiny("grid"))
    torch.nn.init.zeros_(encoding.theta)
    penalty = encoding.penalty(data)
    penalty.backward()
    assert penalty.item() < 1e-12
    assert encoding.theta.grad.isfinite().all()


def test_penalty_of_a_batch_is_the_sum_over_its_graphs():
    encoding = LLPE(4, order=8, l1=0.1, l2=0.2, **PLAIN)
    graphs = [encoding.prepare(tiny(name)) for name in ("ring", "grid")]
    together = encoding.penalty(Batch.from_data_list(graphs))
    assert together.item() == pytest.approx(sum(encoding.penalty(g).item() for g in graphs), rel=1e-5)


@pytest.mark.parametrize("graphs", [1, 2])
def test_the_penalty_of_a_bank_is_how_far_the_filters_moved_in_units_of_themselves(graphs):
    encoding = LLPE(6, directions=3, order=16, l1=0.3, l2=0.7).double()
    data = [encoding.prepare(sbm(n=n, seed=0)) for n in (100, 150)[:graphs]]
    bank = encoding.coefficients.detach().clone()
    encoding.theta.data.normal_(generator=torch.Generator().manual_seed(0))
    values = torch.cat([full_spectrum(each, cache=False).values for each in data])
    before, after = naive_gains(values, bank), naive_gains(values, encoding.coefficients)
    moved = (after - before) / before.square().mean(dim=0).sqrt()
    naive = 0.3 * moved.abs().mean() + 0.7 * moved.square().mean().sqrt()
    ours = encoding.penalty(Batch.from_data_list(data) if graphs > 1 else data[0])
    assert ours.item() == pytest.approx(naive.item(), rel=1e-6)


def test_parts_of_the_penalty_are_small_and_never_taken_for_rows_of_nodes():
    for kind in (LLPE, ProbeLLPE):
        encoding = kind(16, l1=0.1)
        for n in (23, 24, LEVELS):
            nodes = torch.arange(n - 1)
            path = torch.stack([nodes, nodes + 1])
            data = encoding.prepare(Data(edge_index=torch.cat([path, path.flip(0)], dim=1), num_nodes=n))
            parts = [encoding.attribute(part) for part in ("levels", "gram")]
            assert not {*parts} & {*data.node_attrs()}
            assert sum(data[part].numel() * 4 for part in parts) <= 12 * 1024 + 8
