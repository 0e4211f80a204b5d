"""Designs of row keys: a key with its questions, its initial split points, and fixes for hot regions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from webtable.errors import InvalidArgument, UnknownField
from webtable.rowkey.composite import CompositeKey
from webtable.rowkey.fields.domain import ReversedDomain
from webtable.rowkey.fields.field import Condition, Constant, Field, Part, below, starting_with
from webtable.rowkey.fields.hashes import Hash, RandomSalt, Spread
from webtable.rowkey.fields.modifiers import Reversed
from webtable.rowkey.fields.numbers import Digits, Hex, Int, UInt
from webtable.rowkey.fields.text import Text
from webtable.rowkey.key import HashedKey, RowKey
from webtable.rowkey.ranges import KeyRange, hex_split_points, sample_split_points, split_points, uniform_split_points
from webtable.rowkey.urls import split_url
from webtable.rowkey.web import Salt, WebKey, host_and_rest, registered_domain, url_of

Ask = Callable[[Any], list[KeyRange]]

POINT = "point"
"""The question for one row, by all values of its key."""
_SAME_ROWS = "these are repeated writes of the same rows, which no salt or hash distributes"


@dataclass(frozen=True)
class Design:
    """A row key to be judged.

    `encode` makes the key of an item (a URL, or a mapping of values). `questions` are the named questions, each asked
    with an item; it raises `NoRange` if the key cannot answer it. All other questions are asked of `key`, with
    `conditions` converting conditions on the values of an item. `owner` returns the name of the owner of an item, one
    of the `owners` ("host"), by which a hot region is described. `splits` returns the split points for a number of
    regions and a sample of keys. `fix` is for one owner that makes a region hot, `remedy_of_order` for keys that
    come in (or against) their sort order, and `note` is anything else to know.
    """

    name: str
    declaration: str
    encode: Callable[[Any], bytes]
    questions: Mapping[str, Ask]
    owners: str
    owner: Callable[[Any], str]
    splits: Splits
    fix: str
    key: RowKey
    remedy_of_order: str = "a salt or a hash at the beginning would distribute them"
    note: str = ""
    gets: frozenset[str] = frozenset({"point", "latest"})
    """The questions that are gets of whole keys, many in a call, instead of scans."""
    takes_urls: bool = False
    """Whether the items are URLs."""
    takes_times: bool = False
    """Whether the URLs must have times of arrival (`url_design`)."""
    conditions: Callable[[Mapping[str, Any]], dict[str, Any]] = dict


def key_design(name: str, key: RowKey, item: Mapping[str, Any]) -> Design:
    """Return the design of a declared key for mappings of values such as *item*; values that the key lacks are ignored.

    Its named question is for a row with all its values (point), unless a value has that name.
    """

    def known(values: Mapping[str, Any]) -> dict[str, Any]:
        return {field: values[field] for field in key.names if field in values}

    # Rows of one owner go to one place, as far as the key begins with it.
    fixes = remedies_of(key)
    owners = [name for name in fixes.owners if name in item] or list(item)[:1]
    return Design(
        name,
        key.declaration,
        lambda values: key.encode(**known(values)),
        {} if POINT in item else {POINT: lambda values: key.ranges(**known(values))},
        " and ".join(owners),
        lambda values: ", ".join(f"{name}={values[name]!r}" for name in owners),
        natural_splits(key),
        fixes.of_owner,
        key,
        fixes.of_order,
        gets=frozenset({POINT} - item.keys()),
    )


class Splits(NamedTuple):
    """The split points of a new table: `points` returns them for a number of regions and a sample of its keys.

    `by_sample` says that they follow from the sample only, because the beginning of the key is not distributed.
    """

    points: Callable[[int, Sequence[bytes]], list[bytes]]
    by_sample: bool = False


def natural_splits(key: RowKey) -> Splits:
    """Return the splits of a new table for *key*: by its leading hash or salt, else by a sample of its keys."""
    # Hex and raw bytes are split differently: no key of hex is halfway between the bytes of 9 (39) and a (61).
    if isinstance(key, HashedKey):
        in_bytes = key.form == "bytes"
        return Splits(lambda regions, _: uniform_split_points(regions) if in_bytes else split_points(regions, 8))
    first = key.parts[0] if isinstance(key, CompositeKey) else None
    if isinstance(first, Hash) and first.form == "bytes":
        return Splits(lambda regions, _: uniform_split_points(min(regions, 256**first.width)))
    if isinstance(first, Hash):
        last = ("f" if first.case == "lower" else "F") * min(first.width, 8)
        return Splits(lambda regions, _: hex_split_points("0" * len(last), last, min(regions, 16 ** len(last))))
    if isinstance(first, Reversed) and isinstance(first.field, Digits):
        # The last digit comes first, and the last digits of sequential ids are evenly distributed.
        return Splits(lambda regions, _: [b"%03d" % (at * 1000 // regions) for at in range(1, min(regions, 1000))])
    if isinstance(first, Spread):
        salts = first.salts

        def first_salts(regions: int, _: Sequence[bytes]) -> list[bytes]:
            regions = min(regions, len(salts))  # a salt is the least that can be split off before there is data
            return [salts[region * len(salts) // regions] for region in range(1, regions)]

        return Splits(first_salts)
    return Splits(lambda regions, keys: sample_split_points(keys, regions), by_sample=True)


class Remedies(NamedTuple):
    """The fixes for keys that come in their sort order, and for one owner that makes a region hot.

    `owners` are the names of the values that make an owner: those that decide where a row goes.
    """

    of_order: str
    of_owner: str
    owners: tuple[str, ...]


def remedies_of(key: RowKey) -> Remedies:
    """Return the fixes for *key*."""
    if not isinstance(key, CompositeKey):
        return Remedies("", _SAME_ROWS, key.names)
    # Constant parts are the same for all rows, and decide nothing.
    parts = [part for part in key.parts if not isinstance(part, Constant)]
    first = parts[0] if parts else None
    if isinstance(first, RandomSalt):
        return Remedies("", f"more than its {len(first.salts)} buckets", _entities(key) or key.names)
    if isinstance(first, Hash | Spread):
        return _of_hashed(key, first)
    # Time is not an entity: what is written now is in one place, whatever the rows are about.
    if isinstance(first, Field) and first.newest is not None:
        return _of_time(key, first)
    return _of_entity(key, parts)


def _of_hashed(key: CompositeKey, first: Part) -> Remedies:
    """Return what helps a key that begins with a hash or a salt of some of its values."""
    kind = "hash" if isinstance(first, Hash) else "salt"
    others = _others(key, first)
    taken = _listed(first.takes)
    if not others:
        return Remedies("", _SAME_ROWS, first.takes)
    more = (
        f"the {kind} is of {taken} alone: a salt of {_listed((*first.takes, others[0]))} in its place spreads them, "
        f"and reads one {taken} by a range for each bucket"
    )
    return Remedies(more, more, first.takes)


def _of_time(key: CompositeKey, first: Field) -> Remedies:
    """Return the fixes for a key that begins with a time: all current writes go to one end of the table."""
    end = "first" if first.newest == "first" else "last"
    other = "last" if end == "first" else "first"
    entities = _entities(key)
    lead = f", or lead with {entities[0]}" if entities else ""
    fix = (
        f"{first.name!r} leads the key, so what is written now goes to the {end} region: put a salt or a hash before "
        f"it{lead}; reversing the time would only make it the {other} region"
    )
    return Remedies(fix, fix, entities[:1] or key.names[:1])


def _of_entity(key: CompositeKey, parts: list[Part]) -> Remedies:
    """Return the fixes for a key that begins with an entity: a name, a number, a host."""
    first = parts[0]
    (name, *_), others = first.takes, _others(key, first)
    field: Any = first.field if isinstance(first, Reversed) else first
    order = (
        f"a hash or a salt of {name} at the beginning distributes them: one {name} stays one range, several become one "
        "for each salt"
    )
    if isinstance(field, UInt | Int | Digits | Hex) and not isinstance(first, Reversed):
        order += f"; Reversed({type(field).__name__}({name!r}, …)) distributes them too, but leaves no ranges of {name}"
    if not others:
        return Remedies(order, _SAME_ROWS, first.takes)
    owner = (
        f"a hash of {name} alone would keep them together: a salt of {_listed((name, others[0]))} at the beginning "
        f"distributes them, and reads one {name} by a range for each bucket"
    )
    last = parts[-1]
    if isinstance(last, Field) and last.newest is not None:
        owner += f"; the order of {last.name} after it does not matter, newest first or last"
    return Remedies(order, owner, first.takes)


def _entities(key: CompositeKey) -> tuple[str, ...]:
    """Return the names of the fields that do not hold a time."""
    times = {name for name, field in key.fields.items() if field.newest is not None}
    return tuple(name for name in key.names if name not in times)


def _others(key: CompositeKey, first: Part) -> list[str]:
    """Return the names that are not in *first*, times last: rows differ more by entities than by times."""
    entities = _entities(key)
    return sorted((name for name in key.names if name not in first.takes), key=lambda name: name not in entities)


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(names)


# --- Designs for URLs -------------------------------------------------------------------------------------------------
#
# They are the web key with each kind of salt, and declared keys with the values of URLs.


WEB_DESIGNS = ("host", "domain", "url", "none", "hash", "random")
"""The names of the designs for URLs: the four salts of the web key, a hash of the whole URL, and a random salt."""

_BY_URL = "Salt.url() spreads the pages of one host over all salts"
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
    made = ArrivedURL(url)  # still a string, so that designs without a time need not know
    made.at = at
    return made


def url_value(url: str, name: str) -> Any:
    """Return the value of *url* with this name; its time of arrival for a name that is not in `URL_VALUES`."""
    return MAKERS[name](url) if name in MAKERS else getattr(url, "at", _FIRST)


def times_of(key: RowKey) -> frozenset[str]:
    """Return the names of the fields of *key* that hold a time."""
    inner: Any = key.key if isinstance(key, HashedKey) else key  # a hash of a key has its values
    fields = getattr(inner, "fields", {})
    return frozenset(name for name, field in fields.items() if field.newest is not None and name not in URL_VALUES)


def url_conditions(key: RowKey) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return a function that converts conditions on values of a URL to those on values of *key*.

    It raises `UnknownField` for a value that the key lacks and from which nothing follows. A key without a time has all
    versions of a page in the cells of one row.
    """
    times = times_of(key)

    def conditions(values: Mapping[str, Any]) -> dict[str, Any]:
        implied = _implied(values)
        is_page = _is_single(implied.get("url"))
        # A URL arrives once, so all times of a key are the same moment.
        when = [condition for name, condition in values.items() if name not in URL_VALUES]
        if when:
            implied |= dict.fromkeys(times, when[0])
        # A key of hosts answers for a domain by the range of all hosts below it.
        if _is_single(values.get("domain")) and "domain" not in key.names and "host" not in implied:
            implied["host"] = below(values["domain"])
        taken = {name: implied[name] for name in key.names if name in implied}
        for name in values:
            follows = name in taken or is_page or (name == "domain" and "host" in taken)
            if not (follows if name in URL_VALUES else times or is_page):
                raise UnknownField(f"{name!r} is not a field of the key; it has {', '.join(key.names)}")
        return taken

    return conditions


def _implied(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return *values* of a URL, with those that follow from them: of a URL all, of a host its domain."""
    own = {name: values[name] for name in URL_VALUES if name in values}
    single = {name: value for name, value in own.items() if _is_single(value)}
    if single.keys() >= {"host", "rest"}:
        single["url"] = url_of(single["host"], single["rest"])
    if "url" in single:
        return {name: make(single["url"]) for name, make in MAKERS.items()} | own
    if "host" in single:
        single.setdefault("domain", registered_domain(single["host"]))
    return single | own


def _is_single(value: Any) -> bool:
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
    # These two are for comparison: no web table can have them.
    if name == "hash":
        return _web_design(name, HashedKey(WebKey(Salt.none()).parts, algorithm="md5", form="bytes"))
    if name == "random":
        host, rest = ReversedDomain("host", terminator=b"/"), Text("rest")
        return _web_design(name, CompositeKey(RandomSalt(_BUCKETS), Constant(b":"), host, rest))
    if name in WEB_DESIGNS:
        key = WebKey(Salt.none() if name == "none" else Salt(name, digits))  # type: ignore[arg-type]
        return replace(_web_design(name, key.parts), encode=key.encode)
    raise InvalidArgument(f"designs={name!r} must be one of {', '.join(WEB_DESIGNS)}")


def _web_design(name: str, key: RowKey) -> Design:
    """Return the design of *key*, which has `host` and `rest`."""

    def encode(url: str) -> bytes:
        host, rest = host_and_rest(url)
        return key.encode(host=host, rest=rest)

    design = replace(url_design(name, key), encode=encode, note=_NOTES.get(name, ""))
    if name in ("host", "domain", "none"):
        design = replace(design, fix=_BY_URL, remedy_of_order=_BY_URL)
    # Its hash takes the host, but all hosts of a domain share it.
    return replace(design, owners="domain", owner=_domain_of) if name == "domain" else design


def url_design(name: str, key: RowKey | WebKey) -> Design:
    """Return the design of a declared key for URLs, with the questions of the web key.

    Its values have the names in `URL_VALUES`: `host`, `path` and so on. A field that holds a time may have any name;
    because URLs come without times, they get times in the order of arrival, evenly over 64 days. The latest version of
    a page is then found by a scan. Raises `InvalidArgument` for a key with any other value.
    """
    declared = key.parts if isinstance(key, WebKey) else key
    if not isinstance(declared, RowKey):
        raise InvalidArgument(f"designs={name!r} must be a declared key, but is of the type {type(key).__name__}")
    times = times_of(declared)
    if unknown := no_url_values(declared):
        raise InvalidArgument(
            f"designs={name!r} is made of {', '.join(declared.names)}, and a URL has no {', '.join(unknown)}; it "
            f"has {', '.join(URL_VALUES)}, and its arrival for a time"
        )
    questions = _URLQuestions(declared, times)
    fixes = remedies_of(declared)
    leads_with_url = isinstance(declared, CompositeKey) and fixes.owners == ("url",) and "url" in declared.fields
    fix = (
        "a salt of url at the beginning distributes the pages of one host, which become a range for each bucket"
        if leads_with_url
        else fixes.of_owner
    )
    by_domain = fixes.owners == ("domain",)
    return Design(
        name,
        declared.declaration,
        lambda url: declared.encode(**questions.values(url)),
        {
            "point": lambda url: declared.ranges(**questions.values(url)),
            "host": questions.host,
            "subtree": questions.subtree,
            "directory": questions.directory,
            "latest": questions.latest,
        },
        "domain" if by_domain else "host",
        _domain_of if by_domain else host_of,
        natural_splits(declared),
        fix,
        declared,
        fixes.of_order,
        note="its times are made up: the URLs come evenly over 64 days" if times else "",
        gets=frozenset({"point"} if times else {"point", "latest"}),
        takes_urls=True,
        takes_times=bool(times),
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
        # Without a host in the key its pages are the URLs that begin so, of one scheme and port.
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
        if not self._times:  # all versions of a page are in the cells of one row
            return self._key.ranges(**self.values(url))
        return self._key.latest(**{name: make(url) for name, make in self._makers.items()}).ranges

    def _of(self, name: str, url: str) -> dict[str, Any]:
        return {name: self._makers[name](url)} if name in self._makers else {}
