"""Store URLs, as far as all stores agree about them: a scheme, and what its store makes of the rest."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from webtable._sizes import IN_BYTES, size_of
from webtable.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Collection

DEFAULT_TABLE = "pages"
PATH_SCHEME = "sqlite"
"""What a path is, which has no scheme."""
_LOGIN = re.compile(r"^//.*:.*@", re.DOTALL)
"""A user and a password in front of a host; up to the last `@`, because a slash in a password may not be quoted."""


@dataclass(frozen=True, slots=True)
class StoreURL:
    """A store URL taken apart: `text` for messages, its `scheme`, and the `rest` behind the colon.

    The text is the URL as it was given, but for a password in it, which is in no message. What has no scheme is a path
    (`is_path`): the rest is all of it then, and nothing in it means anything else.
    """

    text: str
    scheme: str
    rest: str = field(repr=False)
    is_path: bool = False

    @classmethod
    def parse(cls, url: str | os.PathLike[str]) -> StoreURL:
        """Return the parts of *url*; raises `InvalidArgument` where it is neither a path nor a text."""
        if not isinstance(url, str | os.PathLike) or not isinstance(os.fspath(url), str):
            raise InvalidArgument(f"store={url!r} must be a path or a URL")
        text = os.fspath(url)
        scheme, colon, rest = text.partition(":")
        if isinstance(url, os.PathLike) or not colon or len(scheme) < 2 or "/" in scheme:
            return cls(text, PATH_SCHEME, text, is_path=True)
        return cls(f"{scheme}:{_LOGIN.sub('//***@', rest)}", scheme, rest)

    def options(self, query: str, known: Collection[str]) -> URLOptions:
        """Return what *query*, the part behind the `?`, gives; raises `InvalidArgument` for an unknown option."""
        options = URLOptions(parse_qsl(query, keep_blank_values=True))
        unknown = sorted(set(options) - set(known))
        if unknown:
            names = ", ".join(sorted(known))
            raise InvalidArgument(f"store={self.text!r}: unknown option {unknown[0]!r}; {self.scheme} has {names}")
        return options


class URLOptions(dict[str, str]):
    """The options of a store URL, as they stand in it."""

    def number(self, option: str, default: float) -> float:
        """Return the option as a positive number; raises `InvalidArgument` where it is none."""
        text = self.get(option)
        try:
            value = default if text is None else float(text)
        except ValueError:
            value = -1.0
        if not 0 < value < float("inf"):
            raise InvalidArgument(f"store: {option}={text!r} must be a number above 0")
        return value

    def size(self, option: str) -> int | None:
        """Return the option as a number of bytes, None where it is not given; raises `InvalidArgument` for no size."""
        text = self.get(option)
        if text is None:
            return None
        size = size_of(text)
        if size is None:
            raise InvalidArgument(f"store: {option}={text!r} {IN_BYTES}")
        return size
