"""What lies in results/: consistent, complete, and each number with the command that made it."""

import shutil
from pathlib import Path

import pytest

from llpe.paper import STUDIES, Context, settings_of, sweeps
from llpe.paper.results import paper_numbers, read_table
from llpe.paper.tables import cells_of, presets_table, read, write

RESULTS = Path(__file__).parents[2] / "results"
MISSING = {"table-large", "table-small-extended"}  # yet
AT_HAND = {"table-small": ("texas", "cornell", "cora", "cora-ml", "photo"), "table-medium": ("tolokers", "computers")}


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


def test_cells_are_those_of_the_plan_in_its_order_with_ten_splits(table):
    """All but the rows that were added since, and graph transformers on Cora and Cora-ML with fewer encodings."""
    name, context = table
    found = read(name, context)
    planned = [cell for cell in cells_of(settings_of(name)) if cell.dataset in AT_HAND[name]]
    assert list(found) == [cell for cell in planned if cell in found]
    added = ("llpe-probes-frozen", "fastrp")
    assert all(cell.encoding in added or cell.model == "gt" for cell in planned if cell not in found)
    assert all(list(each.splits["split"]) == list(range(10)) for each in found.values())


def test_the_papers_numbers_are_all_there():
    numbers = paper_numbers()
    assert len(numbers) == 177
    assert list(numbers.loc["cora", "mlp", "llpe"]) == [78.62, 1.68]
    assert list(numbers.loc["computers", "gt", "llpe"]) == [87.83, 0.45]
