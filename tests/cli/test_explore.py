"""Promises of ``llpe list``, ``spectrum`` and ``cache``."""

from __future__ import annotations

import json

import numpy as np
import pytest

from llpe.cli import spectral
from llpe.data import BENCHMARKS, load_graph
from llpe.encodings import ENCODINGS
from llpe.graph import TINY, Graph, tiny
from llpe.models import BACKBONES, PYG_MODELS
from llpe.spectrum import full_spectrum
from llpe.storage import SpectrumError


def test_list_shows_everything(llpe):
    text = llpe("list").stdout
    for name in (*ENCODINGS, *BACKBONES, *PYG_MODELS, *BENCHMARKS, "sbm", "pa"):
        assert name in text
    assert "P = U·W, W = T(λ̃)·C" in text
    assert "dim, order=none, k=none, scaling=unit" in text
    assert "sbm:n=2000,homophily=0" in text


@pytest.mark.parametrize("what", ["encodings", "models", "benchmarks", "synthetic"])
def test_list_narrows(llpe, what):
    document = json.loads(llpe("list", what, "--json").stdout)
    assert set(document) == {what} | ({"pyg_models"} if what == "models" else set())
    text = llpe("list", what).stdout
    assert all(row["name"] in text for row in document[what])


def test_list_knows_formula_and_options_of_every_encoding(llpe):
    rows = json.loads(llpe("list", "encodings", "--json").stdout)["encodings"]
    assert [row["name"] for row in rows] == list(ENCODINGS)
    assert all(row["formula"].startswith("P") and row["what"] for row in rows)
    options = {row["name"]: row["options"] for row in rows}["llpe-probes"]
    assert options["dim"] == "..."
    assert options["order"] == 16


def test_list_knows_what_is_at_hand(llpe, tmp_path, monkeypatch):
    def at_hand(*arguments):
        rows = json.loads(llpe("list", "benchmarks", "--json", *arguments).stdout)["benchmarks"]
        return {row["name"] for row in rows if row["at_hand"]}

    assert at_hand() == set()
    (tmp_path / "elsewhere/cora_ml/raw").mkdir(parents=True)
    (tmp_path / "elsewhere/cora_ml/raw/cora_ml.npz").touch()
    assert at_hand("--data-root", tmp_path / "elsewhere") == {"cora-ml"}
    (tmp_path / "elsewhere/yandex").mkdir()
    (tmp_path / "elsewhere/yandex/cornell.npz").touch()
    monkeypatch.setenv("LLPE_DATA_MIRROR", str(tmp_path / "elsewhere"))
    assert at_hand() == {"cora-ml", "cornell"}
    assert "cora-ml           2995        7  accuracy       0.74  yes" in llpe("list", "benchmarks").stdout


def test_list_refuses_what_there_is_not(llpe):
    result = llpe("list", "graphs")
    assert result.exit_code == 2
    assert "`what` must be one of all, encodings, models, benchmarks, synthetic, got 'graphs'." in result.stderr


def test_spectrum_of_a_star_is_known(llpe, star):
    result = llpe("spectrum", star, "--exact", "--json")
    document = json.loads(result.stdout)
    assert (document["num_nodes"], document["num_edges"], document["num_labelled"]) == (6, 5, 5)
    assert document["degree"] == {"mean": 10 / 6, "median": 1.0, "min": 1, "max": 5}
    assert (document["components"], document["isolated"]) == (1, 0)
    assert document["multiplicity"] == {"0": 1, "2": 1}
    shares = document["density"]
    assert (shares["low"], shares["middle"], shares["high"]) == pytest.approx((1 / 6, 4 / 6, 1 / 6))
    assert sum(shares["histogram"]) == pytest.approx(1)
    assert [pair["value"] for pair in document["ends"]["first"]] == pytest.approx([0, 1, 1, 1])
    assert [pair["value"] for pair in document["ends"]["last"]] == pytest.approx([1, 2])
    assert all(pair["residual"] < 1e-12 for pair in document["ends"]["first"])
    assert document["ends"]["largest_gap"]["width"] == pytest.approx(1)
    assert document["homophily"] == {"class": 0.0, "node": 0.0, "edge": 0.0}
    assert "note: star: 1 of 6 nodes are unlabelled\n" in result.stderr
    assert "1 of 6 nodes are unlabelled" in document["notes"]


def test_spectrum_in_words(llpe, star):
    lines = llpe("spectrum", star).stdout.splitlines()
    assert lines[0] == "graph         star: 6 nodes, 5 edges, 2 classes"
    assert lines[1] == "degree        mean 1.67, median 1, 1 … 5"
    assert lines[2] == "components    1, the largest of 6 nodes, 0 isolated nodes"
    assert lines[3] == "homophily     class 0.000, node 0.000, edge 0.000"
    assert "(estimate: order 64, 32 probes)" in lines[4]
    assert lines[5] == "multiplicity  1 × eigenvalue 0, 1 × eigenvalue 2"
    assert lines[-1].split() == ["0", "2/3", "4/3", "2"]
    assert "█" in "".join(lines)


def test_spectrum_of_a_graph_without_labels_and_edges(llpe, tmp_path):
    np.savez(tmp_path / "empty.npz", x=np.eye(3), edges=np.zeros((0, 2), dtype=int))
    result = llpe("spectrum", tmp_path / "empty.npz")
    assert result.exit_code == 0
    assert "3 nodes, 0 edges, no labels" in result.stdout
    assert "homophily" not in result.stdout
    assert "0 × eigenvalue 0, 0 × eigenvalue 2" in result.stdout
    np.savez(tmp_path / "one.npz", x=np.eye(1), edges=np.zeros((0, 2), dtype=int))
    for exact in ([], ["--exact"]):
        document = json.loads(llpe("spectrum", tmp_path / "one.npz", "--json", *exact).stdout)
        assert document["ends"]["largest_gap"] is None
        assert document["density"]["middle"] == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("name", TINY)
def test_multiplicities_are_those_of_the_eigenvalues(name):
    graph = Graph.from_data(tiny(name), warn=False)
    values = full_spectrum(graph, cache=False).values
    counted = {"0": int((values < 1e-9).sum()), "2": int((values > 2 - 1e-9).sum())}
    assert spectral.multiplicities(graph) == counted


def test_estimated_shares_are_close_to_the_exact_ones(monkeypatch):
    graph = Graph.from_data(load_graph("sbm:n=400,homophily=0.9").data)
    exact = spectral.thirds(spectral.exact_shares(full_spectrum(graph, cache=False).values.numpy()))
    for block in (spectral.BLOCK, 4 * 400 * 64 * 3):  # all probes at once, and three at a time
        monkeypatch.setattr(spectral, "BLOCK", block)
        shares = spectral.estimated_shares(graph, order=64, probes=32)
        assert shares.sum() == pytest.approx(1)
        assert spectral.thirds(shares) == pytest.approx(exact, abs=0.02)


def test_eigenvalues_on_a_border_are_in_the_middle():
    values = np.array([2 / 3 - 1e-15, 2 / 3 + 1e-15, 4 / 3 - 1e-15, 4 / 3 + 1e-15, 0.0, 2.0])
    assert spectral.thirds(spectral.exact_shares(values)) == pytest.approx(
        {"low": 1 / 6, "middle": 4 / 6, "high": 1 / 6}
    )


def test_a_gap_between_the_two_ends_does_not_count():
    ends = spectral.describe_ends(
        spectral.end_spectrum(tiny("ring"), first=2, last=1, cache=False), everything=False
    )  # 0, 1 − cos 45°, …, 2
    assert ends["complete"] is False
    assert ends["largest_gap"]["width"] == pytest.approx(1 - np.cos(np.pi / 4))
    ends = spectral.describe_ends(spectral.end_spectrum(tiny("ring"), first=1, last=1, cache=False), everything=False)
    assert ends["largest_gap"] is None


def test_spectrum_without_its_ends_is_still_told(llpe, monkeypatch):
    def refuse(*_, **__):
        raise SpectrumError("an eigenvalue is repeated too often.")

    monkeypatch.setattr(spectral, "end_spectrum", refuse)
    result = llpe("spectrum", "sbm:n=60")
    assert result.exit_code == 0
    assert result.stderr == "note: the extreme eigenvalues are left out: an eigenvalue is repeated too often.\n"
    assert "smallest" not in result.stdout
    assert llpe("spectrum", "sbm:n=60", "--no-ends").stderr == ""
    monkeypatch.setattr(spectral, "LARGE", 50)
    assert "of 60 nodes take a while; --no-ends leaves them out." in llpe("spectrum", "sbm:n=60").stderr
    monkeypatch.setattr(spectral, "full_spectrum", refuse)
    assert llpe("spectrum", "sbm:n=60", "--exact").exit_code == 1


@pytest.mark.parametrize(("suffix", "magic"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_spectrum_is_drawn(llpe, tmp_path, suffix, magic):
    path = tmp_path / f"plot.{suffix}"
    for _ in range(2):  # a second time replaces it
        result = llpe("spectrum", "sbm:n=60", "--plot", path)
        assert result.exit_code == 0
    assert path.read_bytes().startswith(magic)
    assert f"wrote {path}" in result.stdout
    assert [file.name for file in tmp_path.glob("*plot*")] == [path.name]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["texass"], "Did you mean 'texas'?"),
        (["missing.npz"], "the file must exist"),
        (["sbm:n=60", "--plot", "a.gif"], "`plot` must end in one of .png, .pdf, .svg, got 'a.gif'."),
        (["sbm:n=60", "--plot", "no/a.png"], "`plot` must be in an existing folder"),
        (["sbm:n=60", "--order", "0"], "`order` must be an integer of at least 1, got 0."),
        (["sbm:n=60", "--probes", "0"], "`probes` must be an integer of at least 1, got 0."),
    ],
)
def test_spectrum_refuses_in_words(llpe, arguments, says):
    result = llpe("spectrum", *arguments)
    assert result.exit_code == 2
    assert says in result.stderr


def test_cache_is_listed_and_cleared(llpe, tmp_path):
    folder = tmp_path / "cache"
    assert llpe("cache", "--path").stdout == f"{folder}\n"
    assert llpe("cache").stdout == f"0 entries, 0 B of at most 10.0 GB, in {folder}\n"
    llpe("encode", "sbm:n=140", "-o", tmp_path / "a.npz")
    document = json.loads(llpe("cache", "--json").stdout)
    assert [entry["kind"] for entry in document["entries"]].count("spectrum") == 1
    assert document["bytes"] == sum(file.stat().st_size for file in folder.glob("*.safetensors"))
    assert document["entries"][0]["unused_seconds"] < 60
    lines = llpe("cache").stdout.splitlines()
    assert lines[0].split() == ["kind", "what", "graph", "size", "unused", "for"]
    assert any("llpe directions=64, order=32, rows=unit, scaling=unit, seed=0" in line for line in lines)
    assert lines[-1].startswith("2 entries, ")
    assert llpe("cache", "--clear").stdout.startswith("removed 2 entries (")
    assert json.loads(llpe("cache", "--clear", "--json").stdout) == {"folder": str(folder), "removed": 0, "bytes": 0}
    assert json.loads(llpe("cache", "--path", "--json").stdout) == {"folder": str(folder)}


def test_cache_refuses_in_words(llpe, monkeypatch):
    result = llpe("cache", "--clear", "--path")
    assert result.exit_code == 2
    assert "`--clear` and `--path` must not come together" in result.stderr
    monkeypatch.setenv("LLPE_CACHE_GB", "much")
    result = llpe("cache")
    assert result.exit_code == 2
    assert "`LLPE_CACHE_GB` must be a number of gigabytes" in result.stderr


def test_an_entry_that_vanishes_meanwhile_is_no_error(tmp_path):
    from llpe.cli.keeping import _entry

    assert _entry(tmp_path / "gone", {"kind": "spectrum", "seed": 0}, 3)["unused_seconds"] == 0
