"""Promises of the paired test: SciPy's numbers where SciPy is exact, exact where it is not, common splits only."""

import numpy as np
import pytest
import scipy.stats

from llpe.runs import RunFolder
from llpe.report.paired import EXACT, compare_runs, holm, signed_rank


@pytest.mark.parametrize("count", [3, 6, 10, EXACT, EXACT + 1, 30])
def test_without_equal_differences_p_is_scipys(count):
    differences = np.random.default_rng(count).standard_normal(count) + 0.3
    assert signed_rank(differences) == pytest.approx(scipy.stats.wilcoxon(differences).pvalue, rel=1e-9)


def test_with_equal_differences_all_patterns_of_signs_are_counted():
    # ranks 1.5, 1.5, 3: the sums of the positive ones are 0, 1.5, 1.5, 3, 3, 4.5, 4.5, 6; 4.5 is 1.5 off the middle
    assert signed_rank([0.1, -0.1, 0.2]) == 6 / 8
    assert signed_rank([0.2 + 0.1, 0.3, 0.3]) == 2 / 8, "0.1 + 0.2 is 0.3 here"


def test_no_difference_is_no_evidence():
    assert signed_rank([0.0, 0.0]) == signed_rank([]) == 1.0
    assert signed_rank([0.0, 0.0, 1.0]) == 1.0


def test_the_test_is_symmetric():
    differences = [0.3, -0.1, 0.2, 0.5, -0.4]
    assert signed_rank(differences) == signed_rank([-each for each in differences])


def test_runs_are_compared_on_the_splits_that_both_have(make_run):
    one = RunFolder.read(make_run(encoding="llpe", scores=[0.9, 0.8, 0.7, 0.6]))
    two = RunFolder.read(make_run(encoding="none", scores=[0.8, 0.8, 0.8]))
    pair = compare_runs(one, two)
    assert (pair.wins, pair.losses, pair.ties, pair.common) == (1, 1, 1, 3)
    assert pair.difference == pytest.approx(0.0)
    back = compare_runs(two, one)
    assert (back.wins, back.losses, back.p) == (pair.losses, pair.wins, pair.p)


def test_other_nodes_under_the_same_number_are_not_a_common_split(make_run):
    one = RunFolder.read(make_run(encoding="llpe"))
    two = RunFolder.read(make_run(encoding="none", splits="others"))
    assert compare_runs(one, two) is None


def test_holm_keeps_the_order_and_never_exceeds_one():
    values = [0.2, 0.01, 0.9, 0.011]
    corrected = holm(values)
    assert corrected == pytest.approx([0.4, 0.04, 0.9, 0.04])
    assert max(holm([0.6, 0.7])) == 1.0
    assert holm([]) == []
