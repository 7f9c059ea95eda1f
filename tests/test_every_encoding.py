"""One contract for all encodings on all tiny graphs."""

import copy
import dataclasses
import inspect
import sys
from types import ModuleType

import numpy as np
import pytest
import torch
from scipy.stats import ortho_group
from torch_geometric.data import Batch, Data

import llpe.probes
import llpe.spectrum
from encoding_cases import CASES, NAMES, build, fixed_part
from llpe import Graph, make_encoding, tiny
from llpe.encodings import ENCODINGS, Encoding
from llpe.graph import TINY
from llpe.spectrum import end_spectrum

pytestmark = pytest.mark.filterwarnings("ignore::llpe.GraphWarning")


def replace_everywhere(patch, original, replacement):
    """Replaces a function under whatever name any module has imported it."""
    for module in list(sys.modules.values()):
        for name, value in list(vars(module).items()) if isinstance(module, ModuleType) else ():
            if value is original:
                patch.setattr(module, name, replacement)


@pytest.mark.parametrize("case", CASES)
def test_an_encoding_knows_the_name_that_makes_it(case):
    """And every argument, which its repr shows."""
    encoding, name = build(case), case.split()[0]
    assert encoding.name == name
    assert all(f"{option}=" in repr(encoding) for option in inspect.signature(type(encoding)).parameters)
    if name in ENCODINGS and name != "none":  # its width is another than the one it is given
        options = {option: getattr(encoding, option) for option in ENCODINGS[name].options}
        assert repr(make_encoding(name, **options)) == repr(encoding)


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("case", CASES)
def test_shape_and_finiteness(case, name):
    encoding, data = build(case), tiny(name)
    prepared = encoding.prepare(data)
    pe = encoding(prepared)
    assert pe.shape == (data.num_nodes, encoding.dim)
    assert pe.isfinite().all()
    assert encoding.penalty(prepared).shape == ()
    assert set(data.keys()) == set(tiny(name).keys())  # the input is left as it was


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("case", CASES)
def test_a_row_slice_is_the_rows_of_the_whole(case, name):
    encoding, data = build(case), tiny(name)
    data.x = torch.randn(data.num_nodes, 2)
    prepared = encoding.prepare(data)
    rows = torch.arange(data.num_nodes)[::2]
    part = copy.copy(prepared)
    for key in prepared.node_attrs():
        part[key] = prepared[key][rows]
    part.num_nodes = len(rows)
    assert torch.allclose(encoding(part), encoding(prepared)[rows], atol=1e-5)


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("case", NAMES)
def test_same_seed_same_bytes_and_the_global_generator_is_left_alone(case, name):
    state = torch.get_rng_state()
    one, two = build(case), build(case)
    first, second = one.prepare(tiny(name), cache=False), two.prepare(tiny(name), cache=False)
    assert torch.equal(torch.get_rng_state(), state)
    for key, tensor in fixed_part(first, tiny(name)).items():
        assert torch.equal(tensor, second[key])
    assert torch.equal(one(first), two(second))


@pytest.mark.parametrize("case", NAMES)
def test_dtype_follows_the_features_or_without_them_the_parameters(case):
    encoding, data = build(case), tiny("grid")
    for dtype in (torch.float32, torch.float64):
        data.x = torch.randn(12, 3, dtype=dtype)
        assert encoding(encoding.prepare(data)).dtype == dtype
    if list(encoding.parameters()):
        double = build(case).double()
        assert double(double.prepare(tiny("grid"))).dtype == torch.float64


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", ["grid", "two-triangles", "isolated-node"])
def test_relabelling_nodes_permutes_rows(case, name, monkeypatch):
    """Everything random is attached to nodes by the probes, so they are relabelled too."""
    data = tiny(name)
    n = data.num_nodes
    order = torch.randperm(n, generator=torch.Generator().manual_seed(5))
    moved = Data(edge_index=order[data.edge_index], num_nodes=n)
    encoding = build(case)
    before = encoding(encoding.prepare(data, cache=False))
    place = np.empty(n, dtype=int)
    place[order.numpy()] = np.arange(n)
    plain = llpe.probes._probe
    for each in ("_probe", "_small_probe"):
        monkeypatch.setattr(llpe.probes, each, lambda *a: plain(*a)[place if a[-1] == n else slice(None)])
    if case == "elastic":
        _check_elastic_columns(encoding, data, moved, order)
    else:
        assert torch.allclose(encoding(encoding.prepare(moved, cache=False))[order], before, atol=1e-4)


@pytest.mark.parametrize("case", NAMES)
def test_comparable_encodings_give_the_same_graph_the_same_rows_however_it_is_numbered(case):
    """Without a look at which numbers its nodes have, and so at what is drawn for them; the others fail."""
    generator = torch.Generator().manual_seed(2)
    edges = torch.triu(torch.rand(12, 12, generator=generator) < 0.35, diagonal=1)
    data = Data(x=torch.randn(12, 3, generator=generator), edge_index=(edges | edges.T).nonzero().T)
    order = torch.randperm(12, generator=generator)
    moved = Data(x=data.x[order.argsort()], edge_index=order[data.edge_index])
    encoding = build(case)
    before = encoding(encoding.prepare(data, cache=False))
    after = encoding(encoding.prepare(moved, cache=False))[order]
    assert torch.allclose(after, before, atol=1e-4) == encoding.comparable


def _check_elastic_columns(encoding, data, moved, order):
    """Its columns are nodes as well, so relabelling permutes both sides of the matrix."""
    name = encoding.attribute("potentials")
    before = encoding.prepare(data, cache=False)[name]
    after = encoding.prepare(moved, cache=False)[name]
    assert torch.allclose(after[order][:, order], before[:, : len(order)], atol=1e-5)


@pytest.mark.parametrize("case", CASES)
def test_declared_invariances_hold_and_undeclared_ones_fail(case):
    encoding = build(case)
    assert found_invariances(encoding) == encoding.invariances


def test_a_false_claim_of_invariance_is_found():
    """The same eigenvectors as lpe-fk, in a class of another module that claims too much."""

    class Boastful(Encoding):
        name, invariances, fixed_by = "boastful", frozenset({"sign", "basis"}), ()

        def compute(self, graph, cache):
            return {"vectors": end_spectrum(graph, first=4, last=0, cache=cache).vectors}

        def forward(self, data):
            return self.fixed(data, "vectors").float()

        def reset_parameters(self):
            pass

    assert found_invariances(Boastful(4, 0)) == frozenset()


def found_invariances(encoding: Encoding) -> frozenset[str]:
    """What can be changed in all spectra that an encoding is given without changing its output."""
    data = tiny("ring")
    before = encoding(encoding.prepare(data, cache=False))
    found = set()
    for invariance, change in (("sign", _flip), ("basis", _rotate)):
        with pytest.MonkeyPatch.context() as patch:
            for solve in (llpe.spectrum.end_spectrum, llpe.spectrum.full_spectrum):
                replace_everywhere(patch, solve, lambda *a, solve=solve, change=change, **b: change(solve(*a, **b)))
            after = encoding(encoding.prepare(data, cache=False))
        if torch.allclose(before, after, atol=1e-4):
            found.add(invariance)
    return frozenset(found)


def _flip(spectrum):
    signs = torch.tensor([(-1.0) ** i for i in range(spectrum.values.numel())], dtype=torch.float64)
    return dataclasses.replace(spectrum, vectors=spectrum.vectors * signs)


def _rotate(spectrum):
    vectors = spectrum.vectors.clone()
    for space in spectrum.spaces.unique():
        where = torch.where(spectrum.spaces == space)[0]
        if len(where) > 1:
            vectors[:, where] = vectors[:, where] @ torch.from_numpy(ortho_group.rvs(len(where), random_state=3))
    return dataclasses.replace(spectrum, vectors=vectors)


@pytest.mark.parametrize("case", CASES)
def test_gradients_reach_every_parameter(case):
    encoding = build(case).train()
    prepared = encoding.prepare(tiny("grid"))
    pe = encoding(prepared)
    if not list(encoding.parameters()):
        assert not pe.requires_grad
        return
    weight = torch.randn(pe.shape, generator=torch.Generator().manual_seed(0))
    ((pe * weight).sum() + encoding.penalty(prepared)).backward()
    for name, parameter in encoding.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0 or name.endswith("in_proj_bias"), name


@pytest.mark.parametrize("case", CASES)
def test_state_dict_round_trip(case):
    """What was learned comes back in a module that has never seen a graph."""
    learned, loaded, fresh = build(case), build(case), build(case)
    data = learned.prepare(tiny("grid"))
    fresh.prepare(tiny("grid"))
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in learned.parameters():
            parameter.add_(torch.randn_like(parameter))
    loaded.load_state_dict(learned.state_dict())
    assert torch.equal(loaded(data), learned(data))
    assert torch.equal(fresh(data), learned(data)) == (not list(learned.parameters()))


@pytest.mark.parametrize("case", CASES)
def test_parameters_do_not_grow_with_the_graph(case):
    sizes = []
    for name in ("path", "grid"):
        encoding = build(case)
        encoding.prepare(tiny(name))
        sizes.append({key: value.shape for key, value in encoding.state_dict().items()})
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("case", CASES)
def test_reset_parameters_follows_the_global_seed(case):
    encoding = build(case)
    data = encoding.prepare(tiny("grid"))
    results = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        encoding.reset_parameters()
        results.append(encoding(data).detach())
    assert torch.equal(results[0], results[1])
    random_start = bool(list(encoding.parameters())) and getattr(encoding, "start", "uniform") == "uniform"
    assert torch.equal(results[0], results[2]) != random_start


@pytest.mark.parametrize("case", NAMES)
def test_an_unprepared_graph_is_prepared_once_where_it_is(case, monkeypatch):
    encoding, data = build(case), tiny("grid")
    prepared = build(case).prepare(data)
    assert torch.equal(encoding(data), build(case)(prepared))
    assert set(data.keys()) == set(prepared.keys())
    monkeypatch.setattr(encoding, "compute", None)  # so that a second time would fail
    monkeypatch.setattr("llpe.encodings.base.fetch", None)
    assert torch.equal(encoding(data), build(case)(prepared))


@pytest.mark.parametrize("case", NAMES)
def test_a_part_of_an_unprepared_graph_and_a_changed_graph_are_refused(case):
    encoding = build(case)
    for change, got in (({"edge_index": None}, "no edges"), ({"n_id": torch.arange(12)}, "a sample")):
        with pytest.raises(ValueError, match=rf"must be a whole graph or prepared .* got {got} and no attribute"):
            encoding(tiny("grid").update(change))
    with pytest.raises(ValueError, match=r"`data` must be a torch_geometric\.data\.Data, got Graph\. Call"):
        encoding(Graph.from_data(tiny("grid")))
    data = encoding.prepare(tiny("grid"))
    data.num_nodes = 13
    with pytest.raises(ValueError, match=r"must have a row for each of 13 nodes, got 12.*has changed"):
        encoding(data)


@pytest.mark.parametrize("late", [False, True], ids=["prepare", "forward"])
@pytest.mark.parametrize("features", [True, False], ids=["x", "no x"])
@pytest.mark.parametrize("case", NAMES)
def test_a_prepared_batch_is_the_batch_of_prepared_graphs_and_these_are_as_apart(case, features, late):
    graphs = [tiny(name) for name in ("path", "no-edges", "grid", "single-node", "ring")]
    for graph in graphs:
        if features:
            graph.x = torch.randn(graph.num_nodes, 2, dtype=torch.float64)
    one, two = build(case), build(case)
    apart = [one.prepare(graph) for graph in graphs]
    expected = Batch.from_data_list(apart)
    assert torch.allclose(one(expected), torch.cat([one(graph) for graph in apart]), atol=1e-5)
    batch = Batch.from_data_list(graphs)
    batch.extra = torch.ones(3)  # what came after batching stays
    before, slices = set(batch.keys()), set(batch._slice_dict)
    if late:
        assert torch.equal(two(batch), one(expected))
    else:
        prepared = two.prepare(batch)
        assert (set(batch.keys()), set(batch._slice_dict)) == (before, slices)  # the input is left as it was
        batch = prepared
    assert set(batch.keys()) == {*expected.keys(), "extra"}
    pairs = [(batch, expected), (batch._slice_dict, expected._slice_dict), (batch._inc_dict, expected._inc_dict)]
    for mine, theirs in [*pairs, *zip(batch.to_data_list(), expected.to_data_list(), strict=True)]:
        for name in theirs.keys():  # noqa: SIM118
            assert torch.equal(torch.as_tensor(mine[name]), torch.as_tensor(theirs[name])), name
    assert torch.equal(two(batch), one(expected))
    assert torch.equal(two.penalty(batch), one.penalty(expected))
