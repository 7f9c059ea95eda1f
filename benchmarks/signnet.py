"""A training step of SignNet against evaluating its φ at every entry of every eigenvector."""

from collections.abc import Iterator

import torch
from rows import Row, Size, compare, row
from torch import Tensor
from torch_geometric.data import Data

from llpe import make_encoding
from llpe.encodings import SignNet

SIZES = {"full": (13752, 128), "quick": (2708, 64), "tiny": (100, 4)}


def signnet(size: Size) -> Iterator[Row]:
    """Forward and backward; both results must be the same to rounding."""
    n, k = SIZES[size]
    encoding = make_encoding("signnet", dim=64, k=k)
    assert isinstance(encoding, SignNet)
    vectors = torch.randn(n, k, generator=torch.Generator().manual_seed(0)) / n**0.5
    data = Data(num_nodes=n)
    data[encoding.attribute("vectors")] = vectors
    data[encoding.attribute("mask")] = torch.ones(n, k, dtype=torch.bool)

    def ours() -> None:
        encoding(data).square().sum().backward()

    def theirs() -> None:
        evaluated(encoding, vectors).square().sum().backward()

    with torch.no_grad():
        apart = float((encoding(data) - evaluated(encoding, vectors)).abs().max())
    ratio, times = compare(ours, theirs, pairs=3, calls=5)
    words = f"{times}; results {apart:.0e} apart"
    yield row("SignNet step", f"{n} nodes, {k} eigenvectors", "evaluating φ", ratio, 1, words, sound=apart < 1e-4)


def evaluated(encoding: SignNet, vectors: Tensor) -> Tensor:
    """ρ(Σ_i [φ(u_i) + φ(−u_i)]), as it stands."""
    entries = vectors[..., None]
    return encoding.rho((encoding.phi(entries) + encoding.phi(-entries)).sum(dim=1))
