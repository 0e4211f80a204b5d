"""Designs for URLs: the web key with each kind of salt, and declared keys with the values of URLs."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from webtable.errors import InvalidArgument, UnknownField
from webtable.rowkey.advice.design import Design, natural_splits, remedies_of
from webtable.rowkey.composite import CompositeKey
from webtable.rowkey.fields.domain import ReversedDomain
from webtable.rowkey.fields.field import Condition, Constant, below, starting_with
from webtable.rowkey.fields.salts import RandomSalt
from webtable.rowkey.fields.text import Text
from webtable.rowkey.key import HashedKey, RowKey
from webtable.rowkey.urls import split_url
from webtable.rowkey.web import WebKey, host_and_rest, url_of
from webtable.rowkey.web_salt import Salt, registered_domain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from webtable.rowkey.ranges import KeyRange

WEB_DESIGNS = ("host", "domain", "url", "none", "hash", "random")
"""The names of the designs for URLs: the four salts of the web key, a hash of the whole URL, and a random salt."""

_BY_URL = "Salt.url() spreads the pages of one host over all salts"
_SAME_PAGES = "its pages are distributed already; no salt distributes repeated writes of the same ones"
_REMEDIES = {
    "host": _BY_URL,
    "domain": "Salt.url() spreads all its pages, Salt.host() its hosts where it has many",
    "url": _SAME_PAGES,
    "none": f"{_BY_URL}; Salt.host() would keep them together",
    "hash": _SAME_PAGES,
    "random": "more buckets",
}
_REMEDIES_OF_ORDER = {
    "none": "Salt.host() distributes neighbouring hosts, Salt.url() also the pages of one host",
    "host": _BY_URL,
    "domain": _BY_URL,
}
_NOTES = {
    "domain": "the version of the Public Suffix List becomes part of the table: another one would look elsewhere",
    "hash": "a key does not lead back to its URL",
    "random": "a page that is put again may be there twice, below two salts",
}
_BUCKETS = tuple(f"{number:x}" for number in range(16))

URL_VALUES = ("url", "host", "domain", "rest", "scheme", "port", "path", "query")
"""The values of a URL for keys, by name; `rest` is the part of the web key after the host."""
_FIRST = datetime(2026, 1, 1, tzinfo=UTC)
_CRAWL = timedelta(days=64)
_PORTS = {"http": 80, "https": 443}


class ArrivedURL(str):
    """A URL with its time of arrival, `at`, for keys that hold a time."""

    at: datetime


def in_time(urls: Sequence[str]) -> list[str]:
    """Return *urls* with times of arrival, evenly over 64 days: one day for each window, by default."""
    return [_arrived(url, _FIRST + _CRAWL * number / len(urls)) for number, url in enumerate(urls)]


def _arrived(url: str, at: datetime) -> ArrivedURL:
    made = ArrivedURL(url)
    made.at = at
    return made


def url_value(url: str, name: str) -> Any:
    """Return the value of *url* with this name; its time of arrival for a name that is not in `URL_VALUES`."""
    return MAKERS[name](url) if name in MAKERS else getattr(url, "at", _FIRST)


def times_of(key: RowKey) -> frozenset[str]:
    """Return the names of the fields of *key* that hold a time."""
    inner: Any = key.key if isinstance(key, HashedKey) else key
    fields = getattr(inner, "fields", {})
    return frozenset(name for name, field in fields.items() if field.newest is not None and name not in URL_VALUES)


def url_conditions(key: RowKey) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return a function that converts conditions on values of a URL to those on values of *key*.

    It raises `UnknownField` for a value that the key lacks and from which nothing follows. A key without a time has all
    versions of a page in the cells of one row.
    """
    times = times_of(key)

    def conditions(given: Mapping[str, Any]) -> dict[str, Any]:
        known = _following(given)
        is_page = _is_one(known.get("url"))
        when = [condition for name, condition in given.items() if name not in URL_VALUES]
        if when:
            known |= dict.fromkeys(times, when[0])
        if _is_one(given.get("domain")) and "domain" not in key.names and "host" not in known:
            known["host"] = below(given["domain"])
        taken = {name: known[name] for name in key.names if name in known}
        for name in given:
            follows = name in taken or is_page or (name == "domain" and "host" in taken)
            if not (follows if name in URL_VALUES else times or is_page):
                raise UnknownField(f"{name!r} is not a field of the key; it has {', '.join(key.names)}")
        return taken

    return conditions


def _following(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return *given*, with the values that follow from them."""
    known = {name: given[name] for name in URL_VALUES if name in given}
    values = {name: value for name, value in known.items() if _is_one(value)}
    if values.keys() >= {"host", "rest"}:
        values["url"] = url_of(values["host"], values["rest"])
    if "url" in values:
        return {name: make(values["url"]) for name, make in MAKERS.items()} | known
    if "host" in values:
        values.setdefault("domain", registered_domain(values["host"]))
    return values | known


def _is_one(value: Any) -> bool:
    """Whether *value* is a single value, neither a condition nor missing."""
    return value is not None and not isinstance(value, Condition)


def host_of(url: str) -> str:
    """Return the host of *url*."""
    return host_and_rest(url)[0]


def _port_of(url: str) -> int:
    parts = split_url(url)
    return _PORTS[parts.scheme] if parts.port is None else parts.port


MAKERS: dict[str, Callable[[str], Any]] = {
    "url": lambda url: str(split_url(url)),
    "host": host_of,
    "domain": lambda url: registered_domain(host_of(url)),
    "rest": lambda url: host_and_rest(url)[1],
    "scheme": lambda url: split_url(url).scheme,
    "port": _port_of,
    "path": lambda url: split_url(url).path,
    "query": lambda url: split_url(url).query,
}


def web_design(name: str, *, digits: int = 2) -> Design:
    """Return the design for URLs with this name, one of `WEB_DESIGNS`; the four salts have *digits* hex digits.

    The questions are for a page (point), the pages of its host, of its registered domain with all hosts below it
    (subtree) and of its directory, and its latest version, which HBase keeps in the cells of one row. Raises
    `InvalidArgument`.
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
    """Return the design of *key*, which has `host` and `rest`, with the texts for its *name*."""

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
    """Return the design of a declared key for URLs, with the questions of the web key.

    Its values have the names in `URL_VALUES`: `host`, `path` and so on. A field that holds a time may have any name;
    because URLs come without times, they get times in the order of arrival, evenly over 64 days. The latest version of
    a page is then found by a scan. Raises `InvalidArgument` for a key with any other value.
    """
    declared = key.parts if isinstance(key, WebKey) else key
    if not isinstance(declared, RowKey):
        raise InvalidArgument(f"designs: {name!r} must be a declared key, but is of the type {type(key).__name__}")
    times = times_of(declared)
    if unknown := no_url_values(declared):
        raise InvalidArgument(
            f"designs: {name!r} is made of {', '.join(declared.names)}, and a URL has no {', '.join(unknown)}; it "
            f"has {', '.join(URL_VALUES)}, and its arrival for a time"
        )
    asked = _URLQuestions(declared, times)
    remedies = remedies_of(declared)
    leads_with_url = isinstance(declared, CompositeKey) and remedies.owners == ("url",) and "url" in declared.fields
    remedy = (
        "a salt of url at the beginning distributes the pages of one host, which become a range for each bucket"
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
    """Return the names of the values of *key* that a URL does not have."""
    times = times_of(key)
    return [name for name in key.names if name not in URL_VALUES and name not in times]


class _URLQuestions:
    """The questions of a key for URLs."""

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
