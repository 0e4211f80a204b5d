"""Declared keys as designs for URLs, to be compared with the web key and its salts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webtable.errors import InvalidArgument
from webtable.rowkey.advice.design import Design, natural_splits
from webtable.rowkey.advice.remedies import remedies_of
from webtable.rowkey.advice.url_values import MAKERS, URL_VALUES, host_of, times_of, url_conditions, url_value
from webtable.rowkey.composite import CompositeKey
from webtable.rowkey.fields.field import below, starting_with
from webtable.rowkey.key import RowKey
from webtable.rowkey.urls import split_url
from webtable.rowkey.web import WebKey
from webtable.rowkey.web_salt import registered_domain

if TYPE_CHECKING:
    from collections.abc import Callable

    from webtable.rowkey.ranges import KeyRange


def url_design(name: str, key: RowKey | WebKey) -> Design:
    """Return the design of a declared key for URLs, which is asked what the web key is asked.

    Its values go by the names of `URL_VALUES`: `host`, `path` and so on. A field that holds a time may have any name;
    since URLs come without times, they get them in the order of their arrival, evenly over 64 days. The latest version
    of a page is a scan then. Raises `InvalidArgument` for a key that takes anything else.
    """
    declared = key.parts if isinstance(key, WebKey) else key
    if not isinstance(declared, RowKey):
        raise InvalidArgument(f"designs: {name!r} must be a declared key, and is of the type {type(key).__name__}")
    times = times_of(declared)
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
        (lambda url: registered_domain(host_of(url))) if by_domain else host_of,
        natural_splits(declared),
        remedy,
        remedies.of_order,
        note="its times are made up: the URLs come evenly over 64 days" if times else "",
        gets=frozenset({"point"} if times else {"point", "latest"}),
        takes_urls=True,
        takes_times=bool(times),
        key=declared,
        conditions=url_conditions(declared),
    )


def no_url_values(key: RowKey) -> list[str]:
    """Return the names of the values of *key* that a URL does not give."""
    times = times_of(key)
    return [name for name in key.names if name not in URL_VALUES and name not in times]


class _Asked:
    """The questions to a key, by the values that a URL gives it."""

    def __init__(self, key: RowKey, times: frozenset[str]) -> None:
        self._key = key
        self._times = times
        self._makers: dict[str, Callable[[str], Any]] = {
            name: maker for name, maker in MAKERS.items() if name in key.names
        }

    def values(self, url: str) -> dict[str, Any]:
        """Return all values of the key."""
        return {name: url_value(url, name) for name in (*self._makers, *self._times)}

    def host(self, url: str) -> list[KeyRange]:
        if "host" not in self._key.names and "url" in self._key.names:
            parts = split_url(url)
            inside = {"url": starting_with(str(parts._replace(path="/", query="")))}
            return self._key.ranges(**self._of("domain", url) | inside)
        return self._key.ranges(**{"host": host_of(url)} | self._of("domain", url))

    def subtree(self, url: str) -> list[KeyRange]:
        domain = self._of("domain", url)
        if "host" not in self._key.names and domain:
            return self._key.ranges(**domain)
        return self._key.ranges(**{"host": below(registered_domain(host_of(url)))} | domain)

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
