"""Theorem 1 and its binary form: where p ≫ q, the first nontrivial k − 1 eigenvectors find the blocks.

Because μ < 1 + p/d: the block vectors stand between the trivial one and the bulk.
See :mod:`llpe.paper.theory.recovery`.
"""

from __future__ import annotations

from llpe.paper.theory.base import Check
from llpe.paper.theory.recovery import compare

HOMOPHILY = 0.9
PRINTED = (
    "the proof bounds a share of the nodes, 16(1−1/k)(‖L−ℒ‖/gap)², not their number; the gap is min(μ, 1−μ), which "
    "p ≫ q closes from below"
)


def check_proposition_binary_homophily(seed: int = 0) -> Check:
    claims, panel = compare(2, HOMOPHILY, seed)
    return Check(
        "binary-homophily",
        "Proposition (App. B): p ≫ q, k = 2: signs of the first nontrivial eigenvector, O(1) wrong",
        claims,
        PRINTED,
        (panel,),
    )


def check_theorem_1(seed: int = 0) -> Check:
    claims, panel = compare(4, HOMOPHILY, seed)
    return Check(
        "theorem-1",
        "Theorem 1: p ≫ q: the first nontrivial k−1 find the blocks, O(k^(3/2)) wrong",
        claims,
        PRINTED,
        (panel,),
    )
