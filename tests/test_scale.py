"""Large graphs in little memory, each in a process of its own so that its peak can be measured."""

import json

import pytest

MEASURE = """
import json, torch
from llpe.storage import peak_memory
torch.set_num_threads(1)
{body}
print(json.dumps({{"gigabytes": peak_memory() / 1e9, **result}}))
"""


@pytest.fixture
def measured(run_python):
    return lambda body: json.loads(run_python(MEASURE.format(body=body)).splitlines()[-1])


def test_a_hundred_thousand_nodes_are_prepared_with_probes_in_under_3_gb(measured):
    result = measured("""
from llpe import ProbeLLPE
from llpe.data.synthetic import sbm
data = sbm(n=100_000, degree=10, homophily=0.2, seed=0)
encoding = ProbeLLPE(64, order=16, probes=32)
data = encoding.prepare(data, cache=False)
name = encoding.attribute("basis")
rows = torch.randperm(100_000)[:1000]
part = data.subgraph(rows)
assert name in data.node_attrs() and torch.equal(part[name], data[name][rows])
with torch.no_grad():
    assert torch.equal(encoding(part), encoding(data)[rows])
result = {"shape": list(data[name].shape)}
""")
    assert result["shape"] == [100_000, 32, 16]
    assert result["gigabytes"] < 3


@pytest.mark.parametrize("name", ["signnet", "san"])
def test_512_eigenvectors_need_no_more_memory_than_their_chunks(name, measured):
    """25 000 nodes × 512 eigenvectors must fit in 8 GB, forward and backward; here an eighth of the nodes in a share
    of it, because chunks make memory beyond the eigenvectors independent of the number of nodes."""
    nodes = 3000 if name == "signnet" else 240
    result = measured(f"""
from torch_geometric.data import Data
from llpe import make_encoding
encoding = make_encoding("{name}", dim=64, k=512)
def rows(n):
    data = Data(num_nodes=n)
    for part in ("vectors", "values", "mask"):
        data[encoding.attribute(part)] = torch.rand(n, 512) > 0 if part == "mask" else torch.rand(n, 512)
    return data
encoding(rows({nodes} // 3)).sum().backward()
third = peak_memory() / 1e9
encoding(rows({nodes})).sum().backward()
result = {{"third": third}}
""")
    assert result["gigabytes"] < 3
    assert result["gigabytes"] - result["third"] < 0.3
