"""The page docs/your-own-graph.md does what it says."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "your-own-graph.md"


def test_the_page_runs_from_top_to_bottom_and_prints_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 6
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    said = re.findall(r"print\(.*?  # (.*)", "\n".join(blocks))
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith(said[0].split("…")[0])
    assert printed[1] == said[1]
    assert printed[3] == said[3]
