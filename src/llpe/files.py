"""Writing all or nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file beside ``path`` to write into: it takes the place of ``path`` in the end, or vanishes after an error.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = Path(folder.name) / "a.txt"
        >>> with replacing(path) as partial:
        ...     _ = partial.write_text("whole")
        >>> path.read_text(), len(list(path.parent.iterdir()))
        ('whole', 1)
        >>> folder.cleanup()
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
