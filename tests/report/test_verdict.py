"""Promises of the sentence: it names the best, and never calls noise a difference."""

import pytest

from llpe.runs import RunFolder
from llpe.report.paired import LEVEL, signed_rank
from llpe.report.verdict import enough_splits, judge, reach

LOW, HIGH = [0.60 + 0.01 * i for i in range(8)], [0.70 + 0.01 * i for i in range(8)]
MIXED = [high + (0.02 if i % 2 else -0.0201) for i, high in enumerate(HIGH)]


@pytest.fixture
def verdict(make_run):
    def of(**scores):
        runs = [RunFolder.read(make_run(encoding=name, scores=each)) for name, each in scores.items()]
        return judge(runs, list(scores))

    return of


def test_the_best_beyond_noise_is_said_to_be(verdict):
    found = verdict(none=LOW, llpe=HIGH)
    assert (found.best, found.level) == (1, ())
    assert found.sentence == (
        "llpe is best with 73.5 % on average, and better than the other beyond noise "
        "(paired Wilcoxon test, 8 splits, 5% level)."
    )


def test_what_is_within_noise_is_said_to_be(verdict):
    found = verdict(none=LOW, llpe=HIGH, rwse=MIXED)
    assert (found.best, found.level) == (1, (2,))
    assert "rwse (73.5 %) is within noise of that" in found.sentence
    assert "corrected for 2 comparisons" in found.sentence
    assert "no encoding" not in found.sentence


def test_an_encoding_that_does_not_beat_none_is_not_said_to_help(verdict):
    assert verdict(none=MIXED, llpe=HIGH).sentence.endswith("So no encoding is shown to help here.")


def test_equals_are_named_together(verdict):
    found = verdict(none=LOW, llpe=HIGH, rwse=HIGH)
    assert found.level == (2,)
    assert found.sentence.startswith("llpe and rwse are best with 73.5 % on average, and better than the other beyond")
    assert verdict(elastic=HIGH, signnet=HIGH).sentence.endswith("there is no difference at all.")


def test_too_few_splits_are_said_to_be_too_few(verdict):
    found = verdict(none=LOW[:5], llpe=HIGH[:5])
    assert found.level == ()
    assert found.sentence.endswith("against 1 other, 5 common splits are too few for the paired test: it needs 6.")


def test_the_correction_needs_more_splits(verdict):
    few = {f"e{i}": [score - 0.1 * i for score in HIGH[:7]] for i in range(6)}
    assert "against 5 others, 7 common splits are too few for the paired test: it needs 8" in verdict(**few).sentence
    assert [enough_splits(tests) for tests in (1, 2, 3, 5)] == [6, 7, 7, 8]


def test_one_run_alone_is_not_judged(verdict):
    assert verdict(llpe=HIGH) is None


@pytest.mark.parametrize(("splits", "tests"), [(1, 1), (5, 1), (7, 5), (8, 5), (10, 5)])
def test_what_splits_can_show_is_the_reach_of_the_test(splits, tests):
    """The smallest p there is: a lead on every split."""
    least = signed_rank([0.01 * (1 + i) for i in range(splits)])
    said = reach(splits, tests)
    assert f"p is never below {least:.2g}" in said
    assert ("nothing can be told from noise" in said) == (tests * least >= LEVEL)
