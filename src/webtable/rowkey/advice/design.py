"""What is compared: a row key with the questions that it will be asked, and the regions that it would begin with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from webtable.errors import InvalidArgument
from webtable.rowkey.advice.remedies import remedies_of
from webtable.rowkey.advice.url_values import host_of, url_conditions
from webtable.rowkey.composite import CompositeKey
from webtable.rowkey.fields.domain import ReversedDomain
from webtable.rowkey.fields.field import below, starting_with
from webtable.rowkey.fields.hashes import Hash
from webtable.rowkey.fields.modifiers import Reversed
from webtable.rowkey.fields.numbers import Digits
from webtable.rowkey.fields.salts import RandomSalt, Spread
from webtable.rowkey.fields.text import Constant, Text
from webtable.rowkey.key import HashedKey, RowKey
from webtable.rowkey.ranges import KeyRange
from webtable.rowkey.splits import hex_split_points, sample_split_points, split_points, uniform_split_points
from webtable.rowkey.web import WebKey, host_and_rest
from webtable.rowkey.web_salt import Salt, registered_domain

Ask = Callable[[Any], list[KeyRange]]

WEB_DESIGNS = ("host", "domain", "url", "none", "hash", "random")
"""The names of the designs for URLs: the four salts of the web key, a hash of the whole URL, and a random salt."""

POINT = "point"
"""The question for one row, by all that its key is made of."""
_BY_URL = "Salt.url() spreads the pages of one host over all salts"
_SAME_PAGES = "its pages are spread already; the same ones again and again are parted by no salt"
_BUCKETS = tuple(f"{number:x}" for number in range(16))


@dataclass(frozen=True)
class Design:
    """A row key to be judged.

    `encode` makes the key of an item (a URL, or a mapping of values), `questions` are what is asked of the table by a
    name of its own, each by an item that stands for it; a question raises `NoRange` where the key cannot answer it. All
    others are asked of `key`, with what `conditions` makes of conditions on the values of an item. `owner` tells what a
    hot region is to be named by, one of the `owners` ("host"). `splits` are the split points for a number of regions
    and a sample of keys. `remedy` is what helps where one owner makes a region hot, `remedy_of_order` where keys come
    in the order in which they sort (or the reverse of it), `note` what else should be known.
    """

    name: str
    declaration: str
    encode: Callable[[Any], bytes]
    questions: Mapping[str, Ask]
    owners: str
    owner: Callable[[Any], str]
    splits: Splits
    remedy: str
    remedy_of_order: str = "a salt or a hash in front would part them"
    note: str = ""
    gets: frozenset[str] = frozenset({"point", "latest"})
    """The questions that are gets of whole keys, of which a call reads many, and not scans."""
    takes_urls: bool = False
    """Whether the items are URLs."""
    takes_times: bool = False
    """Whether the URLs must have come at some time (`url_design`)."""
    key: RowKey | None = None
    conditions: Callable[[Mapping[str, Any]], dict[str, Any]] = dict


def web_design(name: str, *, digits: int = 2) -> Design:
    """Return the design for URLs of that name, one of `WEB_DESIGNS`; the four salts have so many hex *digits*.

    Asked are a page (point), the pages of its host, of its registered domain with all below it (subtree) and of its
    directory, and its latest version, which HBase keeps in the cells of one row. Raises `InvalidArgument`.
    """
    if name not in WEB_DESIGNS:
        raise InvalidArgument(f"designs: {name!r} must be one of {', '.join(WEB_DESIGNS)}")
    key, encode, remedy, note, of_order = _web_choice(name, digits)

    def values(url: str) -> dict[str, str]:
        host, rest = host_and_rest(url)
        return {"host": host, "rest": rest}

    def directory(url: str) -> list[KeyRange]:
        host, rest = host_and_rest(url)
        path = rest.partition("?")[0].partition("#")[0]
        return key.ranges(host=host, rest=starting_with(path[: path.rfind("/") + 1]))

    return Design(
        name,
        key.declaration,
        encode or (lambda url: key.encode(**values(url))),
        {
            "point": lambda url: key.ranges(**values(url)),
            "host": lambda url: key.ranges(host=host_of(url)),
            "subtree": lambda url: key.ranges(host=below(registered_domain(host_of(url)))),
            "directory": directory,
            "latest": lambda url: key.ranges(**values(url)),
        },
        "domain" if name == "domain" else "host",
        (lambda url: registered_domain(host_of(url))) if name == "domain" else host_of,
        natural_splits(key),
        remedy,
        of_order,
        note,
        takes_urls=True,
        key=key,
        conditions=url_conditions(key),
    )


class _WebChoice(NamedTuple):
    key: RowKey
    encode: Callable[[str], bytes] | None
    """Its own way to encode a URL, if it has one."""
    remedy: str
    note: str = ""
    remedy_of_order: str = ""


def _web_choice(name: str, digits: int) -> _WebChoice:
    if name == "hash":
        key = HashedKey(WebKey(Salt.none()).parts, algorithm="md5", form="bytes")
        return _WebChoice(key, None, _SAME_PAGES, "a key does not lead back to its URL")
    if name == "random":
        host, rest = ReversedDomain("host", terminator=b"/"), Text("rest")
        note = "a page that is put again may be there twice, below two salts"
        return _WebChoice(CompositeKey(RandomSalt(_BUCKETS), Constant(b":"), host, rest), None, "more buckets", note)
    salt, remedy, note = {
        "host": (Salt.host(digits), _BY_URL, ""),
        "domain": (
            Salt.domain(digits),
            "Salt.url() spreads all its pages, Salt.host() its hosts where it has many",
            "the version of the Public Suffix List becomes part of the table: another one would look elsewhere",
        ),
        "url": (Salt.url(digits), _SAME_PAGES, ""),
        "none": (Salt.none(), f"{_BY_URL}; Salt.host() would keep them together", ""),
    }[name]
    of_order = {
        "none": "Salt.host() parts neighbouring hosts, Salt.url() the pages of one host as well",
        "host": _BY_URL,
        "domain": _BY_URL,
    }
    web_key = WebKey(salt)
    return _WebChoice(web_key.parts, web_key.encode, remedy, note, of_order.get(name, ""))


def key_design(name: str, key: RowKey, item: Mapping[str, Any]) -> Design:
    """Return the design of a declared key, for mappings of values such as *item*; what the key does not take is left.

    By its name a row with all its values is asked for (point), unless a value has that name.
    """

    def known(values: Mapping[str, Any]) -> dict[str, Any]:
        return {field: values[field] for field in key.names if field in values}

    remedies = remedies_of(key)
    owners = [name for name in remedies.owners if name in item] or list(item)[:1]
    return Design(
        name,
        key.declaration,
        lambda values: key.encode(**known(values)),
        {} if POINT in item else {POINT: lambda values: key.ranges(**known(values))},
        " and ".join(owners),
        lambda values: ", ".join(f"{name}={values[name]!r}" for name in owners),
        natural_splits(key),
        remedies.of_owner,
        remedies.of_order,
        gets=frozenset({POINT} - item.keys()),
        key=key,
    )


class Splits(NamedTuple):
    """How a new table for a key is split: `points` of a number of regions and a sample of its keys.

    `by_sample` says that they follow from the sample alone, since the key begins with nothing that is spread.
    """

    points: Callable[[int, Sequence[bytes]], list[bytes]]
    by_sample: bool = False


def natural_splits(key: RowKey) -> Splits:
    """Return how a new table for *key* is split: where its hashes or salts begin, else by a sample of its keys."""
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
        # The last digit comes first, and of ids that count up all last digits are equally often.
        return Splits(lambda regions, _: [b"%03d" % (at * 1000 // regions) for at in range(1, min(regions, 1000))])
    if isinstance(first, Spread):
        salts = first.salts
        return Splits(lambda regions, _: _salt_splits(salts, regions))
    return Splits(lambda regions, keys: sample_split_points(keys, regions), by_sample=True)


def _salt_splits(salts: Sequence[bytes], regions: int) -> list[bytes]:
    regions = min(regions, len(salts))
    return [salts[region * len(salts) // regions] for region in range(1, regions)]
