"""Synthetic graphs with a known truth: stochastic block models and preferential attachment.

Both give node classes, a homophily between 0 and 1, and Gaussian features that say a little about the class.
Everything random comes from one ``numpy.random.default_rng(seed)``: the same seed gives the same bytes.

Features of a node of class y (the LLPE paper's appendix): with two classes, independent columns of mean
y·``mean`` and standard deviation ``std``; with more, a vector of mean ``mean``·one-hot(y).

NOTE[PAPER]: the paper gives neither mean nor variance. Ours, ``std=1`` with ``mean=0.25`` for two classes and
``mean=1`` for more, are weak on purpose: the best possible classifier that sees features only is right on
65 % of the nodes with two classes (ten features) and on 49 % with five, so structure must do the rest.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate

import numpy as np
import torch
from torch_geometric.data import Data

from llpe.checks import check_count, check_number, check_seed, checked, refusal
from llpe.storage import require_memory


@checked
def sbm(
    n: int = 2000,
    *,
    blocks: int = 2,
    degree: float = 10.0,
    homophily: float = 0.0,
    features: int | None = None,
    mean: float | None = None,
    std: float = 1.0,
    seed: int = 0,
) -> Data:
    """A stochastic block model with equal blocks (up to one node); the class of a node is its block.

    A node has on average ``homophily * degree`` neighbours in its own block and ``(1 - homophily) * degree``
    spread evenly over the others; pairs are independent. Nodes are numbered block after block. The result has
    ``x`` [n, features] float32, ``y`` [n] int64 and a sorted ``edge_index`` of both directions.

    Args:
        n, blocks: number of nodes, and of blocks (at least 2).
        degree, homophily: mean number of neighbours, and the share of them in the node's own block, 0 … 1.
        features: number of feature columns (10 for two blocks, ``blocks`` for more). For more than two
            blocks, columns after the first ``blocks`` are noise.
        mean: separation of the class means (0.25 for two blocks, 1 for more).
        std: standard deviation of the features.
        seed: seed of everything random.

    Example:
        >>> data = sbm(100, homophily=1, seed=1)
        >>> data.num_nodes, data.num_features, data.y.bincount().tolist(), data.is_undirected()
        (100, 10, [50, 50], True)
    """
    check_count("blocks", blocks, least=2)
    check_count("n", n, least=2 * blocks)
    check_seed(seed)
    _check_homophily(homophily)
    inside, outside = homophily * degree / (n / blocks - 1), (1 - homophily) * degree / (n - n / blocks)
    if not (0 <= inside <= 1 and 0 <= outside <= 1):
        got = f"{degree!r} for n={n}, blocks={blocks}, homophily={homophily:g}"
        rule = "not be negative nor exceed the number of possible neighbours"
        raise refusal("degree", rule, got, "Lower it, or raise `n`.")
    rng = np.random.default_rng(seed)
    starts = np.arange(blocks + 1) * n // blocks
    pairs = np.concatenate([_inner_pairs(rng, starts, inside), _cross_pairs(rng, starts, outside)], axis=1)
    y = np.repeat(np.arange(blocks), np.diff(starts))
    return _with_features(rng, pairs, y, blocks, features, mean, std)


@checked
def preferential_attachment(
    n: int = 2000,
    *,
    classes: int = 2,
    homophily: float = 0.0,
    m: int = 5,
    features: int | None = None,
    mean: float | None = None,
    std: float = 1.0,
    seed: int = 0,
) -> Data:
    r"""Preferential attachment with class compatibility (Zhu et al., 2020): hubs, and any homophily.

    Nodes come one by one, classes in random order and equally often (up to one node), and are numbered by age. A
    new node of class i draws m distinct targets v with probability ∝ deg(v)·H[i, class(v)], where H[i, i] =
    homophily and the other classes share the rest evenly. The result is as in :func:`sbm`.

    NOTE[PAPER]: the LLPE paper gives no m, seed graph or number of classes. Ours: m = 5 (mean degree 10, as
    for its block models), and as the seed graph a chain of m nodes of each class, class after class.

    Args:
        n, classes: number of nodes (at least ``classes * m``), and of classes (at least 2).
        homophily: compatibility of a class with itself, 0 … 1.
        m: edges each new node brings; the mean degree is about 2·m.
        features, mean, std, seed: as in :func:`sbm`.

    Example:
        >>> data = preferential_attachment(200, classes=3, homophily=0.9, m=2)
        >>> data.num_nodes, data.num_edges // 2, data.y.bincount().tolist()
        (200, 393, [67, 67, 66])
    """
    check_count("classes", classes, least=2)
    check_count("m", m)
    check_count("n", n, least=classes * m)
    check_seed(seed)
    _check_homophily(homophily)
    H = np.full((classes, classes), (1 - homophily) / (classes - 1))
    np.fill_diagonal(H, homophily)
    rng = np.random.default_rng(seed)
    later = np.arange(n)[classes * m :] % classes
    y = np.concatenate([np.repeat(np.arange(classes), m), rng.permutation(later)])
    return _with_features(rng, _attach(rng, y, m, H), y, classes, features, mean, std)


GENERATORS: dict[str, Callable[..., Data]] = {"sbm": sbm, "pa": preferential_attachment}


@checked
def parse_spec(spec: str) -> partial[Data]:
    """Reads ``"sbm:key=value,…"`` or ``"pa:key=value,…"`` into a call that makes the graph.

    Example:
        >>> make = parse_spec("sbm:n=60,blocks=3,homophily=0.5")
        >>> make.func.__name__, make.keywords
        ('sbm', {'n': 60, 'blocks': 3, 'homophily': 0.5})
        >>> make().num_nodes
        60
    """
    kind, colon, rest = spec.partition(":")
    if kind not in GENERATORS or not colon:
        raise ValueError(f"`spec` must start with {' or '.join(f'{k}:' for k in GENERATORS)}, got {spec!r}.")
    function = GENERATORS[kind]
    types = {name: str(p.annotation) for name, p in inspect.signature(function).parameters.items()}
    values: dict[str, int | float] = {}
    for item in filter(None, (part.strip() for part in rest.split(","))):
        key, equals, text = (part.strip() for part in item.partition("="))
        if key not in types or not equals:
            rule = f"be a list of key=value with the keys {', '.join(types)}"
            raise ValueError(f"`spec` {spec!r} must {rule}, got {item!r}.")
        if key in values:
            raise ValueError(f"`spec` {spec!r} must give each key once, got `{key}` twice.")
        number, word = (int, "an integer") if types[key].startswith("int") else (float, "a number")
        try:
            values[key] = number(text)
        except ValueError:
            raise ValueError(f"`{key}` in {spec!r} must be {word}, got {text!r}.") from None
    return partial(function, **values)


def _check_homophily(homophily: float) -> None:
    if not 0 <= homophily <= 1:
        raise refusal("homophily", "be a share between 0 and 1", homophily)


def _draw_pairs(rng: np.random.Generator, counts: np.ndarray, probability: float) -> tuple[np.ndarray, np.ndarray]:
    """Keeps each of ``counts[b]`` pairs of block b with the given probability: block and number in it of those kept.

    It takes time proportional to the number of pairs kept.
    """
    ends = np.cumsum(counts)
    total = int(ends[-1])
    index = rng.choice(total, size=rng.binomial(total, probability), replace=False, shuffle=False)
    block = np.searchsorted(ends, index, side="right")
    return block, index - (ends - counts)[block]


def _inner_pairs(rng: np.random.Generator, starts: np.ndarray, probability: float) -> np.ndarray:
    """Pairs u < v within one block; pair number v(v−1)/2 + u of a block is (u, v), from the block's start."""
    sizes = np.diff(starts)
    block, rank = _draw_pairs(rng, sizes * (sizes - 1) // 2, probability)
    v = ((1 + np.sqrt(1 + 8 * rank.astype(np.float64))) / 2).astype(np.int64)
    v -= v * (v - 1) // 2 > rank  # the square root is rounded: v is at most one off
    v += v * (v + 1) // 2 <= rank
    u = rank - v * (v - 1) // 2
    return np.stack([u, v]) + starts[block]


def _cross_pairs(rng: np.random.Generator, starts: np.ndarray, probability: float) -> np.ndarray:
    """Pairs of a node in one block and a node in a later block."""
    later = starts[-1] - starts[1:]
    block, rank = _draw_pairs(rng, np.diff(starts) * later, probability)
    return np.stack([starts[block] + rank // later[block], starts[block + 1] + rank % later[block]])


def _attach(rng: np.random.Generator, y: np.ndarray, m: int, H: np.ndarray) -> np.ndarray:
    """Edges of the growing graph, [2, num_edges]: the chain of seed nodes, then m edges for each new node.

    In the urn of its class a node lies once for each of its edges, so drawing a class k with probability
    ∝ H[class, k]·|urn k| and then uniformly from its urn is a draw ∝ deg·H. Each class has m seed nodes, so
    there are always m distinct targets of positive probability.
    """
    labels = y.tolist()
    num_seeds = m * len(H)
    edges = [(v - 1, v) for v in range(1, num_seeds)]
    urns: list[list[int]] = [[] for _ in H]
    for v in (v for edge in edges for v in edge):
        urns[labels[v]].append(v)
    rows, draws = H.tolist(), _uniform_numbers(rng)
    for node in range(num_seeds, len(labels)):
        row = rows[labels[node]]
        bounds = list(accumulate(share * len(urn) for share, urn in zip(row, urns, strict=True)))
        targets: dict[int, None] = {}  # a set that keeps its order
        while len(targets) < m:
            point = next(draws) * bounds[-1]
            urn = next(urn for urn, bound in zip(urns, bounds, strict=True) if point < bound)
            targets[urn[int(next(draws) * len(urn))]] = None
        for target in targets:
            edges.append((target, node))
            urns[labels[target]].append(target)
        urns[labels[node]].extend([node] * m)
    return np.array(edges, dtype=np.int64).reshape(-1, 2).T


def _uniform_numbers(rng: np.random.Generator) -> Iterator[float]:
    while True:
        yield from rng.random(1 << 14).tolist()


def _with_features(
    rng: np.random.Generator,
    pairs: np.ndarray,
    y: np.ndarray,
    classes: int,
    features: int | None,
    mean: float | None,
    std: float,
) -> Data:
    """The graph with Gaussian features, and both directions of each pair in sorted order."""
    columns = (10 if classes == 2 else classes) if features is None else features
    check_count("features", columns, least=1 if classes == 2 else classes)
    center = (0.25 if classes == 2 else 1.0) if mean is None else mean
    check_number("std", std, least=0.0)
    require_memory(8 * y.size * columns, f"{columns} features of {y.size} nodes", "Ask for fewer.")
    x = rng.standard_normal((y.size, columns), dtype=np.float32) * np.float32(std)
    if classes == 2:
        x += (center * y[:, None]).astype(np.float32)
    else:
        x[np.arange(y.size), y] += np.float32(center)
    key = np.concatenate([pairs[0] * y.size + pairs[1], pairs[1] * y.size + pairs[0]])
    key.sort()
    edge_index = torch.from_numpy(np.stack(np.divmod(key, y.size)))
    return Data(x=torch.from_numpy(x), edge_index=edge_index, y=torch.from_numpy(y))
