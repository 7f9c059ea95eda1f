"""From a graph and a description to results: training, run folders, resuming.

* one call on a PyG graph: :func:`fit`
* a config file's experiment: :func:`resolve`, :func:`run`
* the best settings: :func:`search`
* on a cluster: :class:`Dask`
* results: :class:`RunFolder`, :func:`load_encoding`
"""
# ruff: noqa: E402  the extra is checked before anything is imported

from llpe.extra import require

require("lab", "`llpe.experiments`")

from llpe.lab.batches import predict
from llpe.lab.config import Config, ConfigError, assign, load_config, resolve
from llpe.lab.engine import Dask, EngineError
from llpe.lab.fit import Fit, fit, run
from llpe.lab.search import Found, search, take_search
from llpe.lab.spaces import SearchConfig
from llpe.lab.traces import load_encoding
from llpe.lab.train import Outcome, Progress
from llpe.lab.workers import WorkerError
from llpe.runs import RunFolder

__all__ = [
    "Config",
    "ConfigError",
    "Dask",
    "EngineError",
    "Fit",
    "Found",
    "Outcome",
    "Progress",
    "RunFolder",
    "SearchConfig",
    "WorkerError",
    "assign",
    "fit",
    "load_config",
    "load_encoding",
    "predict",
    "resolve",
    "run",
    "search",
    "take_search",
]
