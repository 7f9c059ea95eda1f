"""Models used on another graph than they were trained on: which nodes are scored, and what the page says."""

import json

import numpy as np
import pandas as pd
import pytest

from llpe.paper import Context, run_study, settings_of
from llpe.paper.benchmark_page import benchmark_page
from llpe.paper.transfer import transfer_gains
from llpe.runs import load_runs

WORDS = 12
SMALL = settings_of("benchmark-transfer", "quick") | {
    "graphs": ["DE", "PTBR"],
    "words": WORDS,
    "encodings": {"none": {"name": "none"}, "rwse": {"name": "rwse", "dim": 4, "steps": 4}},
    "training": {"epochs": 3},
}


@pytest.fixture
def said():
    return []


@pytest.fixture
def context(tmp_path, said):
    return Context("quick", tmp_path / "runs", tmp_path / "out", workers=1, data_root=tmp_path, say=said.append)


def write_country(root, name, nodes, seed):
    rng = np.random.default_rng(seed)
    folder = root / "twitch" / name
    folder.mkdir(parents=True)
    order = rng.permutation(nodes)  # targets come in another order than the nodes' numbers
    mature = rng.random(nodes) < 0.5
    pd.DataFrame({"id": order + 1000, "mature": mature[order], "new_id": order}).to_csv(
        folder / f"musae_{name}_target.csv", index=False
    )
    edges = pd.DataFrame(rng.integers(0, nodes, (4 * nodes, 2)), columns=["from", "to"])
    edges.to_csv(folder / f"musae_{name}_edges.csv", index=False)
    words = {str(node): [int(mature[node]), *rng.choice(np.arange(2, WORDS), 2).tolist()] for node in range(nodes)}
    (folder / f"musae_{name}_features.json").write_text(json.dumps(words))


def test_own_graphs_are_scored_on_test_nodes_and_other_graphs_on_all(context, tmp_path):
    write_country(tmp_path, "DE", 80, seed=0)
    write_country(tmp_path, "PTBR", 50, seed=1)
    csv, *_ = run_study("benchmark-transfer", context, SMALL)
    rows = pd.read_csv(csv)
    assert len(rows) == 2 * 2 * 2 * 2  # encodings, sources, targets, splits
    for run in load_runs([context.runs]):
        source = run.dataset.removeprefix("twitch-")
        own = rows[(rows.encoding == run.encoding) & (rows.source == source) & (rows.target == source)]
        np.testing.assert_allclose(own.test, 100 * np.array(run.scores), atol=1e-3)
    assert rows[rows.source != rows.target].test.min() > 60  # the first two words tell the classes on every graph
    assert f"on other graphs**: {transfer_gains(rows)}." in benchmark_page(csv.parent)


def test_gains_are_means_over_pairs_and_splits():
    rows = pd.DataFrame(
        [("none", "A", "A", 50.0), ("none", "A", "B", 40.0), ("rwse", "A", "A", 53.0), ("rwse", "A", "B", 38.5)],
        columns=["encoding", "source", "target", "test"],
    ).assign(split=0)
    assert transfer_gains(rows) == "rwse +3.0 and -1.5"


def test_a_missing_country_is_said_and_one_alone_is_refused(context, tmp_path, said):
    write_country(tmp_path, "DE", 60, seed=0)
    with pytest.raises(ValueError, match="benchmark-transfer must have two graphs, got 1"):
        run_study("benchmark-transfer", context, SMALL)
    assert "PTBR is left out: twitch/PTBR/musae_PTBR_edges.csv: must be below the data root" in said[-1]
