"""llpe: learnable Laplacian positional encodings for PyTorch Geometric.

A graph becomes a spectrum, a spectrum becomes an encoding, an encoding feeds a model.

* the encodings: :class:`LLPE`, :class:`ProbeLLPE`, :class:`InvariantLLPE` and their baselines, or by name
  :func:`make_encoding`; side by side :class:`Concat`
* without anything learned: :func:`laplacian_eigenvectors`, :func:`random_walk_return`, :func:`filtered_probes`
* in a PyG pipeline: :class:`Prepare`, :class:`AddLaplacianEigenvectorPE`, :class:`AddRandomWalkPE`
* the spectrum itself: :func:`full_spectrum`, :func:`end_spectrum`, :func:`probe_features`
* the graph: :class:`Graph`, :func:`class_homophily`, :func:`node_homophily`, :func:`edge_homophily`, :func:`tiny`
* results on disk: :class:`Cache`

A name is loaded when it is first used, so that the command line answers before torch is loaded.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llpe.cache import Cache, CacheWarning
    from llpe.encodings import LLPE, Concat, Encoding, InvariantLLPE, ProbeLLPE, make_encoding
    from llpe.functional import filtered_probes, laplacian_eigenvectors, random_walk_return
    from llpe.graph import Graph, GraphWarning, tiny
    from llpe.homophily import class_homophily, edge_homophily, local_homophily, node_homophily
    from llpe.probes import probe_features
    from llpe.spectrum import Spectrum, end_spectrum, full_spectrum
    from llpe.storage import SpectrumError
    from llpe.transforms import AddGraphGPSStatistics, AddLaplacianEigenvectorPE, AddRandomWalkPE, Prepare

__version__ = "0.1.0"

__all__ = [
    "LLPE",
    "AddGraphGPSStatistics",
    "AddLaplacianEigenvectorPE",
    "AddRandomWalkPE",
    "Cache",
    "CacheWarning",
    "Concat",
    "Encoding",
    "Graph",
    "GraphWarning",
    "InvariantLLPE",
    "Prepare",
    "ProbeLLPE",
    "Spectrum",
    "SpectrumError",
    "class_homophily",
    "edge_homophily",
    "end_spectrum",
    "filtered_probes",
    "full_spectrum",
    "laplacian_eigenvectors",
    "local_homophily",
    "make_encoding",
    "node_homophily",
    "probe_features",
    "random_walk_return",
    "tiny",
]

_HOME = {
    "cache": "Cache CacheWarning",
    "encodings": "LLPE Concat Encoding InvariantLLPE ProbeLLPE make_encoding",
    "functional": "filtered_probes laplacian_eigenvectors random_walk_return",
    "graph": "Graph GraphWarning tiny",
    "homophily": "class_homophily edge_homophily local_homophily node_homophily",
    "probes": "probe_features",
    "spectrum": "Spectrum end_spectrum full_spectrum",
    "storage": "SpectrumError",
    "transforms": "AddGraphGPSStatistics AddLaplacianEigenvectorPE AddRandomWalkPE Prepare",
}


def __getattr__(name: str) -> Any:
    for module, names in _HOME.items():
        if name in names.split():
            return getattr(import_module(f"llpe.{module}"), name)
    raise AttributeError(f"module 'llpe' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
