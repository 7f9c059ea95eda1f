"""The public door to the laboratory (:mod:`llpe.lab`): ``from llpe.experiments import fit``."""

from llpe.lab import *  # noqa: F403
from llpe.lab import __all__  # noqa: F401
