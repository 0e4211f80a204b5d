"""Parsing of store URLs as far as all stores have it in common: the scheme, the options, and secrets."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import parse_qsl, quote, unquote

from webtable.display.text import IN_BYTES, size_of
from webtable.errors import InvalidArgument
from webtable.schema.table import check_table_name

if TYPE_CHECKING:
    from collections.abc import Collection

DEFAULT_TABLE = "pages"
PATH_SCHEME = "sqlite"
"""The scheme of a path, which has none."""
HIDDEN: Final = "***"
"""What stands in place of a secret."""
_LOGIN = re.compile(r"^(//)?.*@", re.DOTALL)
"""User and password, up to the last `@`, because a slash in a password may not be quoted."""
_LOCAL_LOGIN = re.compile(r"^(//)[^:]*:.*@", re.DOTALL)
"""The same for schemes with paths, which may contain an `@`."""
_LOCAL = ("file", "memory", PATH_SCHEME)
_PLAIN = "(?:table|timeout|max_cell)=[^&]*"
_PLAIN_OF_HBASE = (
    f"(?:{_PLAIN}|(?:thrift2|pool|transport|protocol|ca|cert|key|parent|registry|rename|user|principal)=[^&]*"
    "|auth=(?:basic|bearer|hook|kerberos|negotiate))"
)
_IN_TEXT = re.compile(r"(?<![\w+.-])([A-Za-z][\w+.-]+)://(\S+)")
_AFTER_A_URL = "'\")]},.;:"


@dataclass(frozen=True, slots=True)
class StoreURL:
    """A parsed store URL: `text` for display, its `scheme`, and the `rest` after the colon.

    The text has `***` in place of user and password, and of the values of options that webtable does not know; only the
    text may be displayed. A URL without a scheme is a path (`is_path`): the rest is all of it then, and no part of it
    has another meaning.
    """

    text: str
    scheme: str
    rest: str = field(repr=False)
    is_path: bool = False

    @classmethod
    def parse(cls, url: str | os.PathLike[str]) -> StoreURL:
        """Return the parts of *url*; raises `InvalidArgument` if it is neither a path nor a string."""
        if not isinstance(url, str | os.PathLike) or not isinstance(os.fspath(url), str):
            raise InvalidArgument(f"store must be a path or a URL, and is of the type {type(url).__name__}")
        text = os.fspath(url)
        scheme, colon, rest = text.partition(":")
        # One letter is not a scheme, but it may be the user of a URL whose scheme was forgotten.
        if isinstance(url, os.PathLike) or not colon or "/" in scheme or (len(scheme) < 2 and "@" not in rest):
            return cls(text, PATH_SCHEME, text, is_path=True)
        return cls(f"{scheme}:{_shown(scheme, rest)}", scheme, rest)

    @property
    def typed(self) -> str:
        """The URL for printed commands: without user and password, which `auth=basic` takes from elsewhere."""
        before, hidden, after = self.text.partition(f"//{HIDDEN}@")
        if not hidden:
            return self.text
        is_told = "auth=" in after or not self.scheme.startswith("hbase+")
        return f"{before}//{after}" + ("" if is_told else f"{'&' if '?' in after else '?'}auth=basic")

    @property
    def anywhere(self) -> str:
        """The URL for another process, wherever it starts: `typed`, with an absolute path."""
        if self.scheme != PATH_SCHEME:
            return self.typed
        path, mark, query = (quote(self.rest), "", "") if self.is_path else self.rest.removeprefix("//").partition("?")
        return f"{PATH_SCHEME}:{quote(str(Path(unquote(path)).absolute()))}{mark}{query}"

    @property
    def place(self) -> str:
        """The rest without its options, if webtable knows these, else all of it."""
        return self.rest.removesuffix(_plain_options(self.scheme, self.rest))

    def table(self, path: str) -> str:
        """Return the table of HBase that *path* names; raises `InvalidArgument` for a name that HBase refuses."""
        table = unquote(path.strip("/")) or DEFAULT_TABLE
        try:
            check_table_name(table)
        except InvalidArgument as exc:
            raise InvalidArgument(f"store={self.text!r}: {exc}") from None
        return table

    def options(self, query: str, allowed: Collection[str]) -> URLOptions:
        """Return the options in *query*, the part after the `?`; raises `InvalidArgument` for an unknown option."""
        options = URLOptions(parse_qsl(query, keep_blank_values=True))
        unknown = sorted(set(options) - set(allowed))
        if unknown:
            names = ", ".join(sorted(allowed))
            raise InvalidArgument(f"store={self.text!r}: unknown option {unknown[0]!r}; {self.scheme} has {names}")
        return options


class URLOptions(dict[str, str]):
    """The options of a store URL, as text."""

    def number(self, option: str, default: float) -> float:
        """Return the option as a positive number; raises `InvalidArgument` if it is not one."""
        text = self.get(option)
        try:
            value = default if text is None else float(text)
        except ValueError:
            value = -1.0
        if not 0 < value < float("inf"):
            raise InvalidArgument(f"store: {option}={text!r} must be a number above 0")
        return value

    def size(self, option: str) -> int | None:
        """Return the option as a number of bytes, None if missing; raises `InvalidArgument` if it is not a size."""
        text = self.get(option)
        if text is None:
            return None
        size = size_of(text)
        if size is None:
            raise InvalidArgument(f"store: {option}={text!r} {IN_BYTES}")
        return size


class HostPort(NamedTuple):
    """The host and port of a gateway or a server."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def without_secrets(message: str) -> str:
    """Return *message* with the secrets of all URLs in it replaced, since it may quote what a user has typed.

    >>> without_secrets("No such command 'hbase+https://crawler:secret@gateway/crawl'")
    "No such command 'hbase+https://***@gateway/crawl'"
    """
    return _IN_TEXT.sub(_shown_in_text, message)


def _shown_in_text(url: re.Match[str]) -> str:
    scheme, rest = url[1], url[2].rstrip(_AFTER_A_URL)
    after = url[2][len(rest) :]
    if scheme.lower() in ("http", "https"):  # usually of a page: its path contains no password
        host, slash, path = rest.partition("/")
        return f"{scheme}://{_LOGIN.sub(f'{HIDDEN}@', host)}{slash}{path}{after}"
    return f"{scheme}:{_shown(scheme, f'//{rest}')}{after}"


def _shown(scheme: str, rest: str) -> str:
    """Return the *rest* of a URL with `***` for user, password and values of unknown options."""
    # Known options are cut off first: a `@` in one of them is not the end of a login.
    options = _plain_options(scheme, rest)
    login = _LOCAL_LOGIN if scheme in _LOCAL else _LOGIN
    place, mark, unknown = login.sub(rf"\1{HIDDEN}@", rest.removesuffix(options)).partition("?")
    return f"{place}{mark}{'&'.join(_named(scheme, option) for option in unknown.split('&'))}{options}"


def _named(scheme: str, option: str) -> str:
    if _plain_options(scheme, f"?{option}"):
        return option
    name, equals, _ = option.partition("=")
    return f"{name}={HIDDEN}" if equals else option


def _plain_options(scheme: str, rest: str) -> str:
    """Return the known options at the end of *rest*, with their `?`."""
    option = _PLAIN_OF_HBASE if scheme.startswith("hbase") else _PLAIN
    # Anchored at the end: a password may have a `?` too.
    match = re.search(rf"\?{option}(?:&{option})*&?\Z", rest)
    return "" if match is None else match[0]
