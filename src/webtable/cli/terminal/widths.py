"""A table that is too wide for its terminal: what its columns leave out, and how wide they are."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from webtable._clock import clock
from webtable._shown import harmless
from webtable.cli.terminal.cells import cell
from webtable.cli.terminal.urls import beginning_of, host_of, rest_of, rests_of, url_cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.text import Text

    from webtable.repository.answers.columns import Column

_PADDING = 3
"""What rich puts between two columns."""
_NARROWEST = 12
_MOMENT = len("2026-11-25 10:20:30")
_SHORT_TIME = len("11-25 10:20")


class Fit:
    """The columns of a table in a terminal of some *width*; the first *records* decide, which may be all of them.

    What the URLs of a column begin with is left out first, unless the records *have_room*. If they still have too
    little room, times are shortened, and only then URLs are cut.
    """

    def __init__(
        self, records: Sequence[object], columns: Sequence[Column], width: int, *, are_all: bool, have_room: bool
    ) -> None:
        self._beginnings: dict[str, str] = {}
        self._short_times = False
        self.widths: dict[str, int] = {}
        for one in columns:
            if not one.share:
                self.widths[one.name] = _MOMENT if one.form == "moment" else one.width
        if are_all:
            for one in columns:
                if one.name in self.widths:
                    self.widths[one.name] = min(self._longest(records, one), self.widths[one.name])
        needs = {
            one.name: self._need(records, one, are_all=are_all, have_room=have_room)
            for one in columns
            if one.form in ("url", "urls")
        }
        if not needs:
            return
        others = len(needs) < sum(one.share > 0 for one in columns)
        room = self._room(columns, width, others=others)
        times = [one.name for one in columns if one.form == "time"]
        if times and sum(needs.values()) > room:
            self._short_times = True
            self.widths |= dict.fromkeys(times, _SHORT_TIME)
            room = self._room(columns, width, others=others)
        # What a column does not need is for those that need more.
        for taken, (need, name) in enumerate(sorted((need, name) for name, need in needs.items())):
            self.widths[name] = max(min(need, room // (len(needs) - taken)), _NARROWEST)
            room -= self.widths[name]

    def leave_out(self, records: Sequence[object], columns: Sequence[Column]) -> list[str]:
        """Leave out what the URLs of *records* begin with, and return lines that name it, unless it is as before."""
        from rich.cells import cell_len

        headings_of: dict[str, list[str]] = {}
        for one in columns:
            urls = [url for record in records for url in _urls(record, one)]
            before = self._beginnings.get(one.name, "")
            if before.count("/") > 2 and all(url.startswith(before) for url in urls):
                continue  # although these may share more
            if not before and all(cell_len(harmless(url)) <= self.widths[one.name] for url in urls):
                continue
            self._beginnings[one.name] = beginning_of(urls)
            if self._beginnings[one.name] not in ("", before):
                headings_of.setdefault(self._beginnings[one.name], []).append(one.heading)
        return [f"{', '.join(headings)}: {harmless(beginning)}…" for beginning, headings in headings_of.items()]

    def cells(self, records: Sequence[object], column: Column) -> list[Text]:
        """Return the values of a *column* as shown in its width."""
        if urls := dict.fromkeys(url for record in records for url in _urls(record, column)):
            shown = rests_of(urls, self._beginnings.get(column.name, ""), self.widths[column.name])
            return [self._cell(record, column, shown) for record in records]
        return [self._cell(record, column) for record in records]

    def _cell(self, record: object, column: Column, shown: dict[str, str] | None = None) -> Text:
        from rich.text import Text

        value = column.of(record)
        if urls := _urls(record, column):
            beginning = self._beginnings.get(column.name, "")
            # Several URLs have a line each.
            return Text("\n").join(url_cell(url, shown[url] if shown else rest_of(url, beginning)) for url in urls)
        if isinstance(value, datetime) and column.form == "moment":
            return Text(f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S}")
        if isinstance(value, datetime) and self._short_times:
            return Text(short_time(value))
        return cell(record, column)

    def _longest(self, records: Sequence[object], column: Column) -> int:
        from rich.cells import cell_len

        return max(cell_len(column.heading), *(self._cell(record, column).cell_len for record in records))

    def _need(self, records: Sequence[object], column: Column, *, are_all: bool, have_room: bool) -> int:
        """Return the width in which no URL of a *column* is cut."""
        from rich.cells import cell_len

        urls = [url for record in records for url in _urls(record, column)]
        beginning = "" if have_room else beginning_of(urls)
        if not are_all:  # those that follow may be in other directories of the host
            beginning = host_of(beginning)
        rests = [rest_of(url, beginning) for url in urls] or [cell(record, column).plain for record in records]
        return max(map(cell_len, [column.heading, *rests]))

    def _room(self, columns: Sequence[Column], width: int, *, others: bool) -> int:
        """Return the width for URLs, of which *others* such as titles get a part."""
        free = width - sum(self.widths.values()) - _PADDING * len(columns)
        return free * 7 // 10 if others else free


def short_time(moment: datetime) -> str:
    """Return a *moment* as `ls` would: this year's without the year, others as a date."""
    moment = moment.astimezone(UTC)
    return f"{moment:%m-%d %H:%M}" if moment.year == clock.now().year else f"{moment:%Y-%m-%d}"


def _urls(record: object, column: Column) -> list[str]:
    """Return the URLs in a *column* of *record*."""
    value = column.of(record)
    if column.form == "url" and isinstance(value, str):
        return [value]
    return list(value) if column.form == "urls" and isinstance(value, list | tuple) else []
