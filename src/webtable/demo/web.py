"""A fictional web of some 500 pages on a dozen hosts, and the responses that three crawls of it get.

Between two crawls some pages change, vanish or appear; most stay the same. Their texts are drawn at random, but for
those of three small sites (`webtable.demo.texts`). All host names and addresses are reserved for documentation.
"""

from __future__ import annotations

import hashlib
import html
import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from webtable.demo.texts import written_pages

if TYPE_CHECKING:
    from collections.abc import Iterator

CRAWLS = 3
DAYS_BETWEEN = 7

# Where the pages are, how many, and what their paths look like: with subdomains, a port, an IP address, a name that is
# not ASCII, and hosts whose names only look like subdomains of another.
SITES = {
    "https://example.com": (80, "/{section}/{slug}"),
    "https://docs.example.com": (110, "/guide/{section}/{slug}.html"),
    "https://blog.example.com": (80, "/2026/{month:02}/{slug}"),
    "https://shop.example.com": (50, "/item?id={number}&lang=en"),
    "https://example.com:8443": (6, "/status/{slug}"),
    "http://example.com": (8, "/{section}/{slug}"),
    "https://example.com.evil.example": (12, "/{slug}"),
    "https://example.org": (40, "/{section}/{slug}/"),
    "https://example.net": (25, "/?page={number}"),
    "https://acme.example": (30, "/{section}/{slug}"),
    "https://acme-shop.example": (20, "/{slug}"),
    "https://acmes.example": (14, "/{slug}"),
    "https://xn--bcher-kva.example": (20, "/{section}/{slug}"),
    "http://192.0.2.10": (10, "/{slug}.htm"),
}
SECTIONS = ["about", "guides", "news", "people", "research", "services"]
VOCABULARY = """
a about above after all and archive as at be between book build by carry change clear code column come copy count
crawl day digest each early edge evening every family far few field file find first follow for from garden give good
great group half hand harbour have head history hold home host house idea in index is it keep key kind know land large
last lead learn leave letter light line link list little long look make many map march mark measure mind more morning
most mountain move much name near new next night number of old on open or order other over page paper part path people
place plain point question range read reader region right river road row salt same scan search second see sentence set
ship short side simple sky small some sort sound split stand star start stop store story street sun table take tell
that the their then there thing this time to town tree turn under until up use value version view voice walk wall
water way web week well wide wind window with word work world write year young
"""
WORDS = VOCABULARY.split()
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)


@dataclass(frozen=True)
class SamplePage:
    """A page of the sample web, and the crawls in which it appears, changes and vanishes."""

    url: str
    title: str
    born: int
    """The first crawl that finds it."""
    gone: int
    """The first crawl that does not find it any more."""
    changes: frozenset[int]
    """The crawls that find it changed."""

    def revision(self, crawl: int) -> int:
        """Return the crawl that found the page as it is at *crawl*."""
        return max(c for c in {self.born, *self.changes} if c <= crawl)


class Answer(NamedTuple):
    """The response of a server to a request for a URL."""

    status: str
    headers: dict[str, str]
    body: bytes = b""
    unchanged: str | None = None
    """The name of the revisit profile if the body is the one of the earlier crawl."""


class SampleWeb:
    """The pages of the sample web, and the responses that each crawl gets."""

    def __init__(self, seed: int, until: datetime) -> None:
        self.seed = seed
        self.dates: Final = [until - timedelta(days=DAYS_BETWEEN * n) for n in reversed(range(CRAWLS))]
        self.sites: Final = {site: list(self._pages(site)) for site in SITES}
        self.pages: Final = [page for pages in self.sites.values() for page in pages]
        self._bodies: dict[tuple[str, int], bytes] = {}
        self.written: Final = list(self._written())

    def fetches(self, crawl: int) -> Iterator[tuple[str, Answer]]:
        """Yield the URLs in the order of the crawl, each with its answer."""
        for page in self.written:
            yield page.url, self.answer(page, crawl)
        for site, pages in self.sites.items():
            yield f"{site}/robots.txt", _answer("200 OK", "text/plain", b"User-agent: *\nDisallow: /private/\n")
            for page in pages:
                if page.born <= crawl:
                    yield page.url, self.answer(page, crawl)
            yield from self._extras(site, pages)

    def answer(self, page: SamplePage, crawl: int) -> Answer:
        """Return the response for *page* in the crawl: the page, "not modified", or "gone"."""
        if crawl >= page.gone:
            status = self._random(page.url, "gone").choice(["404 Not Found", "410 Gone"])
            return _answer(status, "text/html; charset=utf-8", f"<title>{status}</title><h1>{status}</h1>".encode())
        revision = page.revision(crawl)
        body = self._bodies.get((page.url, revision)) or self._html(page, revision)
        self._bodies[page.url, revision] = body  # most pages are the same in the next crawl
        validators = {
            "Last-Modified": http_date(self.dates[revision] - timedelta(hours=9)),
            "ETag": f'"{hashlib.sha256(body).hexdigest()[:16]}"',
        }
        if revision == crawl:
            return _answer("200 OK", "text/html; charset=utf-8", body, **validators)
        if self._random(page.url, "revisit").random() < 0.5:
            return Answer("304 Not Modified", validators, unchanged="server-not-modified")
        headers = {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(body)), **validators}
        return Answer("200 OK", headers, unchanged="identical-payload-digest")

    def _extras(self, site: str, pages: list[SamplePage]) -> Iterator[tuple[str, Answer]]:
        """Yield what a site has besides its pages: an image, redirects, and broken links."""
        yield f"{site}/logo.png", _answer("200 OK", "image/png", PIXEL)
        for number, page in enumerate(pages[1:6]):
            moved = _answer("301 Moved Permanently", "text/html", b"<title>Moved</title>", Location=page.url)
            yield f"{site}/old/{number}", moved
        moves = {"/older/1": "/old/1", "/oldest/1": "/older/1", "/round": "/round/", "/round/": "/round"}
        for path, target in moves.items():
            yield f"{site}{path}", _answer("301 Moved Permanently", "text/html", Location=target)
        yield f"{site}/latest", _answer("302 Found", "text/html", Location=pages[-1].url.removeprefix(site))
        yield f"{site}/lost", _answer("404 Not Found", "text/html", b"<title>Not found</title>")
        yield f"{site}/report", _answer("500 Internal Server Error", "text/html", b"<title>Error</title>")

    def _written(self) -> Iterator[SamplePage]:
        """Yield the pages with texts that people can read, which never change."""
        for url, title, body in written_pages():
            self._bodies[url, 0] = body
            yield SamplePage(url, title, born=0, gone=CRAWLS, changes=frozenset())

    def _pages(self, site: str) -> Iterator[SamplePage]:
        count, pattern = SITES[site]
        for number in range(count):
            # By host and number, so the http pages of a host are twins of its first https pages.
            chance = self._random(site.partition("://")[2], number)
            title = " ".join(chance.sample(WORDS, 4)).capitalize()
            slug = f"{title.lower().replace(' ', '-')}-{number}"
            section, month = chance.choice(SECTIONS), chance.randint(1, 12)
            born = chance.choices(range(CRAWLS), [90, 5, 5])[0] if number else 0
            gone = chance.choices([1, 2, CRAWLS], [4, 4, 92])[0] if number else CRAWLS
            path = pattern.format(number=number, section=section, slug=slug, month=month) if number else "/"
            yield SamplePage(
                url=site + path,
                title=title if number else f"Welcome to {site.partition('://')[2]}",
                born=born,
                gone=max(gone, born + 1),
                changes=frozenset(crawl for crawl in range(CRAWLS) if chance.random() < 0.25 or not number),
            )

    def _html(self, page: SamplePage, revision: int) -> bytes:
        chance = self._random(page.url, revision)
        site = next(site for site in SITES if page.url.startswith(f"{site}/"))
        navigation = [(f"{site}/", "Home"), ("/latest", "Latest"), ("#text", "Skip to the text")]
        navigation += [(other.url, other.title) for other in self.sites[site][1:7]]
        parts = [f"<h1>{page.title}</h1>"]
        for _ in range(chance.randint(2, 7)):
            parts.append(f"<h2>{_sentence(chance, 3)}</h2>")
            parts += [self._paragraph(site, chance) for _ in range(chance.randint(1, 6))]
        return TEMPLATE.format(
            title=html.escape(page.title),
            head="\n".join(self._head(page)),
            navigation="\n".join(
                f'<li><a href="{html.escape(url)}">{html.escape(text)}</a></li>' for url, text in navigation
            ),
            text="\n".join(parts),
            revision=f"{self.dates[revision]:%d %B %Y}",
        ).encode()

    def _head(self, page: SamplePage) -> Iterator[str]:
        """Yield the elements of the head for crawlers, which some pages lack; some pages say noindex."""
        chance = self._random(page.url, "head")
        if chance.random() < 0.9:
            yield f'<link rel="canonical" href="{html.escape(page.url)}">'
        if chance.random() < 0.8:
            yield f'<meta name="description" content="{_sentence(chance, 12)}.">'
        if chance.random() < 0.03:
            yield '<meta name="robots" content="noindex">'

    def _paragraph(self, site: str, chance: random.Random) -> str:
        sentences = [_sentence(chance, chance.randint(6, 16)) + "." for _ in range(chance.randint(4, 12))]
        links = [chance.choice(self.sites[site]).url.removeprefix(site)]
        if chance.random() < 0.3:
            links.append(chance.choice(self.pages).url)
        if chance.random() < 0.05:
            links.append(
                chance.choice(["/lost", "/old/1", f"/never-was-{chance.randint(1, 40)}", "mailto:team@example.com"])
            )
        for link in links:
            place = chance.randrange(len(sentences))
            sentences[place] += f' <a href="{html.escape(link)}">{_sentence(chance, 3)}</a>.'
        return f"<p>{' '.join(sentences)}</p>"

    def _random(self, *parts: object) -> random.Random:
        """Return a random generator that depends on *parts* only."""
        return random.Random(f"{self.seed} {parts}")


TEMPLATE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
{head}
</head>
<body>
<nav><a href="/"><img src="/logo.png" alt="Logo"></a>
<ul>
{navigation}
</ul></nav>
<main id="text">
{text}
</main>
<footer>Last changed on {revision}. <a href="https://example.org/" rel="nofollow">Example</a></footer>
</body>
</html>
"""


def _sentence(chance: random.Random, length: int) -> str:
    return " ".join(chance.choices(WORDS, k=length)).capitalize()


def http_date(when: datetime) -> str:
    """Return a time in the format of HTTP headers."""
    return format_datetime(when, usegmt=True)


def _answer(status: str, media: str, body: bytes = b"", **headers: str) -> Answer:
    return Answer(status, {"Content-Type": media, "Content-Length": str(len(body)), **headers}, body)
