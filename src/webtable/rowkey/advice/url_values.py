"""What a URL gives to a key, by name; and what follows from some of its values for others."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from webtable.errors import UnknownField
from webtable.rowkey.fields.field import Condition, below
from webtable.rowkey.key import HashedKey, RowKey
from webtable.rowkey.urls import split_url
from webtable.rowkey.web import host_and_rest, url_of
from webtable.rowkey.web_salt import registered_domain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


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


def url_value(url: str, name: str) -> Any:
    """Return the value of *url* with that name, its arrival for a name that is none of `URL_VALUES`."""
    return MAKERS[name](url) if name in MAKERS else getattr(url, "at", _FIRST)


def times_of(key: RowKey) -> frozenset[str]:
    """Return the names of the fields of *key* that hold a time."""
    inner: Any = key.key if isinstance(key, HashedKey) else key
    fields = getattr(inner, "fields", {})
    return frozenset(name for name, field in fields.items() if field.newest is not None and name not in URL_VALUES)


def url_conditions(key: RowKey) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return what makes of conditions on values of a URL those on the values of *key* that follow from them.

    It raises `UnknownField` for a value that is none of the key's and that nothing follows from. A key without a time
    has all versions of a page in the cells of one row.
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
                raise UnknownField(f"{name!r} is no field of the key; it has {', '.join(key.names)}")
        return taken

    return conditions


def _following(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of *given* with those that follow from them."""
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
    """Whether *value* is one, and neither a condition nor nothing."""
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
