"""What a table with certain captures answers, in whatever order they were put: they are sorted by time and replayed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

NOT_MODIFIED = "304"
NOT_MODIFIED_NOINDEX = "304 noindex"
"""One whose header X-Robots-Tag says `noindex`."""


class Content(NamedTuple):
    """What a capture found: a body or none, a status, the pages that it links to, with their anchors, and robots rules.

    The rules are those of its headers.
    """

    body: bytes | None
    status: int = 200
    links: tuple[tuple[str, str], ...] = ()
    robots: str | None = None

    @property
    def compared(self) -> tuple[object, ...]:
        """What makes another version."""
        return self.body, self.status, self.robots


@dataclass
class Version:
    """A content, the hour when it was first found, and the hours of its captures."""

    hour: int
    content: Content
    captures: list[int] = field(default_factory=list)


@dataclass
class Model:
    """The history of one page; *captures* has a content, or `NOT_MODIFIED`, for each hour."""

    captures: dict[int, Content | str]

    def __post_init__(self) -> None:
        self.versions: list[Version] = []
        for hour in sorted(self.captures):
            capture = self.captures[hour]
            content = self._not_modified(capture) if isinstance(capture, str) else capture
            if content is None:
                continue  # a 304 before any content
            if not self.versions or self.versions[-1].content.compared != content.compared:
                self.versions.append(Version(hour, content))
            self.versions[-1].captures.append(hour)

    def _not_modified(self, capture: str) -> Content | None:
        """Return the content of a 304 that comes now: the last one; after an error the last page that was none.

        Its headers take the place of those before it.
        """
        if not self.versions:
            return None
        last = self.versions[-1].content
        if last.status >= 400:
            pages = [version.content for version in self.versions if version.content.status < 300]
            last = pages[-1] if pages else Content(None, 304)
        return last._replace(robots="noindex") if capture == NOT_MODIFIED_NOINDEX else last

    def as_of(self, hour: int) -> tuple[bytes | None, str | None] | None:
        """The body and the robots rules as of an hour."""
        until = [version for version in self.versions if version.hour <= hour]
        return (until[-1].content.body, until[-1].content.robots) if until else None

    @property
    def history(self) -> list[tuple[object, ...]]:
        """The versions with their hours, the oldest first."""
        return [(version.hour, *version.content.compared) for version in self.versions]

    @property
    def change_count(self) -> int:
        return max(len(self.versions) - 1, 0)

    @property
    def changed_at(self) -> int | None:
        return self.versions[-1].hour if self.versions else None

    @property
    def stored(self) -> list[int]:
        """The hours of the captures whose date is stored: the first of each version, and the newest."""
        return sorted({version.hour for version in self.versions} | {max(self.captures)})

    def links(self, target: str) -> tuple[int, str] | None:
        """Since when the page has its link to *target*, and the anchor; None if it has none now."""
        now = dict(self.versions[-1].content.links) if self.versions else {}
        if target not in now:
            return None
        since = self.versions[-1].hour
        for version in reversed(self.versions):
            if dict(version.content.links).get(target) != now[target]:
                break
            since = version.hour
        return since, now[target]

    def past_links(self, target: str) -> int | None:
        """The hour of the first capture without the link to *target* that the page once had; None if there is none."""
        had = [at for at, version in enumerate(self.versions) if target in dict(version.content.links)]
        return self.versions[had[-1] + 1].hour if had and had[-1] + 1 < len(self.versions) else None
