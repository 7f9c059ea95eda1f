"""Eigenpairs of both ends, none missing, against other libraries' first ones and against a plain call of ARPACK.

Each measurement is made in a process of its own. The target counts only with every residual at most 1e-6 and as many
zero eigenvalues as the graph has components with an edge.
"""

import logging
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp
from graphs import load
from rows import Row, Size, against, amount, duration, limit_row, measure, measured, row
from scipy.sparse.linalg import eigsh
from torch_geometric.data import Data
from torch_geometric.transforms import AddLaplacianEigenvectorPE

from llpe import Graph, end_spectrum
from llpe.data import sbm
from llpe.laplacian import laplacian
from llpe.measuring import Work
from llpe.spectrum import Spectrum

K, MANY = 64, {"full": 512, "quick": 64, "tiny": 16}
ZERO, RESIDUAL = 1e-8, 1e-6
BLOCKS = "sbm:n={n},degree=10,homophily=0.8"
GRAPHS = {
    "full": (BLOCKS.format(n=20_000), "photo", "computers"),
    "quick": (BLOCKS.format(n=5000),),
    "tiny": (BLOCKS.format(n=900),),
}
LARGE = {"full": "physics", "quick": "cora", "tiny": BLOCKS.format(n=900)}
PEERS = {"sknetwork": "scikit-network, first 64 alone", "pygsp": "PyGSP, first 64 alone"}
PATIENCE = {"full": 120.0, "quick": 20.0, "tiny": 60.0}  # seconds for a peer


def both_ends(size: Size) -> Iterator[Row]:
    """First and last 64, against PyG's first 64 alone, and on the first graph against those of other libraries."""
    for place, name in enumerate(GRAPHS[size]):
        ours = measured("spectra", "ends", name=name, k=K)
        yield _first_alone(name, ours, "PyG's first 64 alone", measured("spectra", "pyg", name=name, k=K))
        for module, baseline in PEERS.items() if place == 0 else ():
            if find_spec(module) is None:
                print(f"{baseline} is left out: {module} is not installed; pip install 'llpe[bench]'")
                continue
            theirs = measure("spectra", module, name=name, k=K, limit=PATIENCE[size])
            if "failed" in theirs and "after" not in theirs:
                print(f"{baseline} is left out: it {theirs['failed']}")
                continue
            yield _first_alone(name, ours, baseline, theirs)


def _first_alone(name: str, ours: dict[str, Any], baseline: str, theirs: dict[str, Any]) -> Row:
    at = load(name)[1]
    sound = ours["residual"] <= RESIDUAL and ours["zeros"] == min(ours["components"], K)
    said = f"residual {ours['residual']:.0e}, {ours['zeros']} of {ours['components']} zeros"
    if "failed" in theirs:
        ratio = theirs["after"] / ours["seconds"]
        said = f"{duration(ours['seconds'])} and no answer in {duration(theirs['after'])}: a lower bound; {said}"
        return row("first and last 64 eigenpairs", at, baseline, ratio, 1, said, sound=sound)
    said = f"{against(ours['seconds'], theirs['seconds'])}; {said} (theirs: {theirs['zeros']})"
    ratio = theirs["seconds"] / ours["seconds"]
    return row("first and last 64 eigenpairs", at, baseline, ratio, 1, said, sound=sound)


def hundreds(size: Size) -> Iterator[Row]:
    """First and last 512 of the largest graph: time against ARPACK's one call for both ends, and memory."""
    name, k = LARGE[size], MANY[size]
    what, at = f"first and last {k} eigenpairs", load(name)[1]
    ours = measured("spectra", "ends", name=name, k=k)
    plain = measured("spectra", "arpack", name=name, k=k)
    sound = ours["residual"] <= RESIDUAL and ours["zeros"] == min(ours["components"], k)
    said = f"{against(ours['seconds'], plain['seconds'])}; residual {ours['residual']:.0e}"
    said += f", {ours['zeros']} of {ours['components']} zeros (theirs: {plain['zeros']})"
    yield row(what, at, "one plain ARPACK call", plain["seconds"] / ours["seconds"], 3, said, sound=sound)
    words = f"{amount(ours['bytes'])} against {amount(plain['bytes'])}"
    yield limit_row(f"memory of {what}, in GB", at, 3, ours["bytes"] / 1e9, words)


def ends(name: str, k: int) -> Work:
    end_spectrum(sbm(1000), first=2, last=2, cache=False)
    data = load(name)[0].data
    graph = Graph.from_data(data)
    return Work(
        lambda: end_spectrum(data, first=k, last=k, cache=False),
        lambda spectrum: _facts(graph, spectrum),
    )


def _facts(graph: Graph, spectrum: Spectrum) -> dict[str, Any]:
    """Residuals are computed here, from the formula, and not taken from the library's word."""
    matrix, vectors = laplacian(graph), spectrum.vectors.numpy()
    residual = np.linalg.norm(matrix @ vectors - vectors * spectrum.values.numpy(), axis=0).max()
    components = sum(len(nodes) > 1 for nodes in graph.component_nodes)
    return {
        "residual": float(residual),
        "zeros": int((spectrum.values < ZERO).sum()),
        "components": components,
    }


def pyg(name: str, k: int) -> Work:
    transform = AddLaplacianEigenvectorPE(k, is_undirected=True)
    AddLaplacianEigenvectorPE(2, is_undirected=True)(sbm(1000))
    data = load(name)[0].data
    matrix = laplacian(Graph.from_data(data))

    def describe(done: Data) -> dict[str, Any]:
        vectors = done.laplacian_eigenvector_pe.double().numpy()
        values = (vectors * (matrix @ vectors)).sum(axis=0)
        return {"zeros": 1 + int((values < ZERO).sum())}  # the first was left out

    return Work(lambda: transform(data.clone()), describe)


def sknetwork(name: str, k: int) -> Work:
    from sknetwork.embedding import Spectral

    adjacency = sp.csr_matrix(Graph.from_data(load(name)[0].data).adjacency)
    return Work(
        lambda: Spectral(k, normalized=False).fit(adjacency),
        lambda done: {"zeros": 1 + int((1 - done.eigenvalues_ < ZERO).sum())},
    )


def pygsp(name: str, k: int) -> Work:
    from pygsp import graphs

    logging.disable()  # it calls a partial eigendecomposition expensive
    adjacency = sp.csr_matrix(Graph.from_data(load(name)[0].data).adjacency)

    def action() -> np.ndarray:
        graph = graphs.Graph(adjacency, lap_type="normalized")
        graph.compute_fourier_basis(n_eigenvectors=k + 1)
        return np.asarray(graph.e)

    return Work(action, lambda values: {"zeros": int((values < ZERO).sum())})


def arpack(name: str, k: int) -> Work:
    eigsh(laplacian(Graph.from_data(sbm(1000))), k=4, which="BE")
    graph = Graph.from_data(load(name)[0].data)
    return Work(
        lambda: eigsh(laplacian(graph), k=2 * k, which="BE"),
        lambda pairs: {"zeros": int((pairs[0] < ZERO).sum())},
    )
