"""Files that carry a checksum of themselves, so that damage is noticed when they are read.

Somewhere in such a file is ``sha256:`` and 64 hexadecimal digits: the hash of the file with zeros in place of these
digits. In JSON it is the last value, in TOML a comment, in an ``.npz`` or ``.pt`` file, which are zip archives, the
archive's comment, and in safetensors it is in the metadata. So every file stays what its ending says, for any program.
"""

from __future__ import annotations

import hashlib
import io
import json
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from llpe.storage import replacing

MARK, ZEROS = b"sha256:", b"0" * 64
AGAIN = "Delete it to have it made again."
BLANK = (MARK + ZEROS).decode()  # to be written where the checksum will be


class DamagedError(ValueError):
    """A file is not as it was written."""


class DamageWarning(UserWarning):
    """A damaged file was found, and what it held is computed again."""


def write(path: Path, content: bytes) -> None:
    """Writes content that holds ``BLANK`` once, with the checksum in its place."""
    place = content.rindex(MARK) + len(MARK)
    with replacing(path) as partial:
        partial.write_bytes(content[:place] + _digest(content, place) + content[place + len(ZEROS) :])


def read(path: Path, advice: str = AGAIN) -> bytes:
    """The bytes of a file; :class:`DamagedError`, with the advice, if they are not those that were written."""
    content = path.read_bytes()
    place = content.rfind(MARK) + len(MARK)
    if place < len(MARK) or content[place : place + len(ZEROS)] != _digest(content, place):
        raise DamagedError(
            f"{path}: must be as it was written, got {len(content)} bytes without their checksum. "
            f"It is damaged or was edited. {advice}"
        )
    return content


def intact(path: Path) -> bool:
    """Whether a file is as it was written; if not, a warning says that it is made again."""
    try:
        read(path, "It is made again.")
    except DamagedError as error:
        warnings.warn(str(error), DamageWarning, stacklevel=2)
        return False
    return True


def _digest(content: bytes, place: int) -> bytes:
    whole = hashlib.sha256(content[:place])
    whole.update(ZEROS)
    whole.update(content[place + len(ZEROS) :])
    return whole.hexdigest().encode()


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    write(path, (json.dumps({**document, "checksum": BLANK}, indent=1) + "\n").encode())


def read_json(path: Path, advice: str = AGAIN) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(read(path, advice))
    del document["checksum"]
    return document


def write_text(path: Path, text: str) -> None:
    """A text in which # starts a comment, such as TOML."""
    write(path, f"{text.rstrip()}\n\n# {BLANK}\n".encode())


def read_text(path: Path, advice: str = AGAIN) -> str:
    """The text without the comment."""
    return read(path, advice).decode().rpartition("\n\n# ")[0]


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """An ``.npz`` file."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    write_zip(path, buffer)


def read_arrays(path: Path, advice: str = AGAIN) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(read(path, advice)), allow_pickle=False) as archive:
        return dict(archive)


def write_zip(path: Path, buffer: io.BytesIO) -> None:
    """A zip archive that was made in memory."""
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.comment = BLANK.encode()
    write(path, buffer.getvalue())
