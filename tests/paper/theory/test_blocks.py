"""The block model in closed form, and what its helpers promise."""

import numpy as np
import pytest

from llpe.laplacian import laplacian
from llpe.paper.theory import blocks
from llpe.paper.theory.blocks import BlockModel

MODELS = [BlockModel(24, k, degree=6.0, homophily=h) for k in (2, 3, 4) for h in (0.0, 0.1, 0.5, 0.9)]


@pytest.mark.parametrize("model", MODELS)
def test_closed_forms_are_what_the_definition_gives(model):
    for loops, closed in ((True, blocks.values_with_loops), (False, blocks.values_without_loops)):
        assert np.linalg.eigvalsh(blocks.mean_laplacian(model, loops=loops)) == pytest.approx(closed(model), abs=1e-12)
    assert (24 / model.k - 1) * model.p + (24 - 24 / model.k) * model.q == pytest.approx(6.0)
    vectors = blocks.block_vectors(model)
    assert vectors.T @ vectors == pytest.approx(np.eye(model.k - 1), abs=1e-12)
    image = blocks.mean_laplacian(model, loops=False) @ vectors
    assert image == pytest.approx(blocks.informative_value(model) * vectors, abs=1e-12)
    assert np.linalg.norm(vectors[0] - vectors[-1]) == pytest.approx((2 * model.k / model.n) ** 0.5)


def test_deviation_is_the_operator_norm_of_the_difference():
    model = BlockModel(60, 3, degree=12.0, homophily=0.1)
    dense = laplacian(model.draw(0)[0]).toarray() - blocks.mean_laplacian(model, loops=False)
    assert blocks.deviation(model, 0) == pytest.approx(np.linalg.norm(dense, 2), rel=1e-3)


def test_the_gap_closes_from_below_as_q_goes_to_zero():
    gaps = [blocks.gap(BlockModel(100, 2, degree=20.0, homophily=h)) for h in (0.6, 0.75, 0.9, 1.0)]
    assert gaps[1] > gaps[2] > gaps[3] == pytest.approx(0, abs=1e-12)


def test_aligned_vectors_undo_a_rotation():
    truth = blocks.block_vectors(MODELS[-1])
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    assert blocks.align(truth @ turn, truth) == pytest.approx(truth, abs=1e-12)
    assert blocks.cosines(truth @ turn, truth) == pytest.approx(np.ones(3))


def test_clusters_find_separated_groups_whatever_their_names():
    labels = np.repeat(np.arange(4), 15)
    rows = 5 * np.eye(4)[labels] + np.random.default_rng(0).normal(size=(60, 4)) * 0.3
    assert blocks.misclassified(blocks.cluster(rows, 4), labels) == 0
    assert blocks.misclassified(np.zeros(60, dtype=int), labels) == 45
