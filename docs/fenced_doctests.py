"""An extension of griffe, which reads docstrings for the site: their examples are code, not quotes."""

from __future__ import annotations

import re
from typing import Any

import griffe

# Examples, and trees that are drawn with lines.
_EXAMPLE = re.compile(r"^(?:>>> |\w+\n├──).*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)


class FencedDoctests(griffe.Extension):
    """Puts fences around the examples of every docstring."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of *obj*."""
        if obj.docstring is not None:
            obj.docstring.value = _EXAMPLE.sub(r"```pycon\n\g<0>\n```", obj.docstring.value)
