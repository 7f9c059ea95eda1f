"""What tests of the laboratory share: a small graph, a quick config, and whether two splits learned the same."""

import torch

from llpe.data import load_graph
from llpe.lab import assign, resolve

SBM = load_graph("sbm:n=120")
SMALL = {"encoding.dim": 8, "order": 16, "hidden": 8, "epochs": 20, "count": 3}


def config_of(**changes):
    return resolve(assign({"dataset": "sbm:n=120"}, SMALL | changes))


def same_weights(one, two):
    return all(torch.equal(one.state[name], two.state[name]) for name in one.state | two.state)
