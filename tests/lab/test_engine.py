"""The engine: a real scheduler with real workers, of which one dies; and every fault in words."""

import errno
import json
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.numpy import load_file
from typer.testing import CliRunner

from llpe import probe_features
from llpe.cli import app
from llpe.data import load_graph, map_folder
from llpe.data.convert import convert
from llpe.lab import Dask, EngineError, SearchConfig, WorkerError, engine, resolve, run, search
from llpe.lab.export import encode_blocks
from llpe.out_of_core import encode_folder

distributed = pytest.importorskip("distributed", reason="needs dask: pip install llpe[cluster]")
SPEC = "sbm:n=120,homophily=1"
RAW = {
    "dataset": SPEC,
    "encoding": {"dim": 8, "order": 16},
    "model": {"hidden": 8},
    "training": {"epochs": 40, "patience": 40},
    "splits": {"count": 3},
}
SPACE = {"lr": [0.1, 0.01], "optimizer": ["adam"], "dropout": [0.0, 0.2], "hidden": [8], "layers": [1], "order": [16]}
SETTINGS = SearchConfig(trials=4, space=SPACE | {"l1": [0.0], "size": [1.0]})


@pytest.fixture(scope="module")
def graph():
    return load_graph(SPEC)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """The address of a scheduler, and its process and those of its two workers."""
    file = tmp_path_factory.mktemp("cluster") / "scheduler.json"
    where = ["--scheduler-file", str(file), "--host", "127.0.0.1", "--no-dashboard"]
    commands = [
        ["scheduler", "--port", "0", *where],
        *(["worker", "--name", name, "--nthreads", "1", "--no-nanny", *where] for name in ("a", "b")),
    ]
    processes = [
        subprocess.Popen([sys.executable, "-m", "dask", *each], stderr=subprocess.DEVNULL) for each in commands
    ]
    try:
        while not file.exists():
            assert processes[0].poll() is None
            time.sleep(0.05)
        yield json.loads(file.read_text())["address"], processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def results(run):
    """All that a run found: scores, weights and arrays."""
    found = []
    for split in sorted(run.glob("split-*")):
        report = json.loads((split / "report.json").read_text())
        arrays = [np.load(file) for file in sorted(split.glob("*.npz"))] + [load_file(split / "model.safetensors")]
        found.append({name: report[name] for name in ("train", "val", "test", "epochs", "best_epoch")})
        found.append([{name: each[name].tobytes() for name in each} for each in arrays])
    return found


def test_search_and_probes_that_lose_a_worker_equal_the_local_ones(cluster, graph, tmp_path):
    address, (_, victim, _) = cluster
    local = search(graph, RAW, SETTINGS, root=tmp_path / "local", workers=1)
    np.savez(tmp_path / "edges.npz", edge_index=graph.data.edge_index)
    encode = partial(encode_folder, convert(tmp_path / "edges.npz", tmp_path / "graph"), memory=10**10)
    busy, told = [], []
    with Dask(address) as dask, ThreadPoolExecutor() as pool:
        dask.client.wait_for_workers(2, timeout=60)

        def kill(progress):
            if not busy:
                named = {each["name"]: where for where, each in dask.client.scheduler_info()["workers"].items()}
                busy.extend(dask.client.processing()[named["a"]])
                victim.send_signal(signal.SIGKILL)

        blocks = {"compute": partial(encode_blocks, dask), "on_progress": lambda *now: told.append(now)}
        encoding = pool.submit(encode, tmp_path / "features", order=8, probes=64, **blocks)
        found = search(graph, RAW, SETTINGS, root=tmp_path / "dask", engine=dask, on_progress=kill)
        features = encoding.result()
        assert dask.workers == 1
    assert told[-1] == (8 * 64, 8 * 64)
    assert features[:].equal(probe_features(graph.graph, order=8, probes=64)[0])
    assert busy
    assert found.trials == local.trials
    assert found.run.name == local.run.name
    assert results(found.run) == results(local.run)
    assert not list(found.run.glob("split-*/checkpoint.pt"))


def test_a_scheduler_that_goes_away_leaves_what_is_finished(cluster, graph, tmp_path):
    address, (scheduler, *_) = cluster
    config = resolve(RAW)
    with Dask(address) as dask, pytest.raises(EngineError, match=f"the scheduler at {address} went away. Start it"):
        run(graph, config, root=tmp_path / "dask", engine=dask, on_outcome=lambda outcome: scheduler.kill())
    (first,) = tmp_path.glob("dask/**/report.json")
    written = first.stat().st_mtime_ns
    resumed, whole = (run(graph, config, root=tmp_path / name, workers=1) for name in ("dask", "local"))
    assert first.stat().st_mtime_ns == written
    assert results(resumed.run) == results(whole.run)


@pytest.fixture(scope="module")
def threads():
    """A cluster of one worker in a thread of this process."""
    with (
        distributed.LocalCluster(1, processes=False, threads_per_worker=1, dashboard_address="127.0.0.1:0") as here,
        Dask(here.scheduler_address) as dask,
    ):
        yield dask


def raise_it(shared, error, tell):
    raise error


def add(shared, number, tell):
    return shared + number


stopped = threading.Event()


def tell_for_ever(shared, number, tell):
    try:
        while True:
            tell(number)
            time.sleep(0.01)
    finally:
        stopped.set()


def test_pieces_come_with_their_results_and_items_are_computed_several_at_a_time(threads):
    def compute(number):
        return sum(threads.run(add, [(number,), (number,)], shared=10))

    assert sorted(threads.run(add, [(1,), (2,)], shared=10)) == [11, 12]
    assert sorted(engine.each(threads, compute, [1, 2, 3], pieces=1)) == [(1, 22), (2, 24), (3, 26)]
    assert list(engine.each(None, compute, [3, 1], pieces=1)) == [(3, 26), (1, 22)]


def test_after_an_error_no_further_item_starts(threads):
    started = []

    def compute(number):
        started.append(number)
        return list(threads.run(raise_it, [(ValueError(f"item {number}"),)]))

    with pytest.raises(ValueError, match="item"):
        list(engine.each(threads, compute, range(20), pieces=1))
    assert len(started) < 20


def test_the_command_line_says_where_to_watch_and_answers_as_the_local_engine(threads, tmp_path):
    def train(*more):
        small = ["--dataset", SPEC, "epochs=3", "splits.count=2", "--runs", str(tmp_path / more[1])]
        return CliRunner().invoke(app, ["train", *small, "--json", *more])

    found, local = train("--engine", "dask", "--scheduler", threads.address), train("--engine", "local")
    assert f"note: 1 worker at {threads.address}; watch them at http://" in found.stderr
    answers = [json.loads(result.stdout) for result in (found, local)]
    assert [answer["test"] for answer in answers] == [answers[0]["test"]] * 2


def test_a_mapped_graph_is_not_sent(threads, graph, tmp_path):
    np.savez(tmp_path / "edges.npz", edge_index=graph.data.edge_index)
    np.savez(tmp_path / "nodes.npz", x=graph.data.x, y=graph.data.y)
    folder = convert(tmp_path / "edges.npz", tmp_path / "graph", nodes=tmp_path / "nodes.npz")
    encode_folder(folder, tmp_path / "features", order=8, probes=8, centred=True, memory=10**10)
    raw = {"dataset": str(folder.path), "encoding": {"name": "llpe-probes", "order": 8, "probes": 8, "dim": 8}}
    with pytest.raises(ValueError, match="`engine` must be the local one for a mapped graph, got Dask"):
        run(map_folder(folder.path, tmp_path / "features"), resolve(raw), engine=threads)


def test_a_piece_that_nobody_waits_for_stops(threads):
    def enough(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(threads.run(tell_for_ever, [(1,)], on_progress=enough))
    assert stopped.wait(10)


KILLED = distributed.KilledWorker("piece", SimpleNamespace(address="tcp://far:1"), 3)


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (OSError(errno.ENOSPC, "No space left"), OSError, "No space left on the worker inproc"),
        (ValueError("`k` must be small."), ValueError, "`k` must be small."),
        (KILLED, WorkerError, "a piece ended 4 workers, the last one at tcp://far:1; usually memory ran"),
    ],
)
def test_the_error_of_a_piece_is_raised_here(threads, error, kind, said):
    with pytest.raises(kind, match=said):
        list(threads.run(raise_it, [(error,)]))


@pytest.mark.parametrize(
    ("torch", "count", "said"),
    [
        ("1.0", 1, r"has torch 1\.0 \(here 2.*\)\. Install there what is"),
        (engine.VERSIONS["torch"], 4, r"must have one thread, got 4\. Start it with --nthreads 1"),
    ],
)
def test_workers_that_would_compute_something_else_are_refused(threads, monkeypatch, torch, count, said):
    monkeypatch.setattr(engine, "_here", lambda dask_worker: (engine.VERSIONS | {"torch": torch}, count))
    with pytest.raises(EngineError, match=said):
        Dask(threads.address)


def test_a_cluster_without_workers_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(engine, "IDLE_SECONDS", 0.1)
    scheduler = {"host": "127.0.0.1", "port": 0, "dashboard_address": "127.0.0.1:0"}
    with (
        distributed.SpecCluster(scheduler={"cls": distributed.Scheduler, "options": scheduler}) as nobody,
        pytest.raises(EngineError, match=r"has no worker\. Start one with: dask worker tcp"),
    ):
        Dask(nobody.scheduler_address)


def test_an_address_where_nobody_answers_is_refused(monkeypatch):
    monkeypatch.setattr(engine, "CONNECT_SECONDS", 0.2)
    with pytest.raises(EngineError, match="`scheduler` must be the address of a running Dask scheduler, got 'tcp"):
        Dask("tcp://127.0.0.1:1")
    with pytest.raises(ValueError, match="`workers` must be left out with a scheduler, got 2"):
        Dask("tcp://127.0.0.1:1", workers=2)
