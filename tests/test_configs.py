"""Every config in the repository is valid, and the smoke one runs."""

from pathlib import Path

import pytest

from llpe.data import load_graph
from llpe.lab import load_config, resolve, run

CONFIGS = sorted((Path(__file__).parents[1] / "configs").glob("*.toml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda p: p.stem)
def test_config_is_valid(path):
    assert resolve(load_config(path)).hash


def test_the_smoke_config_finds_the_blocks():
    config = resolve(load_config(Path(__file__).parents[1] / "configs" / "smoke.toml"))
    assert run(load_graph(config.dataset), config).mean_test > 0.9
