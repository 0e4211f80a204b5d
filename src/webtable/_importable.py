"""What to install where a package is missing; and the import of indexes, keys and the like that a user has declared."""

from __future__ import annotations

import importlib
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webtable.errors import InvalidArgument, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterator


# --- Missing packages -------------------------------------------------------------------------------------------------


@contextmanager
def needed(package: str, extra: str) -> Iterator[None]:
    """Let the imports of the block, if a *package* is not installed, raise `MissingExtra`, which names its *extra*."""
    try:
        yield
    except ImportError as exc:
        raise MissingExtra(f"this needs {package}: {install_of(extra)} ({exc})") from exc


def install_of(extra: str) -> str:
    """Return the command that installs an *extra*, from an index of packages and in a checkout.

    >>> install_of("plot")
    "pip install 'hbase-webtable[plot]', or in a checkout pip install '.[plot]'"
    """
    return f"pip install 'hbase-webtable[{extra}]', or in a checkout pip install '.[{extra}]'"


# --- Importable names -------------------------------------------------------------------------------------------------


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


@contextmanager
def importing_from_here() -> Iterator[None]:
    """Search the current directory for modules too, after all other places, while a given name is imported."""
    here = str(Path.cwd())
    is_new = here not in sys.path
    if is_new:
        sys.path.append(here)
    try:
        yield
    finally:
        if is_new and here in sys.path:
            sys.path.remove(here)
