"""Without the extra ``lab``: one line that says what to install, and a core that works."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from llpe.extra import EXTRAS, how_to_install


def python(code: str, *, without: str) -> subprocess.CompletedProcess[str]:
    """Runs code where the packages cannot be imported."""
    block = f"import sys; sys.modules.update(dict.fromkeys({without!r}.split()))\n"
    return subprocess.run([sys.executable, "-c", block + code], capture_output=True, text=True, check=False)


LAB = EXTRAS["lab"]


@pytest.mark.parametrize("missing", [LAB, LAB[-1:]])
def test_the_command_says_in_one_line_what_to_install(missing):
    done = python("from llpe.cli import main; main()", without=" ".join(missing))
    assert done.returncode == 1
    assert done.stdout == ""
    said = f"error: `llpe` needs the extra `lab`, got no {', '.join(missing)}. Install it with: {how_to_install('lab')}"
    assert done.stderr == f"{said}\n"


def test_the_engine_says_in_one_line_what_to_install():
    code = "sys.argv += 'train --dataset sbm:n=40 --engine dask'.split(); from llpe.cli import main; main()"
    done = python(code, without=" ".join(EXTRAS["cluster"]))
    said = "error: the engine dask needs the extra `cluster`, got no dask, distributed. Install it with: "
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, f"{said}{how_to_install('cluster')}")


@pytest.mark.parametrize("door", ["llpe.lab", "llpe.report", "llpe.report.page", "llpe.paper"])
def test_a_module_says_in_its_last_line_what_to_install(door):
    done = python(f"import {door}", without="pydantic plotly")
    said = done.stderr.splitlines()[-1]
    assert "needs the extra `lab`, got no plotly, pydantic. Install it with: " in said
    assert 'pip install "llpe[lab]" (in a checkout: pip install ".[lab]")' in said


def test_a_finder_that_refuses_is_as_good_as_none():
    hook = """
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name == "optuna":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Refuse())
import llpe.experiments
"""
    assert "`llpe.experiments` needs the extra `lab`, got no optuna." in python(hook, without="").stderr


def test_the_core_the_data_and_the_models_need_no_laboratory():
    code = """
import llpe, llpe.data, llpe.graphgym, llpe.models
data = llpe.data.load_graph("sbm:n=40").data
assert llpe.LLPE(dim=4)(llpe.LLPE(dim=4).prepare(data, cache=False)).shape == (40, 4)
"""
    done = python(code, without=" ".join(set(LAB) - {"jinja2", "networkx"}))  # torch needs these itself
    assert done.returncode == 0, done.stderr


def test_the_list_is_that_of_the_project_and_the_lowest_versions_are_its_lower_bounds():
    root = Path(__file__).parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    lab, cluster = ([line.partition(">=")[0] for line in extras[extra]] for extra in ("lab", "cluster"))
    modules = {"scikit-learn": "sklearn", "tomli-w": "tomli_w"}
    assert [modules.get(name, name) for name in lab] == LAB
    assert set(EXTRAS["cluster"]) < set(cluster)
    bounds = [*project["dependencies"], *extras["big"], *extras["lab"], *extras["graphgym"]]
    lines = (root / "constraints-lowest.txt").read_text().splitlines()
    assert {bound.replace(">=", "==") for bound in bounds} <= set(lines)
