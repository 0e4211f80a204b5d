"""Import of indexes, keys and the like that a user has declared in a module, by their importable name."""

from __future__ import annotations

import importlib
from typing import Any

from webtable.errors import InvalidArgument


def importable(name: str, noun: str) -> Any:
    """Import and return the object with the name `package.module:attribute`; raises `InvalidArgument`.

    *noun* is the word for such a name in messages.
    """
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        raise InvalidArgument(f"{noun} {name!r} must be an importable name, as in my_module:NAME")
    try:
        imported = importlib.import_module(module)
    except ImportError as exc:
        raise InvalidArgument(f"{noun} {name!r} cannot be imported: {exc}") from exc
    except Exception as exc:
        raise InvalidArgument(f"{noun} {name!r} cannot be imported: {exc!r}") from exc
    if not hasattr(imported, attribute):
        raise InvalidArgument(f"{noun} {name!r} cannot be imported: the module {module!r} has no {attribute!r}")
    return getattr(imported, attribute)
