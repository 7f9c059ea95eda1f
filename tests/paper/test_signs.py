"""Promises of the study of signs: a draw changes signs and nothing else, and the control changes all but signs."""

import numpy as np
import pandas as pd
import pytest
import torch

from llpe.data import sbm
from llpe.encodings.llpe import minmax
from llpe.lab import resolve
from llpe.paper import run_study, signs
from llpe.paper.base import settings_of
from llpe.spectrum import full_spectrum

SETTINGS = settings_of("signs", "quick")


def test_min_max_scaling_passes_the_sign_on():
    vectors = torch.randn(9, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(minmax(-vectors), -minmax(vectors))


def test_seeds_of_the_spectrum_draw_signs_like_fair_coins():
    graph = sbm(120, degree=20, homophily=0.3)
    spectra = [full_spectrum(graph, seed=seed, cache=False) for seed in range(8)]
    assert len(spectra[0].spaces.unique()) == 120, "no eigenvalue repeats here"
    flips = torch.stack([(one.vectors * spectra[0].vectors).sum(dim=0) for one in spectra[1:]])[:, 1:]
    assert torch.allclose(flips.abs(), torch.ones_like(flips), atol=1e-6)
    share = float((flips < 0).double().mean())
    assert abs(share - 0.5) < 4 * 0.5 / flips.numel() ** 0.5


def test_a_draw_starts_all_that_is_learned_alike_and_the_control_does_not():
    configs = [resolve(signs.config_of_draw("sbm:n=50", "llpe-minmax", draw, SETTINGS)) for draw in (0, 3)]
    assert [config.encoding.seed for config in configs] == [0, 3]
    starts = []
    for config in configs:
        torch.manual_seed(config.training.seed)
        model = config.make_classifier(10, 2)
        torch.manual_seed(config.training.seed)
        model.reset_parameters()
        starts.append(dict(model.named_parameters()))
    assert all(torch.equal(starts[0][name], starts[1][name]) for name in starts[0])
    control = [resolve(signs.config_of_draw("sbm:n=50", signs.START, draw, SETTINGS)) for draw in (0, 3)]
    assert [config.encoding.seed for config in control] == [0, 0]
    assert control[0].training.seed != control[1].training.seed


def test_spread_is_over_draws_and_over_splits_and_signs_stand_beside_starts():
    scores = {signs.SIGNS: [0.5, 0.7, 0.7, 0.9], signs.START: [0.5] * 4}
    frame = pd.DataFrame(
        {"dataset": "ring", "arm": arm, "draw": i // 2, "split": i % 2, "test": score}
        for arm, each in scores.items()
        for i, score in enumerate(each)
    )
    spread = signs.spread_of(frame)
    deviation = np.std([0.6, 0.8], ddof=1)
    assert list(spread.loc["ring", signs.SIGNS]) == pytest.approx([0.7, 0.6, 0.8, deviation, deviation])
    assert "the same signs: ring 14.1 and 0.0." in signs.summary(spread)


def test_all_draws_of_all_arms_are_written(untrained):
    context = untrained()
    files = run_study("signs", context)
    rows = pd.read_csv(files[0])
    assert len(context.asked) == len({str(config) for config in context.asked}) + 2 == 2 * 4 * 4  # draw 0 is one run
    assert len(rows) == 2 * len(context.asked)
    assert set(rows.arm) == set(SETTINGS["arms"])
    assert [file.name for file in files] == [f"signs.{suffix}" for suffix in ("csv", "md", "tex", "png", "pdf")]
