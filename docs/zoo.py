"""Writes docs/encodings.md from the classes: ``python docs/zoo.py``. A test compares the page with the classes."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from llpe.encodings import ENCODINGS, Encoding, make_encoding
from llpe.lab.listing import list_encodings

PAGE = Path(__file__).parent / "encodings.md"
HEAD = """\
# The encodings

<!-- Made from the classes by `python docs/zoo.py`: change those, not this page. -->

Every encoding is an `nn.Module` with the same four names: `prepare` computes what has no parameters, once per graph;
`forward` gives `[rows, dim]`; `penalty` is what to add to the loss; `dim` is the width. `make_encoding(name, dim=…)`
builds one by name. [Which one should I use?](which-encoding.md) · [Adding one](adding-an-encoding.md)

```python
from llpe import make_encoding, tiny
from llpe.encodings import ENCODINGS

for name in ENCODINGS:
    encoding = make_encoding(name, dim=8)
    data = encoding.prepare(tiny("grid"))
    assert encoding(data).shape == (12, encoding.dim)
```

*Invariant to* sign or basis means: given other signs, or another basis of a repeated eigenvalue, by the eigensolver,
the encoding is the same; the tests check it, and that the others are not. Those are deterministic too, because
[our spectra](spectra.md) fix both by seed.
*Comparable* means that a model trained on one graph can be used [on another](which-encoding.md#several-graphs): the
encoding does not depend on how nodes are numbered, nor on anything drawn for them.
*Keeps* is the size of what `prepare` leaves on the data, *cost* its time. A penalty adds order × order numbers, with
`l1` up to 2050 more.
"""


def table() -> list[str]:
    lines = ["| encoding | invariant to | comparable | keeps | cost of `prepare` |", "|---|---|---|---|---|"]
    for name in ENCODINGS:
        encoding = make_encoding(name, dim=32)
        cells = [f"`{name}`", invariant(encoding), "yes" if encoding.comparable else "–", encoding.keeps, encoding.cost]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def invariant(encoding: Encoding) -> str:
    return ", ".join(word for word in ("sign", "basis") if word in encoding.invariances) or "–"


def section(row: dict[str, Any]) -> list[str]:
    """One encoding: what it is, formula, arguments, what it needs, where it comes from."""
    kind, encoding = ENCODINGS[row["name"]].kind, make_encoding(row["name"], dim=32)
    lines = [f"## {row['name']}", "", f"`{kind.__name__}`: {row['what']}.", "", f"    {row['formula']}", ""]
    decided = [f"`{key}={value!r}`" for key, value in ENCODINGS[row["name"]].decided.items() if value is not None]
    lines += [f"- The name says {', '.join(decided)}."] if decided else []
    lines += [f"- Needs {encoding.needs}; keeps {encoding.keeps}."]
    described = arguments(kind)
    lines += ["", "| argument | default | |", "|---|---|---|"]
    for name, default in row["options"].items():
        shown = "" if default == "..." else f"`{default!r}`"
        lines.append(f"| `{name}` | {shown} | {described.get(name, '')} |")
    return [*lines, "", *([f"*From:* {kind.reference}.", ""] if kind.reference else [])]


def arguments(kind: type[Encoding]) -> dict[str, str]:
    """What the docstring of the class, or of one that it derives from, says about each argument."""
    lists = (re.search(r"^Args:\n(.*?)(?:\n\n|\Z)", inspect.getdoc(each) or "", re.M | re.S) for each in kind.__mro__)
    entries = re.findall(r"^    ([\w, ]+): (.*?)(?=^    \w|\Z)", next(filter(None, lists)).group(1), re.M | re.S)
    texts = {}
    for names, text in entries:
        words = " ".join(text.replace("``", "`").split()).replace("|", "\\|")
        texts |= dict.fromkeys(names.split(", "), re.sub(r":\w+:`", "`", words))
    return texts


def page() -> str:
    """The whole page."""
    lines = [HEAD, *table(), ""]
    for row in list_encodings():
        lines += section(row)
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
