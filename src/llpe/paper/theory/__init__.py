"""The paper's statements as code: each a formula, a numerical check, and the curves of a figure.

``CHECKS`` is the one table, in the order of ``llpe verify``. Where a statement is wrong or loose as printed, the
corrected one is checked, and numbers refute the printed one where that is possible; the output says which is which.
"""

from __future__ import annotations

from llpe.paper.theory import distances, polynomials, recovery, spectra
from llpe.paper.theory.base import Check, Checker, Claim, VerificationError

CHECKS: dict[str, Checker] = {
    "expected-spectrum": spectra.expected_spectrum,
    "concentration": spectra.concentration,
    "davis-kahan": spectra.davis_kahan,
    "binary-homophily": recovery.binary_homophily,
    "theorem-1": recovery.theorem_1,
    "binary-heterophily": recovery.binary_heterophily,
    "theorem-2": recovery.theorem_2,
    "proposition-1": recovery.proposition_1,
    "definition-1": distances.definition_1,
    "theorem-3": distances.theorem_3,
    "probes": distances.probes,
    "minimal-norm": polynomials.minimal_norm,
    "near-best": polynomials.near_best,
    "theorem-4": polynomials.theorem_4,
}

__all__ = ["CHECKS", "Check", "Claim", "VerificationError"]
