"""The paper's statements as code: each a formula, a numerical check, and the curves of a figure.

``CHECKS`` is the one table, in the order of ``llpe verify``; :func:`verify` goes through it. Where a statement is
wrong or loose as printed, the corrected one is checked, the printed one refuted by numbers where that is possible, and
both are said.
"""

from __future__ import annotations

from collections.abc import Iterator

from llpe.paper.theory.approximation import check_theorem_3
from llpe.paper.theory.base import Check, Checker, Claim, VerificationError
from llpe.paper.theory.concentration import check_concentration
from llpe.paper.theory.davis_kahan import check_davis_kahan
from llpe.paper.theory.distances import check_definition_1
from llpe.paper.theory.expected_spectrum import check_expected_spectrum
from llpe.paper.theory.heterophilous_blocks import check_proposition_binary_heterophily, check_theorem_2
from llpe.paper.theory.homophilous_blocks import check_proposition_binary_homophily, check_theorem_1
from llpe.paper.theory.llpe_recovery import check_proposition_1
from llpe.paper.theory.minimal_norm import check_minimal_norm
from llpe.paper.theory.near_best import check_near_best
from llpe.paper.theory.probe_distances import check_probes
from llpe.paper.theory.rademacher import check_theorem_4

CHECKS: dict[str, Checker] = {
    "expected-spectrum": check_expected_spectrum,
    "concentration": check_concentration,
    "davis-kahan": check_davis_kahan,
    "binary-homophily": check_proposition_binary_homophily,
    "theorem-1": check_theorem_1,
    "binary-heterophily": check_proposition_binary_heterophily,
    "theorem-2": check_theorem_2,
    "proposition-1": check_proposition_1,
    "definition-1": check_definition_1,
    "theorem-3": check_theorem_3,
    "probes": check_probes,
    "minimal-norm": check_minimal_norm,
    "near-best": check_near_best,
    "theorem-4": check_theorem_4,
}


def verify(seed: int = 0) -> Iterator[Check]:
    """Every statement, checked one after the other."""
    for check in CHECKS.values():
        yield check(seed)


__all__ = ["CHECKS", "Check", "Claim", "VerificationError", "verify"]
