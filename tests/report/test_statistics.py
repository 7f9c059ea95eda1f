"""Promises of the paired test: exact, on common splits only, and no sentence calls noise a difference."""

import numpy as np
import pytest
import scipy.stats

from llpe.report.statistics import EXACT, LEVEL, compare_runs, enough_splits, find_best, holm, reach, signed_rank
from llpe.runs import RunFolder

LOW, HIGH = [0.60 + 0.01 * i for i in range(8)], [0.70 + 0.01 * i for i in range(8)]
MIXED = [high + (0.02 if i % 2 else -0.0201) for i, high in enumerate(HIGH)]


@pytest.mark.parametrize("count", [3, 6, 10, EXACT, EXACT + 1, 30])
def test_without_equal_differences_p_is_scipys(count):
    differences = np.random.default_rng(count).standard_normal(count) + 0.3
    assert signed_rank(differences) == pytest.approx(scipy.stats.wilcoxon(differences).pvalue, rel=1e-9)


def test_with_equal_differences_all_patterns_of_signs_are_counted():
    # ranks 1.5, 1.5, 3: the sums of the positive ones are 0, 1.5, 1.5, 3, 3, 4.5, 4.5, 6; 4.5 is 1.5 off the middle
    assert signed_rank([0.1, -0.1, 0.2]) == signed_rank([-0.1, 0.1, -0.2]) == 6 / 8
    assert signed_rank([0.2 + 0.1, 0.3, 0.3]) == 2 / 8, "0.1 + 0.2 is 0.3 here"
    assert signed_rank([0.0, 0.0]) == signed_rank([]) == signed_rank([0.0, 0.0, 1.0]) == 1.0


def test_runs_are_compared_on_the_splits_that_both_have(make_run):
    one = RunFolder.read(make_run(encoding="llpe", scores=[0.9, 0.8, 0.7, 0.6]))
    two = RunFolder.read(make_run(encoding="none", scores=[0.8, 0.8, 0.8]))
    pair, back = compare_runs(one, two), compare_runs(two, one)
    assert (pair.wins, pair.common) == (1, 3)
    assert pair.difference == pytest.approx(0.0)
    assert (back.wins, back.p) == (1, pair.p)
    other_nodes = RunFolder.read(make_run(encoding="rwse", splits="others"))
    assert compare_runs(one, other_nodes) is None, "other nodes under the same number are not a common split"


def test_holm_keeps_the_order_and_never_exceeds_one():
    assert holm([0.2, 0.01, 0.9, 0.011]) == pytest.approx([0.4, 0.04, 0.9, 0.04])
    assert max(holm([0.6, 0.7])) == 1.0
    assert holm([]) == []


@pytest.fixture
def best(make_run):
    def of(**scores):
        runs = [RunFolder.read(make_run(encoding=name, scores=each)) for name, each in scores.items()]
        return find_best(runs, list(scores))

    return of


def test_the_best_beyond_noise_is_said_to_be(best):
    found = best(none=LOW, llpe=HIGH)
    assert (found.place, found.level) == (1, ())
    assert found.sentence == (
        "llpe is best with 73.5 % on average, and better than the other beyond noise "
        "(paired Wilcoxon test, 8 splits, 5% level)."
    )


def test_what_is_within_noise_is_said_to_be(best):
    found = best(none=LOW, llpe=HIGH, rwse=MIXED)
    assert (found.place, found.level) == (1, (2,))
    assert "rwse (73.5 %) is within noise of that" in found.sentence
    assert "corrected for 2 comparisons" in found.sentence
    assert "no encoding" not in found.sentence


def test_an_encoding_that_does_not_beat_none_is_not_said_to_help(best):
    assert best(none=MIXED, llpe=HIGH).sentence.endswith("So no encoding is shown to help here.")
    assert best(rwse=HIGH) is None, "one run alone is compared with nothing"


def test_equals_are_named_together(best):
    found = best(none=LOW, llpe=HIGH, rwse=HIGH)
    assert found.level == (2,)
    assert found.sentence.startswith("llpe and rwse are best with 73.5 % on average, and better than the other beyond")
    assert best(elastic=HIGH, signnet=HIGH).sentence.endswith("there is no difference at all.")


def test_too_few_splits_are_said_to_be_too_few(best):
    found = best(none=LOW[:5], llpe=HIGH[:5])
    assert found.level == ()
    assert found.sentence.endswith("against 1 other, 5 common splits are too few for the paired test: it needs 6.")
    few = {f"e{i}": [score - 0.1 * i for score in HIGH[:7]] for i in range(6)}
    assert "against 5 others, 7 common splits are too few for the paired test: it needs 8" in best(**few).sentence
    assert [enough_splits(tests) for tests in (1, 2, 3, 5)] == [6, 7, 7, 8]


@pytest.mark.parametrize(("splits", "tests"), [(1, 1), (5, 1), (7, 5), (8, 5), (10, 5)])
def test_what_splits_can_show_is_the_reach_of_the_test(splits, tests):
    """The smallest p there is: a lead on every split."""
    least = signed_rank([0.01 * (1 + i) for i in range(splits)])
    said = reach(splits, tests)
    assert f"p is never below {least:.2g}" in said
    assert ("nothing can be told from noise" in said) == (tests * least >= LEVEL)
