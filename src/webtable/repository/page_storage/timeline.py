"""The captures of a page in the order of their dates: what each of them found, as far as that is stored."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from webtable._clock import milliseconds, moment_of
from webtable.page.parts import SAID, SHARED, SharedFact
from webtable.repository.page_storage.state import Content, SaidFacts, Stored, Version, brought, capture_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.page.page import Page


# --- Dates of captures that found the content unchanged ---------------------------------------------------------------
#
# Only the newest capture of a page has metadata, so without these dates a capture that is put late could not know
# whether the content before it came back at once, or years later. What a 304 says by its own headers it says of
# whatever was there before it, also of content that is put late.


MOST_DATES = 100
"""How many such dates are kept of a page: 800 bytes, which each listing reads."""
_LENGTH = 8
_DATE_BITS = 44
"""Of 48: dates until the year 2527."""
_FOLLOWS = 8
"""The mark of a capture that had whatever was there before it; added to it the number of what its headers say."""
_MOST_SETS, _MOST_CHARACTERS = 7, 4_096
"""How many different sets of facts are kept of headers, in how much JSON: a server says the same with each 304."""
_sets = msgspec.json.Decoder(list[dict[SharedFact, str]])


def dates_in(text: str | None) -> dict[datetime, Mapping[SharedFact, str] | None]:
    """Return the dates in `Bookkeeping.unchanged`, each with what that capture followed.

    That is None if it named its content. Otherwise it had whatever was there before it, and this is what its own
    headers say.
    """
    dates, _, json = (text or "").partition(",")
    facts: list[dict[SharedFact, str]] = [{}, *(_sets.decode(json) if json else ())]
    whole = b64decode(dates)
    numbers = [int.from_bytes(whole[at : at + 6]) for at in range(0, len(whole), 6)]
    marks = ((number & (1 << _DATE_BITS) - 1, number >> _DATE_BITS) for number in numbers)
    return {moment_of(at): dict(facts[mark - _FOLLOWS]) if mark else None for at, mark in marks}


def with_date(
    text: str | None, at: datetime, follows: Mapping[SharedFact, str] | None, *, is_noted: bool = True
) -> str | None:
    """Return the dates *text* with the capture *at* a moment, which *follows* as in `dates_in`; or without it."""
    dates = dates_in(text)
    dates.pop(at, None)
    return with_dates({**dates, at: follows} if is_noted else dates)


def with_last(text: str | None, at: datetime, follows: Mapping[SharedFact, str] | None) -> str | None:
    """Do the same for a capture that is later than all others."""
    if follows or (text and "," in text):
        return with_date(text, at, follows)
    return (text or "")[-_LENGTH * (MOST_DATES - 1) :] + _entry(at, 0 if follows is None else _FOLLOWS)


def merged(text: str | None, other: str | None) -> str | None:
    """Return the dates of both."""
    if other is None or text == other:
        return text
    dates = dates_in(text)
    return with_dates({**dates_in(other), **dates})


def with_dates(dates: Mapping[datetime, Mapping[SharedFact, str] | None]) -> str | None:
    """Return these *dates* as `dates_in` reads them, the newest hundred."""
    sets: list[Mapping[SharedFact, str]] = [{}]
    entries: list[str] = []
    for moment in sorted(dates)[-MOST_DATES:]:
        follows = dates[moment]
        if follows and follows not in sets and len(sets) <= _MOST_SETS:
            sets.append(follows)
        mark = 0 if follows is None else _FOLLOWS + (sets.index(follows) if follows in sets else 0)
        entries.append(_entry(moment, mark))
    json = msgspec.json.encode(sets[1:]).decode() if sets[1:] else ""
    if len(json) > _MOST_CHARACTERS:
        return with_dates({moment: follows and {} for moment, follows in dates.items()})
    return "".join(entries) + (json and f",{json}") or None


def _entry(at: datetime, mark: int) -> str:
    return b64encode((milliseconds(at) | mark << _DATE_BITS).to_bytes(6)).decode()


# --- Replaying --------------------------------------------------------------------------------------------------------


class Event(NamedTuple):
    """A capture: its date, the content that it names itself, and the version that is stored under its date."""

    at: datetime
    content: Content | None
    """None if it had whatever was there before it, as a 304 has."""
    version: Version | None = None
    own: Mapping[int, str | None] = {}
    """What the headers of a 304 say other than those before it: facts by their places in `SAID`."""


NO_CONTENT: Final[Content] = (None, 304, None, (None,) * len(SAID))
"""A 304 after an error, of a page that never was anything else."""


def events_of(stored: Stored) -> list[Event]:
    """Return the captures of a page that are known, the oldest first; an open revisit is none."""
    page = stored.page
    if page is None:
        return []
    kinds = dates_in(page._unchanged)
    versions = {version.at: version for version in stored.versions}
    if (content_at := page._content_at) is not None and content_at not in versions and page.same_as is None:
        # It has expired, or is still awaited.
        versions[content_at] = Version(content_at, capture_of(page))
    dates = {*versions, *kinds}
    if page.same_as is None:
        dates.add(page.fetched_at)
    events: list[Event] = []
    before: Content | None = None
    said: dict[tuple[object, ...], SaidFacts] = {}
    for at in sorted(dates):
        is_newest, version = at == page.fetched_at, versions.get(at)
        note = kinds.get(at)
        follows = note is not None or (is_newest and at not in kinds and is_bare(page))
        own: Mapping[int, str | None] = {}
        if version is not None:
            before = brought(version.capture)
            if follows:
                # What a 304 after an error says, it says by its own headers: no page comes before it.
                is_empty = before[:3] == NO_CONTENT[:3]
                own = _differing(NO_CONTENT[3] if is_empty else said.get(before[:3], before[3]), before[3])
            said[before[:3]] = before[3]
        elif is_newest and not follows:
            repeated = versions.get(page._content_at) if page._content_at else None
            before = brought(page)
            if repeated is not None and brought(repeated.capture)[:3] == before[:3]:
                before = brought(repeated.capture)
        elif is_newest and note is None and is_bare(page):
            own = own_facts(page)
        if note:
            # It says what it repeats as well. Where it was put after content that HTML and headers say this of, it has
            # what is known of both.
            values = NO_CONTENT[3] if before is None else before[3]
            places = {SAID.index(name): value for name, value in note.items()}
            own = {**{place: values[place] or value for place, value in places.items()}, **own}
        if before is not None or follows:  # else the version that it repeats has been dropped
            events.append(Event(at, None if follows else before, version, own))
    return events


def following(page: Page) -> dict[SharedFact, str]:
    """Return what the headers of the 304 *page* say, as in `dates_in`."""
    return {name: value for name in SHARED if (value := getattr(page, name))}


def own_facts(page: Page) -> dict[int, str | None]:
    """Return what the headers of the 304 *page* say of it, as `Event.own`."""
    return _differing(NO_CONTENT[3], brought(page)[3])


def _differing(old: SaidFacts, new: SaidFacts) -> dict[int, str | None]:
    return {place: value for place, value in enumerate(new) if value != old[place]}


def is_bare(page: Page) -> bool:
    """Whether *page* is a 304 that was stored without the content that was not modified."""
    return page.status == 304 and page.digest is None and not page.has_body and page.same_as is None


def replayed(events: Sequence[Event]) -> dict[datetime, Content | None]:
    """Return what the page had with each of *events*, which are in the order of their dates; None before any content.

    A 304 has what was there before it, but for what its own headers say; after an error the last content that was
    neither an error nor a redirect.
    """
    contents: dict[datetime, Content | None] = {}
    last: Content | None = None
    good: Content | None = None
    for at, content, version, own in events:
        if content is not None:
            last = content
        elif last is not None and last[1] >= 400:
            # That may be older than the versions that are known; then it is stored again under the date of the 304.
            last = good or (brought(version.capture) if version else NO_CONTENT)
        if own and last is not None:
            last = (*last[:3], tuple(own.get(place, value) for place, value in enumerate(last[3])))
        if last is not None and last[1] < 300:
            good = last
        contents[at] = last
    return contents


def begins(contents: dict[datetime, Content | None]) -> list[datetime]:
    """Return the dates at which the content became another one, the first content included."""
    last: Content | None = None
    dates: list[datetime] = []
    for at, content in contents.items():
        if content is not None and content != last:
            dates.append(at)
            last = content
    return dates


def changed_since(contents: dict[datetime, Content | None], known: datetime | None) -> datetime | None:
    """Return when the content last became another one, no later than is *known*: older versions may be dropped."""
    return min([*begins(contents)[-1:], *([known] if known else [])], default=None)


def changes(contents: dict[datetime, Content | None]) -> int:
    """Return how often the content became another one."""
    return max(0, len(begins(contents)) - 1)
