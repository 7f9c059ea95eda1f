"""Measurements in processes of their own, of what functions of this folder's modules make; see ``llpe.measuring``."""

from functools import partial
from pathlib import Path
from typing import Any

from llpe.measuring import Work, main
from llpe.measuring import measure as measure_module

__all__ = ["Work", "main", "measure", "measured"]

measure = partial(measure_module, folder=Path(__file__).parent)


def measured(module: str, function: str, **arguments: Any) -> dict[str, Any]:
    """The same, for what must not fail."""
    result = measure(module, function, **arguments)
    if "failed" in result:
        raise RuntimeError(f"{module}.{function}({arguments}): {result['failed']}")
    return result
