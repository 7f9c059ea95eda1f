"""Promises of the giant component."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from llpe.data import NodeDataset, giant_component, load_graph
from llpe.graph import Graph
from llpe.lab import ConfigError, resolve


def path_and_triangle() -> NodeDataset:
    """A path 0 – 3 – 5 – 6 with weights, and a triangle 1, 2, 4."""
    pairs = [(0, 3), (3, 5), (5, 6), (1, 2), (2, 4), (4, 1)]
    edge_index = torch.tensor([*pairs, *((v, u) for u, v in pairs)]).t().contiguous()
    weight = torch.tensor([1.0, 2.0, 3.0, 9.0, 9.0, 9.0]).repeat(2)
    data = Data(x=torch.eye(7), y=torch.tensor([0, 2, 2, 1, 2, 0, -1]), edge_index=edge_index, edge_weight=weight)
    mask = torch.arange(7)[:, None] % 3
    masks = {"train": mask == 0, "val": mask == 1, "test": mask == 2}
    return NodeDataset("toy", data, metric="accuracy", num_classes=3, masks=masks)


def test_the_giant_component_keeps_rows_weights_and_masks_of_its_nodes():
    whole = path_and_triangle()
    giant = giant_component(whole)
    kept = torch.tensor([0, 3, 5, 6])
    assert giant.name == "giant:toy"
    assert torch.equal(giant.data.x, whole.data.x[kept])
    assert giant.data.y.tolist() == [0, 1, 0, -1]
    assert giant.num_classes == 3
    assert giant.masks is not None
    assert giant.masks["train"][:, 0].tolist() == [True, True, False, True]
    assert Graph.from_data(giant.data).adjacency.toarray()[0:3, 1:4].diagonal().tolist() == [1.0, 2.0, 3.0]
    assert giant.notes[-1] == "the largest of 2 components: 4 of 7 nodes"


def test_the_first_of_two_equal_components_is_taken():
    dataset = load_graph("sbm:n=60,homophily=1")
    assert giant_component(dataset).data.y.unique().tolist() == [0]


def test_a_prefix_names_the_giant_component():
    giant = load_graph("giant:sbm:n=200,degree=2")
    assert giant.num_nodes < 200
    assert len(Graph.from_data(giant.data).component_nodes) == 1
    assert giant.fingerprint == giant_component(load_graph("sbm:n=200,degree=2")).fingerprint


def test_a_config_may_name_a_giant_component_and_not_one_of_nothing():
    assert resolve({"dataset": "giant:cora"}).dataset == "giant:cora"
    with pytest.raises(ConfigError, match="Did you mean 'cora'"):
        resolve({"dataset": "giant:coraa"})
