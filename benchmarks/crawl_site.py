"""A web to be crawled on this machine: a proxy that answers for all hosts of WARC files, by their own URLs.

A crawler is told of it as of its HTTP proxy (`http_proxy`, httpx's `proxy=`, Scrapy's `meta["proxy"]`), and nothing
leaves the machine. TLS is not spoken: pages of https URLs are found under http ones, and redirects lead there too.
`served` runs it in a thread, where answers can be changed between two requests, `served_apart` in a process of its own.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from http.client import responses
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from urllib.parse import urlsplit

from webtable.formats import read_pages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LOOPBACK = "127.0.0.1"
ROBOTS = b"User-agent: *\nDisallow: /private/\n"
_OWN = {"connection", "content-encoding", "content-length", "date", "keep-alive", "transfer-encoding"}
_MOST_ASKED = 1_000_000


@dataclass(frozen=True, slots=True)
class Answer:
    """What is answered for one URL; with status 0 the connection is closed without an answer."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    seconds: float = 0.0
    """How long it takes to answer."""
    busy: int = 0
    """How many requests get `busy_status` with `Retry-After: 1` before this is answered."""
    busy_status: int = 503
    is_cut: bool = False
    """Whether the connection ends in the middle of the body."""


class Asked(NamedTuple):
    """A request: its URL, whether it named validators, and the status of the answer."""

    url: str
    conditional: bool
    status: int


def web_url(url: str) -> str:
    """Return *url* as the site has it: without TLS, and without the port that goes with that.

    >>> web_url("https://example.com/a?b"), web_url("https://example.com:8443")
    ('http://example.com/a?b', 'http://example.com:8443/')
    """
    parts = urlsplit(url)
    query = f"?{parts.query}" if parts.query else ""
    host = parts.netloc.rpartition("@")[2].lower().removesuffix(":443").removesuffix(":80")
    return f"http://{host}{parts.path or '/'}{query}"


def answers_of(files: Iterable[Path]) -> dict[str, Answer]:
    """Return what was answered in *files* by URL: in the last of them that does not only say "as before"."""
    found: dict[str, Answer] = {}
    for file in files:
        for page in read_pages(file, types=None, extract=False):
            if page.status == 304 or page.same_as:
                continue
            headers = {name: value for name, value in page.headers.items() if name.lower() not in _OWN}
            if page.redirect_to:
                headers["Location"] = web_url(page.redirect_to)
            found[web_url(page.url)] = Answer(page.status, headers, page.body or b"")
    return found


def in_bad_weather(answers: Mapping[str, Answer]) -> dict[str, Answer]:
    """Return *answers* as of servers that have a hard time: every 40th is slow, others are busy at first.

    Every 25th URL gets a neighbour `…?moved` that redirects to it, every 60th one `…?failing` with status 500.
    """
    made: dict[str, Answer] = {}
    for number, (url, answer) in enumerate(answers.items()):
        if number % 40 == 7:
            answer = replace(answer, seconds=0.3)
        elif number % 90 == 11:
            answer = replace(answer, busy=1, busy_status=429 if number % 180 == 11 else 503)
        made[url] = answer
        if number % 25 == 3 and "?" not in url:
            made[f"{url}?moved"] = Answer(301, {"Location": url, "Content-Type": "text/html"}, b"<title>Moved</title>")
        if number % 60 == 5 and "?" not in url:
            made[f"{url}?failing"] = Answer(500, {"Content-Type": "text/html"}, b"<title>Error</title>")
    return made


class CrawlSite:
    """The site: its `answers` by URL, which may be changed at any time, its address (`proxy`), and what was `asked`.

    A host without an answer of its own for `/robots.txt` has one that forbids `/private/`.
    """

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self.answers = dict(answers)
        self.asked: list[Asked] = []
        self.proxy = ""
        self.connections: set[asyncio.Transport] = set()
        self._busy: dict[str, int] = {}

    @property
    def pages(self) -> list[str]:
        """The URLs that are answered with 200, in their order, without those for robots."""
        return [url for url, one in self.answers.items() if one.status == 200 and not url.endswith("/robots.txt")]

    def add(self, url: str, answer: Answer) -> str:
        """Have *answer* given for *url*, and return the URL that is to be asked."""
        self.answers[web_url(url)] = answer
        return web_url(url)

    def answer(self, url: str, headers: Mapping[str, str]) -> Answer:
        """Return what is answered to a request, and remember it."""
        answer = self._found(web_url(url))
        if answer.busy > (refused := self._busy.get(url, 0)):
            self._busy[url] = refused + 1
            answer = Answer(answer.busy_status, {"Retry-After": "1", "Content-Type": "text/plain"}, b"later")
        elif answer.status == 200 and _is_current(answer, headers):
            kept = {name: value for name, value in answer.headers.items() if name.lower() in ("etag", "last-modified")}
            answer = replace(answer, status=304, headers=kept, body=b"")
        if len(self.asked) < _MOST_ASKED:
            conditional = "if-none-match" in headers or "if-modified-since" in headers
            self.asked.append(Asked(url, conditional, answer.status))
        return answer

    def _found(self, url: str) -> Answer:
        found = self.answers.get(url)
        if found is not None:
            return found
        if urlsplit(url).path == "/robots.txt":
            return Answer(200, {"Content-Type": "text/plain"}, ROBOTS)
        return Answer(404, {"Content-Type": "text/html; charset=utf-8"}, b"<title>Not found</title>")


def _is_current(answer: Answer, asked: Mapping[str, str]) -> bool:
    """Whether the client has *answer* already; a tag goes before a date (RFC 9110, section 13.2.2)."""
    said = {name.lower(): value for name, value in answer.headers.items()}
    if "if-none-match" in asked:
        return said.get("etag", "-") in [tag.strip() for tag in asked["if-none-match"].split(",")]
    if "if-modified-since" in asked and "last-modified" in said:
        with suppress(ValueError, TypeError):
            return parsedate_to_datetime(said["last-modified"]) <= parsedate_to_datetime(asked["if-modified-since"])
    return False


S = TypeVar("S", bound=CrawlSite)


class _Connection(asyncio.Protocol):
    """A connection of a crawler: requests one after another, also where they come before the answer to the last."""

    def __init__(self, site: CrawlSite) -> None:
        self._site = site
        self._received = b""
        self._answering: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._site.connections.add(transport)

    def connection_lost(self, _: Exception | None) -> None:
        self._site.connections.discard(self._transport)
        if self._answering is not None:
            self._answering.cancel()

    def data_received(self, data: bytes) -> None:
        self._received += data
        self._go_on()

    def _go_on(self) -> None:
        while self._answering is None and b"\r\n\r\n" in self._received and not self._transport.is_closing():
            head, _, self._received = self._received.partition(b"\r\n\r\n")
            first, *lines = head.decode("latin-1").split("\r\n")
            fields = (line.partition(":") for line in lines)
            headers = {name.strip().lower(): value.strip() for name, _, value in fields}
            self._ask(first, headers)

    def _ask(self, request: str, headers: Mapping[str, str]) -> None:
        method, target, *_ = f"{request} ? ?".split(" ")
        if method not in ("GET", "HEAD") or headers.get("content-length", "0") != "0":
            self._send(Answer(405, {"Allow": "GET, HEAD"}), "GET", headers)
            self._transport.close()
            return
        url = target if "://" in target else f"http://{headers.get('host', LOOPBACK)}{target}"
        answer = self._site.answer(url, headers)
        if answer.seconds:
            loop = asyncio.get_running_loop()
            self._answering = loop.call_later(answer.seconds, self._send_late, answer, method, headers)
        else:
            self._send(answer, method, headers)

    def _send_late(self, answer: Answer, method: str, headers: Mapping[str, str]) -> None:
        self._answering = None
        self._send(answer, method, headers)
        self._go_on()

    def _send(self, answer: Answer, method: str, headers: Mapping[str, str]) -> None:
        if not answer.status:
            self._transport.close()
            return
        length = "" if answer.status == 304 else f"Content-Length: {len(answer.body)}\r\n"
        named = "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
        phrase = responses.get(answer.status, "")
        body = b"" if method == "HEAD" else answer.body[: len(answer.body) // 2] if answer.is_cut else answer.body
        self._transport.write(f"HTTP/1.1 {answer.status} {phrase}\r\n{named}{length}\r\n".encode("latin-1") + body)
        if answer.is_cut or headers.get("connection", "").lower() == "close":
            self._transport.close()


def served(answers: Mapping[str, Answer]) -> AbstractContextManager[CrawlSite]:
    """Lend a site with *answers*, served by a thread until the block ends."""
    return serving(CrawlSite(answers))


@contextmanager
def serving(site: S) -> Iterator[S]:
    """Lend *site*, served by a thread until the block ends."""
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(_listening(loop, site))
    thread = threading.Thread(target=loop.run_forever, name="crawl-site", daemon=True)
    thread.start()
    try:
        yield site
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.run_until_complete(_closed(server, site))
        loop.close()


async def _listening(loop: asyncio.AbstractEventLoop, site: CrawlSite) -> asyncio.Server:
    server = await loop.create_server(lambda: _Connection(site), LOOPBACK, 0, backlog=512)
    site.proxy = f"http://{LOOPBACK}:{server.sockets[0].getsockname()[1]}"
    return server


async def _closed(server: asyncio.Server, site: CrawlSite) -> None:
    server.close()
    for connection in site.connections:
        connection.abort()
    await asyncio.sleep(0)


@contextmanager
def served_apart(files: Iterable[Path]) -> Iterator[str]:
    """Lend the address of a proxy with the answers of *files*, served by a process of its own until the block ends."""
    command = [sys.executable, "-m", __name__, *map(str, files)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True, env=_with_paths()
    ) as child:
        try:
            assert child.stdout is not None
            address = child.stdout.readline().strip()
            assert address, "the site was not served"
            yield address
        finally:
            child.communicate()  # its standard input ends, and it does


def _with_paths() -> dict[str, str]:
    """Return the environment with the paths of this process, for the child is to find the same modules."""
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, sys.path)])}


def _serve(files: Iterable[Path]) -> None:
    with served(answers_of(files)) as site:
        print(site.proxy, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    _serve(map(Path, sys.argv[1:]))
