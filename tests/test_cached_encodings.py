"""The cache as encodings and processes share it: keyed by all that counts, the same bytes, computed once."""

import json

import pytest
import torch

from encoding_cases import fixed_part
from llpe import cache as cache_module
from llpe import tiny
from llpe.encodings import ENCODINGS, LLPE, make_encoding

CHANGES = {"k": 4, "order": 9, "steps": 6, "seed": 1, "directions": 2, "probes": 2}


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """An empty default cache that keeps the results of small graphs too."""
    monkeypatch.setenv("LLPE_CACHE", str(tmp_path / "own"))
    monkeypatch.setattr(cache_module, "SMALL", 0)
    return tmp_path / "own"


def files(folder):
    return sorted(folder.glob("*.safetensors"))


def as_bytes(data):
    return {name: tensor.numpy().tobytes() for name, tensor in fixed_part(data, tiny("grid")).items()}


@pytest.mark.parametrize("name", ENCODINGS)
def test_a_changed_argument_or_graph_is_another_entry(name, own_cache):
    encoding, data = make_encoding(name, dim=4), tiny("grid")
    fixed = encoding.fixed_arguments()
    encoding.prepare(data)
    before = set(files(own_cache))
    for option in [option for option in ENCODINGS[name].options if option in CHANGES and fixed.get(option) is not None]:
        changed = make_encoding(name, dim=4, **{option: CHANGES[option]})
        kept = as_bytes(changed.prepare(data))
        assert kept == as_bytes(changed.prepare(data, cache=False))
        assert set(files(own_cache)) > before, option
        before = set(files(own_cache))
    data.edge_weight = torch.ones(data.num_edges)
    encoding.prepare(data)  # the same graph
    assert set(files(own_cache)) == before
    data.edge_weight = 1 + (data.edge_index[0] + data.edge_index[1] == 1).float()  # the edge between 0 and 1
    encoding.prepare(data)
    assert (set(files(own_cache)) > before) == bool(fixed)


def test_what_the_fixed_part_does_not_see_is_the_same_entry(own_cache):
    data = tiny("grid")
    LLPE(4, order=8, directions=2).prepare(data)
    before = set(files(own_cache))
    data.x = torch.ones(12, 1)
    LLPE(6, order=8, directions=2, start="uniform", size=2.0, l1=0.5).prepare(data)
    assert set(files(own_cache)) == before


# Two components, one of them too large for the dense solver, an isolated node, and a repeated eigenvalue. Encodings
# without a `k` take all eigenvectors, and so a part of it.
PREPARE = """
import hashlib, json, sys
from unittest import mock
import torch
from torch_geometric.data import Data
from llpe.encodings import ENCODINGS, make_encoding

ring = torch.arange(650)
chords = torch.randint(650, (2, 900), generator=torch.Generator().manual_seed(0))
half = torch.cat([torch.stack([ring, (ring + 1) % 650]), chords[:, chords[0] != chords[1]],
                  torch.tensor([[650, 651, 652], [651, 652, 650]])], dim=1)
data = Data(edge_index=torch.cat([half, half.flip(0)], dim=1).unique(dim=1), num_nodes=654)


def digest(name, cache):
    encoding = make_encoding(name, dim=4)
    graph = data if encoding.fixed_arguments().get("k") else data.subgraph(torch.arange(500, 654))
    out = encoding.prepare(graph, cache=cache)
    new = sorted(key for key in out.keys() if key not in graph)
    return {key: hashlib.sha256(out[key].numpy().tobytes()).hexdigest() for key in new}


def works(name):
    try:
        return bool(digest(name, False))
    except RuntimeError:
        return False


needless = []
if sys.argv[1] == "first":
    off = {name: digest(name, False) for name in ENCODINGS}
    on = {name: digest(name, True) for name in ENCODINGS}
else:
    places = ("llpe.eigensolvers.eigsh", "llpe.eigensolvers.dsyevd", "llpe.spectrum.dgeqrf",
              "llpe.encodings.elastic.dpotrf", "torch.sparse_csr_tensor")
    patches = [mock.patch(place, side_effect=RuntimeError("spectral work")) for place in places]
    for patch in patches:
        patch.start()
    on = {name: digest(name, True) for name in ENCODINGS}
    needless = [name for name in ENCODINGS if works(name)]
    for patch in patches:
        patch.stop()
    off = {name: digest(name, False) for name in ENCODINGS}
print(json.dumps({"off": off, "on": on, "needless": needless}))
"""


def test_a_second_process_does_no_spectral_work_and_gets_identical_bytes(tmp_path, run_python):
    first, second = (
        json.loads(run_python(PREPARE, which, PYTHONWARNINGS="ignore", LLPE_CACHE=str(tmp_path), PYTHONHASHSEED=seed))
        for which, seed in (("first", "0"), ("second", "1"))
    )
    assert first["off"] == first["on"] == second["on"] == second["off"]
    assert all(first["off"].values())
    assert second["needless"] == ["none"]


AT_ONCE = """
import multiprocessing, os, sys, time
from pathlib import Path
import torch
from llpe.cache import Cache, Result

folder = Path(sys.argv[1])


def compute():
    with (folder / "log").open("a") as file:
        file.write(f"{os.getpid()}\\n")
    time.sleep(0.5)
    return Result({"a": torch.full((10,), float(os.getpid()))}, {})


def work(number, barrier):
    barrier.wait()
    sys.stdout.write(f"{int(Cache(folder / 'one').fetch('kind', {}, compute).tensors['a'][0])}\\n")
    # entries come, go and are read by all at once, in a cache that holds a few of them
    cache = Cache(folder / "few", limit=6000)
    for step in range(60):
        name = (7 * step + 3 * number) % 11
        found = cache.fetch("kind", {"n": name}, lambda: Result({"a": torch.full((200,), float(name))}, {}))
        assert (found.tensors["a"] == name).all()
        cache.entries()


context = multiprocessing.get_context("fork")
barrier = context.Barrier(4)
workers = [context.Process(target=work, args=(number, barrier)) for number in range(4)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join(60)
sys.exit(any(worker.exitcode for worker in workers))
"""


def test_processes_at_once_compute_once_and_survive_each_others_evictions(tmp_path, run_python):
    answers = run_python(AT_ONCE, tmp_path, PYTHONWARNINGS="error::UserWarning").split()
    computed = (tmp_path / "log").read_text().split()
    assert len(computed) == 1
    assert answers == computed * 4
    kept = [path for path in (tmp_path / "few").iterdir() if path.is_file()]
    assert 0 < sum(path.stat().st_size for path in kept) <= 6000
    assert all(path.suffix == ".safetensors" for path in kept)
