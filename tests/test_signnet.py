"""SignNet without evaluating φ, against the formula as it stands."""

import pytest
import torch
from torch_geometric.data import Data

from llpe.encodings import SignNet


@pytest.fixture
def case():
    """An encoding in float64 and a graph of 40 nodes with some eigenvectors missing."""
    encoding = SignNet(5, k=7, hidden=9, out=3).double()
    generator = torch.Generator().manual_seed(0)
    data = Data(num_nodes=40)
    vectors, mask = torch.randn(40, 7, generator=generator).double(), torch.rand(40, 7, generator=generator) > 0.3
    data[encoding.attribute("vectors")], data[encoding.attribute("mask")] = vectors, mask
    return encoding, data, vectors, mask


def evaluated(encoding, vectors, mask):
    entries = vectors[..., None]
    return encoding.rho(((encoding.phi(entries) + encoding.phi(-entries)) * mask[..., None]).sum(dim=1))


def gradients(encoding, out):
    weights = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view_as(out)
    return torch.autograd.grad((out * weights).sum(), list(encoding.parameters()))


def assert_same(encoding, data, vectors, mask):
    ours, theirs = encoding(data), evaluated(encoding, vectors, mask)
    assert torch.allclose(ours, theirs, atol=1e-12)
    for mine, other in zip(gradients(encoding, ours), gradients(encoding, theirs), strict=True):
        assert torch.allclose(mine, other, atol=1e-11)


@pytest.mark.parametrize("far", [1.0, 0.0, 1e-3, 1e3])
def test_values_and_gradients_are_those_of_evaluating_phi_wherever_the_bends_are(case, far):
    with torch.no_grad():
        case[0].phi[0].bias *= far
    assert_same(*case)


def test_units_without_a_bend(case):
    """A unit with slope 0 is constant; with slope and offset 0 it is nothing."""
    with torch.no_grad():
        case[0].phi[0].weight[:3] = 0
        case[0].phi[0].bias[:3] = torch.tensor([0.5, -0.5, 0.0])
    assert_same(*case)


def test_signs_change_no_bit(case):
    encoding, data, vectors, _ = case
    before = encoding(data)
    data[encoding.attribute("vectors")] = vectors * torch.tensor([1, -1, 1, -1, -1, 1, -1])
    assert torch.equal(encoding(data), before)
