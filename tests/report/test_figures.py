"""Promises of figures: they are written, whole, the same each time, and show what they were given."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.figure import Figure

from llpe.report import figures
from llpe.report.figures import Bar, accuracy_bars, density_plot
from llpe.storage import replacing

BARS = [
    Bar(group, encoding, mean, std)
    for group, encoding, mean, std in (
        ("homophily 0", "none", 0.65, 0.01),
        ("homophily 0", "llpe", 0.97, 0.01),
        ("homophily 1", "none", 0.65, None),
        ("homophily 1", "llpe", 0.98, 0.0),
    )
]


@pytest.fixture
def drawn(monkeypatch):
    """The figures that were saved."""
    kept: list[Figure] = []
    save = figures.save_figure
    monkeypatch.setattr(figures, "save_figure", lambda figure, path: (kept.append(figure), save(figure, path)))
    return kept


def test_bars_stand_where_the_numbers_are(tmp_path, drawn):
    assert accuracy_bars(BARS, tmp_path / "a.png", chance=0.5, title="T") == [tmp_path / "a.png"]
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    (ax,) = drawn[0].axes
    assert [patch.get_height() for patch in ax.patches] == [65.0, 65.0, 97.0, 98.0]  # encoding by encoding
    assert [label.get_text() for label in ax.get_xticklabels()] == ["homophily 0", "homophily 1"]
    assert sorted(text.get_text() for text in ax.texts) == ["65", "65", "97", "98", "chance"]
    assert [text.get_text() for text in drawn[0].legends[0].get_texts()] == ["none", "llpe"]
    assert len(ax.containers) - 2 == 3, "error bars where there is a deviation"


def test_bars_do_not_overlap_and_each_has_its_colour(tmp_path, drawn):
    many = [Bar(group, f"e{i}", 0.5) for group in "ab" for i in range(10)]
    accuracy_bars(many, tmp_path / "a.svg")
    spans = sorted((patch.get_x(), patch.get_x() + patch.get_width()) for patch in drawn[0].axes[0].patches)
    assert all(end <= begin for (_, end), (begin, _) in pairwise(spans))
    assert len({patch.get_facecolor() for patch in drawn[0].axes[0].patches}) == 10


def test_panels_stand_side_by_side_and_may_lack_a_bar(tmp_path, drawn):
    two = [Bar("h", "llpe", 0.9, 0.1, "mlp"), Bar("h", "none", 0.6, 0.1, "gt"), Bar("h", "llpe", 0.8, 0.1, "gt")]
    accuracy_bars(two, tmp_path / "a.png")
    assert [ax.get_title() for ax in drawn[0].axes] == ["mlp", "gt"]
    assert [len(ax.patches) for ax in drawn[0].axes] == [1, 2]
    assert [text.get_text() for text in drawn[0].legends[0].get_texts()] == ["llpe", "none"]


def test_a_pdf_beside_it_if_asked(tmp_path):
    assert accuracy_bars(BARS, tmp_path / "a.png", pdf=True) == [tmp_path / "a.png", tmp_path / "a.pdf"]
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    assert accuracy_bars(BARS, tmp_path / "b.pdf", pdf=True) == [tmp_path / "b.pdf"]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.pdf", "a.png", "b.pdf"]


@pytest.mark.parametrize("suffix", ["png", "pdf"])
def test_the_same_figure_gives_the_same_bytes(tmp_path, suffix):
    for name in "ab":
        accuracy_bars(BARS, tmp_path / f"{name}.{suffix}", chance=0.5)
    assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()


def test_density_shows_the_share_of_each_third(tmp_path, drawn):
    shares = np.concatenate([np.full(4, 0.05), np.full(4, 0.15), np.full(4, 0.05)])
    assert density_plot(shares, tmp_path / "d.png", title="T") == tmp_path / "d.png"
    (ax,) = drawn[0].axes
    assert [text.get_text() for text in ax.texts] == ["low\n20.0 %", "middle\n60.0 %", "high\n20.0 %"]
    assert ax.get_xlim() == (0, 2)
    density_plot(np.zeros(3), tmp_path / "zero.png")


def test_figures_refuse_in_words(tmp_path):
    with pytest.raises(ValueError, match=r"`path` must end in one of \.png, \.pdf, \.svg, got .*a\.gif"):
        accuracy_bars(BARS, tmp_path / "a.gif")
    with pytest.raises(ValueError, match="`path` must end in"):
        density_plot([1.0] * 3, tmp_path / "a")
    with pytest.raises(ValueError, match="`rows` must hold at least one bar"):
        accuracy_bars([], tmp_path / "a.png")
    for bad in ([], [1.0, 2.0], np.ones((3, 3))):
        with pytest.raises(ValueError, match="`shares` must be one row of a multiple of 3 bins"):
            density_plot(bad, tmp_path / "a.png")


def test_a_failed_write_keeps_what_was_there(tmp_path):
    path = tmp_path / "a.png"
    path.write_text("old")

    def write():
        with replacing(path) as partial:
            partial.write_text("half")
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        write()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
