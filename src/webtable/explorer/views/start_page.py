"""Where people begin: all questions in groups, and where what is typed into the field at the top leads."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from starlette.responses import RedirectResponse

from webtable.errors import WebTableError
from webtable.explorer.page_model import PagePart, Sheet
from webtable.explorer.rendering import words
from webtable.explorer.rows import Rows
from webtable.questions import GROUPS, column
from webtable.rowkey import canonical_host, parse_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.responses import Response

    from webtable import WebTable
    from webtable.explorer.page_model import AskedPage


class QuestionLink(NamedTuple):
    """A question in its group: its name in words, one line about it, and the path of its page."""

    group: str
    question: str
    about: str
    path: str | None
    """None if it is one for each stored page, whose URL must be given."""


_OTHERS: Final = {
    "one page": (
        ("page", "A page as it was stored: its text, its source, its headers and its links", None),
        ("history", "The versions of a page, on a time line", None),
        ("difference", "What changed between two versions of a page, side by side", None),
    ),
    "pages of a site": (("statistics", "Counts and bytes by status, type, language, age, host and more", "/stats"),),
    "a site as a whole": (
        ("audit", "Broken links, errors, redirects, titles, copies", "/audit"),
        ("comparison", "Pages added, removed or changed between two times", "/compare"),
    ),
}
"""What each group has beside the questions of the catalogue."""


def sheet(asked: AskedPage) -> Sheet:
    """Return the page with all questions."""
    return Sheet("Questions", lambda _: iter([groups(asked)]))


def groups(asked: AskedPage) -> PagePart:
    """Return the part with all questions in groups."""

    def links() -> Iterator[QuestionLink]:
        for group in dict.fromkeys([*_OTHERS, *GROUPS]):
            heading = group[0].upper() + group[1:]
            for name, about, path in _OTHERS.get(group, ()):
                yield QuestionLink(heading, words(name), about, path)
            for name, question in GROUPS.get(group, {}).items():
                yield QuestionLink(heading, words(name), question.title, f"/q/{name.replace('_', '-')}")

    def href(link: QuestionLink) -> str | None:
        return None if link.path is None else asked.link(link.path)

    columns = column("group"), column("question"), column("about")
    return PagePart("questions", lambda: Rows(columns, links(), {"question": href}), "Questions", look="groups")


def go(asked: AskedPage) -> Response:
    """Return the way to what was typed: the page of a URL or of a row key, a site, or the search for words."""
    if asked.as_of:
        asked.table.changes(since=asked.as_of, limit=0)  # it raises what is wrong with the moment
    return RedirectResponse(_goal(asked, " ".join(asked.one("go").split())), 303)


_HOST: Final = re.compile(r"(?P<host>[^\s/?#@]*[.:\]][^\s/?#@]*|localhost)(?P<rest>/\S*)?")


def _goal(asked: AskedPage, text: str) -> str:
    if not text:
        return asked.link("/")
    url = text if re.match(r"(?i)https?://", text) else _url_of_key(asked.table, text)
    if url is not None:
        return asked.page(url)
    if (found := _HOST.fullmatch(text)) and _is_host(found["host"]):
        is_site = (found["rest"] or "/").endswith("/")
        return asked.link(f"/site/{text.rstrip('/')}/") if is_site else asked.page(f"https://{text}")
    order = "relevance" if (state := asked.table.search_index.state()) is not None and state.is_complete else None
    return asked.link("/q/search", text=text, site="all", order=order)


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
