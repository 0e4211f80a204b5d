"""The designs of `keys advise` that a user has declared: imported where they are named, and nowhere else."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from webtable.cli.session import importing_from_here
from webtable.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webtable.rowkey.advice import Design


def own_designs(names: Iterable[str]) -> list[Design]:
    """Return the designs of the declared keys with these importable names; raises `InvalidArgument`.

    Modules are looked for in the current directory too, behind all else.
    """
    from webtable.rowkey.advice import url_design

    designs = []
    with importing_from_here():
        for name in names:
            found = _imported(name)
            try:
                designs.append(url_design(name, found))
            except InvalidArgument as exc:
                raise InvalidArgument(f"--design {str(exc).removeprefix('designs: ')}") from exc
    return designs


def _imported(name: str) -> Any:
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        raise InvalidArgument(f"--design {name!r} must be an importable name, as in mykeys:BY_DAY")
    try:
        imported = importlib.import_module(module)
    except ImportError as exc:
        raise InvalidArgument(f"--design {name!r} cannot be imported: {exc}") from exc
    except Exception as exc:
        raise InvalidArgument(f"--design {name!r} cannot be imported: {exc!r}") from exc
    if not hasattr(imported, attribute):
        raise InvalidArgument(f"--design {name!r} cannot be imported: the module {module!r} has no {attribute!r}")
    return getattr(imported, attribute)
