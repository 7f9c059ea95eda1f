"""For mkdocstrings: a section ``Example:`` is code, and :class:`~llpe.LLPE` is shown as LLPE."""

import re
from typing import Any

import griffe

ROLE = re.compile(r":(?:class|func|meth|mod):`(?:~[\w.]*\.)?([\w.]+)`")
EXAMPLE = re.compile(r"^(\s*)Example:$", flags=re.MULTILINE)


class Plain(griffe.Extension):
    """Rewrites the roles of Sphinx, and the heading that griffe knows as ``Examples:``."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = EXAMPLE.sub(r"\1Examples:", ROLE.sub(r"`\1`", obj.docstring.value))
