"""The sections of reports, each with its first findings, the number of all, and the command that lists them."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from webtable._messages import message_of, text_of
from webtable.display import Shown, ShowsItself
from webtable.errors import IndexNeeded, InvalidArgument, MissingExtra
from webtable.repository.reading.scope import Scope
from webtable.repository.reading.site import named_site

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from datetime import datetime

    from webtable.repository.answers.results import Pages, Results
    from webtable.repository.duplicates.exact import DuplicateGroup, Sameness
    from webtable.repository.duplicates.near import NearDuplicateGroup
    from webtable.repository.links.links import BrokenLink
    from webtable.repository.metrics import Metrics
    from webtable.repository.questions.changes import Change, ChangeKind
    from webtable.repository.questions.redirect_chains import RedirectChain
    from webtable.repository.questions.titles import TitleProblem
    from webtable.repository.reading.site import Site


# --- The questions of a table that reports ask: a `WebTable` has them -------------------------------------------------


class AskedLinks(Protocol):
    """The questions about links that reports ask."""

    def broken(self, site: Site, /) -> Results[BrokenLink]:
        """Return the links that lead to an error page."""

    def orphans(self, site: Site, /) -> Pages:
        """Return the pages that no other page links to."""


class AskedIndexes(Protocol):
    """The questions about indexes that reports ask."""

    def states(self) -> Mapping[str, object]:
        """Return the states of the indexes, by name."""


class AskedTable(Protocol):
    """A table of web pages, as far as reports ask it: a `WebTable`."""

    @property
    def links(self) -> AskedLinks:
        """The links between pages."""

    @property
    def indexes(self) -> AskedIndexes:
        """The indexes."""

    @property
    def metrics(self) -> Metrics:
        """A snapshot of the metrics."""

    def pages(self, site: Site, /) -> Pages:
        """Return the pages of *site*."""

    def errors(self, site: Site, /) -> Pages:
        """Return the error pages of *site*."""

    def redirect_chains(self, site: Site, /) -> Results[RedirectChain]:
        """Return the chains of redirects."""

    def duplicate_groups(self, site: Site, /, *, by: Sameness = "content") -> Results[DuplicateGroup]:
        """Return the groups of pages with the same content or title."""

    def near_duplicate_groups(self, site: Site, /) -> Results[NearDuplicateGroup]:
        """Return the groups of pages with nearly the same text."""

    def titles(self, site: Site, /) -> Results[TitleProblem]:
        """Return what is wrong with titles."""

    def changes(
        self, site: Site, /, *, since: datetime, until: datetime, kind: Collection[ChangeKind]
    ) -> Results[Change]:
        """Return what became of the pages between two moments."""


# ----------------------------------------------------------------------------------------------------------------------


Kind = Literal["url", "urls", "text", "status", "number", "size", "time"]
"""The kinds of values in a column. Each value may also be a `Pair`: before and after."""


class Heading(NamedTuple):
    """A column of a section: its name, and the kind of its values."""

    name: str
    kind: Kind


class Pair(NamedTuple):
    """A value before and after."""

    before: object
    after: object


@dataclass(frozen=True, slots=True)
class Section:
    """The first `rows` of `count` findings of one kind; `command` lists all of them.

    `name` is stable across versions. If the question could not be asked, `left_out` says why, and what would help.
    """

    name: str
    title: str
    about: str
    headings: tuple[Heading, ...]
    command: str
    rows: tuple[tuple[object, ...], ...] = ()
    count: int = 0
    left_out: str = ""

    def filled(self, found: Found) -> Section:
        """Return the section with what was *found*."""
        return replace(self, rows=tuple(found.rows), count=found.count)

    def asked(self, ask: Callable[[], Iterable[tuple[object, ...]]], most: int, program: str) -> Section:
        """Return the section with the first *most* rows of *ask*, or left out if an index or a package is missing.

        *program* is the name of the command line.
        """
        found = Found(most)
        try:
            for row in ask():
                found.add(*row)
        except (IndexNeeded, MissingExtra) as exc:
            return replace(self, left_out=text_of(message_of(exc), lambda words: f"{program} {words}"))
        return self.filled(found)

    def to_dict(self) -> dict[str, Any]:
        """Return the section as JSON values, except for moments."""
        names = [heading.name for heading in self.headings]
        return {
            "name": self.name,
            "title": self.title,
            "count": None if self.left_out else self.count,
            "left_out": self.left_out or None,
            "command": self.command,
            "rows": [dict(zip(names, map(_pair_as_dict, row), strict=True)) for row in self.rows],
        }


def _pair_as_dict(value: object) -> object:
    return value._asdict() if isinstance(value, Pair) else value


@dataclass(slots=True)
class Found:
    """Findings as they are added: the first `most` as rows, and the number of all."""

    most: int
    rows: list[tuple[object, ...]] = field(default_factory=list)
    count: int = 0

    def add(self, *row: object) -> None:
        """Add a finding."""
        self.count += 1
        if len(self.rows) < self.most:
            self.rows.append(row)


def check_most(most: int) -> None:
    """Raise `InvalidArgument` unless *most* is an integer above 0."""
    if type(most) is not int or most < 1:
        raise InvalidArgument(f"most={most!r} must be at least 1")


class Report(ShowsItself):
    """A report on a `site`, with its findings in `sections`."""

    __slots__ = ()

    site: str
    sections: tuple[Section, ...]
    _empty: str
    """That there are no pages of the site, and which one was probably meant; "" if there are some."""

    @property
    def subject(self) -> str:
        """The pages of the site in words, with a capital letter."""
        words = str(Scope.of(named_site(self.site)))
        return words[0].upper() + words[1:]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values, except for moments."""
        names = (one.name for one in fields(self) if one.name not in ("listing", "_empty"))  # type: ignore[arg-type]
        return {name: _as_dicts(getattr(self, name)) for name in names}

    def __repr__(self) -> str:
        counts = self._empty or ", ".join(f"{one.name} {'–' if one.left_out else one.count}" for one in self.sections)
        return f"<{type(self).__name__} of {self.site}: {counts}>"

    def _shown(self) -> Shown:
        """Return the number of findings of each section."""
        if self._empty:
            return Shown("", (), (), self._empty)
        rows = [(one.title, None if one.left_out else one.count, one.left_out or one.about) for one in self.sections]
        note = ".html() is the page, .to_dict() all that it holds"
        return Shown(f"{type(self).__name__} of {self.site}", ("finding", "found", "what it is"), rows, note)


def nothing_of(table: AskedTable, site: Site) -> str:
    """Return that *table* has no pages of *site*, with the one that was probably meant; "" if it has some."""
    pages = table.pages(site)
    return pages._nothing() if pages.first() is None else ""


def _as_dicts(value: Any) -> object:
    """Return a value of a report with dicts in place of sections and groups."""
    if isinstance(value, tuple):
        return [one.to_dict() if isinstance(one, Section) else one._asdict() for one in value]
    return dict(value) if isinstance(value, dict) else value
