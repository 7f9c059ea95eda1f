"""LLPE against the paper's formula, written out naively in float64."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from llpe import LLPE, ProbeLLPE, end_spectrum, full_spectrum, make_encoding, tiny
from llpe.data.synthetic import sbm
from llpe.encodings.filtered import SHARE
from llpe.encodings.llpe import minmax
from llpe.graph import TINY
from llpe.probes import draw
from naive_formulas import naive_gains

PLAIN = {"size": 1.0, "start": "uniform"}  # the paper's formula and what it learns


def naive_directions(spectrum, seed):
    """Σ_E √dim(E)·P_E g/‖P_E g‖ eigenspace by eigenspace, as columns that add up to it."""
    columns = torch.zeros_like(spectrum.vectors)
    probe = torch.from_numpy(draw(columns.size(0), 1, seed)).double()
    for space in spectrum.spaces.unique():
        inside = spectrum.vectors[:, spectrum.spaces == space]
        direction = inside @ (inside.T @ probe)
        columns[:, spectrum.spaces == space] = direction / direction.norm() / inside.size(1) ** 0.5
    return columns


@pytest.mark.parametrize("scaling", ["unit", "minmax"])
@pytest.mark.parametrize("source", ["full", "ends"])
@pytest.mark.parametrize("name", [*TINY, "blocks"])
@pytest.mark.filterwarnings("ignore::llpe.GraphWarning")
def test_forward_and_gradient_are_the_papers_formula(name, source, scaling):
    data = tiny(name) if name in TINY else sbm(n=300, homophily=0.3, seed=2)
    k = 2 if source == "ends" else None
    encoding = LLPE(5, order=12 if name in TINY else 64, source=source, k=k, scaling=scaling, seed=3, **PLAIN).double()
    prepared = encoding.prepare(data)
    spectrum = full_spectrum(data, seed=3) if k is None else end_spectrum(data, first=k, last=k, seed=3)
    scaled = minmax(spectrum.vectors) if scaling == "minmax" else naive_directions(spectrum, 3)
    theta = encoding.theta.detach().clone().requires_grad_()
    naive = scaled @ naive_gains(spectrum.values, theta)
    ours = encoding(prepared)
    assert ours.dtype == torch.float64
    assert torch.allclose(ours, naive, atol=1e-10)
    weight = torch.randn(ours.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    (ours * weight).sum().backward()
    (naive * weight).sum().backward()
    assert torch.allclose(encoding.theta.grad, theta.grad, atol=1e-10)


@pytest.mark.parametrize("start", ["uniform", "heat"])
@pytest.mark.parametrize("kind", [LLPE, ProbeLLPE])
def test_the_plain_output_is_basis_times_coefficients_whatever_is_learned_inside(kind, start):
    data = tiny("grid")
    data.x = 7 * torch.ones(12, 3)  # a length that must not matter
    signals = {"probes" if kind is ProbeLLPE else "directions": 4}
    encoding = kind(8, order=6, size=1.0, l1=0.0, l2=0.0, start=start, **signals, rows="plain")
    assert encoding.theta.shape == (6, 2), "the filters are shared by all signals"
    prepared = encoding.prepare(data)
    basis = prepared[encoding.attribute("basis")]
    torch.testing.assert_close(encoding(prepared), (basis @ encoding.coefficients).flatten(1))
    wanted = torch.randn(encoding.coefficients.shape, generator=torch.Generator().manual_seed(0))
    encoding.set_coefficients(wanted)
    torch.testing.assert_close(encoding.coefficients, wanted)
    torch.testing.assert_close(encoding(prepared), (basis @ wanted).flatten(1))
    optimiser = torch.optim.SGD(encoding.parameters(), lr=1.0)
    encoding(prepared).square().sum().backward()
    optimiser.step()
    assert not torch.allclose(encoding.coefficients, wanted)
    torch.testing.assert_close(encoding(prepared), (basis @ encoding.coefficients).flatten(1))
    assert float(encoding.penalty(prepared)) == 0


def test_coefficients_that_were_set_are_not_scaled_by_the_first_graph():
    encoding = LLPE(2, order=3, size=1.0)
    wanted = torch.tensor([[1.0, 0.0], [0.0, 4.0], [0.0, 0.0]])
    encoding.set_coefficients(wanted)
    encoding(encoding.prepare(tiny("grid")))
    assert torch.equal(encoding.coefficients, wanted)
    encoding.reset_parameters()
    encoding(encoding.prepare(tiny("grid")))
    assert not torch.equal(encoding.base, LLPE(2, order=3, size=1.0).base)  # a bank is


def test_what_does_not_fit_is_refused():
    encoding = LLPE(8, order=6)
    with pytest.raises(ValueError, match=r"shape \[order, filters\] = \[6, 1\], got \[6, 8\]"):
        encoding.set_coefficients(torch.zeros(6, 8))
    with pytest.raises(ValueError, match="`coefficients` must be finite"):
        encoding.set_coefficients(torch.full((6, 1), torch.nan))
    with pytest.raises(ValueError, match="`lambdas` must be numbers, got 'x'"):
        encoding.response("x")
    with pytest.raises(ValueError, match=r"`lambdas` must be in \[0, 2\], got values in \[0, 3\]"):
        encoding.response([0.0, 3.0])
    with pytest.raises(ValueError, match=r"`source` must be 'full' or 'ends', got 'probes'\. ProbeLLPE is"):
        LLPE(4, source="probes")
    with pytest.raises(ValueError, match="`k` must be left out with source='full', got 8"):
        LLPE(4, k=8)


@pytest.mark.parametrize("kind", [LLPE, ProbeLLPE])
@pytest.mark.parametrize("length", [0.01, 1.0, 300.0])
def test_rows_are_a_share_of_the_features_length(kind, length):
    data = sbm(n=100, seed=0)
    data.x = length * torch.nn.functional.normalize(torch.randn(100, 5, generator=torch.Generator().manual_seed(0)))
    encoding = kind(16)
    with torch.no_grad():
        rows = encoding(encoding.prepare(data)).norm(dim=1)
        sparse = kind(16)
        data.x = data.x.to_sparse_coo()
        other = sparse(sparse.prepare(data))
    assert float(rows.mean()) == pytest.approx(SHARE * length, rel=1e-4)
    assert float(other.norm(dim=1).mean()) == pytest.approx(SHARE * length, rel=1e-4)
    data.x = None
    encoding.reset_parameters()
    assert float(encoding(encoding.prepare(data)).detach().norm(dim=1).mean()) == pytest.approx(SHARE, rel=1e-4)


def test_frozen_filters_have_no_parameters_and_are_the_learned_ones_at_the_start():
    data = sbm(n=60, seed=0)
    learned, frozen = ProbeLLPE(16), ProbeLLPE(16, frozen=True)
    assert not list(frozen.parameters())
    torch.testing.assert_close(frozen(frozen.prepare(data)), learned(learned.prepare(data)).detach())


@pytest.mark.parametrize("kind", [LLPE, ProbeLLPE])
def test_size_multiplies_the_encoding_and_nothing_else(kind):
    data = tiny("ring")
    one, ten = (kind(8, order=8, l1=0.1, size=size) for size in (1.0, 10.0))
    for encoding in (one, ten):
        encoding.theta.data.fill_(0.5)
    prepared = one.prepare(data)
    assert torch.allclose(10 * one(prepared), ten(ten.prepare(data)), atol=1e-5)
    assert torch.equal(one.penalty(prepared), ten.penalty(prepared))
    assert one.fixed_arguments() == ten.fixed_arguments()


def test_minmax_is_defined_on_a_constant_vector():
    """The first eigenvector of a connected regular graph is constant, where the published scaling is 0/0."""
    encoding = LLPE(4, order=8, scaling="minmax")
    for n in (8, 12, 50, 100):
        nodes = torch.arange(n)
        ring = torch.stack([nodes, (nodes + 1) % n])
        data = Data(edge_index=torch.cat([ring, ring.flip(0)], dim=1), num_nodes=n)
        assert encoding(encoding.prepare(data)).isfinite().all()
    assert torch.equal(minmax(torch.full((3, 1), 0.5)), torch.zeros(3, 1))


def test_minmax_is_the_authors_form():
    encoding = make_encoding("llpe-minmax", dim=64, order=32)
    assert (encoding.source, encoding.scaling, encoding.start, encoding.size) == ("full", "minmax", "uniform", 1)
    assert (encoding.theta.abs() <= 32**-0.5).all()
    assert LLPE(8, source="ends", scaling="minmax").name == "llpe-ends"


def test_the_defaults_of_probes_fit_together():
    for dim, probes, filters in ((1, 1, 1), (48, 48, 1), (128, 128, 1), (192, 96, 2), (256, 128, 2), (131, 1, 131)):
        encoding = ProbeLLPE(dim)
        assert (encoding.probes, encoding.theta.size(1)) == (probes, filters)


@pytest.mark.parametrize(
    ("name", "options"), [("llpe", {}), ("llpe-ends", {}), ("llpe-probes", {"probes": 16, "rows": "plain"})]
)
def test_heat_start_has_unit_variance_on_the_prepared_graph(name, options):
    data = sbm(n=500, homophily=0.5, seed=0)
    encoding = make_encoding(name, dim=64, order=32, start="heat", size=1.0, **options)
    filters = encoding.theta.size(1)
    with torch.no_grad():
        columns = encoding(encoding.prepare(data)).view(500, -1, filters)
    spread = columns.transpose(0, 1).reshape(-1, filters).std(dim=0)
    assert torch.allclose(spread, torch.ones(filters), atol=0.02)


def test_heat_start_is_scaled_once_also_without_prepare_in_this_process():
    encoding, other = LLPE(8, order=16, size=1.0), LLPE(8, order=16, size=1.0)
    data = encoding.prepare(tiny("grid"))
    assert torch.equal(other(data), encoding(data))
    before = other.coefficients.detach().clone()
    other.prepare(tiny("ring"))
    assert torch.equal(other.coefficients, before)


def test_response_is_the_filter_at_any_lambda():
    encoding = LLPE(3, order=10, size=1.0).double()
    grid = torch.linspace(0, 2, 33, dtype=torch.float64)
    assert torch.allclose(encoding.response(grid), naive_gains(grid, encoding.coefficients), atol=1e-12)
    assert encoding.response(np.array([0.5])).shape == (1, 3)


def test_unit_rows_keep_directions_and_have_mean_square_one():
    encoding = ProbeLLPE(12, order=8, probes=4, size=1.0)
    assert encoding.rows == "unit"
    data = encoding.prepare(tiny("grid"))
    found = encoding(data).view(12, 4, 3)
    plain = data[encoding.attribute("basis")] @ encoding.coefficients
    torch.testing.assert_close(found.square().mean(dim=1), torch.ones(12, 3))
    torch.testing.assert_close(found, plain / plain.square().mean(dim=1, keepdim=True).sqrt())
    assert ProbeLLPE(3, probes=1).rows == "plain"  # of a single number only the sign would be left


def test_what_a_filter_leaves_nothing_of_is_not_blown_up():
    """Without the trivial one, the complete graph has the eigenvalue 1.2 alone: sharp filters of both ends leave
    rounding errors, and one that passes everything leaves rows to scale."""
    data = tiny("complete")
    encoding = ProbeLLPE(8, probes=4, order=64, size=1.0)
    prepared = encoding.prepare(data)

    def mean_squares():
        return encoding(prepared).detach().view(data.num_nodes, 4, 2).square().mean(dim=1)

    assert (mean_squares() < 0.1).all()
    encoding.set_coefficients(torch.eye(64)[:, [0, 0]])
    assert torch.allclose(mean_squares(), torch.ones(data.num_nodes, 2), atol=1e-4)


def test_a_row_of_zeros_has_a_finite_gradient():
    data = tiny("no-edges")
    encoding = ProbeLLPE(4, order=8, probes=4, start="uniform")
    encoding.theta.data.zero_()
    encoding(encoding.prepare(data)).sum().backward()
    assert torch.isfinite(encoding.theta.grad).all()
