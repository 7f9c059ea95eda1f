"""Arrays of an ``.npz`` file piece by piece: NumPy would read a whole one. Nothing is unpickled."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from llpe.checks import refusal

PIECE = 2**20  # numbers that are read at once


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
    for first in range(0, start, PIECE):
        file.read(dtype.itemsize * min(PIECE, start - first))
    return lambda count: np.frombuffer(file.read(dtype.itemsize * count), dtype)
