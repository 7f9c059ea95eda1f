"""The study of a search in a database: a PostgreSQL server that the test starts on the loopback interface."""

import multiprocessing
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from glob import glob

import optuna
import pytest
from sqlalchemy.pool import NullPool

from llpe.data import load_graph
from llpe.lab import SearchConfig, search, trials
from llpe.lab.trials import StorageError, Trial, copy_study

RAW = {"dataset": "sbm:n=60", "encoding": {"name": "none"}, "training": {"epochs": 2}, "splits": {"count": 2}}
SPACE = {"lr": [0.1, 0.01], "dropout": [0.0, 0.2]}


@pytest.fixture(scope="module")
def server():
    """The URL of an empty database."""
    pytest.importorskip("psycopg", reason="needs psycopg: pip install llpe[cluster]")
    programs = [shutil.which("initdb"), *glob("/usr/lib/postgresql/*/bin/initdb")]
    program = next(filter(None, programs), None)
    if program is None:
        pytest.skip("needs PostgreSQL: apt-get install postgresql")
    folder = tempfile.mkdtemp(prefix="llpe-postgres-")
    user = None
    if os.getuid() == 0:  # PostgreSQL refuses to run as root
        user = next((each.pw_name for each in pwd.getpwall() if each.pw_name in ("postgres", "nobody")), None)
        if user is None:
            pytest.skip("needs a user other than root")
        shutil.chown(folder, user)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    def run(name, *arguments):
        command = [os.path.join(os.path.dirname(os.path.realpath(program)), name), "-D", f"{folder}/data", *arguments]
        subprocess.run(command, user=user, cwd=folder, check=True, stdout=subprocess.DEVNULL)

    try:
        run("initdb", "-U", "llpe", "-A", "trust", "--no-sync")
        run("pg_ctl", "-w", "-l", f"{folder}/log", "-o", f"-p {port} -k {folder} -h 127.0.0.1 -F", "start")
        yield f"postgresql+psycopg://llpe@127.0.0.1:{port}/postgres"
    finally:
        if os.path.exists(f"{folder}/data/postmaster.pid"):
            run("pg_ctl", "-m", "immediate", "stop")
        shutil.rmtree(folder)


def read_study(url, name):
    storage = optuna.storages.RDBStorage(url, engine_kwargs={"poolclass": NullPool})
    study = optuna.load_study(study_name=name, storage=storage).trials
    storage.remove_session()
    return study


def write_study(url, seed, together):
    together.wait()
    best = Trial({"lr": 0.1, "dropout": 0.0}, "complete", 0.5)
    worst = Trial({"lr": 0.01, "dropout": 0.2}, "failed", None)
    copy_study([best, worst], SPACE, f"study-{seed}", url)


def test_eight_processes_share_an_empty_database(server):
    context = multiprocessing.get_context("fork")
    together = context.Barrier(8)
    processes = [context.Process(target=write_study, args=(server, seed, together)) for seed in range(8)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 8
    for seed in range(8):
        found = [(trial.params, trial.value) for trial in read_study(server, f"study-{seed}")]
        assert found == [({"lr": 0.1, "dropout": 0.0}, 0.5), ({"lr": 0.01, "dropout": 0.2}, None)]


def test_a_search_is_copied_to_the_database(server, tmp_path):
    settings = SearchConfig(trials=3, space=SPACE, storage=server)
    found = search(load_graph(RAW["dataset"]), RAW, settings, root=tmp_path, workers=1)
    study = read_study(server, found.run.parents[1].name)
    assert [trial.params for trial in study] == [trial.choice for trial in found.trials]
    assert max(trial.value for trial in study if trial.state.name == "COMPLETE") == found.val


@pytest.mark.parametrize(
    ("url", "kind", "said"),
    [
        ("no-such-database://host/study", ValueError, "`storage` must be a URL such as sqlite:///study.db or"),
        ("postgresql+psycopg://127.0.0.1:1/study", StorageError, "`storage` must be a database that can be reached"),
    ],
)
def test_a_storage_that_cannot_be_used_is_refused_before_training(url, kind, said, tmp_path, monkeypatch):
    pytest.importorskip("psycopg", reason="needs psycopg: pip install llpe[cluster]")
    monkeypatch.setattr(trials, "ATTEMPTS", 1)
    with pytest.raises(kind, match=said):
        search(load_graph(RAW["dataset"]), RAW, SearchConfig(storage=url), root=tmp_path, workers=1)
    assert not list(tmp_path.rglob("trials/*"))
