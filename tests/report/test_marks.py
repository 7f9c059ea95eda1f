"""Parts of a text that are made: filled between their markers, and nowhere else."""

import pytest

from llpe.report.marks import fill, fill_file

TEXT = "before\n<!-- a -->\nold\n<!-- end of a -->\nafter\n"


def test_only_what_stands_between_the_markers_changes(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(TEXT)
    for content in ("new", "newer \\1"):  # again, and with what a regular expression would read
        fill_file(path, "a", content)
        assert path.read_text() == f"before\n<!-- a -->\n\n{content}\n\n<!-- end of a -->\nafter\n"


@pytest.mark.parametrize("text", ["nothing", TEXT + TEXT])
def test_markers_that_are_missing_or_doubled_are_refused(text):
    with pytest.raises(ValueError, match="must have the markers <!-- a --> and <!-- end of a --> once"):
        fill(text, "a", "new")
