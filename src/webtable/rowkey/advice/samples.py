"""The keys that are measured: a sample of a stream, or of a made-up crawl; the same each time, in bounded memory."""

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
"""What made-up names end in: by RFC 2606 nobody can own them."""
_KEPT = 64
"""How many pages of a host are kept at most: their paths, and their places in time."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_NAMES = 26**5
_STEP = 7_654_321
"""It has no factor in common with 26, so that its multiples go through all names before one comes again."""

Item = TypeVar("Item")


class ArrivalSample(NamedTuple, Generic[Item]):
    """Some of `total` items, in the order in which they came: one of every `stride`, drawn at random among them."""

    items: list[Item]
    total: int
    stride: int

    @property
    def is_whole(self) -> bool:
        """Whether it is all of them."""
        return self.stride == 1

    @property
    def margin(self) -> float:
        """How far a share of the sample is from the truth at most, 95 times of 100; 0 where it is whole.

        That of a simple random sample of as many (the normal approximation, at a share of one half); drawn evenly over
        time, this one is rather better.
        """
        return 0.0 if self.is_whole or not self.items else 1.96 * math.sqrt(0.25 / len(self.items))


def arrival_sample(items: Iterable[Item], most: int) -> ArrivalSample[Item]:
    """Return a sample of *items* of at most *most* (an even number), and at least half as many where there are more.

    Every block of so many items (the stride) gives one, chosen at random, so the sample goes evenly through time. When
    it is full, one of every two neighbours is kept, and blocks are twice as long. The same items give the same sample.
    """
    draw = random.Random(0)  # noqa: S311 - it keeps no secret, and the same sample each time is what is wanted
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
    """A host to model others on: how many pages it has, in how many runs they came, and some of them with their places.

    A run is pages of one host one after the other. `kept` is a random sample of the pages.
    """

    __slots__ = ("kept", "pages", "runs")

    def __init__(self) -> None:
        self.pages: int = 0
        self.runs: int = 0
        self.kept: list[tuple[int, str]] = []


class MadeUp(NamedTuple):
    """What was made up: so many hosts of so many registered domains, after so many models, in runs of some length."""

    hosts: int
    domains: int
    models: int
    run: float


class Models(NamedTuple):
    """Hosts to model others on, by their names, and how many URLs they came in."""

    hosts: dict[str, HostModel]
    total: int


def made_up_crawl(models: Models, hosts: int, most: int) -> tuple[ArrivalSample[str], MadeUp]:
    """Return a sample of at most *most* URLs of a crawl of so many made-up *hosts*, in the order of their time.

    Registered domains are drawn from those of *models* with all their hosts, until there are enough. A made-up host has
    as many pages as its model, paths like those of its model (numbered where more are needed than are known), and comes
    in runs as long, spread over the time of the crawl as those of its model; when it begins is drawn. The same models
    make the same crawl.
    """
    pages = runs = domains = 0
    for number, _, model in _made_hosts(models, hosts):
        domains, pages, runs = number, pages + model.pages, runs + model.runs
    stride = -(-pages // most)
    draw = random.Random(1)  # noqa: S311 - it keeps no secret, and the same crawl each time is what is wanted
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
    """Return the hosts of *urls* to model others on; at most *most* URLs of them are held.

    Of each host 64 pages are kept, and of all hosts fewer where these are too many. Where one page of each is too many,
    a part of the hosts is left out, chosen by their names alone, so that sizes stay as they are distributed. Raises
    `InvalidArgument` for the URLs of fewer than two hosts: how hosts differ cannot be seen from one.
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
    """Hosts as they come in, and of each some pages."""

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
        """Keep a page with the chance that makes all pages of the host equally likely to be kept in the end."""
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
    """Yield so many made-up *hosts*, the same ones each time: which domain it is, its name, and its model."""
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
    """Return the name of a made-up domain, about as long as its model's; no two numbers have the same."""
    rest = number * _STEP % _NAMES
    letters = []
    for _ in range(5):
        rest, letter = divmod(rest, 26)
        letters.append(_LETTERS[letter])
    letters += draw.choices(_LETTERS, k=min(length, 63) - len(MADE_UP) - len(letters))
    return "".join(letters) + MADE_UP


def _moment(model: HostModel, places: list[float], page: int) -> float:
    """Return when a page comes, as a share of the time of the crawl: all pages of a run at once."""
    run = page * model.runs // model.pages
    # Between two places that are known, the runs between them are spread evenly.
    at, part = divmod(run * len(places) / model.runs, 1)
    begin = places[int(at)]
    end = places[int(at) + 1] if int(at) + 1 < len(places) else 1.0
    return begin + part * (end - begin)


def _rest(model: HostModel, page: int, draw: random.Random) -> str:
    """Return what is after the host of a page's URL: that of its model's page, or one like it."""
    if model.pages == len(model.kept):
        return model.kept[page][1]
    _, rest = draw.choice(model.kept)
    end = min((at for at in map(rest.find, "?#") if at >= 0), default=len(rest))
    return f"{rest[:end]}~{page}{rest[end:]}"
