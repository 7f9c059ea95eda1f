"""The benchmark of encodings: that it resumes, what its numbers mean, that it sees no test node; and other graphs."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import torch

from llpe.data import load_graph
from llpe.lab import resolve
from llpe.lab.config import assign
from llpe.lab.spaces import assignments
from llpe.paper import Context, benchmark, run_study, settings_of
from llpe.paper.benchmark import compute, make_splits, summarise
from llpe.paper.benchmark_page import benchmark_page, gains, main, verdict
from llpe.paper.transfer import transfer_gains
from llpe.runs import load_runs
from llpe.sealed import write_arrays

ROOT = Path(__file__).parents[2]
BASE = {
    "dataset": "sbm:n=120,homophily=0.8",
    "published": [50.0, 60.0],
    "splits": {"count": 3},
    "model": {"name": "gcn", "hidden": 8, "layers": 2, "dropout": 0.2, "input_dropout": 0.0},
    "training": {"features": "raw", "lr": 0.02, "epochs": 12},
}
SMALL = settings_of("benchmark-encodings") | {
    "most": {},
    "fewest": 3,
    "bases": [BASE],
    "encodings": {
        "none": {"name": "none"},
        "rwse": {"name": "rwse", "dim": 4, "choices": {"steps": [2, 4, 8]}},
    },
}


@pytest.fixture
def said():
    return []


@pytest.fixture
def context(tmp_path, said):
    return Context("standard", tmp_path / "runs", tmp_path / "out", workers=1, data_root=tmp_path, say=said.append)


def test_a_study_writes_every_cell_and_does_not_compute_it_again(context, said, monkeypatch):
    settings = SMALL | {"conditions": {"all": {"groups": True}, "5 labels": {"labels": 5}}}
    files = run_study("benchmark-encodings", context, settings)
    assert [file.name for file in files] == ["benchmark-encodings.csv", "benchmark-encodings-splits.csv"]
    results, rows = map(pd.read_csv, files)
    whole = results[results.condition == "all"].set_index(["encoding", "where"])
    assert list(whole.index) == [("none", "input"), ("rwse", "input"), ("rwse", "layers")]
    assert list(whole.trials) == [1, 3, 3]
    assert whole.within.iloc[0]
    assert whole.within.iloc[1:].isna().all()
    assert set(rows.condition) > {"all", "5 labels", "homophily .6 – .8", "degree, middle third"}
    before = [file.read_bytes() for file in files]
    monkeypatch.setattr(benchmark, "compute", lambda *args: pytest.fail("computed again"))
    assert [file.read_bytes() for file in run_study("benchmark-encodings", context, settings)] == before
    assert "cells of this command, which are not computed again" in said[-1]


def test_groups_are_the_test_nodes_and_their_mean_is_the_score(context):
    dataset, cell = load_graph(BASE["dataset"]), (BASE["dataset"], "all", "gcn", "none", "input")
    rows = pd.DataFrame(compute(dataset, BASE, cell, SMALL | {"conditions": {"all": {"groups": True}}}, context))
    scores = rows[rows.condition == "all"].set_index("split").test
    degrees = rows[rows.condition.str.startswith("degree")]
    for split, part in degrees.groupby("split"):
        assert part.test.min() - 1e-6 <= scores[split] <= part.test.max() + 1e-6


def test_nothing_is_chosen_on_test_nodes(context):
    """Wrong labels of all test nodes change neither the setting, nor the epoch, nor a validation score."""
    dataset = load_graph(BASE["dataset"])
    (first, *_) = make_splits(dataset, BASE, {}, context)
    parts = {"train": first.train, "valid": first.val, "test": first.test}
    write_arrays(context.data_root / "split.npz", {name: ids.numpy() for name, ids in parts.items()})
    base = BASE | {"splits": {"file": "split.npz", "count": 3}}  # one split and three seeds
    data = dataset.data.clone()
    data.y[first.test] = 1 - data.y[first.test]
    cell = (BASE["dataset"], "all", "gcn", "rwse", "layers")
    seen = [pd.DataFrame(compute(each, base, cell, SMALL, context)) for each in (dataset, replace(dataset, data=data))]
    for column in ("choice", "epoch", "val", "trials"):
        assert list(seen[0][column]) == list(seen[1][column])
    np.testing.assert_allclose(seen[0].test, 100 - seen[1].test)


def test_a_base_with_too_few_splits_is_left_out():
    few = BASE | {"dataset": "sbm:n=50", "splits": {"count": 2}}
    assert {cell[0] for _, cell in benchmark.cells(SMALL | {"bases": [few, BASE]})} == {BASE["dataset"]}


def test_few_labels_are_drawn_from_the_training_nodes_and_the_rest_stays(context):
    dataset = load_graph(BASE["dataset"])
    whole, few = (make_splits(dataset, BASE, condition, context) for condition in ({}, {"labels": 5}))
    for one, other in zip(whole, few, strict=True):
        assert torch.isin(other.train, one.train).all()
        assert dataset.data.y[other.train].bincount().tolist() == [5, 5]
        assert torch.equal(one.val, other.val)
        assert torch.equal(one.test, other.test)


def test_official_splits_are_taken_unless_random_ones_are_asked_for(context):
    dataset = load_graph(BASE["dataset"])
    plain = make_splits(dataset, BASE, {}, context)
    masks = {name: torch.isin(torch.arange(120), getattr(plain[1], name))[:, None] for name in ("train", "val", "test")}
    marked = replace(dataset, masks=masks)
    (official,) = make_splits(marked, BASE, {}, context)
    assert set(official.train.tolist()) == set(plain[1].train.tolist())
    drawn = make_splits(marked, BASE | {"splits": {"kind": "random", "count": 3}}, {}, context)
    assert [split.train.tolist() for split in drawn] == [split.train.tolist() for split in plain]


def test_differences_are_paired_and_corrected_for_their_number():
    rng = np.random.default_rng(0)
    none, gains = rng.normal(80, 5, 10), {"rwse": rng.normal(1, 0.5, 10), "fastrp": rng.normal(0, 1, 10)}
    scores = {"none": none} | {name: none + gain for name, gain in gains.items()}
    shared = {"dataset": BASE["dataset"], "condition": "all", "model": "gcn", "where": "input", "metric": "accuracy"}
    rows = [
        shared | {"encoding": name, "split": split, "test": test, "seconds": 1.0, "trials": 4}
        for name, tests in scores.items()
        for split, test in enumerate(tests)
    ]
    found = summarise(pd.DataFrame(rows), SMALL).set_index("encoding")
    p = {name: scipy.stats.wilcoxon(gain).pvalue for name, gain in gains.items()}
    assert list(found.p[1:]) == pytest.approx([p["rwse"], p["fastrp"]], abs=1e-5)
    assert found.p_holm["rwse"] == pytest.approx(2 * p["rwse"], abs=1e-4)
    assert found.difference["rwse"] == pytest.approx(gains["rwse"].mean(), abs=0.01)
    sentence = verdict(found.reset_index())
    assert f"raise the score: rwse (+{found.difference['rwse']:.2f}); no encoding is shown to lower" in sentence


def test_missing_files_are_said_and_a_study_without_any_is_refused(context, said):
    settings = SMALL | {"bases": [BASE | {"dataset": "chameleon-filtered", "file": "yandex/none.npz"}]}
    with pytest.raises(ValueError, match="benchmark-encodings must have a graph"):
        run_study("benchmark-encodings", context, settings)
    assert "chameleon-filtered is left out: yandex/none.npz: must be below the data root" in said[-1]


@pytest.mark.parametrize("name", ["benchmark-bases", "benchmark-encodings", "benchmark-where"])
def test_every_encoding_has_the_same_number_of_choices_and_valid_configs(name):
    settings = settings_of(name)
    shared = {"dataset": "texas", **{key: settings["bases"][0][key] for key in ("model", "training")}}
    for base in settings["bases"]:
        resolve(shared | {"encoding": {"name": "none"}, "model": base["model"], "training": base["training"]})
    for encoding, given in settings["encodings"].items():
        choices, large = given.get("choices", {}), given.get("large", {})
        assert encoding == "none" or [len(values) for values in choices.values()] == [4]
        options = {key: value for key, value in given.items() if key not in ("choices", "large")}
        for changes in ({}, large) if large else ({},):
            for key, values in choices.items():
                for value in values:
                    resolve(assign(shared | {"encoding": options | changes}, assignments({key: value})))


def test_a_base_may_have_limits_of_its_own(context):
    base = BASE | {"most": {"choices": 2, "splits": 3}}
    cell = (BASE["dataset"], "all", "gcn", "rwse", "input")
    rows = compute(load_graph(BASE["dataset"]), base, cell, SMALL | {"most": {"choices": 3, "splits": 2}}, context)
    assert [row["trials"] for row in rows] == [2, 2]


def test_the_page_is_that_of_the_results_and_says_what_is_missing(tmp_path):
    page = (ROOT / "docs" / "benchmark.md").read_text(encoding="utf-8")
    assert page == benchmark_page(ROOT / "results"), "run `make experiments`"
    empty = benchmark_page(tmp_path)
    *_, bases, encodings, where = empty.split("**Not computed, or not whole:**")
    for name, missing in (
        ("cs, sage, at the input", bases),
        ("squirrel-filtered, gcn, at every layer", encodings),
        ("cora, gcn, 5 labels, at the input", where),
    ):
        assert name in missing
    assert "Within one published" not in empty


@pytest.mark.parametrize("name", ["benchmark-encodings", "benchmark-where"])
def test_the_page_concludes_from_whole_blocks_only_and_draws_them(name, tmp_path, monkeypatch):
    settings = settings_of(name)
    several = [cell for _, cell in benchmark.cells(settings)]
    blocks = list(dict.fromkeys((*cell[:3], cell[4]) for cell in several))[:3]
    (*whole, partial), effects = blocks, {"none": 0.0, "fastrp": 2.0, "rwse": -2.0}
    rows = [
        dict(zip(benchmark.CELL, cell, strict=True))
        | {"metric": "accuracy", "split": split, "test": 50 + split + effects.get(cell[3], 0.0) * (1 + split / 9)}
        | {"seconds": 1.0, "trials": 4}
        for cell in several
        if (*cell[:3], cell[4]) in whole or (cell[:3] == partial[:3] and cell[3] == "none")
        for split in range(10)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / f"{name}-splits.csv", index=False)
    summarise(pd.DataFrame(rows), settings).to_csv(tmp_path / f"{name}.csv", index=False)
    page = benchmark_page(tmp_path)
    assert page.count("**: raise the score: fastrp (+3.00)") == 2
    missing = page.partition(f"## {settings['title']}")[2].partition("**Not computed, or not whole:** ")[2]
    assert missing.startswith(f"{partial[0]}, {partial[2]}, ")
    *_, conclusion = page.partition("## In short")[2].partition("![")[0].strip().splitlines()
    raised = "Comparisons: 16; shown to raise the score: 2 (by 3.0 points); shown to lower it: 2 (by 3.0 points). The "
    assert f"{raised}highest mean has `fastrp` at the input, +3.0 points. **By default take `fastrp`.**" in conclusion
    unsure = summarise(pd.DataFrame(rows), settings).assign(p_holm=0.2)
    unsure.to_csv(tmp_path / f"{name}.csv", index=False)
    unshown = "Comparisons: 16; shown to raise the score: 0; shown to lower it: 0. The highest mean has `fastrp`"
    assert unshown in benchmark_page(tmp_path)
    assert benchmark_page(tmp_path).count("**By default take none.**") == 1
    summarise(pd.DataFrame(rows), settings).to_csv(tmp_path / f"{name}.csv", index=False)
    fastrp = [each for each in gains(tmp_path) if each.series == "fastrp"]
    half = scipy.stats.t.ppf(0.975, 9) * np.std(2 * (1 + np.arange(10) / 9), ddof=1) / 10**0.5
    assert [(each.y, each.low, each.high) for each in fastrp] == [pytest.approx((3, 3 - half, 3 + half))] * 2
    assert len(gains(tmp_path)) == 2 * (len(settings["encodings"]) - 1)
    monkeypatch.setattr("sys.argv", ["benchmark_page", str(tmp_path), str(tmp_path / "page.md")])
    main()
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == page
    assert (tmp_path / "benchmark.png").stat().st_size > 1000


WORDS = 12
TWITCH = settings_of("benchmark-transfer", "quick") | {
    "graphs": ["DE", "PTBR"],
    "words": WORDS,
    "encodings": {"none": {"name": "none"}, "rwse": {"name": "rwse", "dim": 4, "steps": 4}},
    "training": {"epochs": 3},
}


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
    csv, *_ = run_study("benchmark-transfer", context, TWITCH)
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
        run_study("benchmark-transfer", context, TWITCH)
    assert "PTBR is left out: twitch/PTBR/musae_PTBR_edges.csv: must be below the data root" in said[-1]
