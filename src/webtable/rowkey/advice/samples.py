"""Samples of a stream of keys, or of a made-up crawl: reproducible, and in limited memory."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar
from zlib import crc32

from webtable.errors import InvalidArgument
from webtable.rowkey.web import host_and_rest, url_of
from webtable.rowkey.web_salt import registered_domain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_HOSTS = 1_000_000
MADE_UP = ".example"
"""The ending of made-up names, which RFC 2606 reserves."""
_KEPT = 64
"""The most pages of a host whose paths and places in time are kept."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_NAMES = 26**5
_STEP = 7_654_321
"""It has no common factor with 26, so that its multiples go through all names before one is repeated."""

Item = TypeVar("Item")


class ArrivalSample(NamedTuple, Generic[Item]):
    """A sample of `total` items, in the order of arrival: one of every `stride`, drawn at random."""

    items: list[Item]
    total: int
    stride: int

    @property
    def is_whole(self) -> bool:
        """Whether it has all items."""
        return self.stride == 1

    @property
    def margin(self) -> float:
        """The largest error of a share of the sample, 95 times out of 100; 0 if it is whole.

        It is that of a simple random sample of this size (the normal approximation, at a share of one half); this
        sample is drawn evenly over time and therefore rather better.
        """
        return 0.0 if self.is_whole or not self.items else 1.96 * math.sqrt(0.25 / len(self.items))


def arrival_sample(items: Iterable[Item], most: int) -> ArrivalSample[Item]:
    """Return a sample of at most *most* of *items* (an even number), and at least half as many if there are more.

    Every block of items (the stride) gives one, chosen at random, so the sample is even over time. When it is full, one
    of every two neighbours is kept, and blocks get twice as long. The same items give the same sample.
    """
    draw = random.Random(0)  # noqa: S311 - not for security; the sample must be the same each time
    kept: list[Item] = []
    stride, chosen, total = 1, 0, 0
    for item in items:
        if len(kept) == most and total % stride == 0:
            kept = [kept[at + draw.getrandbits(1)] for at in range(0, most, 2)]
            stride *= 2
        place = total % stride
        if place == 0:
            chosen = draw.randrange(stride)
            kept.append(item)
        elif place == chosen:
            kept[-1] = item
        total += 1
    return ArrivalSample(kept, total, stride)


class HostModel:
    """A host on which others are modelled: the number of its pages, of runs in which they came, and some pages.

    A run is consecutive pages of one host. `kept` is a random sample of the pages, with their places.
    """

    __slots__ = ("kept", "pages", "runs")

    def __init__(self) -> None:
        self.pages: int = 0
        self.runs: int = 0
        self.kept: list[tuple[int, str]] = []


class MadeUp(NamedTuple):
    """The description of a made-up crawl: the numbers of hosts, registered domains and models, and the run length."""

    hosts: int
    domains: int
    models: int
    run: float


class Models(NamedTuple):
    """Hosts on which others are modelled, by name, and the number of their URLs."""

    hosts: dict[str, HostModel]
    total: int


def made_up_crawl(models: Models, hosts: int, most: int) -> tuple[ArrivalSample[str], MadeUp]:
    """Return a sample of at most *most* URLs of a crawl of this number of made-up *hosts*, in the order of their time.

    Registered domains are drawn from those of *models* with all their hosts until there are enough. A made-up host has
    as many pages as its model, similar paths (numbered if more are needed than are known), and runs of the same length,
    spread over the time of the crawl as in its model, with a random beginning. The same models make the same crawl.
    """
    pages = runs = domains = 0
    for number, _, model in _made_hosts(models, hosts):
        domains, pages, runs = number, pages + model.pages, runs + model.runs
    stride = -(-pages // most)
    draw = random.Random(1)  # noqa: S311 - not for security; the crawl must be the same each time
    made: list[tuple[float, int, int, str]] = []
    before = 0
    for number, (_, name, model) in enumerate(_made_hosts(models, hosts)):
        begin = draw.random()
        places = [place / models.total for place, _ in model.kept]
        for page in range(-before % stride, model.pages, stride):
            moment = (begin + _moment(model, places, page)) % 1
            made.append((moment, number, page, url_of(name, _rest(model, page, draw))))
        before += model.pages
    made.sort()
    return ArrivalSample([url for *_, url in made], pages, stride), MadeUp(
        hosts, domains, len(models.hosts), pages / runs
    )


def host_models(urls: Iterable[str], most: int) -> Models:
    """Return the hosts of *urls* as models for others; at most *most* of the URLs are held.

    64 pages are kept of each host, and fewer of all hosts if these are too many. If one page of each is too many, a
    part of the hosts is left out, chosen by their names, which keeps the distribution of sizes. Raises
    `InvalidArgument` for URLs of fewer than two hosts, from which differences between hosts cannot be seen.
    """
    collected = _Collected(most)
    total = 0
    for total, url in enumerate(urls, 1):
        collected.add(total - 1, url)
    if len(collected.hosts) < 2:
        found = ", ".join(collected.hosts) or "no host"
        raise InvalidArgument(
            f"keys have URLs of {found} alone, and other hosts cannot be made up from it: how hosts differ in size, "
            "which decides how hot a region becomes, is seen from several. Give URLs of more hosts"
        )
    for model in collected.hosts.values():
        model.kept.sort()
    return Models(collected.hosts, total)


class _Collected:
    """The hosts seen so far, with some pages of each."""

    def __init__(self, most: int) -> None:
        self.hosts: dict[str, HostModel] = {}
        self._most = most
        self._each = _KEPT
        self._held = 0
        self._one_of = 1
        self._last = ""
        self._draw = random.Random(0)  # noqa: S311 - as above

    def add(self, place: int, url: str) -> None:
        host, rest = host_and_rest(url)
        if self._is_chosen(host):
            model = self.hosts.setdefault(host, HostModel())
            model.pages += 1
            model.runs += host != self._last
            self._keep(model, place, rest)
        self._last = host

    def _keep(self, model: HostModel, place: int, rest: str) -> None:
        """Keep a page with such a probability that all pages of the host are equally likely to be kept in the end."""
        if model.pages <= self._each:
            model.kept.append((place, rest))
            self._held += 1
            while self._held > self._most:
                self._thin()
        elif (at := self._draw.randrange(model.pages)) < len(model.kept):
            model.kept[at] = (place, rest)

    def _thin(self) -> None:
        if self._each > 1:
            self._each //= 2
            for model in self.hosts.values():
                model.kept = self._draw.sample(model.kept, min(self._each, len(model.kept)))
        else:
            self._one_of *= 2
            self.hosts = {host: model for host, model in self.hosts.items() if self._is_chosen(host)}
        self._held = sum(len(model.kept) for model in self.hosts.values())

    def _is_chosen(self, host: str) -> bool:
        return self._one_of == 1 or crc32(host.encode()) % self._one_of == 0


def _made_hosts(models: Models, hosts: int) -> Iterator[tuple[int, str, HostModel]]:
    """Yield this number of made-up *hosts*, reproducibly: the number of the domain, the name, and the model."""
    families: dict[str, dict[str, HostModel]] = {}
    for host, model in models.hosts.items():
        domain = registered_domain(host)
        prefix = host[: -len(domain)] if host.endswith(domain) else ""
        families.setdefault(domain, {})[prefix] = model
    domains = list(families.items())
    draw = random.Random(2)  # noqa: S311 - as above
    left, number = hosts, 0
    while left:
        number += 1
        domain, family = draw.choice(domains)
        name = _name(number, len(domain), draw)
        chosen = list(family.items())
        for prefix, model in chosen if len(chosen) <= left else draw.sample(chosen, left):
            yield number, prefix + name, model
            left -= 1


def _name(number: int, length: int, draw: random.Random) -> str:
    """Return the name of a made-up domain, about as long as its model's, and unique for each number."""
    rest = number * _STEP % _NAMES
    letters = []
    for _ in range(5):
        rest, letter = divmod(rest, 26)
        letters.append(_LETTERS[letter])
    letters += draw.choices(_LETTERS, k=min(length, 63) - len(MADE_UP) - len(letters))
    return "".join(letters) + MADE_UP


def _moment(model: HostModel, places: list[float], page: int) -> float:
    """Return the time of a page as a share of the time of the crawl, the same for all pages of a run."""
    run = page * model.runs // model.pages
    # Runs between two known places are spread evenly.
    at, part = divmod(run * len(places) / model.runs, 1)
    begin = places[int(at)]
    end = places[int(at) + 1] if int(at) + 1 < len(places) else 1.0
    return begin + part * (end - begin)


def _rest(model: HostModel, page: int, draw: random.Random) -> str:
    """Return the part of a page's URL after the host: that of the model's page, or a similar one."""
    if model.pages == len(model.kept):
        return model.kept[page][1]
    _, rest = draw.choice(model.kept)
    end = min((at for at in map(rest.find, "?#") if at >= 0), default=len(rest))
    return f"{rest[:end]}~{page}{rest[end:]}"
