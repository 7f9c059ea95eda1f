"""Encodings side by side; the contract of all encodings is in test_every_encoding.py."""

import pytest
import torch

from llpe import LLPE, Concat, make_encoding, tiny
from llpe.data import sbm
from llpe.lab import fit
from llpe.models import Classifier


def pair() -> Concat:
    return Concat([LLPE(6, order=8, l1=0.1, l2=0.2), make_encoding("rwse", dim=4, steps=3)])


def test_fixed_part_columns_and_penalty_are_those_of_the_parts():
    encoding = pair()
    first, second = encoding.encodings
    data = encoding.prepare(tiny("grid"))
    assert set(data.keys()) == set(second.prepare(first.prepare(tiny("grid"))).keys())
    assert torch.equal(encoding(data), torch.cat([first(data), second(data)], dim=1))
    assert torch.equal(encoding.penalty(data), first.penalty(data))
    assert encoding.penalty(data) > 0


def test_a_concat_of_concats_is_one_encoding():
    nested = Concat([pair(), make_encoding("none"), make_encoding("lpe-fk", dim=3, k=2)])
    assert nested.dim == 13
    assert nested(tiny("grid")).shape == (12, 13)


def test_it_is_invariant_and_comparable_if_all_parts_are():
    rwse, signnet, llpe = (make_encoding(name, dim=4) for name in ("rwse", "signnet", "llpe"))
    assert Concat([rwse, signnet]).invariances == {"sign"}
    assert Concat([rwse, signnet]).comparable
    assert not Concat([rwse, llpe]).comparable


def test_it_trains_in_a_classifier_and_in_fit():
    data = sbm(n=200, homophily=1)
    encoding = pair()
    model = Classifier(encoding, in_features=data.num_features, num_classes=2, model="sage", hidden=8)
    assert model(encoding.prepare(data)).shape == (200, 2)
    result = fit(data, encoding=pair(), model="mlp", epochs=3, workers=1)
    assert result.encoding(result.data).shape == (200, 10)


@pytest.mark.parametrize("wrong", [[], [torch.nn.Linear(2, 2)], ["llpe"]])
def test_what_is_no_list_of_encodings_is_refused(wrong):
    with pytest.raises(ValueError, match=r"`encodings` must be one .* or more, got (none|Linear|str)\. Build"):
        Concat(wrong)
