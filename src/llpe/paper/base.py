"""What all studies share: where things go, how much to spend, how progress is told, and what a study leaves behind.

A study is a function from a :class:`Context` to the files it wrote. All it trains goes to run folders, so that a study
that was stopped goes on where it was.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from llpe.data import DownloadError, NodeDataset, load_graph
from llpe.files import replacing
from llpe.lab import resolve, run
from llpe.lab.spaces import as_in_the_paper
from llpe.report.figures import save_figure
from llpe.runs import RunFolder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Budget = Literal["quick", "standard", "paper"]
BUDGETS: dict[Budget, str] = {
    "quick": "smaller graphs, fewer splits, hardly any search: minutes",
    "standard": "the paper's graphs and splits, a budgeted search",
    "paper": "the paper's whole grid",
}
Item = TypeVar("Item")


class Track(Protocol):
    """Goes through the items of a study, telling how many are done and how long the others will take."""

    def __call__(self, items: Sequence[Item], title: str, describe: Callable[[Item], str]) -> Iterator[Item]: ...


def _untold(items: Sequence[Item], title: str, describe: Callable[[Item], str]) -> Iterator[Item]:
    yield from items


@dataclass(frozen=True)
class Context:
    """How a study is run.

    Attributes:
        budget: how much to spend, see ``BUDGETS``.
        runs: where run folders go.
        out: where tables and figures go.
        workers: processes at a time; default one per core.
        data_root: where benchmarks are.
        say: told, in a line, what is left out and why.
        track: see :class:`Track`.
    """

    budget: Budget
    runs: Path
    out: Path
    workers: int | None = None
    data_root: Path | None = None
    say: Callable[[str], None] = lambda line: None
    track: Track = _untold

    def load(self, name: str) -> NodeDataset | None:
        """A graph; None, with the reason said, where its files are not at hand."""
        try:
            return load_graph(name, data_root=self.data_root)
        except DownloadError as error:
            self.say(f"{name} is left out: {error}")
            return None

    def train(self, dataset: NodeDataset, raw: Mapping[str, Any]) -> RunFolder:
        """The run of one config on a loaded graph, resumed if it was begun; no search."""
        fit = run(dataset, resolve(as_in_the_paper(raw)), root=self.runs, workers=self.workers)
        assert fit.run is not None
        return RunFolder.read(fit.run)

    def command(self, name: str) -> str:
        """What is to be typed for the study of that name."""
        return f"llpe reproduce {name} --budget {self.budget}"

    def write_results(self, name: str, rows: Sequence[Mapping[str, Any]]) -> Path:
        """The numbers of the study ``name``, each row with the command that made it."""
        return self.write_csv(name, [{**row, "command": self.command(name)} for row in rows])

    def write_csv(self, name: str, rows: Sequence[Mapping[str, Any]]) -> Path:
        """``name``.csv with the keys of the first row as columns."""
        file = io.StringIO()
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return self.write_text(f"{name}.csv", file.getvalue())

    def write_text(self, name: str, text: str) -> Path:
        """A file of ``out``, all or nothing."""
        self.out.mkdir(parents=True, exist_ok=True)
        with replacing(self.out / name) as partial:
            partial.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
        return self.out / name

    def write_figure(self, name: str, figure: Figure) -> list[Path]:
        """``name``.png and ``name``.pdf."""
        self.out.mkdir(parents=True, exist_ok=True)
        paths = [self.out / f"{name}{suffix}" for suffix in (".png", ".pdf")]
        for path in paths:
            save_figure(figure, path)
        return paths


@dataclass(frozen=True)
class Study:
    """One table or figure: ``llpe reproduce NAME``."""

    name: str
    title: str
    run: Callable[[Context], list[Path]]
