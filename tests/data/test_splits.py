"""Promises of the splits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from llpe.data import Split, file_splits, load_graph, make_splits, official_splits, random_splits

Y = torch.tensor([0, 1] * 30 + [-1] * 7)
SIX = torch.tensor([0, 1] * 3)


def sizes(split):
    return split.train.numel(), split.val.numel(), split.test.numel()


def test_random_splits_are_disjoint_and_cover_the_labelled_nodes():
    splits = random_splits(Y)
    assert len(splits) == 10
    for split in splits:
        assert sizes(split) == (36, 12, 12)
        assert torch.cat([split.train, split.val, split.test]).sort().values.tolist() == list(range(60))
        assert torch.equal(split.train, split.train.sort().values)
        assert split.train.dtype == torch.int64
    assert sizes(random_splits(torch.tensor([0, 1] * 9 + [0]), count=1)[0]) == (11, 3, 5)  # the rest is test


def test_each_split_depends_on_its_own_seed_only_and_no_node_is_always_in_train():
    first, later = random_splits(Y, count=40), random_splits(Y, count=2, seed=8)
    assert [s.fingerprint for s in first[8:10]] == [s.fingerprint for s in later]
    assert len({s.fingerprint for s in first}) == 40
    assert not set.intersection(*(set(split.train.tolist()) for split in first))


def test_fingerprint_tells_parts_apart():
    a, b = torch.tensor([0, 1]), torch.tensor([2])
    assert Split(a, b, b).fingerprint == Split(a.flip(0), b, b).fingerprint
    assert len({Split(*parts).fingerprint for parts in ((a, b, b), (b, a, b), (b, b, a))}) == 3


@pytest.mark.parametrize(
    ("y", "options", "match"),
    [
        (torch.full((5,), -1), {}, "`y` must have labelled nodes, got none"),
        (torch.tensor([0, 0, 0, 1, 2, 2]), {}, "at least 2 labelled nodes in each class, got a single one in class 1"),
        (torch.tensor([0, 0, 1, 2]), {}, "single one in classes 1, 2"),
        (torch.tensor([0, 0, 1, 1]), {}, "`val` must not be empty, got 0 of 4 labelled nodes"),
        (Y, {"train": 0.8}, "with a sum below 1, got 0.8 and 0.2"),
        (Y, {"val": 0.0}, "must be positive shares"),
        (torch.rand(5), {}, "Regression targets are not supported"),
        (torch.zeros(3, 2, dtype=torch.int64), {}, "one class for each of 6 nodes"),
        (torch.tensor([0] * 60 + [1, 1]), {}, r"\(seeds 0 … 9\) \d: `train` must contain every class, got .* class 1"),
    ],
)
def test_impossible_random_splits_are_refused(y, options, match):
    with pytest.raises(ValueError, match=match):
        random_splits(y, **options)


def test_rare_classes_are_accepted_when_asked_for():
    assert len(random_splits(torch.tensor([0] * 10 + [1]), allow_missing_classes=True)) == 10
    toy = replace(load_graph("sbm:n=20"), published=True)
    toy.data.y[:] = torch.tensor([0] * 19 + [1])
    assert len(make_splits(toy, count=3)) == 3


def masked(*parts):
    """A data set of 20 nodes, the last unlabelled, with one official split, given by node numbers."""
    masks = {name: torch.zeros(20, 1, dtype=torch.bool) for name in ("train", "val", "test")}
    for mask, ids in zip(masks.values(), parts, strict=True):
        mask[ids] = True
    toy = replace(load_graph("sbm:n=20,degree=4"), masks=masks)
    toy.data.y[19] = -1
    return toy


def test_official_splits_are_the_masks():
    split = official_splits(masked([0, 12], [1, 2], [3]))[0]
    assert [part.tolist() for part in (split.train, split.val, split.test)] == [[0, 12], [1, 2], [3]]
    with pytest.raises(ValueError, match=r"official splits must come with the data set, got none"):
        official_splits(load_graph("sbm:n=20,degree=4"))


@pytest.mark.parametrize(
    ("parts", "match"),
    [
        (([0, 12], [12], [3]), "train, val and test must be disjoint, got node 12 more than once"),
        (([0, 12], [1], [19]), "`test` must name labelled nodes, got node 19"),
        (([0, 12], [], [3]), "`val` must not be empty"),
        (([0, 1], [2], [3]), "official split 0: `train` must contain every class, got no node of class 1"),
    ],
)
def test_bad_official_splits_are_refused(parts, match):
    with pytest.raises(ValueError, match=match):
        official_splits(masked(*parts))


def test_split_files_hold_numbers_or_masks_of_one_or_more_splits(tmp_path):
    path, row = tmp_path / "split.npz", np.arange(6)
    np.savez(path, train=[[0, 1], [2, 3]], valid=[[2], [0]], test=[[3, 4], [4, 5]])
    two = file_splits(path, SIX)
    assert [s.train.tolist() for s in two] == [[0, 1], [2, 3]]
    np.savez(path, train=row < 2, val=row == 2, test=(row == 3) | (row == 4))
    assert file_splits(path, SIX)[0].fingerprint == two[0].fingerprint
    two[1].save(path, 6)
    assert file_splits(path, SIX)[0].fingerprint == two[1].fingerprint


@pytest.mark.parametrize(
    ("arrays", "match"),
    [
        ({"train": [0], "val": [1]}, "must hold the keys train, val .or valid. and test, got train, val"),
        ({"train": [0.5], "val": [1], "test": [2]}, "`train` must hold node numbers or a boolean mask"),
        ({"train": [True, False], "val": [1], "test": [2]}, "`train` must be a mask of 6 nodes, got 2"),
        ({"train": [[0, 1], [2, 3]], "val": [4], "test": [5]}, "same number of splits, got .2, 1, 1."),
        ({"train": [0, 1], "val": [2], "test": [9]}, "`test` must name labelled nodes, got node 9"),
        ({"train": [0, 1], "val": [2], "test": [-1]}, "`test` must name labelled nodes, got node -1"),
    ],
)
def test_bad_split_files_are_refused(tmp_path, arrays, match):
    path = tmp_path / "split.npz"
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match=match) as caught:
        file_splits(path, SIX)
    assert str(path) in str(caught.value)


def test_make_splits_knows_the_three_kinds(tmp_path):
    toy = masked([0, 12], [1], [2])
    path = tmp_path / "split.npz"
    np.savez(path, train=[0, 12], val=[1], test=[2])
    assert make_splits(toy, path)[0].fingerprint == make_splits(toy, "official")[0].fingerprint
    assert len(make_splits(toy, count=3, seed=5)) == 3
    with pytest.raises(ValueError, match=r"`kind` must be random, official or the path of an .npz file, got 'fixed'"):
        make_splits(toy, "fixed")


def test_published_split_files_fit_their_graphs(mirror):
    path = mirror / "splits" / "amazon-photo_split.npz"
    if not path.is_file():
        pytest.skip("no published split files")
    assert sizes(file_splits(path, torch.arange(7650) % 8)[0]) == (4590, 1530, 1530)
