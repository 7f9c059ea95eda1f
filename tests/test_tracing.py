"""Every encoding under torch.compile, in torch.export, and on the meta device."""

import warnings

import pytest
import torch
from torch_geometric.data import Data

from encoding_cases import CASES, NAMES, build, fixed_part
from llpe import tiny

OLD = tuple(map(int, torch.__version__.split(".")[:2])) < (2, 13)
traced = pytest.mark.skipif(OLD, reason="older releases of torch cannot trace PyG's Data in one graph")


def with_features(case):
    data = tiny("grid")
    data.x = torch.ones(12, 2)
    return build(case).prepare(data)


@traced
@pytest.mark.parametrize("training", [True, False], ids=["training", "eval"])
@pytest.mark.parametrize("case", CASES)
def test_compiles_without_a_graph_break(case, training):
    torch.compiler.reset()
    encoding, data = build(case).train(training), with_features(case)
    encoding.initialise(data)
    torch.manual_seed(0)
    result = torch.compile(encoding, fullgraph=True, backend="eager")(data)
    torch.manual_seed(0)
    assert torch.allclose(result, encoding(data), atol=1e-6)
    if result.requires_grad:
        result.square().sum().backward()
        assert all(parameter.grad is not None for parameter in encoding.parameters())
    penalty = torch.compile(encoding.penalty, fullgraph=True, backend="eager")(data)
    assert torch.allclose(penalty, encoding.penalty(data))


@traced
def test_many_rows_of_san_compile_too(monkeypatch):
    """Where eager mode takes them in chunks."""
    torch.compiler.reset()
    monkeypatch.setattr("llpe.encodings.san.CHUNK_ENTRIES", 1)
    encoding, data = build("san"), with_features("san")
    result = torch.compile(encoding, fullgraph=True, backend="eager")(data)
    assert torch.allclose(result, encoding(data), atol=1e-6)


class FromTensors(torch.nn.Module):
    """What torch.export wants: tensors in, a tensor out."""

    def __init__(self, encoding):
        super().__init__()
        self.encoding = encoding

    def forward(self, fixed):
        return self.encoding(Data(**fixed))


@traced
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "not strict"])
@pytest.mark.parametrize("case", NAMES)
def test_exports_for_any_number_of_rows(case, strict):
    torch.compiler.reset()
    encoding, data = build(case), with_features(case)
    encoding.initialise(data)
    fixed = fixed_part(data, Data(x=data.x, edge_index=data.edge_index, num_nodes=12))
    rows = {name: {0: torch.export.Dim.DYNAMIC} if len(tensor) == 12 else {} for name, tensor in fixed.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's, about itself
        program = torch.export.export(FromTensors(encoding), (fixed,), dynamic_shapes=(rows,), strict=strict).module()
    assert torch.allclose(program(fixed), encoding(data), atol=1e-6)
    part = {name: tensor[:5] if len(tensor) == 12 else tensor for name, tensor in fixed.items()}
    assert torch.allclose(program(part), encoding(data)[:5], atol=1e-6)


@pytest.mark.parametrize("training", [True, False], ids=["training", "eval"])
@pytest.mark.parametrize("case", NAMES)
def test_works_on_the_meta_device(case, training):
    encoding, data = build(case).train(training), with_features(case)
    encoding.initialise(data)
    encoding, data = encoding.to("meta"), data.to("meta")
    result = encoding(data)
    assert (result.device.type, result.shape) == ("meta", (12, encoding.dim))
    loss = result.sum() + encoding.penalty(data)
    assert (loss.device.type, loss.shape) == ("meta", ())
