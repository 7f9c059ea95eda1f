"""Cora in twenty lines: python examples/cora.py cora

An MLP, which sees no edges, with and without the encoding. The argument may be any graph that llpe can load. Without
one the graph is synthetic, most of its edges join different classes, and nothing is downloaded. The encoding improves
the test accuracy from about 74 to 84 % on Cora, and from about 69 to 100 % on the synthetic graph.
"""

import sys

from llpe.data import load_graph
from llpe.experiments import fit


def main() -> None:
    dataset = load_graph(sys.argv[1] if len(sys.argv) > 1 else "sbm:n=600,homophily=0.1")
    print(dataset)
    for encoding in ("none", "llpe-probes"):
        result = fit(dataset, encoding=encoding, model="mlp", splits=3, epochs=200)
        print(f"{encoding:11} test {dataset.metric} {result.mean_test:.1%} ± {result.std_test:.1%}", flush=True)


if __name__ == "__main__":
    main()
