"""The designs of `keys advise` that a user has declared: imported where they are named, and nowhere else."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from webtable.cli.session import importing_from_here
from webtable.errors import InvalidArgument
from webtable.rowkey import RowKey, WebKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from webtable.rowkey.advice import Design


def own_keys(names: Iterable[str], said: str = "--design") -> dict[str, RowKey]:
    """Return the declared keys with these importable names, each by its name; raises `InvalidArgument`.

    *said* is what a message calls such a name.

    Modules are looked for in the current directory too, behind all else.
    """
    keys: dict[str, RowKey] = {}
    with importing_from_here():
        for name in names:
            if name in keys:
                raise InvalidArgument(f"{said} {name!r} is given twice")
            found = _imported(name, said)
            key = found.parts if isinstance(found, WebKey) else found
            if not isinstance(key, RowKey):
                raise InvalidArgument(
                    f"{said} {name!r} must be a declared key, and is of the type {type(key).__name__}"
                )
            keys[name] = key
    return keys


def url_designs(keys: Mapping[str, RowKey]) -> list[Design]:
    """Return the designs of *keys* for URLs; raises `InvalidArgument` for a key that is made of other values."""
    from webtable.rowkey.advice import url_design

    try:
        return [url_design(name, key) for name, key in keys.items()]
    except InvalidArgument as exc:
        told = f"--design {str(exc).removeprefix('designs: ')}"
        raise InvalidArgument(f"{told}. Rows with such values are read from JSON Lines (.jsonl)") from exc


def _imported(name: str, said: str) -> Any:
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        raise InvalidArgument(f"{said} {name!r} must be an importable name, as in mykeys:BY_DAY")
    try:
        imported = importlib.import_module(module)
    except ImportError as exc:
        raise InvalidArgument(f"{said} {name!r} cannot be imported: {exc}") from exc
    except Exception as exc:
        raise InvalidArgument(f"{said} {name!r} cannot be imported: {exc!r}") from exc
    if not hasattr(imported, attribute):
        raise InvalidArgument(f"{said} {name!r} cannot be imported: the module {module!r} has no {attribute!r}")
    return getattr(imported, attribute)
