"""docs/encodings.md is what the classes say, and what they say about themselves is measured."""

import importlib.util
from pathlib import Path

import pytest

from llpe import make_encoding
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
def test_every_argument_is_described(name):
    described = [option for option in zoo.arguments(ENCODINGS[name].kind) if option not in ENCODINGS[name].decided]
    row = next(row for row in zoo.list_encodings() if row["name"] == name)
    assert described == list(row["options"])


@pytest.mark.parametrize("name", [name for name in ENCODINGS if name != "none"])
def test_every_encoding_says_where_it_comes_from_and_what_it_costs(name):
    encoding = make_encoding(name, dim=32)
    assert encoding.reference
    assert "nothing" not in {encoding.needs, encoding.cost}
