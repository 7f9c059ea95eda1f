"""From an edge list of any length to a folder of mapped arrays (:mod:`llpe.folder`), in bounded memory.

DuckDB reads, merges and sorts the edges, on disk where they do not fit; the sorted result is written piece by piece.
"""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from llpe.checks import refusal
from llpe.extra import require
from llpe.folder import FILE, FORMAT, NODE_ARRAYS, ArrayWriter, GraphFolder
from llpe.graph import UNSCALED, describe_changes
from llpe.sealed import write_json
from llpe.storage import new_folder

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

READERS = {".csv": "read_csv('{}', header = true, all_varchar = true)", ".parquet": "read_parquet('{}')"}
ENDINGS = (*READERS, ".npz")
ROWS = 2**20  # entries, edges or numbers that are in memory at once
VECTOR = 2048  # rows that DuckDB hands out at once
PROGRAM = 600_000_000  # bytes of the program and its libraries
LEAST = 800_000_000  # bytes: with what the sort needs at least
TYPES = {"x": "<f4", "y": "<i8"}  # of node arrays; masks are boolean
Tell = Callable[[str], None]


def convert(
    edges: str | Path,
    out: str | Path,
    *,
    nodes: str | Path | None = None,
    num_nodes: int | None = None,
    memory: int = 4 * 10**9,
    on_step: Tell = lambda step: None,
) -> GraphFolder:
    """Writes a graph as a folder of mapped arrays: undirected, without self-loops and duplicates.

    Edges are merged as in :class:`llpe.Graph`, and ``changes`` of the result says what was changed. The folder appears
    when it is complete; the conversion needs about 40 bytes of disk for each edge in addition.

    Args:
        edges: ``.csv`` or ``.parquet`` with the columns ``source``, ``target`` and perhaps ``weight``, or ``.npz`` with
            ``edge_index`` [2, num_edges] or ``edges`` [num_edges, 2] and perhaps ``edge_weight``. Nodes are numbers
            0, 1, …
        out: the folder to write, which must not exist.
        nodes: ``.npz`` with ``x``, ``y``, ``train_mask``, ``val_mask``, ``test_mask``, where present; by
            default those of ``edges``, if that is ``.npz``.
        num_nodes: how many nodes there are, if the last ones have no edges.
        memory: bytes to use at most.
        on_step: told what is being done.
    """
    edges, out = Path(edges).expanduser(), Path(out).expanduser()
    _check_request(edges, out, memory)
    require("big", "`llpe convert`")
    import duckdb

    source = Path(nodes).expanduser() if nodes else edges if edges.suffix.lower() == ".npz" else None
    try:
        with new_folder(out) as partial:
            settings: dict[str, Any] = {"memory_limit": f"{(memory - PROGRAM) // 10**6}MB"}
            settings |= {"temp_directory": str(partial / "sort"), "preserve_insertion_order": False}
            with duckdb.connect(str(partial / "edges.duckdb"), config=settings) as database:
                on_step("reading edges")
                weighted = _open_edges(database, edges)
                counts = _node_counts(source) if source else {}
                size = _count_nodes(database, counts, num_nodes, weighted)
                on_step("merging edges")
                changes, entries = _merge(database, size, weighted)
                on_step("sorting entries")
                arrays = _write_entries(database, partial, size, entries, weighted)
            (partial / "edges.duckdb").unlink()
            shutil.rmtree(partial / "sort", ignore_errors=True)
            for name in counts:
                arrays[name] = _write_node_array(source or edges, partial, name)
            on_step("checksums")
            document: dict[str, Any] = {"num_nodes": size, "num_entries": entries, "arrays": arrays, "changes": changes}
            found = fingerprint(GraphFolder(partial, fingerprint="", **document))
            write_json(partial / FILE, {"format": FORMAT, **document, "fingerprint": found})
    except duckdb.Error as error:
        what = "memory or disk" if "emory" in str(error) else "a table of edges"
        first = str(error).strip().splitlines()[0].rstrip(".")
        raise ValueError(f"{edges}: must fit {what}, got {first}. Correct the file, or allow more memory.") from error
    return GraphFolder.open(out)


def _check_request(edges: Path, out: Path, memory: int) -> None:
    if edges.suffix.lower() not in ENDINGS or not edges.is_file():
        raise refusal("edges", f"be a file that ends in {', '.join(ENDINGS)}", repr(str(edges)), "Check the path.")
    if out.exists():
        raise refusal("out", "be a new folder", f"{str(out)!r}, which exists", "Remove it, or choose another name.")
    if not out.parent.is_dir():
        raise refusal("out", "be in an existing folder", repr(str(out)), f"Create {out.parent} first.")
    if memory < LEAST:
        raise refusal("memory", f"be at least {LEAST / 1e9:g} GB", f"{memory / 1e9:g} GB", "Allow more.")


def _open_edges(database: DuckDBPyConnection, path: Path) -> bool:
    """Makes the view or table ``edges``; whether there are weights."""
    if path.suffix.lower() == ".npz":
        return _insert_npz(database, path)
    file = READERS[path.suffix.lower()].format(str(path).replace("'", "''"))
    names = [row[0] for row in database.execute(f"DESCRIBE SELECT * FROM {file}").fetchall()]
    missing = {"source", "target"} - set(names)
    if missing:
        raise refusal(str(path), "have the columns source and target", ", ".join(names), "Name them in a header.")
    weight = ", weight::DOUBLE AS weight" * ("weight" in names)
    database.execute(
        f"CREATE VIEW edges AS SELECT source::BIGINT AS source, target::BIGINT AS target{weight} FROM {file}"
    )
    return "weight" in names


def _insert_npz(database: DuckDBPyConnection, path: Path) -> bool:
    shapes = {name: shape for name, shape, _ in members(path)}
    name = next((each for each in ("edge_index", "edges") if each in shapes), None)
    by_row = name == "edges"
    if name is None or len(shapes[name]) != 2 or shapes[name][1 if by_row else 0] != 2:
        rule = "hold `edge_index` [2, num_edges] or `edges` [num_edges, 2]"
        raise refusal(str(path), rule, str({each: list(shape) for each, shape in shapes.items()}), "Save one of them.")
    count, weighted = shapes[name][0 if by_row else 1], "edge_weight" in shapes
    if weighted and int(np.prod(shapes["edge_weight"])) != count:
        raise refusal("edge_weight", f"have {count} numbers", list(shapes["edge_weight"]), "Give one for each edge.")
    database.execute(f"CREATE TABLE edges (source BIGINT, target BIGINT{', weight DOUBLE' * weighted})")
    streams = [numbers(path, name)] if by_row else [numbers(path, name), numbers(path, name, count)]
    weights = numbers(path, "edge_weight") if weighted else None
    for first in range(0, count, ROWS):
        size = min(ROWS, count - first)
        ends = streams[0](2 * size).reshape(-1, 2).T if by_row else [stream(size) for stream in streams]
        if ends[0].dtype.kind not in "iu":
            raise refusal(name, "be integer node numbers", ends[0].dtype, "Number the nodes 0, 1, …")
        chunk = {"source": np.ascontiguousarray(ends[0]), "target": np.ascontiguousarray(ends[1])}
        if weights is not None:
            chunk["weight"] = weights(size).astype(np.float64)
        database.register("chunk", chunk)
        database.execute("INSERT INTO edges SELECT * FROM chunk")
    return weighted


def _count_nodes(database: DuckDBPyConnection, counts: dict[str, int], num_nodes: int | None, weighted: bool) -> int:
    """The number of nodes, on which all parts agree; refuses edges that are not between them."""
    least, most, missing = database.execute(
        "SELECT min(least(source, target)), max(greatest(source, target)), "
        "count_if(source IS NULL OR target IS NULL) FROM edges"
    ).fetchone() or (None, None, 0)
    if missing:
        raise refusal("edges", "have a source and a target each", f"{missing} without", "Complete or remove them.")
    if least is not None and least < 0:
        raise refusal("edges", "name nodes 0, 1, …", least, "Number the nodes from 0 on.")
    sizes = counts | ({} if num_nodes is None else {"num_nodes": num_nodes})
    if len(set(sizes.values())) > 1:
        raise refusal("nodes", "be as many in all parts", sizes, "Give one row for each node.")
    size = next(iter(sizes.values()), 0 if most is None else most + 1)
    if size < 1 or (most is not None and most >= size):
        got = "no edges and no number" if most is None else f"an edge to node {most}"
        raise refusal("edges", f"name nodes 0 … {size - 1}", got, "Say how many nodes there are with --num-nodes.")
    if weighted:
        wrong = "weight IS NULL OR NOT isfinite(weight) OR weight < 0"
        extreme = f"weight > {UNSCALED!r} OR (weight > 0 AND weight < {1 / UNSCALED!r})"
        bad = database.execute(f"SELECT weight FROM edges WHERE {wrong} OR {extreme} LIMIT 1").fetchone()
        if bad:
            raise refusal("weight", "be a number from 1e-150 to 1e150, or 0", bad[0], "Correct or rescale them.")
    return int(size)


def _merge(database: DuckDBPyConnection, num_nodes: int, weighted: bool) -> tuple[list[str], int]:
    """Makes the table ``pairs`` of undirected edges; returns what that changed and the number of entries."""
    kind = "INTEGER" if num_nodes < 2**31 else "BIGINT"
    zero = "count_if(weight = 0)" if weighted else "0"
    loops, zeros = _row(database, f"SELECT count_if(source = target), {zero} FROM edges")
    sums = "".join(
        f", coalesce(sum(weight ORDER BY weight) FILTER (source {sign} target), 0) AS {name}"
        for sign, name in (("<", "one"), (">", "other"))
    )
    database.execute(
        f"CREATE TABLE pairs AS SELECT least(source, target)::{kind} AS low, greatest(source, target)::{kind} AS high, "
        f"count_if(source < target) AS up, count_if(source > target) AS down{sums * weighted} FROM edges "
        f"WHERE source <> target{' AND weight <> 0' * weighted} GROUP BY low, high"
    )
    differ = "count_if(up > 0 AND down > 0 AND one <> other)" if weighted else "0"
    count, duplicates, one_way, unequal = _row(
        database,
        "SELECT count(*), coalesce(sum(greatest(up - 1, 0) + greatest(down - 1, 0)), 0), "
        f"count_if(up = 0 OR down = 0), {differ} FROM pairs",
    )
    changes = describe_changes(loops, zeros, duplicates, one_way, unequal, weighted=weighted)
    return list(changes), 2 * count


def _row(database: DuckDBPyConnection, query: str) -> tuple[int, ...]:
    return tuple(int(number or 0) for number in database.execute(query).fetchone() or ())


def _write_entries(
    database: DuckDBPyConnection, folder: Path, num_nodes: int, entries: int, weighted: bool
) -> dict[str, Any]:
    """Both directions of every pair, sorted, as ``indptr``, ``indices`` and ``weight``."""
    weight = ", (one + other) / ((up > 0)::INT + (down > 0)::INT) AS weight" * weighted
    result = database.execute(
        f"SELECT * FROM (SELECT low AS node, high AS other_node{weight} FROM pairs "
        f"UNION ALL SELECT high, low{weight} FROM pairs) ORDER BY node, other_node"
    )
    shapes = {"indptr": ("<i8", num_nodes + 1), "indices": ("<i4" if num_nodes < 2**31 else "<i8", entries)}
    if weighted:
        shapes["weight"] = ("<f8", entries)
    known = written = 0  # rows whose start is known, entries before this chunk
    with ExitStack() as stack:
        writers = {
            name: stack.enter_context(ArrayWriter(folder / f"{name}.npy", dtype, (size,)))
            for name, (dtype, size) in shapes.items()
        }
        while len(chunk := result.fetch_df_chunk(ROWS // VECTOR)):
            nodes = chunk["node"].to_numpy()
            rows = np.arange(known, nodes[-1] + 1)
            writers["indptr"].append(written + np.searchsorted(nodes, rows))
            writers["indices"].append(chunk["other_node"].to_numpy())
            if weighted:
                writers["weight"].append(chunk["weight"].to_numpy())
            known, written = int(nodes[-1]) + 1, written + len(nodes)
        for first in range(known, num_nodes + 1, ROWS):
            writers["indptr"].append(np.full(min(ROWS, num_nodes + 1 - first), written))
        return {name: writer.finish() for name, writer in writers.items()}


def fingerprint(folder: GraphFolder) -> str:
    """That of :class:`llpe.Graph` of the same graph, read piece by piece."""
    digest = hashlib.sha256(f"graph {folder.num_nodes}".encode())
    for name, dtype in (("indptr", "<i8"), ("indices", "<i8"), ("weight", "<f8")):
        array = folder.array(name) if name in folder.arrays else np.broadcast_to(1.0, folder.num_entries)
        for first in range(0, array.size, ROWS):
            digest.update(np.ascontiguousarray(array[first : first + ROWS], dtype=dtype).data)
    return digest.hexdigest()


def _node_counts(path: Path) -> dict[str, int]:
    """The rows of each node array of a file."""
    if path.suffix.lower() != ".npz" or not path.is_file():
        raise refusal("nodes", "be an .npz file", repr(str(path)), "Save x, y and masks with numpy.savez.")
    counts = {}
    for name, shape, dtype in members(path):
        if name in NODE_ARRAYS:
            wrong = len(shape) != 2 if name == "x" else (len(shape) != 1 if name == "y" else dtype.kind != "b")
            if wrong or dtype.kind not in "biuf" or (name == "y" and dtype.kind not in "iu"):
                rule = "be numbers [num_nodes, num_features], integer classes [num_nodes] or boolean masks"
                raise refusal(name, rule, f"{dtype} of shape {list(shape)}", "See docs/large-graphs.md.")
            counts[name] = shape[0]
    return counts


def _write_node_array(path: Path, folder: Path, name: str) -> dict[str, Any]:
    shape = next(shape for member, shape, _ in members(path) if member == name)
    read, total = numbers(path, name), int(np.prod(shape))
    with ArrayWriter(folder / f"{name}.npy", TYPES.get(name, "|b1"), shape) as writer:
        for first in range(0, total, ROWS):
            part = read(min(ROWS, total - first))
            if name == "x" and not np.isfinite(part).all():
                raise refusal("x", "be finite", "NaN or infinite entries", "Clean or impute them first.")
            writer.append(part)
        return writer.finish()


def members(path: Path) -> Iterator[tuple[str, tuple[int, ...], np.dtype]]:
    """Name, shape and dtype of the arrays of an ``.npz`` file; only their headers are read."""
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.namelist():
                with archive.open(member) as file:
                    shape, fortran, dtype = _header(file)
                if fortran and len(shape) > 1:
                    raise refusal(member, "be stored by rows", "columns first", "Use numpy.ascontiguousarray.")
                yield member.removesuffix(".npy"), shape, dtype
    except zipfile.BadZipFile as error:
        raise refusal(str(path), "be a numpy .npz archive", error) from error


def _header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype]:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(file)
    if dtype.hasobject:
        raise refusal(str(getattr(file, "name", "array")), "hold numbers", "objects", "Nothing is unpickled.")
    return shape, fortran, dtype


def numbers(path: Path, name: str, start: int = 0) -> Callable[[int], np.ndarray]:
    """A function that returns the next ``count`` numbers of an array in an ``.npz`` file."""
    file = zipfile.ZipFile(path).open(f"{name}.npy")  # noqa: SIM115  # closed with the function that reads it
    dtype = _header(file)[2]
    for first in range(0, start, ROWS):
        file.read(dtype.itemsize * min(ROWS, start - first))
    return lambda count: np.frombuffer(file.read(dtype.itemsize * count), dtype)
