"""Which labelled nodes train, which choose, which test: random, official, or from a file.

Every split is checked: disjoint, within the labelled nodes, no empty part, every class to be learned present
in train. Random splits also cover all labelled nodes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from llpe.checks import check_count, check_seed, checked, refusal, show
from llpe.data.dataset import PARTS, NodeDataset, check_labels
from llpe.data.readers import open_npz
from llpe.sealed import write_arrays


@dataclass(frozen=True, eq=False)
class Split:
    """Sorted node numbers (int64) for training, validation and test.

    Example:
        >>> Split(torch.tensor([2, 0]), torch.tensor([1]), torch.tensor([3]))
        Split(train=2, val=1, test=1)
    """

    train: Tensor
    val: Tensor
    test: Tensor

    def __post_init__(self) -> None:
        for part in PARTS:
            given = getattr(self, part)
            try:
                ids = torch.as_tensor(given)
            except (ValueError, TypeError, RuntimeError, OverflowError):
                ids = torch.empty(())
            if ids.dim() != 1 or (ids.numel() and ids.dtype not in (torch.int64, torch.int32)):
                raise refusal(part, "be a list of node numbers", show(given), "Use mask.nonzero().flatten() on a mask.")
            object.__setattr__(self, part, ids.to(torch.int64).sort().values)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the three lists."""
        digest = hashlib.sha256()
        for part in PARTS:
            ids = getattr(self, part).numpy()
            digest.update(f"{part} {ids.size}".encode())
            digest.update(np.ascontiguousarray(ids, dtype="<i8").data)
        return digest.hexdigest()

    def save(self, path: str | Path, num_nodes: int) -> None:
        """Writes the split as a file for :func:`file_splits`, a mask for each part."""
        masks = {part: np.isin(np.arange(num_nodes), getattr(self, part).numpy()) for part in PARTS}
        write_arrays(Path(path), masks)

    def __repr__(self) -> str:
        return f"Split({', '.join(f'{part}={getattr(self, part).numel()}' for part in PARTS)})"


@checked
def random_splits(
    y: Tensor,
    *,
    count: int = 10,
    train: float = 0.6,
    val: float = 0.2,
    seed: int = 0,
    allow_missing_classes: bool = False,
) -> list[Split]:
    """Random splits of the labelled nodes: ``int(train·n)`` train, ``int(val·n)`` val, the rest test.

    ``y`` holds classes [num_nodes], −1 for unlabelled. Split i is a permutation drawn from seed ``seed + i``; the
    defaults are the paper's ten 60/20/20 splits. A class with a single labelled node, or one that is missing from
    train, cannot be classified correctly and is refused, unless ``allow_missing_classes``.

    NOTE[PAPER]: the authors' code puts node 0 into every training set; we do not.

    Example:
        >>> random_splits(torch.tensor([0, 1] * 10), count=2)
        [Split(train=12, val=4, test=4), Split(train=12, val=4, test=4)]
    """
    check_count("count", count)
    check_seed(seed)
    if not (train > 0 and val > 0 and train + val < 1):
        got = f"{train:g} and {val:g}. The rest is the test set"
        raise ValueError(f"`train` and `val` must be positive shares with a sum below 1, got {got}.")
    labelled = _labelled(y)
    alone = (torch.bincount(y[labelled]) == 1).nonzero().flatten().tolist()
    if alone and not allow_missing_classes:
        instead = "Label more nodes, mark these as unlabelled (−1), or pass allow_missing_classes=True."
        rule, got = "have at least 2 labelled nodes in each class", f"a single one in {_classes(alone)}"
        raise refusal("y", rule, got, instead)
    num_train, num_val = int(train * labelled.numel()), int(val * labelled.numel())
    splits = []
    for i in range(count):
        order = np.random.default_rng(seed + i).permutation(labelled.numpy())
        splits.append(Split(*map(torch.from_numpy, np.split(order, [num_train, num_train + num_val]))))
    return _checked(splits, y, f"random split (seeds {seed} … {seed + count - 1})", allow_missing_classes)


@checked
def official_splits(dataset: NodeDataset) -> list[Split]:
    """The splits that came with the data set."""
    masks = dataset.masks
    if masks is None:
        instead = "Use random splits or a split file."
        raise ValueError(f"{dataset.name}: official splits must come with the data set, got none. {instead}")
    splits = [Split(*(masks[part][:, i].nonzero().flatten() for part in PARTS)) for i in range(masks["train"].size(1))]
    return _checked(splits, dataset.data.y, f"{dataset.name}: official split", dataset.published)


@checked
def file_splits(path: str | Path, y: Tensor, *, allow_missing_classes: bool = False) -> list[Split]:
    """Splits from an ``.npz`` with the keys ``train``, ``val`` (or ``valid``) and ``test``.

    Each holds node numbers [size] or [num_splits, size], or a boolean mask [num_nodes] or
    [num_splits, num_nodes]. They are checked against the classes ``y`` as in :func:`random_splits`.
    """
    arrays = open_npz(path)
    val = "valid" if "valid" in arrays and "val" not in arrays else "val"
    rows: list[list[Tensor]] = []
    for key in ("train", val, "test"):
        if key not in arrays:
            raise ValueError(f"{path}: must hold the keys train, val (or valid) and test, got {', '.join(arrays)}.")
        rows.append(_rows(arrays[key], f"{path}: `{key}`", y.numel()))
    if len({len(row) for row in rows}) != 1:
        raise ValueError(f"{path}: the parts must hold the same number of splits, got {[len(r) for r in rows]}.")
    return _checked([Split(*parts) for parts in zip(*rows, strict=True)], y, f"{path}: split", allow_missing_classes)


def _rows(array: np.ndarray, where: str, num_nodes: int) -> list[Tensor]:
    """The node numbers of each split."""
    if array.ndim not in (1, 2) or array.dtype.kind not in "biu":
        got = f"{array.dtype} of shape {list(array.shape)}"
        raise ValueError(f"{where} must hold node numbers or a boolean mask in 1 or 2 dimensions, got {got}.")
    rows = list(np.atleast_2d(array))
    if array.dtype.kind == "b":
        if array.shape[-1] != num_nodes:
            raise ValueError(f"{where} must be a mask of {num_nodes} nodes, got {array.shape[-1]}.")
        rows = [np.flatnonzero(row) for row in rows]
    return [torch.from_numpy(row.astype(np.int64)) for row in rows]


@checked
def make_splits(dataset: NodeDataset, kind: str | Path = "random", *, count: int = 10, seed: int = 0) -> list[Split]:
    """The splits of a data set: ``"random"`` (the paper's), ``"official"``, or the path of a split file.

    ``count`` and ``seed`` belong to random splits; of the others the first ``count`` are taken.

    Example:
        >>> from llpe.data import load_graph
        >>> make_splits(load_graph("sbm:n=100"), count=1)
        [Split(train=60, val=20, test=20)]
    """
    check_count("count", count)
    y, lenient = dataset.data.y, dataset.published
    if kind == "random":
        return random_splits(y, count=count, seed=seed, allow_missing_classes=lenient)
    if kind == "official":
        return official_splits(dataset)[:count]
    if not str(kind).endswith(".npz"):
        raise refusal("kind", "be random, official or the path of an .npz file", repr(str(kind)))
    return file_splits(kind, y, allow_missing_classes=lenient)[:count]


def _labelled(y: Tensor) -> Tensor:
    check_labels("splits", y, y.numel())
    labelled = (y >= 0).nonzero().flatten()
    if not labelled.numel():
        raise refusal("y", "have labelled nodes", "none: there is nothing to train on", "Label some nodes.")
    return labelled


def _checked(splits: list[Split], y: Tensor, what: str, allow_missing_classes: bool) -> list[Split]:
    """Refuses splits that are not disjoint, leave the labelled nodes, or cannot be trained on."""
    labelled = _labelled(y)
    for i, split in enumerate(splits):
        if problem := _problem(split, y, labelled, allow_missing_classes):
            raise ValueError(f"{what} {i}: {problem}")
    return splits


def _problem(split: Split, y: Tensor, labelled: Tensor, allow_missing_classes: bool) -> str:
    for part in PARTS:
        ids = getattr(split, part)
        if not ids.numel():
            got = f"0 of {labelled.numel()} labelled nodes. Label more nodes or change the shares."
            return f"`{part}` must not be empty, got {got}"
        outside = ids[~torch.isin(ids, labelled)]
        if outside.numel():
            got = f"node {int(outside[0])} ({outside.numel()} such nodes). Remove them from the split."
            return f"`{part}` must name labelled nodes, got {got}"
    nodes, times = torch.cat([split.train, split.val, split.test]).unique(return_counts=True)
    twice = nodes[times > 1]
    if twice.numel():
        got = f"node {int(twice[0])} more than once ({twice.numel()} such nodes)."
        return f"train, val and test must be disjoint, got {got}"
    missing = sorted(set(y[labelled].tolist()) - set(y[split.train].tolist()))
    if missing and not allow_missing_classes:
        instead = "Label more nodes of it, mark it as unlabelled (−1), or take another seed."
        return f"`train` must contain every class, got no node of {_classes(missing)}. {instead}"
    return ""


def _classes(numbers: Sequence[int]) -> str:
    return f"class{'es' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
