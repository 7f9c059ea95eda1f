"""Cora in twenty lines: python examples/cora.py cora

An MLP, which sees no edges, with and without the encoding. Any graph that llpe can load may be named instead; without
an argument it is a synthetic one, most of whose edges join different classes, so that nothing is downloaded. The
encoding takes the test accuracy from about 73 to 81 % on Cora, and from about 69 to 90 % on the synthetic graph.
"""

import sys

from llpe import ProbeLLPE, make_encoding
from llpe.data import load_graph
from llpe.experiments import fit


def main() -> None:
    dataset = load_graph(sys.argv[1] if len(sys.argv) > 1 else "sbm:n=600,homophily=0.1")
    print(dataset)
    for encoding in (make_encoding("none"), ProbeLLPE(128, probes=64, order=16)):
        settings = {"layers": 1, "dropout": 0.5, "weight_decay": 0.005, "epochs": 100}
        result = fit(dataset, encoding=encoding, model="mlp", splits=3, **settings)
        print(f"{encoding.name:11} test {dataset.metric} {result.mean_test:.1%} ± {result.std_test:.1%}", flush=True)


if __name__ == "__main__":
    main()
