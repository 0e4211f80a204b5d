"""The versions of a page on a time line, and the differences of any two of them side by side."""

from __future__ import annotations

from itertools import islice, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from webtable.explorer.page_model import URL, PagePart, Sheet
from webtable.explorer.rows import Rows
from webtable.questions import LISTINGS, ListingOption, column

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from webtable import Page, WebTable
    from webtable.answers import Difference
    from webtable.explorer.page_model import AskedPage

MOST_VERSIONS: Final = 200
"""How many versions a page shows, the newest ones."""
MOST_ROWS: Final = 5_000
"""How many differences a page shows."""
_SAID: Final = frozenset({"status", "title"})
"""What the differences themselves say."""
OLD: Final = ListingOption("old", "The moment of one version; that before the other one without it.")
NEW: Final = ListingOption("new", "The moment of the other version; the newest without it.")


def history(asked: AskedPage) -> Sheet:
    """Return the page of all versions of a URL."""
    url = asked.url()
    rows = versions(asked, asked.table, url)
    found = Sheet("Versions", lambda _: iter([PagePart("versions", lambda: rows)]), address=url)
    if not rows.records:
        found.status, found.problem = 404, f"It is not stored: {url}"
    return found


def versions(asked: AskedPage, table: WebTable, url: str, most: int | None = None) -> Rows:
    """Return the versions of *url*, the newest first, or the first *most* of them."""
    found = list(table.history(url))
    dates = [exact(page.fetched_at) for page in found]
    before = dict(pairwise(dates))

    def difference(page: Page) -> str | None:
        new = exact(page.fetched_at)
        return asked.link("/page/diff", url=url, old=before[new], new=new) if new in before else None

    columns = (
        column("date", "moment", of="fetched_at"),
        column("status", "status"),
        column("size", "bytes"),
        column("title", "title"),
        column("digest", "digest"),
        column("difference", of=lambda page: "to the one before" if difference(page) else None, is_usual=False),
    )
    hrefs = {"date": lambda page: asked.link("/page", url=url, as_of=exact(page.fetched_at)), "difference": difference}
    return Rows(columns if asked.is_file else [one for one in columns if one.name != "digest"], found[:most], hrefs)


def difference(asked: AskedPage) -> Sheet:
    """Return the page with the differences of two versions, and with the form to choose them."""
    url, old, new = asked.url(), asked.one("old") or None, asked.one("new") or asked.moment
    for moment in filter(None, (old, new)):
        asked.table.get(url, as_of=moment, columns=["url"])  # raises for what is no moment
    dates = [exact(page.fetched_at) for page in asked.table.history(url)[:MOST_VERSIONS]]
    if not dates:
        return Sheet("Not stored", None, problem=f"It is not stored: {url}", status=404, address=url)
    place = dates.index(new) if new in dates else 0
    chosen = {"old": old or dates[min(place + 1, len(dates) - 1)], "new": new or dates[0], "url": url}
    asked.query.update({name: [value] for name, value in chosen.items()})
    options = [ListingOption(name, "", choices=tuple(dict.fromkeys([*dates, chosen[name]]))) for name in ("old", "new")]

    def parts(table: WebTable) -> Iterator[PagePart]:
        found = table.diff(url, old, new)
        columns = column("part"), column("name"), column("old"), column("new")
        if found is None or not asked.is_file:
            yield PagePart("choice", lambda: None, form=[*options, URL])
        if found is not None and asked.is_file:
            yield PagePart("differences", lambda: Rows(columns, found))
        elif found is not None:
            title = f"{exact(found.old.fetched_at)} to {exact(found.new.fetched_at)}"
            yield PagePart("differences", lambda: _shown(found), title)

    return Sheet("Differences", parts, address=url, is_now=False)


def _shown(found: Difference) -> Rows:
    """Return the differences side by side, those of the metadata of both captures last."""
    columns = (one for one in LISTINGS["pages"].columns.chosen() if one.name not in _SAID)
    pairs = ((one.name, one.shown(found.old), one.shown(found.new)) for one in columns)
    rows: list[Any] = [*islice(found.side_by_side(), MOST_ROWS)]
    rows += [("body", found.text[0], None, None)] if len(found.text) == 1 else []
    rows += (("capture", name, old, new) for name, old, new in pairs if old != new)
    shown = [column(name, of=itemgetter(number)) for number, name in enumerate(("part", "name", "old", "new"))]
    return Rows(shown, rows, empty="Text, links and headers are the same.")


def exact(moment: datetime) -> str:
    """Return *moment* as it is written in an address: to the second, or to the millisecond if it has some."""
    precision = "milliseconds" if moment.microsecond else "seconds"
    return moment.isoformat(timespec=precision).replace("+00:00", "Z")
