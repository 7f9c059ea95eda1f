"""Promises of the study of signs: a draw changes signs and nothing else, and the control changes all but signs."""

from __future__ import annotations

import csv

import numpy as np
import pytest
import torch

from llpe.data import load_graph, sbm
from llpe.encodings.llpe import minmax
from llpe.lab import resolve
from llpe.paper import Context, find_study, signs
from llpe.spectrum import full_spectrum


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
    configs = [resolve(signs.config_of_draw("sbm:n=50", "llpe-minmax", draw, {}, 2)) for draw in (0, 3)]
    assert [config.encoding.seed for config in configs] == [0, 3]
    starts = []
    for config in configs:
        torch.manual_seed(config.training.seed)
        model = config.make_classifier(10, 2)
        torch.manual_seed(config.training.seed)
        model.reset_parameters()
        starts.append(dict(model.named_parameters()))
    assert all(torch.equal(starts[0][name], starts[1][name]) for name in starts[0])
    control = [resolve(signs.config_of_draw("sbm:n=50", signs.START, draw, {}, 2)) for draw in (0, 3)]
    assert [config.encoding.seed for config in control] == [0, 0]
    assert control[0].training.seed != control[1].training.seed


def test_spread_is_over_draws_and_over_splits():
    spread = signs.Spread("g", "a", ((0.5, 0.7), (0.7, 0.9)))
    assert spread.mean == pytest.approx(0.7)
    assert (spread.lowest, spread.highest) == pytest.approx((0.6, 0.8))
    assert spread.over_draws == pytest.approx(np.std([0.6, 0.8], ddof=1))
    assert spread.over_splits == pytest.approx(np.std([0.6, 0.8], ddof=1))


def test_all_draws_of_all_arms_are_written(tmp_path, monkeypatch):
    graph = load_graph("sbm:n=60,homophily=0.1")
    monkeypatch.setattr(Context, "load", lambda self, name: graph if name.startswith("sbm") else None)
    small = {name: {**arm, "dim": 8, "order": 8} for name, arm in signs.ARMS.items()}
    small["llpe-probes"]["probes"] = 4
    monkeypatch.setattr(signs, "ARMS", small)
    monkeypatch.setattr(signs, "MODEL", {"name": "mlp", "hidden": 8})
    monkeypatch.setattr(signs, "TRAINING", {"lr": 0.05})
    files = find_study("signs").run(Context("quick", tmp_path / "runs", tmp_path / "out", workers=1))
    with files[0].open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == 4 * 4 * 5
    assert {row["arm"] for row in rows} == set(signs.ARMS)
    assert [file.name for file in files] == [f"signs.{suffix}" for suffix in ("csv", "md", "tex", "png", "pdf")]


def test_the_reading_sets_other_signs_beside_other_starts():
    moved = signs.Spread("ring", signs.SIGNS, ((0.5, 0.7), (0.7, 0.9)))
    still = signs.Spread("ring", signs.START, ((0.5, 0.5), (0.5, 0.5)))
    assert "the same signs: ring 14.1 and 0.0." in signs._reading([moved, still])


def test_without_a_graph_it_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(Context, "load", lambda self, name: None)
    with pytest.raises(ValueError, match="signs must have a graph, got no benchmark"):
        find_study("signs").run(Context("standard", tmp_path, tmp_path))
