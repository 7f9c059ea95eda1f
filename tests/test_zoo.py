"""docs/encodings.md is what the classes say, and what they say about themselves is measured."""

import importlib.util
import math
import re
from pathlib import Path

import pytest

from llpe import make_encoding, tiny
from llpe.encodings import ENCODINGS

ROOT = Path(__file__).parents[1]
SPEC = importlib.util.spec_from_file_location("zoo", ROOT / "docs" / "zoo.py")
assert SPEC is not None
assert SPEC.loader is not None
zoo = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(zoo)


def test_the_page_is_what_the_classes_say():
    assert zoo.PAGE.read_text() == zoo.page(), "run: python docs/zoo.py"


@pytest.mark.parametrize("name", ENCODINGS)
def test_what_is_kept_has_the_size_that_is_said(name):
    encoding, data = make_encoding(name, dim=32), tiny("grid")
    prepared = encoding.prepare(data, cache=False)
    penalty = {encoding.attribute(part) for part in encoding.graph_parts}
    added = [prepared[name] for name in prepared.keys() if name not in {*data.keys(), *penalty}]  # noqa: SIM118
    numbers = sum(tensor.numel() for tensor in added if tensor.is_floating_point())
    assert numbers == math.prod(size(factor, encoding, data.num_nodes) for factor in encoding.keeps.split(" × "))


def size(factor: str, encoding, n: int) -> int:
    times, name = re.fullmatch(r"(\d*)(\w*)", factor).groups()
    return int(times or 1) * ({"n": n, "": 1}.get(name) or getattr(encoding, name, 0))


@pytest.mark.parametrize("name", ENCODINGS)
def test_every_argument_is_described(name):
    described = [option for option in zoo.arguments(ENCODINGS[name].kind) if option not in ENCODINGS[name].decided]
    row = next(row for row in zoo.list_encodings() if row["name"] == name)
    assert described == list(row["options"])


@pytest.mark.parametrize("name", [name for name in ENCODINGS if name != "none"])
def test_every_encoding_says_where_it_comes_from_and_what_it_costs(name):
    encoding = make_encoding(name, dim=32)
    assert encoding.reference
    assert "nothing" not in {encoding.needs, encoding.cost}
