"""Promises of colours: one for each encoding wherever it is drawn, and no two encodings that look the same."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from llpe.encodings import ENCODINGS as REGISTERED
from llpe.report.colours import DASHES, ENCODINGS, MARKERS, looks
from llpe.report.figures import Bar, accuracy_bars
from llpe.report.plots import Point, line_plot

# Machado, Oliveira and Fernandes (2009): how linear RGB is seen without red or green cones.
SIGHT = {
    "all cones": np.eye(3),
    "no red": np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]),
    "no green": np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]),
}
TO_LMS = np.array([[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]])
TO_LAB = np.array([[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]])


def seen(colour: str, sight: np.ndarray) -> np.ndarray:
    """In Oklab, lightness 0 … 100: equal distances look equally far apart."""
    part = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    return 100 * TO_LAB @ np.cbrt(TO_LMS @ np.clip(sight @ linear, 0, 1))


def test_every_registered_encoding_has_a_colour():
    assert not set(REGISTERED) - set(ENCODINGS)


def test_no_two_encodings_look_the_same_to_any_reader():
    found = looks(ENCODINGS)
    assert len({(look.marker, look.dashes) for look in found.values()}) == len(ENCODINGS)
    for first, second in combinations(ENCODINGS, 2):
        apart = {
            kind: np.linalg.norm(seen(ENCODINGS[first], sight) - seen(ENCODINGS[second], sight))
            for kind, sight in SIGHT.items()
        }
        assert apart["all cones"] > 10, (first, second)
        if min(apart.values()) < 8:
            assert found[first].marker != found[second].marker, (first, second)


def test_an_encoding_looks_the_same_in_any_company():
    alone = {name: looks([name])[name] for name in ENCODINGS}
    assert looks([*reversed(ENCODINGS), "mine", "llpe (order=8)"]).items() >= alone.items()


def test_variants_share_the_colour_of_their_encoding_in_other_tones():
    names = ["llpe (order=8)", "llpe (order=16)", "llpe (order=32)", "llpe-ends, k = 4"]
    found = looks(names)
    assert list(found) == names
    assert found["llpe (order=16)"].colour == ENCODINGS["llpe"], "the first by name, where llpe itself is not there"
    assert found["llpe-ends, k = 4"].colour == ENCODINGS["llpe-ends"]
    assert len({look.colour for look in found.values()}) == 4
    assert looks(["llpe", "llpe (order=16)"])["llpe (order=16)"].colour == "#e8a673"


def test_unknown_names_keep_their_look_and_never_share_one():
    many = [f"mine {index}" for index in range(40)]
    assert len(set(looks(many).values())) == 40
    assert looks(many) == looks(reversed(many))
    assert looks(["mine", "none"])["mine"] == looks(["mine", "llpe"])["mine"]


def test_lines_bars_and_the_page_take_the_same_colours(monkeypatch, tmp_path, make_run):
    from llpe.report import figures
    from llpe.runs import load_runs
    from llpe.report.document import make_document

    names = ["none", "lpe-flk", "rwse", "llpe"]
    expected = [ENCODINGS[name] for name in names]
    (ax,) = line_plot([Point(name, x, x) for name in names for x in (0.0, 1.0)], xlabel="x", ylabel="y").axes
    assert [line.get_color() for line in ax.lines] == expected
    drawn = []
    monkeypatch.setattr(figures, "save_figure", lambda figure, path: drawn.append(figure))
    accuracy_bars([Bar("a", name, 0.5) for name in names], tmp_path / "a.png")
    assert [patch.get_facecolor() for patch in drawn[0].legends[0].get_patches()] == [
        pytest.approx([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)] + [1]) for colour in expected
    ]
    for name in names:
        make_run(encoding=name)
    page = make_document(load_runs([tmp_path / "runs"]), title="T")
    assert [page["looks"][name]["colour"] for name in names] == expected
    assert all(look["marker"] < len(MARKERS) and look["dashes"] < len(DASHES) for look in page["looks"].values())
