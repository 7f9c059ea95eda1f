"""Imports point one way, the core is light, and the laboratory stays out of ``import llpe``."""

import ast
from pathlib import Path

import pytest

import llpe
from llpe.encodings import ENCODINGS

ROOT = Path(llpe.__file__).parent
LAYERS = """
    checks extra device storage measuring sealed inputs graph homophily folder data spmm laplacian chebyshev cache
    krylov eigensolvers probes features out_of_core spectrum summary functional
    encodings transforms graphgym models runs lab experiments report paper cli
"""


def imported_modules(path: Path) -> set[str]:
    """The first name after ``llpe.`` of everything a file imports from the package, at any depth of the file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "llpe":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("llpe."):
            found.add(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("llpe.")}
    return found


def test_imports_point_one_way():
    order = LAYERS.split()
    for path in sorted(ROOT.rglob("*.py")):
        layer = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if layer == "__init__":
            continue
        assert layer in order, f"{path.name}: a new layer needs its place in the order"
        for other in imported_modules(path) - {layer, "__version__"}:
            assert order.index(other) < order.index(layer), f"{path.relative_to(ROOT)} imports llpe.{other}"


def test_encodings_do_not_import_each_other():
    for path in sorted((ROOT / "encodings").glob("*.py")):
        if path.stem == "__init__":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("llpe.encodings"):
                assert node.module.split(".")[2] in ("base", "linear", "filtered"), path.name


def test_import_brings_no_laboratory(run_python):
    run_python("""
import sys, torch, torch_geometric
before = set(sys.modules)
import llpe; [getattr(llpe, name) for name in llpe.__all__]
new = {name.split(".")[0] for name in set(sys.modules) - before}
laboratory = {"pandas", "sklearn", "matplotlib", "pydantic", "typer", "rich", "networkx", "yacs", "optuna", "plotly"}
assert not new & laboratory, new & laboratory
own = ("llpe.data", "llpe.models", "llpe.lab", "llpe.report", "llpe.cli")
assert not [name for name in sys.modules if name.startswith(own)]
""")


def test_every_public_name_is_found_and_no_other():
    for name in llpe.__all__:
        assert getattr(llpe, name).__name__ == name
    assert set(llpe.__all__) < set(dir(llpe))
    with pytest.raises(AttributeError, match="module 'llpe' has no attribute 'LPE'"):
        _ = llpe.LPE


def test_nobody_outside_knows_an_encoding_by_its_name():
    """But for the default and for none; advice in an error may name one inside a sentence."""
    names = set(ENCODINGS) - {"llpe", "none"}
    for path in sorted(ROOT.rglob("*.py")):
        if path.relative_to(ROOT).parts[0] not in ("encodings", "paper"):
            known = {node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)}
            assert not names & known, path.relative_to(ROOT)
