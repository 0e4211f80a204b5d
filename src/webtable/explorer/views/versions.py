"""The versions of a page on a time line, and the differences of any two of them side by side."""

from __future__ import annotations

import io
from dataclasses import dataclass
from itertools import islice, starmap, zip_longest
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from starlette.responses import JSONResponse, Response

from webtable import Page
from webtable.explorer.reading import reading
from webtable.explorer.views.asked_page import AskedPage, exact, facts_of
from webtable.formats import write

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from starlette.requests import Request

    from webtable import WebTable
    from webtable.answers import Difference
    from webtable.explorer.explorer import Explorer
    from webtable.explorer.rendering import Linker, ShownCell
    from webtable.explorer.streaming import Outlet

MOST_VERSIONS: Final = 200
"""How many versions a page shows, the newest ones."""
MOST_LINES: Final = 5_000
"""How many lines a difference shows."""
MOST_CHARACTERS: Final = 2_000
"""Of a line of a difference."""
WIDTH: Final = 1_000
"""Of the time line, in units of its drawing."""


@dataclass(frozen=True, slots=True)
class TimelineVersion:
    """A version of a page: the capture, its date as addresses have it, its place on the time line, where it leads."""

    capture: Page
    at: str
    x: float
    href: str
    difference: str | None
    """The address of the difference to the version before it."""


class Side(NamedTuple):
    """A line of one version: what is before and after the part that differs from the other one."""

    before: str
    differing: str
    after: str


class LinePair(NamedTuple):
    """Two lines next to each other; `kind` is "same", "changed", or "gap" for lines that were left out."""

    kind: str
    old: Side | None
    new: Side | None


def timeline(table: WebTable, url: str, linker: Linker) -> tuple[int, list[TimelineVersion]]:
    """Return how many versions of *url* there are, and the newest of them, newest first."""
    pages = table.history(url)
    shown = pages[:MOST_VERSIONS]
    if not shown:
        return 0, []
    dates = [exact(page.fetched_at) for page in pages[: MOST_VERSIONS + 1]]
    first, last = shown[-1].fetched_at, shown[0].fetched_at
    versions = [
        TimelineVersion(
            page,
            date,
            round(10 + (WIDTH - 20) * ((page.fetched_at - first) / (last - first) if last > first else 1), 1),
            linker.link("/page", url=url, as_of=date),
            linker.link("/page/diff", url=url, old=before, new=date) if before else None,
        )
        for page, date, before in zip_longest(shown, dates[: len(shown)], dates[1 : len(shown) + 1])
    ]
    return len(pages), versions


async def diff(explorer: Explorer, request: Request) -> Response:
    """Return the page with the differences of the versions `old` and `new`, and with the form to choose them."""
    asked = AskedPage(request)
    old, new = _moments(request, asked)

    def versions(gone: threading.Event) -> tuple[int, list[TimelineVersion]]:
        table = reading(explorer.table, gone)
        for moment in filter(None, (old, new)):
            table.get(asked.url, as_of=moment, columns=["url"])  # raises for what is no moment
        return timeline(table, asked.url, asked.linker)

    _, known = await explorer.streaming.value(versions)
    if not known:
        return asked.missing(explorer)

    place_of_new = next((place for place, version in enumerate(known) if version.at == new), 0)

    def make(outlet: Outlet) -> None:
        table = reading(explorer.table, outlet.gone)
        explorer.pages.write(
            outlet,
            "diff.html",
            asked.linker,
            f"Differences: {asked.url}",
            url=asked.url,
            choices=[("old", _choices(known, old, place_of_new + 1)), ("new", _choices(known, new, 0))],
            difference=lambda: table.diff(asked.url, old, new),
            facts=lambda found: changed_facts(found, asked.linker),
            lines=lambda text: islice(side_by_side(text), MOST_LINES),
            most_lines=MOST_LINES,
            exact=exact,
        )

    return explorer.streaming.response(make, "text/html")


async def diff_json(explorer: Explorer, request: Request) -> Response:
    """Return the differences of the versions `old` and `new`, a record for each."""
    asked = AskedPage(request)
    old, new = _moments(request, asked)
    return await json_of(explorer, lambda table: table.diff(asked.url, old, new))


async def history_json(explorer: Explorer, request: Request) -> Response:
    """Return the versions of a page, newest first, without bodies and links."""
    asked = AskedPage(request)
    return await json_of(explorer, lambda table: table.history(asked.url) or None)


async def json_of(explorer: Explorer, ask: Callable[[WebTable], Page | Iterable[Any] | None]) -> Response:
    """Return what *ask* returns: a page as an object, records as one with `results`, None with status 404."""

    def make(gone: threading.Event) -> bytes | None:
        found = ask(reading(explorer.table, gone))
        if found is None:
            return None
        lines = io.BytesIO()
        write([found] if isinstance(found, Page) else found, lines, format="jsonl")
        if isinstance(found, Page):
            return lines.getvalue()
        return b'{"results": [\n' + b",\n".join(lines.getvalue().splitlines()) + b'\n], "problem": null}\n'

    content = await explorer.streaming.value(make)
    if content is None:
        return JSONResponse({"problem": "it is not stored"}, 404)
    return Response(content, media_type="application/json")


def changed_facts(found: Difference, linker: Linker) -> list[tuple[str, ShownCell | None, ShownCell | None]]:
    """Return the facts of both versions that differ, with their names."""
    old, new = facts_of(found.old, linker), facts_of(found.new, linker)
    return [(name, old.get(name), new.get(name)) for name in {**old, **new} if old.get(name) != new.get(name)]


def side_by_side(text: Sequence[str]) -> Iterator[LinePair]:
    """Yield the lines of a unified diff in pairs, without its head.

    >>> [pair.kind for pair in side_by_side(["--- a", "+++ b", "@@ -1,2 +1,2 @@", " Tea", "-2.50", "+2.80"])]
    ['gap', 'same', 'changed']
    """
    removed: list[str] = []
    added: list[str] = []

    def paired() -> Iterator[LinePair]:
        yield from starmap(_pair, zip_longest(removed, added))
        removed.clear()
        added.clear()

    for line in text[2:]:
        mark, rest = line[0], line[1 : MOST_CHARACTERS + 1]
        if mark != "+" and (added or mark != "-"):
            yield from paired()
        if mark in "-+":
            (removed if mark == "-" else added).append(rest)
        else:
            side = Side(rest, "", "")
            yield LinePair("gap" if mark == "@" else "same", side, side)
    yield from paired()


def _pair(old: str | None, new: str | None) -> LinePair:
    before, after = (None if one is None else one.split(" ") for one in (old, new))
    first = last = 0
    if before is not None and after is not None:
        shortest = min(len(before), len(after))
        first = next((at for at in range(shortest) if before[at] != after[at]), shortest)
        last = next((at for at in range(shortest - first) if before[-1 - at] != after[-1 - at]), shortest - first)
    return LinePair("changed", _side(before, first, last), _side(after, first, last))


def _side(words: list[str] | None, first: int, last: int) -> Side | None:
    """Return the *words* of a line, of which the *first* ones and the *last* ones are the same in the other line."""
    if words is None:
        return None
    end = len(words) - last
    return Side(" ".join([*words[:first], ""]), " ".join(words[first:end]), " ".join(["", *words[end:]]))


def _moments(request: Request, asked: AskedPage) -> tuple[str | None, str | None]:
    return request.query_params.get("old") or None, request.query_params.get("new") or asked.moment


def _choices(known: Sequence[TimelineVersion], given: str | None, usual: int) -> list[tuple[str, bool]]:
    """Return the moments to choose from, each with whether it is chosen: what was *given*, or the *usual* version."""
    dates = [version.at for version in known]
    chosen = given or dates[min(usual, len(dates) - 1)]
    return [(date, date == chosen) for date in dict.fromkeys([*dates, chosen])]
