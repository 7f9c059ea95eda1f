"""A graph and its encoding on disk: PyG's loaders read the rows that a sample needs.

Run it with ``python examples/large_graph.py``; it takes a few seconds and writes to a temporary folder.
"""

import tempfile
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch_geometric.loader import RandomNodeLoader

from llpe import ProbeLLPE
from llpe.data import sbm
from llpe.data.convert import convert
from llpe.folder import GraphFolder
from llpe.models import Classifier
from llpe.out_of_core import encode_folder

torch.manual_seed(0)
place = Path(tempfile.mkdtemp())

# An edge list with features and classes; yours may have billions of lines, as CSV or Parquet.
data = sbm(2000, blocks=2, degree=10, homophily=0.0, seed=0)
np.savez(place / "edges.npz", edge_index=data.edge_index.numpy(), x=data.x.numpy(), y=data.y.numpy())

# Once for each graph: as `llpe convert edges.npz graph` and `llpe encode graph -o features --encoding llpe-probes …`.
folder: GraphFolder = convert(place / "edges.npz", place / "graph")
encoding = ProbeLLPE(64, probes=32)
encode_folder(folder, place / "features", **encoding.probe_arguments(), memory=10**9)

# Loaders cut the graph into samples; a sample's rows of the encoding are read when the encoding is called.
data = encoding.prepare_from(place / "features", folder.to_data())
model = Classifier(encoding, in_features=data.num_features, num_classes=2, model="sage", hidden=32)
optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
train = torch.rand(data.num_nodes) < 0.5
data.train_mask = train
for _ in range(10):
    for sample in RandomNodeLoader(data, num_parts=4, shuffle=True):
        logits = model.train()(sample)
        loss = F.cross_entropy(logits[sample.train_mask], sample.y[sample.train_mask]) + model.penalty(sample)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

with torch.no_grad():
    right = model.eval()(data).argmax(dim=1) == data.y
print(f"accuracy {100 * right[~train].float().mean():.1f}% on nodes that were not trained on")
