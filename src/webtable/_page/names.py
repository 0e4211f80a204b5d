"""Wrong names of fields, answered with the right ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Never

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

_ELSEWHERE = {"html": "body", "content": "body", "status_code": "status", "links": "outlinks"}
"""Names that other libraries have for fields, and what these are called here."""


def meant(name: str, names: Iterable[str]) -> str:
    """Return "; did you mean …?" with the one of *names* that is closest to *name*; empty if none is close.

    >>> meant("status_code", ["url", "status"]), meant("tilte", ["url", "title"]), meant("price", ["url"])
    ("; did you mean 'status'?", "; did you mean 'title'?", '')
    """
    from difflib import get_close_matches  # only where something is wrong

    known = list(names)
    close = [_ELSEWHERE[name]] if _ELSEWHERE.get(name) in known else get_close_matches(name, known, 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def unknown_column(name: str, noun: str, names: Iterable[str]) -> str:
    """Return what is wrong with the column *name* of a *noun* that has the columns *names*."""
    known = list(names)
    close = meant(name, known)
    of = f"{'an' if noun[0] in 'aeio' else 'a'} {noun}"
    return f"columns={name!r} is not a column of {of}{close}{' It' if close else '; it'} has {', '.join(known)}"


class WrongName:
    """An attribute that is not there: reading it raises `AttributeError` with the *right* name.

    It costs nothing where nothing is wrong; with a `__getattr__` reading every other attribute would take longer.
    """

    def __init__(self, right: str) -> None:
        self._right = right

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner, self._name = owner.__name__, name

    def __get__(self, instance: object, owner: type | None = None) -> Never:
        message = f"a {self._owner} has no {self._name!r}; did you mean {self._right!r}?"
        raise AttributeError(message, name=self._name, obj=instance)


_new: Any = msgspec.StructMeta.__call__


class NamedFields(msgspec.StructMeta):
    """The type of a struct whose constructor answers a wrong name of a field with the right one.

    It takes half a microsecond. What is decoded does not come here, nor what `replace` makes.
    """

    if not TYPE_CHECKING:  # for checkers it would take any names

        def __call__(cls, **fields: object) -> object:  # noqa: N805 - its instances are classes
            try:
                return _new(cls, **fields)
            except TypeError:
                wrong = next((name for name in fields if name not in cls.__struct_fields__), None)
                if wrong is None:
                    raise
            if f"_{wrong}" in cls.__struct_fields__:
                remedy = f"; give it by with_stored(Bookkeeping({wrong}=…))"
            else:
                remedy = meant(wrong, (name for name in cls.__struct_fields__ if not name.startswith("_")))
            raise TypeError(f"a {cls.__name__} has no {wrong!r}{remedy}")
