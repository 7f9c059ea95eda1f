"""What all studies share: where files go, how much to spend, how progress is shown, and what a study writes.

A study is a config file in ``configs/`` and the ``runner`` that it names: a function of its name, its settings and a
:class:`Context` that returns the files it wrote. What it trains goes to run folders, so that a stopped study continues.

A config says what all budgets share, and in the tables ``[quick]``, ``[standard]`` and ``[paper]`` what one of them
changes. ``base`` names another config that it starts from.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from llpe.data import DownloadError, NodeDataset, load_file, load_graph
from llpe.data.benchmarks import find_file
from llpe.lab import Dask, assign, run
from llpe.lab.config import build
from llpe.lab.spaces import as_in_the_paper
from llpe.report.figures import save_figure
from llpe.report.tables import Table
from llpe.runs import RunFolder
from llpe.storage import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Budget = Literal["quick", "standard", "paper"]
BUDGETS: dict[Budget, str] = {
    "quick": "smaller graphs, fewer splits, hardly any search: minutes",
    "standard": "the paper's graphs and splits, a budgeted search",
    "paper": "the paper's whole grid",
}
STUDIES = (
    "table-small",
    "table-small-extended",
    "table-medium",
    "table-large",
    "sbm",
    "preferential-attachment",
    "local-homophily",
    "order",
    "ends",
    "solver-time",
    "solver-memory",
    "intuition",
    "signs",
    "presets",
    "benchmark-bases",
    "benchmark-encodings",
    "benchmark-where",
    "benchmark-transfer",
)
Settings = dict[str, Any]
Track = Callable[[Sequence[Any], str, Callable[[Any], str]], Iterable[Any]]


@dataclass(frozen=True)
class Context:
    """How a study is run.

    Attributes:
        budget: how much to spend, see ``BUDGETS``.
        runs: where run folders go.
        out: where tables and figures go.
        workers: processes at a time; default one per core.
        engine: a Dask cluster that computes instead.
        data_root: where benchmarks are.
        say: called with a line about what is left out, and why.
        track: goes through the items of a study; is given their title and how to describe one.
        device: where models are trained.
    """

    budget: Budget
    runs: Path
    out: Path
    workers: int | None = None
    data_root: Path | None = None
    say: Callable[[str], None] = lambda line: None
    track: Track = lambda items, title, describe: items
    device: str = "cpu"
    engine: Dask | None = None

    def load(self, name: str, file: str = "") -> NodeDataset | None:
        """A graph, from a file below the data root if one is given; None, with a note, if its files are missing."""
        try:
            if file:
                return load_file(find_file(file, root=self.data_root))
            return load_graph(name, data_root=self.data_root)
        except DownloadError as error:
            self.say(f"{name} is left out: {error}")
            return None

    def load_groups(self, study: str, groups: Sequence[Sequence[str]]) -> list[NodeDataset]:
        """The first graph of each group whose files are there; a group without one is left out."""
        out = []
        for names in groups:
            dataset = next((found for name in names if (found := self.load(name)) is not None), None)
            if dataset is not None and dataset.name in names[1:]:
                self.say(f"{dataset.name} instead of {names[0]}.")
            out += [] if dataset is None else [dataset]
        if not out:
            raise ValueError(f"{study} must have a graph, got no benchmark. Fetch one, or give its folder.")
        return out

    def train(self, dataset: NodeDataset, raw: Mapping[str, Any]) -> RunFolder:
        """The run of one config on a loaded graph, resumed if it was started; no search."""
        raw = assign(as_in_the_paper(raw), {"training.device": self.device})
        config, encoding = build(raw)
        fit = run(dataset, config, root=self.runs, workers=self.workers, engine=self.engine, encoding=encoding)
        assert fit.run is not None
        return RunFolder.read(fit.run)

    def command(self, name: str) -> str:
        """What to type for the study of that name."""
        return f"llpe reproduce {name} --budget {self.budget}"

    def write(
        self, name: str, rows: Sequence[Mapping[str, Any]], grids: Sequence[Table], figures: Mapping[str, Figure]
    ) -> list[Path]:
        """The numbers of a study, each row with the command that made it; its tables; its figures, PNG and PDF."""
        frame = pd.DataFrame(rows, columns=list(rows[0]), dtype=object)
        out = [self.write_csv(name, frame.assign(command=self.command(name))), *self.write_grids(name, grids)]
        for stem, figure in figures.items():
            for path in (self.out / f"{stem}.png", self.out / f"{stem}.pdf"):
                save_figure(figure, path)
                out.append(path)
        return out

    def write_grids(self, name: str, grids: Sequence[Table]) -> list[Path]:
        """``name``.md and ``name``.tex."""
        return [
            self.write_text(f"{name}.md", "\n\n".join(grid.markdown() for grid in grids)),
            self.write_text(f"{name}.tex", "\n\n".join(grid.latex() for grid in grids)),
        ]

    def write_csv(self, name: str, frame: pd.DataFrame) -> Path:
        """``name``.csv."""
        return self.write_text(f"{name}.csv", frame.to_csv(index=False, lineterminator="\n"))

    def write_text(self, name: str, text: str) -> Path:
        """A file of ``out``, all or nothing."""
        self.out.mkdir(parents=True, exist_ok=True)
        with replacing(self.out / name) as partial:
            partial.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
        return self.out / name


def run_study(name: str, context: Context, settings: Settings | None = None) -> list[Path]:
    """Runs a study, with the settings of its config file unless others are given; returns the files it wrote."""
    settings = settings_of(name, context.budget) if settings is None else settings
    for remark in remarks_of(settings):
        context.say(remark)
    module, function = settings["runner"].split(".")
    written: list[Path] = getattr(import_module(f"llpe.paper.{module}"), function)(name, settings, context)
    return written


def settings_of(name: str, budget: Budget = "standard") -> Settings:
    """The settings of a study: what all budgets share, changed by what its config says of this one.

    Example:
        >>> settings_of("sbm", "quick")["encodings"]["llpe"]
        {'name': 'llpe', 'dim': 32, 'order': 256, 'l1': 0.0001}
    """
    if name not in STUDIES:
        raise ValueError(f"`name` must be one of {', '.join(STUDIES)}, got {name!r}.")
    config = _read(name)
    budgets = {each: config.pop(each, {}) for each in BUDGETS}
    return merge(config, budgets[budget])


def _read(name: str) -> Settings:
    config = tomllib.loads(files("llpe.paper").joinpath("configs", f"{name}.toml").read_text(encoding="utf-8"))
    return merge(_read(config.pop("base")), config) if "base" in config else config


def merge(settings: Settings, changes: Settings) -> Settings:
    """``settings`` with ``changes``, table by table; a list is replaced as a whole.

    Example:
        >>> merge({"a": {"b": 1, "c": [1, 2]}}, {"a": {"c": [3]}})
        {'a': {'b': 1, 'c': [3]}}
    """
    out = dict(settings)
    for key, value in changes.items():
        out[key] = merge(out[key], value) if isinstance(value, dict) and key in out else value
    return out


def config_of(settings: Settings, dataset: str, encoding: Settings) -> Settings:
    """The config of one run: a graph, an encoding, and what all runs of a study share."""
    shared = {"model": settings["model"], "training": settings["training"], "splits": {"count": settings["splits"]}}
    return {"dataset": dataset, "encoding": encoding, **shared}


def remarks_of(settings: Settings) -> list[str]:
    """Sentences on what is not as in the paper: in this budget, and in all."""
    return [*settings.get("smaller", []), *settings.get("differs", [])]
