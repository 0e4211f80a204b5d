"""The question for problems with the titles of a site: missing, shared with other pages, or too long to be shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from webtable.errors import InvalidArgument
from webtable.repository.answers.columns import column, declared
from webtable.repository.answers.listing import SITE, Listing, ListingOption
from webtable.repository.arguments import MAX_TITLE
from webtable.repository.duplicates.exact import value_of
from webtable.repository.questions.findings import is_judged, is_read, label_of, problem_option, problems_of
from webtable.repository.questions.pages import SortedQuestion, url_at
from webtable.repository.reading.temporary_tables import TemporaryTables

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from webtable.repository.answers.results import Window
    from webtable.repository.context import TableContext
    from webtable.repository.reading.read_ahead import Damage
    from webtable.repository.reading.scope import Scope


# Titles are bytes, as SQLite ends a text at a zero. Places are those of URLs.
_TABLE = "CREATE TABLE found (title BLOB, characters INTEGER, place BLOB)"
_INDEX = "CREATE INDEX by_title ON found (title, place)"
_MISSING = "SELECT place FROM found WHERE title IS NULL AND place > ? ORDER BY place"
_SHARED = "SELECT title, count(*) FROM found WHERE title >= ? GROUP BY title HAVING count(*) > 1 ORDER BY title"
_SHARING = "SELECT place FROM found WHERE title = ? AND place > ? ORDER BY place"
_TOO_LONG = "SELECT place, title FROM found WHERE characters > ? AND place > ? ORDER BY place"


TitleProblemKind = Literal["missing", "duplicate", "too long"]


@dataclass(frozen=True, slots=True)
class TitleProblem:
    """A problem with the title of a page; for a `duplicate`, how many `others` have it too."""

    problem: TitleProblemKind
    url: str
    title: str | None
    others: int = 0


TITLE_PROBLEMS = declared(
    TitleProblem,
    "title",
    column("problem"),
    column("url", "url"),
    column("title", "title"),
    column("others", "count", width=7),
    listed=("url", "problem", "title", "others"),
)


LISTING = Listing(
    "titles",
    TITLE_PROBLEMS,
    orders=("problem",),
    options=(
        SITE,
        ListingOption("max_length", "The most characters that a title may have.", "number", MAX_TITLE),
        problem_option(TitleProblemKind),
    ),
    examples=(
        "webtable titles example.com",
        "webtable titles example.com --problem missing --problem 'too long'",
        "webtable titles https://example.com/ --max-length 70 --format csv > titles.csv",
    ),
    help="""List the HTML pages with status 200 whose title is missing, is that of other pages too, or is too long.

    A page may be listed twice: as a duplicate, and as one whose title is too long.
    """,
)


# Digits, so that problems come in this order; a place is a digit, the title of a duplicate, a zero and the page.
_PROBLEMS = {"missing": b"0", "duplicate": b"1", "too long": b"2"}


class TitlesQuestion(SortedQuestion[TitleProblem]):
    """Which problems the titles of the pages of a scope have."""

    listing = LISTING

    def __init__(
        self,
        context: TableContext,
        scope: Scope,
        window: Window,
        max_length: int,
        problem: TitleProblemKind | Collection[TitleProblemKind] | None,
    ) -> None:
        super().__init__(context, scope, window)
        if type(max_length) is not int or not 0 < max_length < 2**63:
            raise InvalidArgument(f"max_length={max_length!r} must be a number of characters, 1 or more")
        self.max_length = max_length
        problems = f"a title that is missing, of several pages, or of over {max_length} characters"
        self.problems: frozenset[str] | None = problems_of(problem, TitleProblemKind)
        self.title: str = f"{self.pages.label} with {problems}{label_of(self.problems)}"

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[TitleProblem]:
        # Pages that people read.
        read = filter(is_read, self.pages.all(damage))
        titles = ((title, page) for page in read if (title := value_of(page, "title")) or is_judged(page))
        with TemporaryTables(_TABLE) as scratch:
            rows = (
                (title, 0 if title is None else len(page.title or ""), self.pages.by_url(page.url))
                for title, page in titles
            )
            scratch.fill("found", rows, 3)
            scratch.run(_INDEX)
            for problem in _problems(scratch, self.max_length, after or b"0"):
                if self.problems is None or problem.problem in self.problems:
                    yield problem

    def place(self, result: TitleProblem) -> bytes:
        title = (result.title or "").encode("utf-8", "surrogatepass") if result.problem == "duplicate" else b""
        return _PROBLEMS[result.problem] + title + b"\0" + self.pages.by_url(result.url)


def _problems(scratch: TemporaryTables, max_length: int, after: bytes) -> Iterator[TitleProblem]:
    """Yield the problems after the place *after*: a digit for the kind, the title of a duplicate, a zero, the page."""
    kind = after[:1]
    title, _, place = after[1:].rpartition(b"\0")
    if kind == _PROBLEMS["missing"]:
        for (at,) in scratch.rows(_MISSING, (place,)):
            yield TitleProblem("missing", url_at(at), None)
    if kind <= _PROBLEMS["duplicate"]:
        # The title of the token may be continued in its middle, so groups begin with it, and its pages after the token.
        for shared, pages in scratch.rows(_SHARED, (title,)):
            start = place if shared == title else b""
            for (at,) in scratch.rows(_SHARING, (shared, start)):
                yield TitleProblem("duplicate", url_at(at), _text(shared), pages - 1)
    start = place if kind == _PROBLEMS["too long"] else b""
    for at, long in scratch.rows(_TOO_LONG, (max_length, start)):
        yield TitleProblem("too long", url_at(at), _text(long))


def _text(title: bytes) -> str:
    return title.decode("utf-8", "surrogatepass")
