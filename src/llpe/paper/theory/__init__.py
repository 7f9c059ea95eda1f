"""The paper's statements as code: each a formula, a numerical check, and the curves of a figure.

``CHECKS`` is the one table, in the order of ``llpe verify``. Where a statement is wrong or loose as printed, the
corrected one is checked, the printed one refuted by numbers where that is possible, and both are said.
"""

from __future__ import annotations

from llpe.paper.theory.base import Check, Checker, Claim, VerificationError
from llpe.paper.theory.distances import check_definition_1, check_probes, check_theorem_3
from llpe.paper.theory.polynomials import check_minimal_norm, check_near_best, check_theorem_4
from llpe.paper.theory.recovery import (
    check_binary_heterophily,
    check_binary_homophily,
    check_proposition_1,
    check_theorem_1,
    check_theorem_2,
)
from llpe.paper.theory.spectra import check_concentration, check_davis_kahan, check_expected_spectrum

CHECKS: dict[str, Checker] = {
    "expected-spectrum": check_expected_spectrum,
    "concentration": check_concentration,
    "davis-kahan": check_davis_kahan,
    "binary-homophily": check_binary_homophily,
    "theorem-1": check_theorem_1,
    "binary-heterophily": check_binary_heterophily,
    "theorem-2": check_theorem_2,
    "proposition-1": check_proposition_1,
    "definition-1": check_definition_1,
    "theorem-3": check_theorem_3,
    "probes": check_probes,
    "minimal-norm": check_minimal_norm,
    "near-best": check_near_best,
    "theorem-4": check_theorem_4,
}

__all__ = ["CHECKS", "Check", "Claim", "VerificationError"]
