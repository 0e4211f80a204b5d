"""All questions in groups, and where what is typed into the field at the top leads."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from starlette.responses import RedirectResponse

from webtable.errors import WebTableError
from webtable.explorer.reading import reading
from webtable.explorer.rendering import Linker, dashed, words
from webtable.questions import LISTINGS
from webtable.rowkey import canonical_host, parse_key

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from webtable import WebTable
    from webtable.explorer.explorer import Explorer
    from webtable.explorer.streaming import Outlet


class QuestionLink(NamedTuple):
    """A question: its name in words, one line about it, and its page; None if it is one for each stored page."""

    name: str
    about: str
    href: str | None


_OTHER: Final[dict[str, tuple[str | None, str]]] = {
    "page": (None, "A page as it was stored: its text, its source, its headers and its links."),
    "history": (None, "The versions of a page, on a time line."),
    "difference": (None, "What changed between two versions of a page, side by side."),
    "statistics": ("/stats", "Counts and bytes of pages by status, type, language, age, host and more."),
    "audit": ("/audit", "What is wrong on a site: broken links, errors, redirects, titles, copies."),
    "comparison": ("/compare", "Which pages of a site are new, gone or changed between two moments."),
}
_GROUPS: Final = {
    "Pages": "pages search fetched modified outdated largest errors with_status redirects indexed",
    "One page": "page history difference linking_to links_of duplicates near_duplicates",
    "Links": "broken_links orphans most_linked dead_ends discovered edges",
    "A site as a whole": "statistics audit comparison hosts crawls changes largest_growth titles redirect_chains "
    "duplicate_groups near_duplicate_groups",
}


def groups_of(linker: Linker) -> dict[str, list[QuestionLink]]:
    """Return all questions in groups."""
    named = {group: names.split() for group, names in _GROUPS.items()}
    grouped = {name for names in named.values() for name in names}
    named["Others"] = [name for name in LISTINGS if name not in grouped]
    return {group: [_link(name, linker) for name in names] for group, names in named.items() if names}


def _link(name: str, linker: Linker) -> QuestionLink:
    if name in _OTHER:
        path, about = _OTHER[name]
        return QuestionLink(name, about, path and linker.link(path))
    return QuestionLink(words(name), LISTINGS[name].help.partition("\n")[0], linker.link(f"/q/{dashed(name)}"))


def page(explorer: Explorer, request: Request) -> Response:
    """Return the page with all questions."""
    linker = Linker(request)

    def make(outlet: Outlet) -> None:
        explorer.pages.write(outlet, "questions.html", linker, "Questions", groups=groups_of(linker))

    return explorer.streaming.response(make, "text/html")


async def go(explorer: Explorer, request: Request) -> Response:
    """Return the way to what was typed: the page of a URL or of a row key, a site, or the search for words."""
    linker, text = Linker(request), " ".join(request.query_params.get("go", "").split())
    if linker.as_of:
        explorer.table.changes(
            since=linker.as_of, limit=0
        )  # it raises what is wrong with the moment, and reads nothing
    href = await explorer.streaming.value(lambda gone: _goal(reading(explorer.table, gone), linker, text))
    return RedirectResponse(str(href), 303)


_HOST = re.compile(r"(?P<host>[^\s/?#@]*[.:\]][^\s/?#@]*|localhost)(?P<rest>/\S*)?")


def _goal(table: WebTable, linker: Linker, text: str) -> str:
    if not text:
        return linker.link("/")
    url = text if re.match(r"(?i)https?://", text) else _url_of_key(table, text)
    if url is not None:
        return linker.page(url)
    if (found := _HOST.fullmatch(text)) and _is_host(found["host"]):
        rest = found["rest"] or "/"
        return linker.link(f"/site/{text.rstrip('/')}/") if rest.endswith("/") else linker.page(f"https://{text}")
    order = "relevance" if (state := table.search_index.state()) is not None and state.is_complete else None
    return linker.link("/q/search", text=text, site="all", order=order)


def _url_of_key(table: WebTable, text: str) -> str | None:
    """Return the URL of the row key that *text* is, as the HBase shell shows it or in hex; None if it is not one."""
    try:
        if re.fullmatch(r"(?:[0-9a-fA-F]{2}){4,}", text):
            return table.key.decode(bytes.fromhex(text))
        return table.key.decode(parse_key(text)) if table.layout.digits else None
    except WebTableError:
        return None


def _is_host(text: str) -> bool:
    try:
        return bool(canonical_host(re.sub(r":\d*$", "", text) if text.count(":") == 1 or "]" in text else text))
    except WebTableError:
        return False
