"""Laplacian eigenvectors with a learned projection: P = U_S·Wᵀ + b for a set S of eigenvectors of L_sym.

* ``lpe-fk``: the first k nontrivial ones (Dwivedi & Bresson 2021)
* ``lpe-lk``: the last k
* ``lpe-flk``: the first k nontrivial and the last k
* ``lpe-full``: all of them

The eigenvectors are as the solver-independent convention of :mod:`llpe.spectrum` gives them: sign and basis follow
``seed``. See :func:`llpe.laplacian_eigenvectors`, which takes them.
"""

from __future__ import annotations

from typing import ClassVar, Literal, final

from torch import Tensor

from llpe.cache import Cache
from llpe.checks import check_count
from llpe.encodings.linear import LinearEncoding, square_columns
from llpe.functional import laplacian_eigenvectors
from llpe.graph import Graph
from llpe.spectrum import full_spectrum


class _FromEnds(LinearEncoding):
    """Eigenvectors from one end of the spectrum, or both, projected to ``dim`` columns.

    Args:
        dim: width of the output.
        k: number of eigenvectors; a column that a small graph does not have is zero.
        seed: fixes signs and bases of the eigenvectors, and the initial projection.

    Example:
        >>> from llpe.graph import tiny
        >>> for kind in (LPEFirst, LPELast, LPEEnds):
        ...     encoding = kind(4, k=2)
        ...     encoding(encoding.prepare(tiny("path"))).shape
        torch.Size([5, 4])
        torch.Size([5, 4])
        torch.Size([5, 4])
    """

    part = "vectors"
    from_spectrum = True
    cost = "iterations · (edges + n·k), by Krylov spaces"
    fixed_by = ("k", "seed")
    choices: ClassVar = {"k": [8, 16, 32, 64, 128, 256, 512]}
    ends: ClassVar[Literal["first", "last", "both"]]

    def __init__(self, dim: int, *, k: int = 16, seed: int = 0) -> None:
        check_count("k", k)
        super().__init__(dim, 2 * k if self.ends == "both" else k, seed)
        self.k = k

    def compute(self, graph: Graph, cache: bool | Cache) -> dict[str, Tensor]:
        return {"vectors": laplacian_eigenvectors(graph, self.k, ends=self.ends, seed=self.seed, cache=cache)}


@final
class LPEFirst(_FromEnds):
    """The first ``k`` nontrivial eigenvectors, projected to ``dim`` columns."""

    name = "lpe-fk"
    ends = "first"
    needs = "the first k + 1 eigenpairs"
    keeps = "n × k"
    reference = "Dwivedi and Bresson, A Generalization of Transformer Networks to Graphs, 2021"


@final
class LPELast(_FromEnds):
    """The last ``k`` eigenvectors, projected to ``dim`` columns: what tells classes apart where neighbours differ.

    On a graph of at most k nodes each of its eigenvectors appears once, the trivial one too. Not among the paper's
    encodings, but what its Theorem 2 is about.
    """

    name = "lpe-lk"
    ends = "last"
    needs = "the last k eigenpairs"
    keeps = "n × k"
    reference = "the counterpart of lpe-fk at the other end of the spectrum"


@final
class LPEEnds(_FromEnds):
    """The first ``k`` nontrivial and the last ``k`` eigenvectors, projected to ``dim`` columns.

    On a graph with fewer than 2k nontrivial eigenvectors each of them appears once.

    Args:
        dim: width of the output.
        k: number of eigenvectors from each end; a column that a small graph does not have is zero.
        seed: fixes signs and bases of the eigenvectors, and the initial projection.
    """

    name = "lpe-flk"
    ends = "both"
    needs = "the first k + 1 and the last k eigenpairs"
    keeps = "n × 2k"
    reference = "a baseline of Ito et al., 2025"


@final
class LPEFull(LinearEncoding):
    """All eigenvectors, projected to ``dim`` columns. The projection has a row per node: it fits one graph size.

    Args:
        dim: width of the output.
        width: columns to pad to, for several graphs of at most that many nodes; None: the nodes of the first graph.
        seed: fixes signs and bases of the eigenvectors, and the initial projection.

    Example:
        >>> from llpe.graph import tiny
        >>> encoding = LPEFull(4)
        >>> encoding(encoding.prepare(tiny("path"))).shape
        torch.Size([5, 4])
    """

    name = "lpe-full"
    part = "vectors"
    from_spectrum = True
    fixed_by = ("width", "seed")
    needs = "all eigenpairs"
    keeps = "n × n"
    cost = "O(n³), by LAPACK"
    reference = "a baseline of Ito et al., 2025"

    def __init__(self, dim: int, *, width: int | None = None, seed: int = 0) -> None:
        super().__init__(dim, width, seed)
        self.width = width

    def compute(self, graph: Graph, cache: bool | Cache) -> dict[str, Tensor]:
        return {"vectors": square_columns(full_spectrum(graph, seed=self.seed, cache=cache).vectors, self.width)}
