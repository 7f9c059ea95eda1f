"""What is known to be different from the paper's experiment: in the data, in an encoding, in the protocol."""

from __future__ import annotations

from collections.abc import Callable

from llpe.report.results import Result

Rule = tuple[Callable[[Result], bool], str]

RULES: tuple[Rule, ...] = (
    (
        lambda r: r.dataset == "cornell",
        "the corrected arrays of Cornell are used here; the file that PyG downloads holds features and labels of Texas",
    ),
    (
        lambda r: r.dataset in ("texas", "cornell"),
        "edges are made undirected here; the authors' solver reads one triangle of the directed adjacency",
    ),
    (
        lambda r: r.dataset in ("texas", "cornell"),
        "a test set of 37 nodes moves by 2.7 points with one node",
    ),
    (
        lambda r: r.encoding in ("llpe", "llpe-minmax"),
        "the signs and bases of eigenvectors, which LLPE as published depends on, are arbitrary and not the authors'",
    ),
    (
        lambda r: r.encoding == "llpe",
        "eigenvectors are scaled to unit length, with one direction for each eigenspace, instead of min-max",
    ),
    (
        lambda r: r.encoding in ("elastic", "lpe-flk", "lpe-full", "lpe-fk", "rwse", "san", "signnet"),
        "the authors did not publish their form of this encoding; ours follows its definition",
    ),
    (
        lambda r: True,
        "validation is judged in evaluation mode by the metric, not by the loss with dropout on; the splits are others",
    ),
    (
        lambda r: True,
        "the search is smaller than the paper's grid",
    ),
)


def reasons(result: Result) -> list[str]:
    """All that applies to a cell, the most particular first."""
    return [text for applies, text in RULES if applies(result)]
