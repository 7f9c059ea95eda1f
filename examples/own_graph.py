"""Your own graph from two tables: python examples/own_graph.py FOLDER

The folder holds nodes.csv (id, label, numeric features; an empty label is predicted) and edges.csv (source, target).
Without an argument the script makes up a graph in which every tenth label is missing. It writes predictions.csv with
the columns id, label and probability.
"""

import csv
import sys
from pathlib import Path

from llpe.data import load_file, sbm
from llpe.experiments import fit


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else make_up(Path("made-up-graph"))
    dataset = load_file(folder)
    print(dataset, *dataset.notes, sep="\n")
    result = fit(dataset, encoding="llpe-probes", dim=32, probes=16, model="mlp", splits=3, epochs=100)
    print(f"test accuracy {result.mean_test:.1%} ± {result.std_test:.1%} over three random splits")

    with (folder / "nodes.csv").open(newline="") as file:
        nodes = [row["id"] for row in csv.DictReader(file)]
    with Path("predictions.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "label", "probability"])
        for node, row in zip(nodes, result.probabilities, strict=True):
            table.writerow([node, dataset.class_names[int(row.argmax())], f"{float(row.max()):.3f}"])
    print("wrote predictions.csv")


def make_up(folder: Path) -> Path:
    """A block model with two classes, cats and dogs, whose edges mostly lead to the other class."""
    data = sbm(n=400, homophily=0.1)
    folder.mkdir(exist_ok=True)
    with (folder / "nodes.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "label", *(f"feature{i}" for i in range(data.num_features))])
        for i, (x, y) in enumerate(zip(data.x.tolist(), data.y.tolist(), strict=True)):
            table.writerow([f"n{i}", "" if i % 10 == 0 else ("cat", "dog")[y], *x])
    with (folder / "edges.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("source", "target"), *((f"n{i}", f"n{j}") for i, j in data.edge_index.T.tolist())])
    return folder


if __name__ == "__main__":
    main()
