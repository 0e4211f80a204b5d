"""What to install for a feature whose packages are missing."""

from __future__ import annotations

from webtable.errors import MissingExtra


def missing_extra(package: str, extra: str, exc: ImportError) -> MissingExtra:
    """Return the error for a *package* that is not installed and comes with an *extra* of webtable."""
    return MissingExtra(f"this needs {package}: {install_of(extra)} ({exc})")


def install_of(extra: str) -> str:
    """Return the command that installs an *extra*, from an index of packages and in a checkout.

    >>> install_of("plot")
    "pip install 'hbase-webtable[plot]', or in a checkout pip install '.[plot]'"
    """
    return f"pip install 'hbase-webtable[{extra}]', or in a checkout pip install '.[{extra}]'"
