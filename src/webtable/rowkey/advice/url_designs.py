"""Designs for URLs: the web key with each of its salts, and declared keys to compare with them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from webtable.errors import InvalidArgument
from webtable.rowkey.advice.design import Design, natural_splits, remedies_of
from webtable.rowkey.advice.url_values import MAKERS, URL_VALUES, host_of, times_of, url_conditions, url_value
from webtable.rowkey.composite import CompositeKey
from webtable.rowkey.fields.domain import ReversedDomain
from webtable.rowkey.fields.field import below, starting_with
from webtable.rowkey.fields.salts import RandomSalt
from webtable.rowkey.fields.text import Constant, Text
from webtable.rowkey.key import HashedKey, RowKey
from webtable.rowkey.urls import split_url
from webtable.rowkey.web import WebKey, host_and_rest
from webtable.rowkey.web_salt import Salt, registered_domain

if TYPE_CHECKING:
    from collections.abc import Callable

    from webtable.rowkey.ranges import KeyRange


WEB_DESIGNS = ("host", "domain", "url", "none", "hash", "random")
"""The names of the designs for URLs: the four salts of the web key, a hash of the whole URL, and a random salt."""

_BY_URL = "Salt.url() spreads the pages of one host over all salts"
_SAME_PAGES = "its pages are spread already; the same ones again and again are parted by no salt"
_REMEDIES = {
    "host": _BY_URL,
    "domain": "Salt.url() spreads all its pages, Salt.host() its hosts where it has many",
    "url": _SAME_PAGES,
    "none": f"{_BY_URL}; Salt.host() would keep them together",
    "hash": _SAME_PAGES,
    "random": "more buckets",
}
_REMEDIES_OF_ORDER = {
    "none": "Salt.host() parts neighbouring hosts, Salt.url() the pages of one host as well",
    "host": _BY_URL,
    "domain": _BY_URL,
}
_NOTES = {
    "domain": "the version of the Public Suffix List becomes part of the table: another one would look elsewhere",
    "hash": "a key does not lead back to its URL",
    "random": "a page that is put again may be there twice, below two salts",
}
_BUCKETS = tuple(f"{number:x}" for number in range(16))


def web_design(name: str, *, digits: int = 2) -> Design:
    """Return the design for URLs of that name, one of `WEB_DESIGNS`; the four salts have so many hex *digits*.

    Asked are a page (point), the pages of its host, of its registered domain with all below it (subtree) and of its
    directory, and its latest version, which HBase keeps in the cells of one row. Raises `InvalidArgument`.
    """
    if name == "hash":
        return _web_design(name, HashedKey(WebKey(Salt.none()).parts, algorithm="md5", form="bytes"))
    if name == "random":
        host, rest = ReversedDomain("host", terminator=b"/"), Text("rest")
        return _web_design(name, CompositeKey(RandomSalt(_BUCKETS), Constant(b":"), host, rest))
    if name in WEB_DESIGNS:
        key = WebKey(Salt.none() if name == "none" else Salt(name, digits))  # type: ignore[arg-type]
        return replace(_web_design(name, key.parts), encode=key.encode)
    raise InvalidArgument(f"designs: {name!r} must be one of {', '.join(WEB_DESIGNS)}")


def _web_design(name: str, key: RowKey) -> Design:
    """Return the design of *key*, which is made of `host` and `rest`, with what is known of it by its *name*."""

    def encode(url: str) -> bytes:
        host, rest = host_and_rest(url)
        return key.encode(host=host, rest=rest)

    by_domain = name == "domain"
    return replace(
        url_design(name, key),
        encode=encode,
        owners="domain" if by_domain else "host",
        owner=_domain_of if by_domain else host_of,
        remedy=_REMEDIES[name],
        remedy_of_order=_REMEDIES_OF_ORDER.get(name, ""),
        note=_NOTES.get(name, ""),
    )


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
    asked = _URLQuestions(declared, times)
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
        _domain_of if by_domain else host_of,
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


def _domain_of(url: str) -> str:
    return registered_domain(host_of(url))


def no_url_values(key: RowKey) -> list[str]:
    """Return the names of the values of *key* that a URL does not give."""
    times = times_of(key)
    return [name for name in key.names if name not in URL_VALUES and name not in times]


class _URLQuestions:
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
        return self._key.ranges(**{"host": below(_domain_of(url))} | domain)

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
