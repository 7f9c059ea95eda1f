"""The giant component of a labelled graph, as a data set of its own: ``load_graph("giant:cora")``."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch_geometric.data import Data
from torch_geometric.utils import subgraph

from llpe.data.dataset import NodeDataset
from llpe.graph import Graph
from llpe.storage import GIANT


def giant_component(dataset: NodeDataset) -> NodeDataset:
    """The largest connected component, nodes in their old order; the first of several of that size.

    Classes keep their numbers, also those of which no node is left.

    Example:
        >>> from llpe.data import load_graph
        >>> giant_component(load_graph("sbm:n=60,homophily=1"))
        NodeDataset('giant:sbm:n=60,homophily=1', num_nodes=30, num_edges=318, num_features=10, num_classes=2, \
metric='accuracy')
    """
    data = dataset.data
    groups = Graph.from_data(data, warn=False).component_nodes
    nodes = torch.from_numpy(max(groups, key=len))  # the first of the longest
    edge_index, weight = subgraph(
        nodes, data.edge_index, data.edge_weight, relabel_nodes=True, num_nodes=dataset.num_nodes
    )
    part = Data(x=data.x[nodes], y=data.y[nodes], edge_index=edge_index)
    if weight is not None:
        part.edge_weight = weight
    masks = dataset.masks and {name: mask[nodes] for name, mask in dataset.masks.items()}
    note = f"the largest of {len(groups)} components: {nodes.numel()} of {dataset.num_nodes} nodes"
    return replace(dataset, name=GIANT + dataset.name, data=part, masks=masks, notes=(*dataset.notes, note))
