"""What to install for a feature whose packages are missing."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from webtable.errors import MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterator


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
