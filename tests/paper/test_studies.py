"""Promises of the studies of local homophily, of signs, and of the opening figures."""

import numpy as np
import pandas as pd
import pytest
import torch

from llpe.data import load_graph, sbm
from llpe.encodings.llpe import minmax
from llpe.homophily import local_homophily
from llpe.lab import resolve
from llpe.paper import run_study, settings_of, studies
from llpe.paper.base import config_of, merge
from llpe.spectrum import full_spectrum

GRAPHS = ["sbm:n=150,homophily=0.8", "sbm:n=150,homophily=0.2"]
LOCAL = settings_of("local-homophily", "quick") | {
    "graphs": [GRAPHS[:1], ["missing:graph", GRAPHS[1]]],
    "encodings": {"none": {"name": "none"}, "lpe-fk": {"name": "lpe-fk", "dim": 8, "k": 4}},
    "draws": 200,
}
SIGNS = settings_of("signs", "quick")


def names_of(study):
    return [f"{study}.{suffix}" for suffix in ("csv", "md", "tex", "png", "pdf")]


class Here(studies.Context):
    def load(self, name):
        return None if name == "missing:graph" else super().load(name)


def test_all_fifths_of_both_graphs_are_written_with_their_intervals(context):
    files = run_study("local-homophily", Here(**vars(context)), LOCAL)
    assert [file.name for file in files] == names_of("local-homophily")
    rows = pd.read_csv(files[0])
    assert set(rows.dataset) == set(GRAPHS)
    assert set(rows.encoding) == set(LOCAL["encodings"])
    assert ((rows.low <= rows.accuracy) & (rows.accuracy <= rows.high)).all()
    assert f"{GRAPHS[1]} instead of missing:graph as the heterophilous graph." in files[1].read_text()


def test_every_test_of_every_split_is_counted(context):
    dataset = load_graph(GRAPHS[0])
    run = context.train(dataset, config_of(LOCAL, dataset.name, {"name": "none"}))
    nodes = studies.count_tests(run)
    assert nodes.tested.sum() == 3 * 30
    assert nodes.right.sum() / nodes.tested.sum() == pytest.approx(np.mean(run.scores))
    known = local_homophily(dataset.data.edge_index, dataset.data.y)[nodes.index]
    assert nodes.homophily.to_numpy() == pytest.approx(known.numpy(), nan_ok=True)


def test_nodes_are_in_the_fifth_of_their_homophily_and_those_without_one_in_none():
    homophily = [0.4, 1.0, 1.0, 0.0, 0.0, 0.0, np.nan]
    nodes = pd.DataFrame({"homophily": homophily, "tested": 1, "right": [1, 1, 0, 1, 1, 0, 1]})
    groups = studies.group_by_homophily(nodes, draws=10)[["fifth", "nodes", "accuracy"]]
    found = list(groups.itertuples(index=False, name=None))
    assert found == [("0 – .2", 3, pytest.approx(2 / 3)), (".4 – .6", 1, 1.0), (".8 – 1", 2, 0.5)]


def test_the_interval_is_that_of_a_share_of_nodes_and_always_the_same():
    right, once = np.repeat([0, 1], 200), np.ones(400, dtype=int)
    low, high = studies.bootstrap(right, once, draws=2000)
    half = 1.96 * 0.5 / 400**0.5
    assert (low, high) == pytest.approx((0.5 - half, 0.5 + half), abs=0.01)
    assert studies.bootstrap(right, once, draws=2000) == (low, high)
    again = studies.bootstrap(right * 5, 5 * once, draws=2000)
    assert again == pytest.approx((low, high)), "testing a node five times is not five nodes"


def test_seeds_of_the_spectrum_draw_signs_like_fair_coins_and_min_max_scaling_passes_them_on():
    graph = sbm(120, degree=20, homophily=0.3)
    first, *others = (full_spectrum(graph, seed=seed, cache=False) for seed in range(8))
    assert len(first.spaces.unique()) == 120, "no eigenvalue repeats here"
    flips = torch.stack([(one.vectors * first.vectors).sum(dim=0) for one in others])[:, 1:]
    assert torch.allclose(flips.abs(), torch.ones_like(flips), atol=1e-6)
    assert abs(float((flips < 0).double().mean()) - 0.5) < 4 * 0.5 / flips.numel() ** 0.5
    assert torch.allclose(minmax(-first.vectors), -minmax(first.vectors))


def test_a_draw_starts_all_that_is_learned_alike_and_the_control_does_not():
    def config(arm, draw):
        return resolve(studies.config_of_draw("sbm:n=50", arm, draw, SIGNS))

    starts = []
    for draw in (0, 3):
        drawn = config("llpe-minmax", draw)
        assert drawn.encoding.seed == draw
        model = drawn.make_classifier(10, 2)
        torch.manual_seed(drawn.training.seed)
        model.reset_parameters()
        starts.append(dict(model.named_parameters()))
    assert all(torch.equal(starts[0][name], starts[1][name]) for name in starts[0])
    first, control = (config(studies.START, draw) for draw in (0, 3))
    assert first.encoding.seed == control.encoding.seed == 0
    assert first.training.seed != control.training.seed


def test_spread_is_over_draws_and_over_splits_and_signs_stand_beside_starts():
    scores = {studies.SIGNS: [0.5, 0.7, 0.7, 0.9], studies.START: [0.5] * 4}
    frame = pd.DataFrame(
        {"dataset": "ring", "arm": arm, "draw": i // 2, "split": i % 2, "test": score}
        for arm, each in scores.items()
        for i, score in enumerate(each)
    )
    spread = studies.spread_of(frame)
    deviation = np.std([0.6, 0.8], ddof=1)
    assert list(spread.loc["ring", studies.SIGNS]) == pytest.approx([0.7, 0.6, 0.8, deviation, deviation])
    assert "the same signs: ring 14.1 and 0.0." in studies.summary(spread)


def test_all_draws_of_all_arms_are_written(untrained):
    context = untrained()
    files = run_study("signs", context)
    assert [file.name for file in files] == names_of("signs")
    rows = pd.read_csv(files[0])
    assert len(context.asked) == len({str(config) for config in context.asked}) + 2 == 2 * 4 * 4  # draw 0 is one run
    assert len(rows) == 2 * len(context.asked)
    assert set(rows.arm) == set(SIGNS["arms"])


def test_the_planes_show_what_the_paper_says(context):
    settings = merge(settings_of("intuition", "quick"), {"training": {"epochs": 200}})
    written = run_study("intuition", context, settings)
    figures = [f"intuition-{kind}.{suffix}" for kind in ("lpe", "llpe") for suffix in ("png", "pdf")]
    assert [file.name for file in written] == [*names_of("intuition")[:3], *figures]
    planes = pd.read_csv(written[0]).groupby("plane", sort=False)
    assert list(planes.size()) == [400] * 3
    points = [(plane[["x", "y"]].to_numpy(), plane["class"].to_numpy()) for _, plane in planes]
    same, differ, learned = (studies.separated(*each) for each in points)
    assert min(same, learned) > 0.95
    assert differ < 0.7


@pytest.mark.parametrize(("classes", "share"), [([0, 1, 0, 1], 1.0), ([0, 1, 1, 0], 0.75), ([0, 0, 0, 0], 1.0)])
def test_a_line_separates_what_it_can_and_no_exclusive_or(classes, share):
    square = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    assert studies.separated(square, np.array(classes)) == share
