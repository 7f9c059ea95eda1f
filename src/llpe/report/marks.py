"""Texts with parts that are made, not typed, between the markers ``<!-- name -->`` and ``<!-- end of name -->``."""

from __future__ import annotations

import re
from pathlib import Path

from llpe.storage import replacing


def fill(text: str, name: str, content: str) -> str:
    """The text with ``content`` between the markers of that name.

    Example:
        >>> fill("<!-- a -->old<!-- end of a -->", "a", "new")
        '<!-- a -->\\n\\nnew\\n\\n<!-- end of a -->'
    """
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    pattern = re.compile(f"{begin}.*?{end}", flags=re.DOTALL)
    if len(pattern.findall(text)) != 1:
        raise ValueError(f"the text must have the markers {begin} and {end} once. Put them back.")
    return pattern.sub(lambda _: f"{begin}\n\n{content}\n\n{end}", text)


def fill_file(path: str | Path, name: str, content: str) -> None:
    """:func:`fill` for a file, all or nothing."""
    path = Path(path)
    text = fill(path.read_text(encoding="utf-8"), name, content)
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")
