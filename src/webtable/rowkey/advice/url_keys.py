"""Declared keys as designs for URLs, to be compared with the web key and its salts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from webtable.errors import InvalidArgument
from webtable.rowkey.advice.design import Design, natural_splits
from webtable.rowkey.advice.remedies import remedies_of
from webtable.rowkey.composite import CompositeKey
from webtable.rowkey.conditions import below, starting_with
from webtable.rowkey.key import HashedKey, RowKey
from webtable.rowkey.urls import split_url
from webtable.rowkey.web import WebKey, host_and_rest
from webtable.rowkey.web_salt import registered_domain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webtable.rowkey.ranges import KeyRange

URL_VALUES = ("url", "host", "domain", "rest", "scheme", "port", "path", "query")
"""What a URL gives to a key, by name; `rest` is what the web key has behind the host."""
_FIRST = datetime(2026, 1, 1, tzinfo=UTC)
_CRAWL = timedelta(days=64)
_PORTS = {"http": 80, "https": 443}


class ArrivedURL(str):
    """A URL with the moment `at` which it came, for keys that hold a time."""

    at: datetime


def in_time(urls: Sequence[str]) -> list[str]:
    """Return *urls* with moments, evenly over 64 days: a day for each window, unless the caller says otherwise."""
    return [_arrived(url, _FIRST + _CRAWL * number / len(urls)) for number, url in enumerate(urls)]


def _arrived(url: str, at: datetime) -> ArrivedURL:
    made = ArrivedURL(url)
    made.at = at
    return made


def url_design(name: str, key: RowKey | WebKey) -> Design:
    """Return the design of a declared key for URLs, which is asked what the web key is asked.

    Its values go by the names of `URL_VALUES`: `host`, `path` and so on. A field that holds a time may have any name;
    since URLs come without times, they get them in the order of their arrival, evenly over 64 days. The latest version
    of a page is a scan then. Raises `InvalidArgument` for a key that takes anything else.
    """
    declared = key.parts if isinstance(key, WebKey) else key
    if not isinstance(declared, RowKey):
        raise InvalidArgument(f"designs: {name!r} must be a declared key, and is of the type {type(key).__name__}")
    times = _times_of(declared)
    if unknown := no_url_values(declared):
        raise InvalidArgument(
            f"designs: {name!r} is made of {', '.join(declared.names)}, and a URL gives no {', '.join(unknown)}; it "
            f"gives {', '.join(URL_VALUES)}, and its arrival for a time"
        )
    asked = _Asked(declared, times)
    remedies = remedies_of(declared)
    leads_with_url = isinstance(declared, CompositeKey) and remedies.owners == ("url",) and "url" in declared.fields
    remedy = (
        "a salt of url in front spreads the pages of one host, which become a range for each bucket"
        if leads_with_url
        else remedies.of_owner
    )
    by_domain = remedies.owners == ("domain",)
    return Design(
        name,
        declared.declaration,
        lambda url: declared.encode(**asked.values(url)),
        {
            "point": lambda url: declared.ranges(**asked.values(url)),
            "host": asked.host,
            "subtree": asked.subtree,
            "directory": asked.directory,
            "latest": asked.latest,
        },
        "domain" if by_domain else "host",
        (lambda url: registered_domain(_host_of(url))) if by_domain else _host_of,
        natural_splits(declared),
        remedy,
        remedies.of_order,
        note="its times are made up: the URLs come evenly over 64 days" if times else "",
        gets=frozenset({"point"} if times else {"point", "latest"}),
        takes_urls=True,
        takes_times=bool(times),
    )


def no_url_values(key: RowKey) -> list[str]:
    """Return the names of the values of *key* that a URL does not give."""
    times = _times_of(key)
    return [name for name in key.names if name not in URL_VALUES and name not in times]


def _times_of(key: RowKey) -> frozenset[str]:
    """Return the names of the fields that hold a time."""
    inner: Any = key.key if isinstance(key, HashedKey) else key
    fields = getattr(inner, "fields", {})
    return frozenset(name for name, field in fields.items() if field.newest is not None and name not in URL_VALUES)


class _Asked:
    """The questions to a key, by the values that a URL gives it."""

    def __init__(self, key: RowKey, times: frozenset[str]) -> None:
        self._key = key
        self._times = times
        self._makers: dict[str, Callable[[str], Any]] = {
            name: maker for name, maker in _MAKERS.items() if name in key.names
        }

    def values(self, url: str) -> dict[str, Any]:
        """Return all values of the key."""
        moments = dict.fromkeys(self._times, getattr(url, "at", _FIRST))
        return {name: make(url) for name, make in self._makers.items()} | moments

    def host(self, url: str) -> list[KeyRange]:
        if "host" not in self._key.names and "url" in self._key.names:
            parts = split_url(url)
            inside = {"url": starting_with(str(parts._replace(path="/", query="")))}
            return self._key.ranges(**self._of("domain", url) | inside)
        return self._key.ranges(**{"host": _host_of(url)} | self._of("domain", url))

    def subtree(self, url: str) -> list[KeyRange]:
        domain = self._of("domain", url)
        if "host" not in self._key.names and domain:
            return self._key.ranges(**domain)
        return self._key.ranges(**{"host": below(registered_domain(_host_of(url)))} | domain)

    def directory(self, url: str) -> list[KeyRange]:
        parts = split_url(url)
        folder = parts.path[: parts.path.rfind("/") + 1]
        if "path" in self._key.names:
            inside = {"path": starting_with(folder)}
        elif "url" in self._key.names:
            inside = {"url": starting_with(str(parts._replace(path=folder, query="")))}
        else:
            inside = {"rest": starting_with(folder[1:])}
        return self._key.ranges(**self._of("domain", url) | self._of("host", url) | inside)

    def latest(self, url: str) -> list[KeyRange]:
        if not self._times:
            return self._key.ranges(**self.values(url))
        return self._key.latest(**{name: make(url) for name, make in self._makers.items()}).ranges

    def _of(self, name: str, url: str) -> dict[str, Any]:
        return {name: self._makers[name](url)} if name in self._makers else {}


def _host_of(url: str) -> str:
    return host_and_rest(url)[0]


def _port_of(url: str) -> int:
    parts = split_url(url)
    return _PORTS[parts.scheme] if parts.port is None else parts.port


_MAKERS: dict[str, Callable[[str], Any]] = {
    "url": lambda url: str(split_url(url)),
    "host": _host_of,
    "domain": lambda url: registered_domain(_host_of(url)),
    "rest": lambda url: host_and_rest(url)[1],
    "scheme": lambda url: split_url(url).scheme,
    "port": _port_of,
    "path": lambda url: split_url(url).path,
    "query": lambda url: split_url(url).query,
}
