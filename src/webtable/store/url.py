"""Store URLs, as far as all stores agree about them: a scheme, and what its store makes of the rest."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from webtable._shown.sizes import IN_BYTES, size_of
from webtable.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Collection

DEFAULT_TABLE = "pages"
PATH_SCHEME = "sqlite"
"""What a path is, which has no scheme."""
_HIDDEN = "***"
_LOGIN = re.compile(r"^(//)?.*@", re.DOTALL)
"""User and password, up to the last `@`, because a slash in a password may not be quoted."""
_LOCAL_LOGIN = re.compile(r"^(//).*:.*@", re.DOTALL)
"""The same where paths stand, which may have an `@` themselves."""
_LOCAL = ("file", "memory", PATH_SCHEME)
_PLAIN = "(?:table|timeout|max_cell)=[^&]*"
_PLAIN_OF_HBASE = (
    f"(?:{_PLAIN}|(?:thrift2|pool|transport|protocol|ca|cert|key)=[^&]*|auth=(?:basic|bearer|hook|negotiate))"
)
_IN_TEXT = re.compile(r"(?<![\w+.-])([A-Za-z][\w+.-]+)://(\S+)")
_AFTER_A_URL = "'\")]},.;:"


@dataclass(frozen=True, slots=True)
class StoreURL:
    """A store URL taken apart: `text` to be shown, its `scheme`, and the `rest` after the colon.

    Whatever shows a URL shows its text: `***` stands in it for user and password, and for the values of options that
    webtable does not know. What has no scheme is a path (`is_path`): the rest is all of it then, and nothing in it
    means anything else.
    """

    text: str
    scheme: str
    rest: str = field(repr=False)
    is_path: bool = False

    @classmethod
    def parse(cls, url: str | os.PathLike[str]) -> StoreURL:
        """Return the parts of *url*; raises `InvalidArgument` where it is neither a path nor a text."""
        if not isinstance(url, str | os.PathLike) or not isinstance(os.fspath(url), str):
            raise InvalidArgument(f"store must be a path or a URL, and is of the type {type(url).__name__}")
        text = os.fspath(url)
        scheme, colon, rest = text.partition(":")
        # A scheme of one letter is none, unless it may be the user of a URL whose scheme was forgotten.
        if isinstance(url, os.PathLike) or not colon or "/" in scheme or (len(scheme) < 2 and "@" not in rest):
            return cls(text, PATH_SCHEME, text, is_path=True)
        return cls(f"{scheme}:{_shown(scheme, rest)}", scheme, rest)

    @property
    def typed(self) -> str:
        """The URL as a printed command has it: without user and password, which `auth=basic` says where to find."""
        before, hidden, after = self.text.partition(f"//{_HIDDEN}@")
        if not hidden:
            return self.text
        is_told = "auth=" in after or not self.scheme.startswith("hbase+")
        return f"{before}//{after}" + ("" if is_told else f"{'&' if '?' in after else '?'}auth=basic")

    @property
    def place(self) -> str:
        """What is in front of the options: of the rest, where these are some that webtable knows, else all of it."""
        return self.rest.removesuffix(_plain_options(self.scheme, self.rest))

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


def without_secrets(message: str) -> str:
    """Return *message* with each URL in it as it may be shown: whatever a user has typed may be quoted in it.

    >>> without_secrets("No such command 'hbase+https://crawler:secret@gateway/crawl'")
    "No such command 'hbase+https://***@gateway/crawl'"
    """
    return _IN_TEXT.sub(_shown_in_text, message)


def _shown_in_text(found: re.Match[str]) -> str:
    scheme, rest = found[1], found[2].rstrip(_AFTER_A_URL)
    after = found[2][len(rest) :]
    if scheme.lower() in ("http", "https"):  # of a page, as a rule: whatever is in its path is no password
        host, slash, path = rest.partition("/")
        return f"{scheme}://{_LOGIN.sub(f'{_HIDDEN}@', host)}{slash}{path}{after}"
    return f"{scheme}:{_shown(scheme, f'//{rest}')}{after}"


def _shown(scheme: str, rest: str) -> str:
    """Return the *rest* of a URL with `***` for user and password, and for values of options that are not known."""
    options = _plain_options(scheme, rest)
    login = _LOCAL_LOGIN if scheme in _LOCAL else _LOGIN
    place, mark, unknown = login.sub(rf"\1{_HIDDEN}@", rest.removesuffix(options)).partition("?")
    return f"{place}{mark}{'&'.join(_named(scheme, option) for option in unknown.split('&'))}{options}"


def _named(scheme: str, option: str) -> str:
    if _plain_options(scheme, f"?{option}"):
        return option
    name, equals, _ = option.partition("=")
    return f"{name}={_HIDDEN}" if equals else option


def _plain_options(scheme: str, rest: str) -> str:
    """Return the end of *rest* that is options which are known, from their `?` on."""
    one = _PLAIN_OF_HBASE if scheme.startswith("hbase") else _PLAIN
    found = re.search(rf"\?{one}(?:&{one})*&?\Z", rest)
    return "" if found is None else found[0]
