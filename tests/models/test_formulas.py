"""Each plain backbone, and the strong wrapper, against its formula written out."""

import sys

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch_geometric.nn import GCNConv

from llpe.graph import tiny
from llpe.models import make_backbone
from llpe.models.operations import Edges

GRAPHS = ("grid", "star", "directed", "self-loops", "duplicate-edges", "isolated-node", "no-edges", "single-node")


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def dense(edge_index, edge_weight, num_nodes):
    """A[i, j] is the total weight of the edges from j to i."""
    A = torch.zeros(num_nodes, num_nodes)
    for e, (source, target) in enumerate(edge_index.t().tolist()):
        A[target, source] += 1.0 if edge_weight is None else edge_weight[e]
    return A


def test_mlp_is_linear_maps_with_relu():
    mlp = make_backbone("mlp", width=8, layers=2)
    (W1, b1), (W2, b2) = ((layer.operation.weight, layer.operation.bias) for layer in mlp.layers)
    h = torch.randn(5, 8)
    expected = torch.clamp(torch.clamp(h @ W1.T + b1, min=0) @ W2.T + b2, min=0)
    torch.testing.assert_close(mlp(h, None), expected)


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("weighted", [False, True])
def test_sage_is_the_mean_of_neighbours_and_gcn_the_symmetric_normalisation_with_self_loops(graph, weighted):
    data = tiny(graph)
    weight = torch.rand(data.num_edges) + 0.5 if weighted else None
    h, A = torch.randn(data.num_nodes, 8), dense(data.edge_index, weight, data.num_nodes)

    backbone = make_backbone("sage", width=8, layers=1)
    step, degree = backbone.layers[0].operation, A.sum(1, keepdim=True)
    mean = A / degree.where(degree > 0, torch.tensor(1.0))
    expected = mean @ h @ step.neighbours.weight.T + step.neighbours.bias + h @ step.own.weight.T
    torch.testing.assert_close(backbone(h, data.edge_index, weight), expected.relu())

    backbone = make_backbone("gcn", width=8, layers=1)
    A = A + torch.diag((A.diag() == 0).float())
    scale, linear = A.sum(1).pow(-0.5), backbone.layers[0].operation.linear
    expected = (scale[:, None] * A * scale) @ h @ linear.weight.T + linear.bias
    torch.testing.assert_close(backbone(h, data.edge_index, weight), expected.relu())


def test_gcn_starts_as_that_of_pyg():
    gcn, pyg = make_backbone("gcn", width=400, layers=1).layers[0].operation, GCNConv(400, 400)
    assert gcn.linear.weight.std().item() == pytest.approx(pyg.lin.weight.std().item(), rel=0.01)
    assert not gcn.linear.bias.any()


@pytest.mark.parametrize("name", ["sage", "gcn"])
def test_gradient_of_propagation_is_exact(name):
    data = tiny("directed")
    h = torch.randn(data.num_nodes, 3, dtype=torch.float64, requires_grad=True)
    matrix = make_backbone(name, width=3).edges(data.edge_index, None, data.num_nodes, h.dtype).matrix
    assert torch.autograd.gradcheck(lambda h: matrix @ h, h)
    assert torch.autograd.gradgradcheck(lambda h: (matrix @ h) ** 2, h)


def naive_attention(h, attention, heads):
    Q, K, V = (h @ attention.project.weight.T + attention.project.bias).chunk(3, dim=1)
    size = h.size(1) // heads
    seen = []
    for a in range(heads):
        columns = slice(a * size, (a + 1) * size)
        scores = Q[:, columns] @ K[:, columns].T / size**0.5
        seen.append(torch.softmax(scores, dim=1) @ V[:, columns])
    return torch.cat(seen, dim=1) @ attention.out.weight.T + attention.out.bias


def naive_norm(h, norm):
    spread = (h.var(dim=1, unbiased=False, keepdim=True) + norm.eps).sqrt()
    return (h - h.mean(dim=1, keepdim=True)) / spread * norm.weight + norm.bias


def test_gt_layer_equals_the_encoder_layer_of_torch():
    torch_layer = nn.TransformerEncoderLayer(8, 2, 5, dropout=0.0, batch_first=True, layer_norm_eps=1e-4)
    gt = make_backbone("gt", width=8, layers=1, heads=2, feedforward=5, norm_eps=1e-4)
    ours = gt.layers[0]
    ours.attention.project.weight.data = torch_layer.self_attn.in_proj_weight.data
    ours.attention.project.bias.data = torch_layer.self_attn.in_proj_bias.data
    ours.attention.out.load_state_dict(torch_layer.self_attn.out_proj.state_dict())
    ours.first.load_state_dict(torch_layer.linear1.state_dict())
    ours.second.load_state_dict(torch_layer.linear2.state_dict())
    h = torch.randn(6, 8)
    torch.testing.assert_close(gt(h, None), torch_layer(h[None])[0])


def test_strong_is_a_residual_feed_forward_whose_first_layer_is_the_operation():
    data = tiny("grid")
    for name in ("mlp", "sage", "gcn"):
        backbone = make_backbone(name, width=8, layers=2, variant="strong", feedforward=5)
        start = h = torch.randn(data.num_nodes, 8)
        for layer in backbone.layers:
            edges = backbone.edges(data.edge_index, None, data.num_nodes, torch.float32)
            inner = layer.operation(naive_norm(h, layer.norm), edges)
            assert inner.shape == (data.num_nodes, 5)
            h = h + F.gelu(inner) @ layer.linear.weight.T + layer.linear.bias
        torch.testing.assert_close(backbone(start, data.edge_index), naive_norm(h, backbone.norm))


def test_strong_gt_alternates_attention_and_a_linear_map():
    gt = make_backbone("gt", width=8, layers=2, variant="strong", heads=2)
    kinds = [type(layer.operation).__name__ for layer in gt.layers]
    assert kinds == ["Attention", "LinearOperation"] * 2
    h = torch.randn(6, 8)
    attention = gt.layers[0].operation
    torch.testing.assert_close(attention(h, Edges(None)), naive_attention(h, attention, heads=2))


def test_dropped_attention_is_unbiased_and_the_same_again_in_backward(monkeypatch):
    monkeypatch.setattr("llpe.models.operations.QUERY_ROWS", 4)
    gt = make_backbone("gt", width=8, layers=1, variant="strong", heads=2, attention_dropout=0.3)
    attention = gt.layers[0].operation
    h = torch.randn(6, 8)
    with torch.no_grad():
        mean = torch.stack([attention(h, Edges(None)) for _ in range(3000)]).mean(0)
    torch.testing.assert_close(mean, naive_attention(h, attention, heads=2), atol=0.03, rtol=0)

    def loss(scale):
        torch.manual_seed(1)
        return (attention(scale * h, Edges(None)) ** 2).sum()

    attention.double()
    h = h.double()
    assert torch.autograd.gradcheck(loss, torch.tensor(1.0, dtype=torch.float64, requires_grad=True))


def test_attention_in_16_bits_is_that_in_32_to_their_digits(monkeypatch):
    attention = make_backbone("gt", width=64, layers=1, heads=2).layers[0].attention
    edges = Edges(None, rows=torch.arange(100))

    def results(dtype):
        h = torch.randn(300, 64, generator=torch.Generator().manual_seed(0), requires_grad=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype == torch.bfloat16):
            out = attention(h, edges)
        assert out.dtype == dtype
        return out.float(), *torch.autograd.grad(out.float().square().sum(), [h, attention.project.weight])

    wanted, held = results(torch.float32), results(torch.bfloat16)
    kernel = "torch.nn.functional.scaled_dot_product_attention"
    with monkeypatch.context() as patch:
        patch.setattr(kernel, None)  # weights that fit are held, and torch's kernel is not called
        results(torch.bfloat16)
        patch.setattr("llpe.models.operations.HELD_WEIGHTS", 2 * 100 * 300 - 1)
        with pytest.raises(TypeError):
            results(torch.bfloat16)
    for exact, rounded in zip(wanted, held, strict=True):
        assert 0 < (exact - rounded).norm() < 0.02 * exact.norm()


MEMORY = """
import resource, torch
from llpe.models import make_backbone
torch.set_num_threads(1)
gt = make_backbone("gt", width=32, layers=1)
gt(torch.randn(8, 32), None).sum().backward()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
gt(torch.randn(6000, 32), None).sum().backward()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts memory in the unit of Linux")
def test_gt_needs_memory_linear_in_nodes_in_training(run_python):
    attention_matrices = 6000 * 6000 * 4 * 4
    assert int(run_python(MEMORY)) * 1024 < attention_matrices / 8


@pytest.mark.parametrize("norm", [nn.LayerNorm, nn.BatchNorm1d])
@pytest.mark.parametrize("training", [True, False])
def test_a_plain_layer_adds_its_residual_before_the_norm_and_relu(norm, training):
    data, name = tiny("grid"), "layer" if norm is nn.LayerNorm else "batch"
    backbone = make_backbone("gcn", width=8, layers=2, residual=True, normalise=name).train(training)
    start = h = torch.randn(data.num_nodes, 8)
    edges = backbone.edges(data.edge_index, None, data.num_nodes, torch.float32)
    for layer in backbone.layers:
        naive = norm(8).train(training)
        naive.load_state_dict(layer.norm.state_dict())
        h = torch.clamp(naive(layer.operation(h, edges) + h @ layer.residual.weight.T + layer.residual.bias), min=0)
    torch.testing.assert_close(backbone(start, data.edge_index), h)
