"""Every Python block of the documents runs, every example runs, and the documents know what is in the code."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def blocks(path: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", path.read_text(), flags=re.MULTILINE | re.DOTALL)


def run(arguments: list[str], folder: Path) -> str:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


@pytest.mark.parametrize("path", [p for p in DOCUMENTS if blocks(p)], ids=lambda p: p.name)
def test_code_blocks_run(path, tmp_path):
    script = tmp_path / "blocks.py"
    script.write_text("\n\n".join(blocks(path)))
    run([sys.executable, str(script)], tmp_path)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_examples_run(path, tmp_path):
    assert len(path.read_text().splitlines()) <= 60
    run([sys.executable, str(path)], tmp_path)


def test_the_example_cora_gives_the_accuracies_it_promises(tmp_path):
    path = ROOT / "examples" / "cora.py"
    promised = re.search(r"from about (\d+) to (\d+) % on the synthetic graph", path.read_text())
    found = re.findall(r"accuracy ([\d.]+)%", run([sys.executable, str(path)], tmp_path))
    assert [float(each) for each in found] == pytest.approx([float(each) for each in promised.groups()], abs=3)


def test_links_between_documents_lead_somewhere():
    for path in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text()):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_every_departure_from_the_paper_is_listed():
    listed = (ROOT / "docs" / "departures.md").read_text()
    source = ROOT / "src" / "llpe"
    for path in sorted(source.rglob("*.py")):
        if "NOTE[PAPER]" in path.read_text():
            assert f"`{path.relative_to(source)}`" in listed, path.name


def test_every_public_name_is_documented():
    import llpe

    for name in llpe.__all__:
        assert getattr(llpe, name).__doc__, name
