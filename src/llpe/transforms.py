"""The transforms for PyG: the fixed part of an encoding, and replacements for PyG's own.

All are deterministic and show every argument in their repr, by which PyG notices a changed ``pre_transform``. With
``cache`` what large graphs need is kept on disk; a ``pre_transform`` does not need that, as PyG keeps its result.
"""

from __future__ import annotations

from typing import Any, final

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from llpe.cache import Cache
from llpe.checks import Described, check_count, check_seed, refusal
from llpe.encodings.base import Encoding
from llpe.functional import laplacian_eigenvectors, random_walk_return
from llpe.inputs import as_data
from llpe.spectrum import end_spectrum


@final
class Prepare(Described, BaseTransform):
    """Attaches the fixed part of an encoding, as ``encoding.prepare(data)`` does.

    Args:
        encoding: the encoding.
        cache: keep it on disk.

    Example:
        >>> from llpe import make_encoding
        >>> Prepare(make_encoding("rwse", dim=8))
        Prepare(encoding=RWSE(dim=8, steps=16, seed=0), cache=True)
    """

    def __init__(self, encoding: Encoding, *, cache: bool | Cache = True) -> None:
        if not isinstance(encoding, Encoding):
            instead = "Build one with make_encoding(name, dim=…)."
            raise refusal("encoding", "be an llpe encoding", type(encoding).__name__, instead)
        self.encoding, self.cache = encoding, cache

    def forward(self, data: Data) -> Data:
        return self.encoding.prepare(data, cache=self.cache)


@final
class AddLaplacianEigenvectorPE(Described, BaseTransform):
    """The first ``k`` nontrivial eigenvectors of the symmetric normalised Laplacian, as PyG's transform of that name.

    Unlike PyG's it is deterministic, finds every repeated eigenvalue, works on graphs with k or fewer nodes (missing
    columns are zero) and sees a directed graph as undirected. Solver arguments that PyG passes on to SciPy (``v0``,
    ``tol``, ``ncv``, ``maxiter``) are accepted and ignored.

    Args:
        k: number of eigenvectors.
        attr_name: attribute to write to; None concatenates to ``data.x``.
        is_undirected: accepted for compatibility; the undirected view is always taken.
        seed: fixes signs and the basis of repeated eigenvalues.
        cache: keep the eigenpairs of large graphs on disk.

    Example:
        >>> from llpe.graph import tiny
        >>> AddLaplacianEigenvectorPE(k=2)(tiny("path")).laplacian_eigenvector_pe.shape
        torch.Size([5, 2])
    """

    def __init__(
        self,
        k: int,
        attr_name: str | None = "laplacian_eigenvector_pe",
        is_undirected: bool = False,
        seed: int = 0,
        *,
        cache: bool | Cache = True,
        **kwargs: Any,
    ) -> None:
        check_count("k", k)
        check_seed(seed)
        unknown = sorted(set(kwargs) - {"v0", "tol", "ncv", "maxiter"})
        if unknown:
            raise ValueError(f"arguments must be k, attr_name, is_undirected, seed, cache, got {', '.join(unknown)}.")
        self.k, self.attr_name, self.is_undirected, self.seed, self.cache = k, attr_name, is_undirected, seed, cache

    def forward(self, data: Data) -> Data:
        vectors = laplacian_eigenvectors(data, self.k, seed=self.seed, cache=self.cache)
        return _attach(data, vectors.float(), self.attr_name)


@final
class AddRandomWalkPE(Described, BaseTransform):
    """Return probabilities of random walks of 1 … ``walk_length`` steps, as PyG's transform of that name.

    Walks follow the edges as they are given: directions, self-loops and duplicates count, and so do weights (PyG's
    takes 1/degree for weight/degree).

    Args:
        walk_length: number of steps.
        attr_name: attribute to write to; None concatenates to ``data.x``.

    Example:
        >>> from llpe.graph import tiny
        >>> AddRandomWalkPE(walk_length=3)(tiny("two-triangles")).random_walk_pe[0].tolist()
        [0.0, 0.5, 0.25]
    """

    def __init__(self, walk_length: int, attr_name: str | None = "random_walk_pe") -> None:
        check_count("walk_length", walk_length)
        self.walk_length, self.attr_name = walk_length, attr_name

    def forward(self, data: Data) -> Data:
        return _attach(data, random_walk_return(data, self.walk_length), self.attr_name)


@final
class AddGraphGPSStatistics(Described, BaseTransform):
    """Writes the attributes that GraphGPS's encoders read.

    ``EigVals`` (num_nodes, k, 1) and ``EigVecs`` (num_nodes, k): the k lowest eigenpairs of the symmetric normalised
    Laplacian, the trivial one included, NaN where the graph has fewer; ``pestat_RWSE`` (num_nodes, steps).

    Args:
        k: number of eigenpairs; None leaves them out.
        steps: number of random-walk steps; None leaves them out.
        seed: fixes signs and the basis of repeated eigenvalues.
        cache: keep the eigenpairs of large graphs on disk.

    Example:
        >>> from llpe.graph import tiny
        >>> AddGraphGPSStatistics(k=4, steps=3)(tiny("path"))
        Data(edge_index=[2, 8], num_nodes=5, EigVals=[5, 4, 1], EigVecs=[5, 4], pestat_RWSE=[5, 3])
    """

    def __init__(
        self, k: int | None = None, steps: int | None = None, seed: int = 0, *, cache: bool | Cache = True
    ) -> None:
        if k is None and steps is None:
            raise ValueError("`k` or `steps` must be given: nothing else says which statistics to write.")
        for name, value in (("k", k), ("steps", steps)):
            if value is not None:
                check_count(name, value)
        check_seed(seed)
        self.k, self.steps, self.seed, self.cache = k, steps, seed, cache

    def forward(self, data: Data) -> Data:
        if self.k is not None:
            spectrum = end_spectrum(data, first=self.k, seed=self.seed, cache=self.cache)
            missing = (0, self.k - spectrum.values.numel())
            values, vectors = (
                torch.nn.functional.pad(columns, missing, value=torch.nan).float()
                for columns in (spectrum.values.expand(spectrum.vectors.size(0), -1), spectrum.vectors)
            )
            data = _attach(_attach(data, values[..., None], "EigVals"), vectors, "EigVecs")
        if self.steps is not None:
            data = _attach(data, random_walk_return(data, self.steps), "pestat_RWSE")
        return data


def _attach(data: Data, columns: Tensor, attr_name: str | None) -> Data:
    given = data.x if isinstance(data.x, Tensor) else as_data(data).edge_index
    columns = columns.to(given.device)
    if attr_name is not None:
        data[attr_name] = columns
    elif isinstance(data.x, Tensor):
        x = data.x.view(-1, 1) if data.x.dim() == 1 else data.x
        if x.layout != torch.strided or x.dim() != 2:
            got = f"{x.layout} of shape {list(x.shape)}"
            raise refusal(
                "data.x", "be a dense matrix to take more columns", got, "Convert it, or give an `attr_name`."
            )
        if not x.is_floating_point():
            instead = "Convert it with x.float(), or give an `attr_name`."
            got = f"{x.dtype}, which would round them to 0"
            raise refusal("data.x", "be floating point to take more columns", got, instead)
        data.x = torch.cat([x, columns.to(x.dtype)], dim=-1)
    else:
        data.x = columns
    return data
