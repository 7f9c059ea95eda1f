"""Promises of the plots of studies: lines, intervals and clouds are where the numbers are."""

from __future__ import annotations

import numpy as np
import pytest

from llpe.report.figures import save_figure
from llpe.report.plots import Cloud, Interval, Point, interval_plot, line_plot, scatter_plot

POINTS = [
    Point(series, x, y, error, panel)
    for panel in ("two blocks", "five blocks")
    for series, error in (("none", None), ("llpe", 2.0))
    for x, y in ((1.0, 90.0), (0.0, 60.0), (0.5, 70.0))
]


def lines_of(ax):
    return [line for line in ax.lines if line.get_linestyle() != "None" and len(line.get_xdata()) == 3]


def test_lines_go_from_left_to_right_through_the_numbers():
    figure = line_plot(POINTS, xlabel="x", ylabel="y", title="T", chance={"two blocks": 50.0}, strong=["llpe"])
    assert [ax.get_title() for ax in figure.axes] == ["two blocks", "five blocks"]
    for ax in figure.axes:
        none, llpe = lines_of(ax)
        assert list(none.get_ydata()) == list(llpe.get_ydata()) == [60.0, 70.0, 90.0]
        assert np.allclose(none.get_xdata(), [0, 0.5, 1], atol=0.02)
        assert not np.allclose(none.get_xdata(), llpe.get_xdata()), "error bars stand beside each other"
        assert llpe.get_linewidth() > none.get_linewidth()
        assert len(ax.containers) == 1, "error bars where there is a deviation"
    assert [text.get_text() for text in figure.axes[0].texts] == ["chance"]
    assert not figure.axes[1].texts
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["none", "llpe"]


def test_axes_can_be_logarithmic_and_error_bars_stand_beside_each_other_there_too():
    points = [Point(name, x, x) for name in ("a", "b") for x in (10.0, 1000.0)]
    figure = line_plot(points, xlabel="n", ylabel="s", log="xy", ylim=(0.1, 100))
    (ax,) = figure.axes
    assert (ax.get_xscale(), ax.get_yscale(), ax.get_ylim()) == ("log", "log", (0.1, 100))
    left, right = (np.asarray(line.get_xdata()) for line in ax.lines)
    assert np.allclose(left * right, [10.0**2, 1000.0**2]), "as far to the left as to the right"
    assert np.allclose(right / left, right[0] / left[0])
    assert 1 < right[0] / left[0] < 1.1


def test_nine_series_look_different():
    nine = [Point(f"s{i}", x, i) for i in range(9) for x in (0.0, 1.0)]
    (ax,) = line_plot(nine, xlabel="x", ylabel="y").axes
    looks = {(line.get_color(), str(line.get_linestyle()), str(line._dash_pattern)) for line in ax.lines}
    assert len(looks) == 9


def test_intervals_of_a_group_stand_beside_each_other():
    given = [Interval(s, g, 50.0, 40.0, 70.0, "cora") for g in ("low", "high") for s in ("none", "llpe")]
    figure = interval_plot(given, xlabel="x", ylabel="y", strong=["llpe"])
    (ax,) = figure.axes
    assert [label.get_text() for label in ax.get_xticklabels()] == ["low", "high"]
    places = sorted(x for container in ax.containers for x in container.lines[0].get_xdata())
    assert np.allclose(places, [-0.18, 0.18, 0.82, 1.18])
    ends = ax.containers[0].lines[2][0].get_segments()[0][:, 1]
    assert list(ends) == [40.0, 70.0]


def test_clouds_have_the_colour_of_their_class(tmp_path):
    classes = np.array([0, 1, 1])
    points = np.arange(6.0).reshape(3, 2)
    figure = scatter_plot([Cloud("p", points, classes, "u₂", "u₃")], class_names=["a", "b"], title="T")
    (ax,) = figure.axes
    drawn = ax.collections[0]
    colours = {tuple(xy): tuple(c) for xy, c in zip(drawn.get_offsets(), drawn.get_facecolors(), strict=True)}
    assert len(colours) == 3
    assert colours[2.0, 3.0] == colours[4.0, 5.0] != colours[0.0, 1.0]
    save_figure(figure, tmp_path / "a.pdf")
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")


def test_plots_refuse_nothing_in_words():
    for draw in (
        lambda: line_plot([], xlabel="", ylabel=""),
        lambda: interval_plot([], xlabel="", ylabel=""),
        lambda: scatter_plot([], class_names=[]),
    ):
        with pytest.raises(ValueError, match="a plot must have something to show, got nothing"):
            draw()
