"""Promises of files on disk: a change of any byte is noticed, killed writers leave nothing, no file is half written."""

import json
import multiprocessing
import signal
import tomllib

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save

from llpe import sealed
from llpe.storage import replacing, sweep

KINDS = {
    "report.json": lambda path: sealed.write_json(path, {"test": 0.173, "name": "sha256:" + 64 * "0"}),
    "config.toml": lambda path: sealed.write_text(path, 'lr = 0.01\nname = "λ"\n'),
    "filters.npz": lambda path: sealed.write_arrays(path, {"lambdas": np.linspace(0, 2, 9)}),
    "model.safetensors": lambda path: sealed.write(path, save({"a": torch.ones(5)}, {"checksum": sealed.BLANK})),
}


@pytest.mark.parametrize("name", KINDS)
def test_a_change_of_any_byte_is_noticed(name, tmp_path):
    path = tmp_path / name
    KINDS[name](path)
    content = path.read_bytes()
    assert sealed.read(path) == content
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1 << place % 8]) + content[place + 1 :])
        with pytest.raises(sealed.DamagedError, match=rf"{name}: must be as it was written"):
            sealed.read(path)
    for length in (0, 1, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(sealed.DamagedError, match=rf"got {length} bytes without their checksum"):
            sealed.read(path)
    with pytest.warns(sealed.DamageWarning, match="It is made again"):
        assert not sealed.intact(path)


def test_sealed_files_are_plain_files_for_other_programs(tmp_path):
    for name, write in KINDS.items():
        write(tmp_path / name)
    assert json.loads((tmp_path / "report.json").read_text())["test"] == 0.173
    assert tomllib.loads((tmp_path / "config.toml").read_text()) == {"lr": 0.01, "name": "λ"}
    assert sealed.read_text(tmp_path / "config.toml") == 'lr = 0.01\nname = "λ"'
    with np.load(tmp_path / "filters.npz") as arrays:
        assert arrays["lambdas"].size == 9
    assert load_file(tmp_path / "model.safetensors")["a"].sum() == 5


def _write_and_wait(path, ready):
    with replacing(path) as partial:
        partial.write_text("half")
        ready.set()
        signal.pause()


def test_what_a_killed_writer_left_is_removed_and_a_living_one_is_left_alone(tmp_path):
    context = multiprocessing.get_context("fork")
    writers = []
    for _ in range(2):
        ready = context.Event()
        writers.append(context.Process(target=_write_and_wait, args=(tmp_path / "file", ready)))
        writers[-1].start()
        ready.wait(60)
    writers[0].kill()
    writers[0].join()
    assert len(list(tmp_path.iterdir())) == 2
    sweep(tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    writers[1].kill()
    writers[1].join()
    with replacing(tmp_path / "file") as partial:
        partial.write_text("whole")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "whole"
