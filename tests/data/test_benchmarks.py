"""Promises of the benchmark table and its loader."""

from __future__ import annotations

import errno
import shutil
import socket
import urllib.error
import urllib.request
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from torch_geometric import datasets

from llpe.data import DownloadError, find_benchmark, list_benchmarks, load_benchmark, official_splits, undirected
from llpe.data import benchmarks as module
from llpe.data.benchmarks import data_root
from llpe.homophily import edge_homophily

NAMES = [row.name for row in list_benchmarks()]
# nodes, undirected edges, features, official splits
EXPECTED = {
    "texas": (183, 279, 1703, 10),
    "cornell": (183, 277, 1703, 10),
    "cora-ml": (2995, 8158, 2879, 0),
    "cora": (2708, 5278, 1433, 1),
    "photo": (7650, 119081, 745, 0),
    "computers": (13752, 245861, 767, 0),
    "tolokers": (11758, 519000, 10, 10),
    "minesweeper": (10000, 39402, 7, 10),
    "cornell5": (18660, 790777, 4735, 0),
}


@pytest.fixture
def root(tmp_path):
    """A data root that is emptied at once: processed files can take a gigabyte."""
    folder = tmp_path / "root"
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def no_network(monkeypatch):
    monkeypatch.setattr(urllib.request, "urlopen", Mock(side_effect=urllib.error.URLError("no network in this test")))


def raw_folder(mirror, name):
    raw = mirror / name / "raw"
    raw.mkdir(parents=True)
    return raw


@pytest.mark.parametrize("name", EXPECTED)
def test_real_benchmarks_load_with_the_expected_counts(name, root, mirror, no_network, capfd):
    row = find_benchmark(name)
    if not (mirror / row.folder / "raw").is_dir():
        pytest.skip(f"no raw files of {name}")
    dataset = load_benchmark(name, root=root, mirror=mirror)
    num_splits = 0 if dataset.masks is None else len(official_splits(dataset))
    assert (dataset.num_nodes, dataset.data.num_edges // 2, dataset.num_features, num_splits) == EXPECTED[name]
    assert set(dataset.data.y.unique().tolist()) - {-1} == set(range(row.num_classes))
    assert dataset.metric == row.metric
    assert undirected(dataset.data)[1] == ()
    unlabelled = dataset.num_nodes - dataset.num_labelled
    assert unlabelled == (1838 if name == "cornell5" else 0)
    assert any("unlabelled" in note for note in dataset.notes) == (unlabelled > 0)
    assert capfd.readouterr() == ("", "")
    assert not list(root.glob(".*"))


def test_cornell_is_the_corrected_one_where_there_is_one_and_says_which(root, mirror, tmp_path):
    good = load_benchmark("cornell", root=root, mirror=mirror)
    assert edge_homophily(good.data.edge_index, good.data.y) == pytest.approx(0.12, abs=0.005)
    assert "corrected features and labels" in good.notes[0]
    assert load_benchmark("cornell", root=root).fingerprint == good.fingerprint
    plain = tmp_path / "mirror"
    shutil.copytree(mirror / "cornell", plain / "cornell")
    texan = load_benchmark("cornell", root=tmp_path / "other", mirror=plain)
    assert edge_homophily(texan.data.edge_index, texan.data.y) == pytest.approx(0.30, abs=0.01)
    assert "features and labels are those of Texas" in texan.notes[0]


def test_traps_directions_and_self_loops_of_texas_are_said(root, mirror):
    notes = load_benchmark("texas", root=root, mirror=mirror).notes
    assert {"made 249 one-way edges undirected", "dropped 16 self-loops"} < set(notes)
    assert any("single node" in note for note in notes)


def test_second_load_needs_neither_mirror_nor_network(root, mirror, no_network, monkeypatch):
    first = load_benchmark("minesweeper", root=root, mirror=mirror)
    monkeypatch.setenv("LLPE_DATA", str(root))
    assert load_benchmark("Minesweeper").fingerprint == first.fingerprint


@pytest.mark.parametrize("name", NAMES)
def test_a_failed_download_names_the_files_of_pyg_and_their_folder_and_leaves_nothing(name, root, monkeypatch):
    """PyG's class is stopped where it would download: it has made its paths by then."""
    row, timeout, found = find_benchmark(name), socket.getdefaulttimeout(), []

    def stop(dataset):
        found.extend([*dataset.raw_paths, dataset.processed_paths[0]])
        raise OSError("stopped")

    monkeypatch.setattr(getattr(datasets, row.pyg_class), "download", stop)
    with pytest.raises(DownloadError, match="OSError: stopped") as caught:
        load_benchmark(name, root=root)
    *raw, processed = ("/".join(Path(path).relative_to(root).parts[1:]) for path in found)
    assert raw == [f"{row.folder}/raw/{file}" for file in row.files]
    assert processed == f"{row.folder}/processed/{row.processed}"
    assert f"Put {', '.join(row.files)} into {root / row.folder / 'raw'}" in str(caught.value)
    assert list(root.iterdir()) == []
    assert socket.getdefaulttimeout() == timeout


def test_table_names_every_graph_of_the_paper_with_its_homophily():
    rows = {row.name: row for row in list_benchmarks()}
    paper = {"texas": 0.0, "cornell": 0.15, "cora-ml": 0.74, "cora": 0.75, "photo": 0.76, "amazon-ratings": 0.12}
    paper |= {"tolokers": 0.17, "cora-full": 0.5, "computers": 0.7, "penn94": 0.03, "questions": 0.08}
    assert {name: row.homophily for name, row in rows.items() if row.homophily is not None} == paper
    scored_by_auroc = {name for name, row in rows.items() if row.metric == "auroc"}
    assert scored_by_auroc == {"tolokers", "questions", "minesweeper", "genius"}


def test_files_in_the_root_are_used_and_only_the_others_named(root, no_network):
    (raw_folder(root, "wisconsin") / "out1_graph_edges.txt").write_text("")
    with pytest.raises(DownloadError) as caught:
        load_benchmark("wisconsin", root=root)
    assert "out1_graph_edges.txt" not in str(caught.value)
    assert [path.name for path in root.rglob("*")] == ["wisconsin", "raw", "out1_graph_edges.txt"]


def test_penn94_scores_labelled_nodes_of_its_official_splits_only(root, tmp_path, no_network):
    raw = raw_folder(tmp_path / "mirror", "penn94")
    n = 41554
    info = np.ones((n, 7), dtype=np.int64)
    info[:, 1] = np.arange(n) % 3  # gender: 0 is unknown
    adjacency = sp.csc_matrix((np.ones(2), ([0, 1], [1, 0])), shape=(n, n))
    scipy.io.savemat(raw / "data.mat", {"A": adjacency, "local_info": info})
    split = {part: np.arange(n)[info[:, 1] > 0][i::3] for i, part in enumerate(("train", "valid", "test"))}
    np.save(raw / "fb100-Penn94-splits.npy", np.array([split] * 5, dtype=object), allow_pickle=True)
    dataset = load_benchmark("penn94", root=root, mirror=tmp_path / "mirror")
    assert (dataset.num_classes, dataset.num_labelled) == (2, int((info[:, 1] > 0).sum()))
    assert len(official_splits(dataset)) == 5


def test_damaged_or_other_raw_files_are_refused(root, tmp_path):
    arrays = {"node_features": np.ones((3, 1), dtype=np.float32), "node_labels": np.arange(3) % 2, "edges": [[0, 1]]}
    arrays |= {f"{part}_masks": np.zeros((1, 3), dtype=bool) for part in ("train", "val", "test")}
    np.savez(raw_folder(tmp_path / "small", "minesweeper") / "minesweeper.npz", **arrays)
    with pytest.raises(ValueError, match=r"got 3 nodes instead of 10000. Delete"):
        load_benchmark("minesweeper", root=root, mirror=tmp_path / "small")
    (raw_folder(tmp_path / "broken", "minesweeper") / "minesweeper.npz").write_bytes(b"PK not an archive")
    with pytest.raises(ValueError, match=r"raw files must be those of PyG's HeterophilousGraphDataset, got"):
        load_benchmark("minesweeper", root=root, mirror=tmp_path / "broken")
    assert list(root.iterdir()) == []


@pytest.mark.parametrize(
    ("error", "raised", "words"),
    [
        (MemoryError(), MemoryError, "^$"),
        (OSError(errno.ENOSPC, "No space left on device"), OSError, "No space left"),
        (EOFError(), DownloadError, r"got EOFError. Put questions.npz into"),  # which has no message
    ],
)
def test_a_full_disk_or_memory_is_not_blamed_on_the_files_and_other_errors_are_named(
    error, raised, words, root, monkeypatch
):
    monkeypatch.setattr(module, "_pyg_data", Mock(side_effect=error))
    with pytest.raises(raised, match=words) as caught:
        load_benchmark("questions", root=root)
    assert caught.value is error or raised is DownloadError
    assert list(root.iterdir()) == []


def test_unknown_names_list_the_choices_and_the_closest():
    with pytest.raises(ValueError, match=r"must be one of texas, cornell, .* Did you mean 'cora-full'"):
        find_benchmark("cora-fulll")
    with pytest.raises(ValueError, match=r"got 'zzz'.$"):
        load_benchmark("zzz")


def test_root_and_mirror_must_be_folders(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(ValueError, match="the data root must be a writable folder"):
        load_benchmark("cora", root=file)
    monkeypatch.setenv("LLPE_DATA_MIRROR", str(tmp_path / "missing"))
    with pytest.raises(ValueError, match="`mirror` must be a folder"):
        load_benchmark("cora")


def test_data_root_is_the_argument_then_the_environment_then_the_cache(monkeypatch):
    monkeypatch.setenv("LLPE_DATA", "/somewhere")
    assert data_root("elsewhere") == Path("elsewhere")
    assert data_root() == Path("/somewhere")
    monkeypatch.delenv("LLPE_DATA")
    assert data_root() == Path.home() / ".cache" / "llpe" / "data"
