"""Results: reading, ranks, tables, distance from the paper; what lies in results/, and the documents made from it."""

import shutil
from dataclasses import astuple
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from llpe.paper import STUDIES, Context, settings_of, sweeps
from llpe.paper.experiments import experiments_page, legend, outliers, rank_sentences, reasons, summary
from llpe.paper.results import (
    CELL,
    beside_the_paper,
    distance,
    paper_numbers,
    read_results,
    read_table,
    score,
    tables,
)
from llpe.paper.tables import cells_of, plan_of, presets_table, read, write
from llpe.report.marks import fill

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"
MISSING = {"table-large", "table-small-extended"}  # yet
BEGUN = {  # cells that are missing in blocks of the fair search
    ("photo", "mlp", encoding) for encoding in ("llpe-probes", "lpe-full", "elastic")
}
AT_HAND = {  # graphs, with their numbers of nodes
    "table-small": {"texas": 183, "cornell": 183, "cora": 2708, "cora-ml": 2995, "photo": 7650},
    "table-medium": {"tolokers": 11758, "computers": 13752},
}


def test_the_documents_are_those_that_results_give():
    page, readme = (ROOT / name for name in ("docs/experiments.md", "README.md"))
    assert page.read_text(encoding="utf-8") == experiments_page(ROOT / "results", to=page), "run `make experiments`"
    text = readme.read_text(encoding="utf-8")
    assert text == fill(text, "results", summary(ROOT / "results")), "run `make experiments`"


def test_a_split_far_below_the_others_is_named():
    cell = {"dataset": "ring", "model": "mlp", "encoding": "none", "val": 31.0}
    rows = pd.DataFrame([cell | {"split": at, "test": test} for at, test in enumerate([80.0, 81.0, 79.0, 30.0])])
    (sentence,) = outliers(rows)
    assert "ring, mlp, none: split 3 at 30.0 (validation 31.0), the median is 79.5" in sentence
    assert not list(outliers(rows[:3]))


def result(encoding, mean, dataset="texas", model="mlp", **changes):
    cell = {"dataset": dataset, "model": model, "encoding": encoding, "metric": "accuracy", "trials": 8, "rank": 1.0}
    return cell | {"mean": mean, "std": 2.0, "splits": 10, "wins": 7, "paper_mean": 80.0, "paper_std": 3.0} | changes


def frame(*rows):
    return pd.DataFrame(rows).astype({"wins": "Int64"})


def first(row):
    """A row as the functions see it."""
    return next(frame(row).itertuples())


def test_another_file_is_refused_in_words(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="must have the columns dataset, model"):
        read_results(tmp_path / "x.csv")


def test_wins_count_common_splits_only_and_ties_share_a_rank():
    scores = {"lpe-fk": {1: 1.0, 2: 3.0, 3: 0.0}, "llpe": {0: 1.0, 1: 2.0, 2: 3.0}, "none": {1: 2.0}}
    rows = [("cora", "mlp", name, split, test) for name, each in scores.items() for split, test in each.items()]
    splits = pd.DataFrame(rows, columns=[*CELL, "split", "test"])
    found = score(splits, splits.drop_duplicates(CELL).assign(metric="accuracy", trials=1))
    assert found["wins"].tolist() == [pd.NA, 1, 1]
    assert found["rank"].tolist() == [3.0, 1.5, 1.5]
    assert found["mean"].tolist() == [1.33, 2.0, 2.0]
    assert found["std"].isna().tolist() == [False, False, True]
    assert found["paper_mean"].tolist() == [64.59, 78.62, 66.47]


def test_distance_is_in_joint_standard_errors():
    assert distance(first(result("none", 82.0))) == pytest.approx(2 / (4 / 10 + 9 / 10) ** 0.5)
    assert distance(first(result("none", 82.0, std=np.nan))) is None


def test_the_best_is_marked_in_markdown_and_latex():
    grid = tables(frame(result("none", 80), result("lpe-fk", 79, wins=None), result("llpe", 90.123)))[0]
    assert "| llpe | **90.12 ± 2.00** (7/10) | 1.0 |" in grid.markdown()
    assert r"\textbf{\textcolor{green!50!black}{90.12 $\pm$ 2.00}} (7/10)" in grid.latex()
    assert "+10.1" in beside_the_paper(frame(result("llpe", 90.123)))[0].markdown()


def test_a_table_says_what_is_not_computed():
    whole = [result("none", 80), result("llpe", 90), result("fastrp", 85)]
    part = [result("none", 70, "cora"), result("llpe", 60, "cora")]
    assert "not computed" not in tables(frame(*whole))[0].markdown()
    text = tables(frame(*whole, *part))[0].markdown()
    assert "–: not computed; ranks are those among the rows without gaps." in text
    assert "| none | 80.00 ± 2.00 | **70.00 ± 2.00** | 1.5 |" in text
    assert "| fastrp | 85.00 ± 2.00 | – | – |" in text


def test_a_table_says_which_cells_have_fewer_splits():
    rows = [result("none", 80), result("elastic", 70, splits=5), result("llpe", 90, splits=5, wins=4)]
    text = tables(frame(*rows))[0].markdown()
    assert "| elastic | 70.00 ± 2.00, 5 splits | 3.0 |" in text
    assert "| llpe | **90.00 ± 2.00**, 5 splits (4/5) | 1.0 |" in text
    assert "Over 10 splits, or as many as a cell says." in text
    assert "as a cell says" not in tables(frame(rows[0]))[0].markdown()


@pytest.mark.parametrize(
    ("means", "ends"),
    [
        ({"none": 80, "llpe-minmax": 90}, ["LLPE as published is the best."]),
        ({"none": 80, "llpe": 70}, ["LLPE with our scaling is **not** the best (none is)."]),
        ({"lpe-flk": 80, "llpe-minmax": 80}, ["LLPE as published shares the best with lpe-flk."]),
        ({"none": 9, "rwse": 9, "llpe-minmax": 8}, ["LLPE as published is **not** the best (none and rwse are)."]),
        (
            {"none": 8, "llpe-minmax": 9, "llpe": 7},
            ["published is the best.", "scaling is **not** the best (none is)."],
        ),
    ],
)
def test_the_page_says_plainly_who_has_the_best_rank(means, ends):
    sentences = list(rank_sentences(frame(*(result(name, mean) for name, mean in means.items()))))
    assert all(sentence.endswith(end) for sentence, end in zip(sentences, ends, strict=True))


def test_ranks_are_over_the_blocks_that_llpe_is_in():
    cells = [result("none", 80), result("rwse", 70), result("llpe", 90), result("none", 80, "cora")]
    (sentence,) = rank_sentences(frame(*cells))
    assert "blocks that have all of these (1): llpe 1.00, none 2.00, rwse 3.00." in sentence


def test_a_gap_takes_its_block_out_of_the_ranks_and_not_the_encoding():
    whole = [result(name, mean, at) for at in ("texas", "cora") for name, mean in (("elastic", 9), ("llpe", 8))]
    (sentence,) = rank_sentences(frame(*whole, result("llpe", 9, "photo")))
    assert "blocks that have all of these (2): elastic 1.00, llpe 2.00" in sentence


def test_ranks_leave_out_a_block_that_is_hardly_begun():
    whole = [result(name, mean) for mean, name in enumerate(("none", "lpe-fk", "lpe-full", "rwse", "llpe"))]
    (sentence,) = rank_sentences(frame(*whole, result("none", 90, "cora"), result("llpe", 80, "cora")))
    assert "blocks that have all of these (1): llpe 1.00, rwse 2.00" in sentence


def test_a_table_ranks_no_row_by_a_column_that_is_hardly_begun():
    whole = [result(name, mean) for mean, name in enumerate(("none", "lpe-fk", "llpe"))]
    (table,) = tables(frame(*whole, result("none", 90, "cora")))
    assert [row[-1] for row in table.rows] == ["3.0", "2.0", "1.0"]
    assert "A column that is hardly begun does not count there." in table.markdown()


def test_reasons_begin_with_the_most_particular():
    cornell, photo = (first(result("llpe", 70, at, trials=3)) for at in ("cornell", "photo"))
    assert "corrected arrays of Cornell" in legend(reasons(cornell, {})[:1])
    meant = legend(reasons(photo, {"training.epochs": 200}))
    assert "Cornell" not in meant
    assert "fewer epochs" in meant
    assert "six settings" in meant
    texas = first(result("none", 70, model="gt"))
    assert "attention" in legend(reasons(texas, {"dropout": 0.5}))
    assert "attention" not in legend(reasons(texas, {"dropout": 0.0}))


def test_only_what_is_far_from_the_paper_is_explained():
    grid = beside_the_paper(frame(result("none", 80.1), result("llpe", 90)), lambda cell: f"why {cell.encoding}")[0]
    assert [row[-1] for row in grid.rows] == ["", "why llpe"]


def test_every_number_stands_beside_the_command_that_made_it():
    for name in set(STUDIES) - MISSING:
        commands = read_table(RESULTS / f"{name}.csv")["command"]
        assert set(commands.str.rpartition(" ")[0]) == {f"llpe reproduce {name} --budget"}


@pytest.fixture(params=AT_HAND)
def table(request, tmp_path):
    """A published table, copied to a folder, with its context."""
    for file in RESULTS.glob(f"{request.param}*"):
        shutil.copy(file, tmp_path)
    return request.param, Context("standard", tmp_path / "runs", tmp_path)


def test_tables_are_what_their_splits_and_searches_give(table):
    name, context = table
    written = write(name, read(name, context), context)
    assert len(written) == 5
    for file in written:
        assert file.read_bytes() == (RESULTS / file.name).read_bytes(), file.name


@pytest.mark.parametrize("name", ["sbm", "preferential-attachment", "order", "ends", "presets"])
def test_tables_of_figures_are_what_their_numbers_give(name):
    numbers = read_table(RESULTS / f"{name}.csv")
    if name == "presets":
        grids = [presets_table(numbers)]
    else:
        rows = numbers.astype(object).where(numbers.notna(), "").to_dict("records")
        grids = sweeps.grids(settings_of(name, numbers["command"][0].split()[-1]), rows)
    assert "\n\n".join(grid.markdown() for grid in grids) + "\n" == (RESULTS / f"{name}.md").read_text("utf-8")
    assert "\n\n".join(grid.latex() for grid in grids) + "\n" == (RESULTS / f"{name}.tex").read_text("utf-8")


def test_cells_are_those_of_the_plan_in_its_order_with_its_splits(table):
    """All but the rows that were added since, and blocks of which the fair search has only a part yet."""
    name, context = table
    found = read(name, context)
    settings = settings_of(name)
    planned = [cell for cell in cells_of(settings) if cell.dataset in AT_HAND[name]]
    assert list(found) == [cell for cell in planned if cell in found]
    added = ("llpe-probes-frozen", "fastrp")
    missing = [cell for cell in planned if cell not in found and cell.encoding not in added]
    assert all(cell.model == "gt" or astuple(cell) in BEGUN for cell in missing)
    for cell, scored in found.items():
        assert list(scored.splits["split"]) == list(range(plan_of(settings, AT_HAND[name][cell.dataset], cell)[1]))


def test_a_block_with_every_row_had_as_many_settings_for_each():
    found = read_table(RESULTS / "table-small.csv")
    whole = [part for _, part in found.groupby(["dataset", "model"]) if "fastrp" in set(part["encoding"])]
    assert len(whole) >= 2
    assert all(part["trials"].nunique() == 1 for part in whole)


def test_the_papers_numbers_are_all_there():
    numbers = paper_numbers()
    assert len(numbers) == 177
    assert list(numbers.loc["cora", "mlp", "llpe"]) == [78.62, 1.68]
    assert list(numbers.loc["computers", "gt", "llpe"]) == [87.83, 0.45]
