"""The paper's tables and figures (``llpe reproduce NAME``) and its theory (``llpe verify``)."""

from llpe.paper.base import BUDGETS, STUDIES, Budget, Context, run_study, settings_of

__all__ = ["BUDGETS", "STUDIES", "Budget", "Context", "run_study", "settings_of"]
