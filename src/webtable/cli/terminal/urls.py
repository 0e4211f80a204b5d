"""URLs in a narrow column of a table: without what all begin with, and cut so that different ones look different."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable._shown import harmless

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rich.text import Text

_SCHEMES = ("http://", "https://")
_ROUNDS = 5
"""At most this many times URLs that still look alike are cut in another place."""


def url_cell(url: str, shown: str | None = None) -> Text:
    """Return *url* for a terminal: a link (OSC 8) to the whole of it, even where less of it is *shown*."""
    from rich.style import Style
    from rich.text import Text

    plain = harmless(url)
    # A text that is not a plain URL could end the link early and send other codes to the terminal.
    is_plain = url.isascii() and plain == url and url.startswith(_SCHEMES)
    return Text(plain if shown is None else shown, style=Style(link=url) if is_plain else "")


def beginning_of(urls: Sequence[str]) -> str:
    """Return what *urls* begin with: their directory, as deep as they share it, or at least `https://`, else "".

    Where some begin with `http://`, only those are shown with their scheme.

    >>> beginning_of(["https://example.com/guide/a", "https://example.com/guide/b/c"])
    'https://example.com/guide/'
    >>> beginning_of(["https://example.com/guide/a", "https://example.org/"])
    'https://'
    """
    plain = [url for url in urls if url.startswith(_SCHEMES)]
    if not plain:
        return ""
    shared = plain[0][: _shared(plain)].partition("?")[0].partition("#")[0]
    return shared[: shared.rfind("/") + 1] if "://" in shared else "https://"


def host_of(beginning: str) -> str:
    """Return the part of a *beginning* that all URLs of a host have.

    >>> host_of("https://example.com/guide/a/"), host_of("https://")
    ('https://example.com/', 'https://')
    """
    return beginning[: _path_begin(beginning)] or beginning


def rest_of(url: str, beginning: str) -> str:
    """Return *url* without its *beginning*, as people write it: below the host with a slash.

    >>> rest_of("https://example.com/guide/a", "https://example.com/guide/"), rest_of("https://a.org/b", "https://")
    ('a', 'a.org/b')
    >>> rest_of("https://example.com/guide/", "https://example.com/"), rest_of("https://a.org/b/", "https://a.org/b/")
    ('/guide/', './')
    """
    if not beginning or not url.startswith(beginning):
        return harmless(url)
    rest = harmless(url.removeprefix(beginning))
    return f"/{rest}" if _is_host(beginning) else rest or "./"


def rests_of(urls: Iterable[str], beginning: str, width: int) -> dict[str, str]:
    """Return each of *urls* without its *beginning*, in at most *width* columns, and different from all others.

    Those that would look alike wherever they were cut are whole, on several lines.
    """
    rests = {url: rest_of(url, beginning) for url in urls}
    # Where the hosts differ, they are kept too.
    hosts = {url: 0 if beginning.count("/") > 2 else _path_begin(rest) for url, rest in rests.items()}
    shown = {url: cut(rest, width, hosts[url]) for url, rest in rests.items()}
    for _ in range(_ROUNDS):
        for group in _alike(shown):
            difference = _shared([rests[url] for url in group])
            shown |= {url: _cut_around(rests[url], difference, width, hosts[url]) for url in group}
    # What looks alike now has been cut in turn where one and where another differs: each for itself.
    taken = {text: url for url, text in shown.items()}
    for url in (url for group in _alike(shown) for url in group):
        for _ in range(_ROUNDS):
            other = taken.setdefault(shown[url], url)
            if other == url:
                break
            difference = _shared([rests[url], rests[other]])
            shown[url] = _cut_around(rests[url], difference, width, hosts[url])
    return shown | {url: _wrapped(rests[url], width) for group in _alike(shown) for url in group}


def _alike(shown: Mapping[str, str]) -> list[list[str]]:
    """Return the groups of URLs that are *shown* as the same text."""
    groups: dict[str, list[str]] = {}
    for url, text in shown.items():
        groups.setdefault(text, []).append(url)
    return [group for group in groups.values() if len(group) > 1]


def _shared(texts: Sequence[str]) -> int:
    """Return how many characters all *texts* begin with."""
    one, other = min(texts), max(texts)
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _is_host(beginning: str) -> bool:
    return beginning.count("/") == 3


def _path_begin(text: str) -> int:
    """Return where the path begins in a URL with or without its scheme."""
    scheme = text.find("://")
    return text.find("/", scheme + 3 if scheme >= 0 else 0) + 1


def cut(text: str, width: int, head: int = 0) -> str:
    """Return *text* in at most *width* columns, with its end, and its first *head* characters in at most half of them.

    >>> cut("guide/a/very/long/path/page.html", 20), cut("example.com/a/very/long/path/page.html", 26, 12)
    ('…long/path/page.html', 'example.com/…ath/page.html')
    """
    from rich.cells import cell_len

    if cell_len(text) <= width:
        return text
    begin = _first(text[:head], (width - 1) // 2)
    return f"{begin}…{_last(text, width - 1 - cell_len(begin))}"


def _cut_around(text: str, place: int, width: int, head: int = 0) -> str:
    """Return *text* in at most *width* columns, with its *head* as `cut` has it, what is around a *place*, and its end.

    >>> _cut_around("example.com/a/very/long/path/page.html", 17, 26, 12)
    'example.com/…ery/long…html'
    >>> _cut_around("example.com/a/very/long/path/page.html", 30, 26, 12)
    'example.com/…ath/page.html'
    """
    from rich.cells import cell_len

    begin = _first(text[:head], (width - 1) // 2)
    room = width - cell_len(begin) - 2
    around = room * 2 // 3
    start = max(place - around // 3, len(begin))
    end = _last(text, room - around)
    if cell_len(text) <= width or place < len(begin) or around < 1 or start + around >= len(text) - len(end):
        return cut(text, width, head)
    if start == len(begin):
        return f"{_first(text, cell_len(begin) + around)}…{end}"
    return f"{begin}…{_first(text[start:], around)}…{end}"


def _wrapped(text: str, width: int) -> str:
    r"""Return *text* on lines of at most *width* columns.

    >>> _wrapped("a/very/long/path", 7)
    'a/very/\nlong/pa\nth'
    """
    from rich.cells import chop_cells

    return "\n".join(chop_cells(text, width))


def _first(text: str, width: int) -> str:
    from rich.cells import cell_len, set_cell_size

    return text if cell_len(text) <= width else set_cell_size(text, width).rstrip()


def _last(text: str, width: int) -> str:
    from rich.cells import cell_len

    end = text[-width:] if width > 0 else ""
    while cell_len(end) > width:
        end = end[1:]
    return end
