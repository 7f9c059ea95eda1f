"""Promises of claims and checks."""

import json
import math

import pytest

from llpe.paper.theory.base import Check, Claim, worst_ratio

GOOD = Claim("share", 0.5, "≤", 1.0)
BAD = Claim("share", 2.0, "≤", 1.0)


@pytest.mark.parametrize(
    ("measured", "relation", "bound", "holds"),
    [(1, "≤", 1, True), (1.1, "≤", 1, False), (1, "≥", 1, True), (0.9, "≥", 1, False), (math.nan, "≤", 1, False)],
)
def test_a_claim_is_its_inequality_and_nan_holds_nowhere(measured, relation, bound, holds):
    assert Claim("x", measured, relation, bound).holds is holds


def test_a_check_holds_only_if_every_claim_does():
    assert Check("a", "A", (GOOD, GOOD)).verdict == "holds"
    assert Check("a", "A", (GOOD,), printed="not so").verdict == "holds, corrected"
    broken = Check("a", "A", (GOOD, BAD), printed="not so")
    assert broken.verdict == "does not hold"
    assert broken.telling is BAD
    assert not Check("a", "A", ()).holds


def test_a_check_goes_to_json_with_all_its_claims():
    document = json.loads(json.dumps(Check("a", "A", (GOOD, BAD)).as_dict()))
    assert [claim["holds"] for claim in document["claims"]] == [True, False]
    assert document["holds"] is False


def test_nan_is_not_hidden_by_the_worst_ratio():
    assert math.isnan(worst_ratio([1.0, math.nan], [2.0, 2.0]))
