"""Promises of figures: the same each time, where the numbers are, in colours that all readers can tell apart."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from matplotlib.figure import Figure

from llpe.encodings import ENCODINGS as REGISTERED
from llpe.report import figures
from llpe.report.figures import (
    Cloud,
    Interval,
    Point,
    density_plot,
    interval_plot,
    line_plot,
    save_figure,
    scatter_plot,
)
from llpe.report.palette import DASHES, ENCODINGS, LINES, MARKERS, SYMBOLS, styles

AXES = {"xlabel": "x", "ylabel": "y"}
POINTS = [
    Point(series, x, y, error, panel)
    for panel in ("two blocks", "five blocks")
    for series, error in (("none", None), ("llpe", 2.0))
    for x, y in ((1.0, 90.0), (0.0, 60.0), (0.5, 70.0))
]
# Machado, Oliveira and Fernandes (2009): how linear RGB is seen without red or green cones.
SIGHT = {
    "all cones": np.eye(3),
    "no red": np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]),
    "no green": np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]),
}
TO_LMS = np.array([[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]])
TO_LAB = np.array([[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]])


@pytest.fixture
def drawn(monkeypatch):
    """The figures that were saved."""
    kept: list[Figure] = []
    save = figures.save_figure
    monkeypatch.setattr(figures, "save_figure", lambda figure, path: (kept.append(figure), save(figure, path)))
    return kept


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_the_same_figure_gives_the_same_bytes(tmp_path, suffix):
    for name in ("a", "b"):
        density_plot(np.array([1.0, 2.0, 3.0]), tmp_path / f"{name}.{suffix}")
    assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()


def test_density_shows_the_share_of_each_third(tmp_path, drawn):
    shares = np.concatenate([np.full(4, 0.05), np.full(4, 0.15), np.full(4, 0.05)])
    density_plot(shares, tmp_path / "d.png", title="T")
    (ax,) = drawn[0].axes
    assert [text.get_text() for text in ax.texts] == ["low\n20.0 %", "middle\n60.0 %", "high\n20.0 %"]
    assert ax.get_xlim() == (0, 2)
    density_plot(np.zeros(3), tmp_path / "zero.png")


def test_a_plot_of_nothing_is_refused():
    for draw, how in ((line_plot, AXES), (interval_plot, AXES), (scatter_plot, {"class_names": []})):
        with pytest.raises(ValueError, match="must have something to show, got nothing"):
            draw([], **how)


def test_lines_go_from_left_to_right_through_the_numbers():
    figure = line_plot(POINTS, **AXES, chance={"two blocks": 50.0}, strong=["llpe"])
    assert [ax.get_title() for ax in figure.axes] == ["two blocks", "five blocks"]
    for ax in figure.axes:
        none, llpe = (line for line in ax.lines if line.get_linestyle() != "None" and len(line.get_xdata()) == 3)
        assert list(none.get_ydata()) == list(llpe.get_ydata()) == [60.0, 70.0, 90.0]
        assert np.allclose(none.get_xdata(), [0, 0.5, 1], atol=0.02)
        assert not np.allclose(none.get_xdata(), llpe.get_xdata()), "error bars stand beside each other"
        assert llpe.get_linewidth() > none.get_linewidth()
        assert (none.get_color(), llpe.get_color()) == (ENCODINGS["none"], ENCODINGS["llpe"])
        assert len(ax.containers) == 1, "error bars where there is a deviation"
    assert [text.get_text() for text in figure.axes[0].texts] == ["chance"]
    assert not figure.axes[1].texts
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["none", "llpe"]


def test_axes_can_be_logarithmic_and_error_bars_stand_beside_each_other_there_too():
    points = [Point(name, x, x) for name in ("a", "b") for x in (10.0, 1000.0)]
    (ax,) = line_plot(points, xlabel="n", ylabel="s", log="xy", ylim=(0.1, 100)).axes
    assert (ax.get_xscale(), ax.get_yscale(), ax.get_ylim()) == ("log", "log", (0.1, 100))
    left, right = (np.asarray(line.get_xdata()) for line in ax.lines)
    assert np.allclose(left * right, [10.0**2, 1000.0**2]), "as far to the left as to the right"
    assert np.allclose(right / left, right[0] / left[0])
    assert 1 < right[0] / left[0] < 1.1


def test_intervals_of_a_group_stand_beside_each_other():
    given = [Interval(s, g, 50.0, 40.0, 70.0, "cora") for g in ("low", "high") for s in ("none", "llpe")]
    (ax,) = interval_plot(given, **AXES, chance=50, strong=["llpe"]).axes
    assert [text.get_text() for text in ax.texts] == ["chance"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["low", "high"]
    places = sorted(x for container in ax.containers for x in container.lines[0].get_xdata())
    assert np.allclose(places, [-0.18, 0.18, 0.82, 1.18])
    ends = ax.containers[0].lines[2][0].get_segments()[0][:, 1]
    assert list(ends) == [40.0, 70.0]


def test_panels_stand_in_rows_of_columns():
    given = [Interval("none", "low", 50.0, 40.0, 70.0, panel) for panel in "abc"]
    figure = interval_plot(given, **AXES, columns=2)
    assert [ax.get_title() for ax in figure.axes] == ["a", "b", "c", ""]
    assert [ax.axison for ax in figure.axes] == [True, True, True, False]
    assert [bool(ax.get_ylabel()) for ax in figure.axes] == [True, False, True, False]
    left, _, below, _ = (ax.get_subplotspec() for ax in figure.axes)
    assert left.colspan.start == below.colspan.start == 0
    assert left.rowspan.start < below.rowspan.start


def test_clouds_have_the_colour_of_their_class(tmp_path):
    cloud = Cloud("p", np.arange(6.0).reshape(3, 2), np.array([0, 1, 1]), "u₂", "u₃")
    figure = scatter_plot([cloud], class_names=["a", "b"])
    points = figure.axes[0].collections[0]
    colours = {tuple(xy): tuple(c) for xy, c in zip(points.get_offsets(), points.get_facecolors(), strict=True)}
    assert len(colours) == 3
    assert colours[2.0, 3.0] == colours[4.0, 5.0] != colours[0.0, 1.0]
    save_figure(figure, tmp_path / "a.pdf")
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")


def seen(colour: str, sight: np.ndarray) -> np.ndarray:
    """In Oklab, lightness 0 … 100: equal distances look equally far apart."""
    part = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    return 100 * TO_LAB @ np.cbrt(TO_LMS @ np.clip(sight @ linear, 0, 1))


def test_every_encoding_has_a_colour_and_no_two_look_the_same_to_any_reader():
    assert not set(REGISTERED) - set(ENCODINGS)
    found = styles(ENCODINGS)
    assert len({(style.marker, style.dashes) for style in found.values()}) == len(ENCODINGS)
    for first, second in combinations(ENCODINGS, 2):
        apart = {
            kind: np.linalg.norm(seen(ENCODINGS[first], sight) - seen(ENCODINGS[second], sight))
            for kind, sight in SIGHT.items()
        }
        assert apart["all cones"] > 10, (first, second)
        if min(apart.values()) < 8:
            assert found[first].marker != found[second].marker, (first, second)


def test_variants_share_the_colour_of_their_encoding_in_other_tones():
    names = ["llpe (order=8)", "llpe (order=16)", "llpe (order=32)", "llpe-ends, k = 4"]
    found = styles(names)
    assert list(found) == names
    assert found["llpe (order=16)"].colour == ENCODINGS["llpe"], "the first by name, where llpe itself is not there"
    assert found["llpe-ends, k = 4"].colour == ENCODINGS["llpe-ends"]
    assert len({style.colour for style in found.values()}) == 4


def test_names_keep_their_style_in_any_company_and_unknown_ones_never_share_one():
    many = [f"mine {index}" for index in range(40)]
    assert len(set(styles(many).values())) == 40
    assert styles(many) == styles(reversed(many))
    alone = {name: styles([name])[name] for name in ENCODINGS}
    assert styles([*reversed(ENCODINGS), "mine", "llpe (order=8)"]).items() >= alone.items()
    assert (len(MARKERS), len(DASHES)) == (len(SYMBOLS), len(LINES)), "on the page as in print"
    assert styles(["mine", "none"])["mine"] == styles(["mine", "llpe"])["mine"]
