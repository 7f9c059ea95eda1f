"""docs/encodings.md is what the classes say, and what they say about themselves is measured."""

import importlib.util
import math
import re
from pathlib import Path

import pytest

from llpe import tiny
from llpe.encodings import ENCODINGS

ROOT = Path(__file__).parents[1]
SPEC = importlib.util.spec_from_file_location("zoo", ROOT / "docs" / "zoo.py")
assert SPEC is not None
assert SPEC.loader is not None
zoo = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(zoo)
VARIANTS = {title: encoding for kind in ENCODINGS.values() for title, encoding in zoo.variants(kind)}


def test_the_page_is_what_the_classes_say():
    assert zoo.PAGE.read_text() == zoo.page(), "run: python docs/zoo.py"


@pytest.mark.parametrize("title", VARIANTS)
def test_what_is_kept_has_the_size_that_is_said(title):
    encoding, data = VARIANTS[title], tiny("grid")
    prepared = encoding.prepare(data, cache=False)
    added = [prepared[name] for name in prepared.keys() if name not in data]  # noqa: SIM118
    numbers = sum(tensor.numel() for tensor in added if tensor.is_floating_point())
    assert numbers == math.prod(size(factor, encoding, data.num_nodes) for factor in encoding.keeps.split(" × "))


def size(factor: str, encoding, n: int) -> int:
    times, name = re.fullmatch(r"(\d*)(\w*)", factor).groups()
    return int(times or 1) * ({"n": n, "": 1}.get(name) or getattr(encoding, name, 0))


@pytest.mark.parametrize("name", ENCODINGS)
def test_every_argument_is_described(name):
    described = zoo.arguments(ENCODINGS[name])
    row = next(row for row in zoo.encodings() if row["name"] == name)
    assert list(described) == list(row["options"])


@pytest.mark.parametrize("name", [name for name in ENCODINGS if name != "none"])
def test_every_encoding_says_where_it_comes_from_and_what_it_costs(name):
    kind = ENCODINGS[name]
    assert kind.reference
    assert "nothing" not in {kind(32).needs, kind(32).cost}
